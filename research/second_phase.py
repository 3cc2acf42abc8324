"""Second-phase pre-training against its own start: `PYTHONPATH=. python research/second_phase.py
IMAGES [--weights FILE] [--seeds 3]`.

IMAGES is a folder of npz files of uint8 images (x_train, y_train, x_test, y_test): pneumonia,
fashion_mnist, mnist, cifar10, gtsrb. Each case is trained with and without its public phase,
everything else equal, on the same splits, samples and noise. With `--weights`, mobilenetv2_100's
ImageNet weights, networks pre-trained on photographs are added; without, the small CNN alone.
PILLAR_DEVICE is auto unless set. Every run is printed as it ends; then one line per case: mean and
standard deviation over seeds, seconds a run, and peak memory (of the GPU where there is one, else
of the process). $OUT gets second_phase.json.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("PILLAR_DEVICE", "auto")
os.environ.setdefault(
    "PILLAR_CACHE", str(Path(os.environ.get("TMPDIR", "/tmp")) / "pillar_gpu_benchmark")
)

import torch

import pillar_core as pc
from pillar_core.engine import training_device

EPSILON = 2.0
STILL = 1e-9
"""A private step so short that the public phase alone is scored; only where the public classes are
the private ones."""
CNN: dict[str, Any] = {
    "network": "small_cnn",
    "steps": 60,
    "batch_size": 256,
    "learning_rate": 1.0,
    "public_epochs": 20,
}
SAME: dict[str, Any] = {**CNN, "public_epochs": 60}
CASES: tuple[tuple[str, str | float, dict[str, Any]], ...] = (
    ("pneumonia", 0.1, SAME),
    ("fashion_mnist", 0.1, SAME),
    ("gtsrb", 0.1, SAME),
    ("pneumonia", "fashion_mnist", CNN),
    ("fashion_mnist", "mnist", CNN),
)
PRE_TRAINED: dict[str, Any] = {
    "trainable": "lora",
    "lora_rank": 8,
    "layers": "0.blocks.5,0.blocks.6,0.conv_head",
    "steps": 60,
    "batch_size": 256,
    "learning_rate": 1.0,
    "public_epochs": 20,
}
PRE_TRAINED_CASES: tuple[tuple[str, str | float, dict[str, Any]], ...] = (
    ("pneumonia", 0.1, PRE_TRAINED),
    ("pneumonia", "fashion_mnist", PRE_TRAINED),
    ("cifar10", 0.1, PRE_TRAINED),
    ("cifar10", "gtsrb", PRE_TRAINED),
    ("fashion_mnist", 0.1, PRE_TRAINED),
)


def main() -> None:
    """Runs the cases."""
    parser = argparse.ArgumentParser(
        description="Second-phase pre-training with and without its public phase."
    )
    parser.add_argument("images", type=Path)
    parser.add_argument("--weights", type=Path, help="mobilenetv2_100's weights as safetensors")
    parser.add_argument(
        "--size", type=int, default=64, help="side of the images that the pre-trained network gets"
    )
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", default="", help="private sets, by commas (all)")
    asked = parser.parse_args()
    cases = list(CASES)
    if asked.weights:
        network = f"timm:mobilenetv2_100?weights={asked.weights}&pad_type=same&size={asked.size}"
        cases = [
            (private, public, {"network": network, **settings})
            for private, public, settings in PRE_TRAINED_CASES
        ] + cases
    lines = []
    for private, public, settings in cases:
        if not asked.only or private in asked.only.split(","):
            lines.append(compared(asked.images, private, public, settings, range(asked.seeds)))
            if os.environ.get("OUT"):
                Path(os.environ["OUT"], "second_phase.json").write_text(
                    json.dumps(lines, indent=1), encoding="utf-8"
                )
    print(
        "\n| private | public | network | trained | without | with | public phase alone | seconds a"
        " run | peak GB |\n" + 9 * "|---" + "|"
    )
    for line in lines:
        sets = (
            f"{line['private']} ({line['n_private']:,}) | {line['public']} ({line['n_public']:,})"
        )
        seconds = f"{line['seconds_without']:.1f}, {line['seconds_with']:.1f}"
        alone = _spread(line["alone"]) if line["alone"] else "–"
        scores = f"{_spread(line['without'])} | {_spread(line['with'])} | {alone}"
        print(
            f"| {sets} | {line['network']} | {line['trainable']} | {scores} | {seconds} |"
            f" {line['peak_gb']:.2f} |"
        )


def compared(
    folder: Path, private: str, public: str | float, settings: dict[str, Any], seeds: range
) -> dict[str, Any]:
    """One case: accuracies in percent with and without the public phase, by seed."""
    own = pc.load_images(folder / f"{private}.npz")
    accuracies: dict[int, list[float]] = {0: [], settings["public_epochs"]: []}
    seconds: dict[int, list[float]] = {epochs: [] for epochs in accuracies}
    alone: list[float] = []
    for seed in seeds:
        other = (
            {"public": pc.load_images(folder / f"{public}.npz")}
            if isinstance(public, str)
            else {"public_fraction": public}
        )
        split = pc.split(own, seed=seed, **other)
        for epochs in accuracies:
            began = time.perf_counter()
            record = pc.run(
                "second_phase",
                split,
                epsilon=EPSILON,
                seed=seed,
                **{**settings, "public_epochs": epochs},
            )
            spent = time.perf_counter() - began
            accuracies[epochs].append(100 * float(record.accuracy or 0.0))
            seconds[epochs].append(spent)
            name = (
                f"{private} from {public}, {settings['network'].partition('?')[0]}, {epochs} public"
                f" epochs, seed {seed}"
            )
            print(f"{name}: {accuracies[epochs][-1]:.1f} % in {spent:.1f} s", flush=True)
        if not isinstance(public, str):
            still = {**settings, "steps": 1, "learning_rate": STILL}
            record = pc.run("second_phase", split, epsilon=EPSILON, seed=seed, **still)
            alone.append(100 * float(record.accuracy or 0.0))
    without, with_phase = accuracies.values()
    return {
        "private": private,
        "public": public,
        "n_private": record.facts.n_private,
        "n_public": record.facts.n_public,
        "epsilon": EPSILON,
        "network": settings["network"].partition("?")[0],
        "trainable": settings.get("trainable", "all"),
        "learning_rate": settings["learning_rate"],
        "without": without,
        "with": with_phase,
        "alone": alone,
        "seconds_without": statistics.median(seconds[0]),
        "seconds_with": statistics.median(seconds[settings["public_epochs"]]),
        "peak_gb": _peak(),
    }


def _peak() -> float:
    where = training_device()
    if where.type == "cuda":
        return torch.cuda.max_memory_allocated(where) / 2**30
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def _spread(values: list[float]) -> str:
    spread = f" ± {statistics.stdev(values):.1f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.1f}{spread} %"


if __name__ == "__main__":
    main()
