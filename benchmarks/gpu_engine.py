"""The engine and the deep learners on a GPU: `PYTHONPATH=. python benchmarks/gpu_engine.py
[--quick]`.

Run it from the repository's root on a machine with CUDA: PILLAR_DEVICE is auto unless set, so
without CUDA it runs on the CPU and says so. `--quick` takes tiny sizes, for trying it out. Needs
the library's own requirements, opacus and, for two sections, timm and torchvision; no network, no
weights, no data. Every section stands alone: one that fails prints its error and the next one runs.
The table is printed as it comes; results are also written to $OUT/gpu_engine.json where OUT is set.

1. step: one DP-SGD step at batch 1,024, n = 45,000, C = 10, d = 2,048 and 40, for one head and 27
   batched, full batches beside; the memory-bandwidth floor is the time to read the batch's rows
   once at the measured copy bandwidth.
2. agreement: summed clipped gradients against Opacus' per-example ones, and Opacus' time for the
   same step.
3. noise: 27 heads' normals on the device against the same drawn on the CPU.
4. grid: a small sweep over k, ε and seeds through the public face.
5. extraction: a timm and a torchvision network with random weights, in bfloat16.
6. deep: a few steps of each deep learner, seconds a step and peak memory.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("PILLAR_DEVICE", "auto")
os.environ.setdefault(
    "PILLAR_CACHE", str(Path(os.environ.get("TMPDIR", "/tmp")) / "pillar_gpu_benchmark")
)

import numpy as np
import torch

from pillar_core import rng
from pillar_core.engine import Head, HeadPlan, clipped_sum, train_heads, training_device
from pillar_core.ledger import Ledger
from pillar_core.rng import Streams

QUICK = "--quick" in sys.argv
DEVICE = training_device()
N, CLASSES, BATCH, HEADS = (3_000, 10, 128, 3) if QUICK else (45_000, 10, 1024, 27)
WIDTHS = (64, 40) if QUICK else (2048, 40)
STEPS, REPEATS = (5, 2) if QUICK else (100, 5)
NOISE, CLIP, RATE = 1.0, 1.0, 0.1
RESULTS: list[dict[str, Any]] = []


def main() -> None:
    """Runs every section."""
    warnings.simplefilter("ignore")
    bandwidth = section("bandwidth", copy_bandwidth) or float("nan")
    for d in WIDTHS:
        section(f"step d={d}", lambda d=d: steps(d, bandwidth))
        section(f"agreement d={d}", lambda d=d: agreement(d))
    section("noise", noise)
    section("grid", grid)
    section("extraction timm", lambda: extraction("timm"))
    section("extraction torchvision", lambda: extraction("torchvision"))
    for method, settings in deep_cases().items():
        section(f"deep {method}", lambda method=method, settings=settings: deep(method, settings))


def section(name: str, run: Callable[[], Any]) -> Any:
    """What `run` returns, None where it fails; results are written after every section."""
    began = time.perf_counter()
    try:
        return run()
    except Exception as error:  # noqa: BLE001 - one section's failure must not cost the others' results
        report(name, "failed", f"{type(error).__name__}: {error}"[:300])
        traceback.print_exc(limit=4)
        return None
    finally:
        print(f"  ({name}: {time.perf_counter() - began:.1f} s)", flush=True)
        if os.environ.get("OUT"):
            facts = {
                "device": device_name(),
                "torch": torch.__version__,
                "python": platform.python_version(),
                "quick": QUICK,
            }
            Path(os.environ["OUT"], "gpu_engine.json").write_text(
                json.dumps({**facts, "results": RESULTS}, indent=1), encoding="utf-8"
            )


def report(name: str, what: str, value: Any, unit: str = "") -> None:
    """One line of the table."""
    RESULTS.append({"section": name, "what": what, "value": value, "unit": unit})
    print(
        f"{name:26s} {what:52s} {value if isinstance(value, str) else f'{value:.6g}'} {unit}",
        flush=True,
    )


def device_name() -> str:
    """What the GPU calls itself."""
    return torch.cuda.get_device_name(DEVICE) if DEVICE.type == "cuda" else "cpu"


def finished() -> None:
    """Waits for the device."""
    if DEVICE.type == "cuda":
        torch.cuda.synchronize(DEVICE)


def median_seconds(run: Callable[[], Any], *, times: int = REPEATS) -> float:
    """Median wall seconds of a call, the device waited for, after one call that is not counted."""
    run()
    finished()
    seconds = []
    for _ in range(times):
        began = time.perf_counter()
        run()
        finished()
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds)


def copy_bandwidth() -> float:
    """Bytes a second that the device reads while copying (a copy also writes as many)."""
    print(
        f"device: {device_name()}, torch {torch.__version__}, Python {platform.python_version()}",
        flush=True,
    )
    source = torch.zeros(1 << (22 if QUICK else 28), dtype=torch.float32, device=DEVICE)
    target = torch.empty_like(source)
    seconds = median_seconds(lambda: target.copy_(source), times=20)
    both = 2 * source.numel() * 4 / seconds
    report("bandwidth", "device copy, read and write", both / 1e9, "GB/s")
    return both


def features(d: int) -> tuple[np.ndarray, np.ndarray]:
    """(rows (N, d) float32, labels)."""
    generator = rng.stream(0, "gpu benchmark")
    return generator.standard_normal((N, d), dtype=np.float32), generator.integers(0, CLASSES, N)


def steps(d: int, bandwidth: float) -> None:
    """Seconds a step of `train_heads`: gather, product, clip, sum, noise, update, Poisson sampling
    included."""
    z, y = features(d)

    def seconds(heads: int, count: int, batch: int | None) -> float:
        plan = HeadPlan(count, RATE, NOISE, CLIP, N, batch_size=batch)
        began = time.perf_counter()
        train_heads(
            z, y, [Head(plan, Streams(0), Ledger()) for _ in range(heads)], n_classes=CLASSES
        )
        finished()
        return time.perf_counter() - began

    for batch, count in ((BATCH, STEPS), (None, max(2, STEPS // 5))):
        rows = BATCH if batch else N
        floor = rows * d * 4 / bandwidth
        report(
            f"step d={d}", f"floor: one read of {rows:,} rows at copy bandwidth", 1e3 * floor, "ms"
        )
        for heads in (1, HEADS):
            seconds(heads, 2, batch)
            fixed = statistics.median(seconds(heads, 1, batch) for _ in range(REPEATS))
            step = statistics.median(
                (seconds(heads, 1 + count, batch) - fixed) / count for _ in range(REPEATS)
            )
            report(
                f"step d={d}",
                f"{f'batch {batch:,}' if batch else 'full batch'}, {heads} heads: a step",
                1e3 * step,
                "ms",
            )
            report(
                f"step d={d}",
                f"{f'batch {batch:,}' if batch else 'full batch'}, {heads} heads: × floor",
                step / floor,
                "",
            )
            if batch is None:
                report(
                    f"step d={d}",
                    f"full batch, {heads} heads: fixed cost of a call",
                    1e3 * fixed,
                    "ms",
                )


def agreement(d: int) -> None:
    """Largest difference from Opacus' clipped sum, over the largest entry, and Opacus' time a step
    on ready batches."""
    from opacus.grad_sample import GradSampleModule
    from opacus.optimizers import DPOptimizer

    z, y = (torch.from_numpy(array).to(DEVICE) for array in features(d))
    layer = torch.nn.Linear(d, CLASSES).to(DEVICE)
    weights, bias = layer.weight.detach().clone(), layer.bias.detach().clone()
    rows = torch.nn.functional.pad(z[:BATCH], (0, 1), value=1.0)
    arguments = rows, rows.square().sum(1), y[:BATCH], torch.cat((weights, bias[:, None]), 1)[None]
    clip = torch.tensor([CLIP], device=DEVICE)
    ours = clipped_sum(*arguments, clip)[0]
    module = GradSampleModule(layer, loss_reduction="sum")
    torch.nn.functional.cross_entropy(module(z[:BATCH]), y[:BATCH], reduction="sum").backward()
    per_row = [layer.weight.grad_sample, layer.bias.grad_sample]
    norms = torch.sqrt(sum(part.flatten(1).square().sum(1) for part in per_row))
    factors = (CLIP / norms).clamp(max=1.0)
    theirs = [torch.einsum("n,n...->...", factors.double(), part.double()) for part in per_row]
    worst = max(
        float((one - other).abs().max() / other.abs().max())
        for one, other in ((ours[:, :-1], theirs[0]), (ours[:, -1], theirs[1]))
    )
    report(f"agreement d={d}", "largest relative difference of clipped sums", worst)
    if not worst < 1e-4:
        raise ValueError(f"the clipped sums differ by {worst:g}")
    kernel = median_seconds(lambda: clipped_sum(*arguments, clip), times=50)
    report(f"agreement d={d}", "ours: clipped sum alone, ready batch", 1e3 * kernel, "ms")
    optimiser = DPOptimizer(
        torch.optim.SGD(layer.parameters(), lr=RATE),
        noise_multiplier=NOISE,
        max_grad_norm=CLIP,
        expected_batch_size=BATCH,
    )
    batches = [
        torch.from_numpy(np.sort(rng.stream(0, "batch", i).permutation(N)[:BATCH])).to(DEVICE)
        for i in range(STEPS)
    ]

    def epoch() -> None:
        for index in batches:
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(module(z[index]), y[index]).backward()
            optimiser.step()

    report(
        f"agreement d={d}",
        "Opacus hooks: a step on ready batches",
        1e3 * median_seconds(epoch, times=3) / STEPS,
        "ms",
    )


def noise() -> None:
    """Milliseconds to draw the normals of 27 heads' sums, on the device and on the CPU with the
    copy; moments as a check."""
    shape = (CLASSES, WIDTHS[0])
    on_device, on_cpu = Streams(0).secret("noise", device=str(DEVICE)), Streams(0).secret("noise")
    drawn = torch.as_tensor(on_device.standard_normal((1_000_000,)))
    report(
        "noise",
        "mean and variance of a million draws",
        f"{float(drawn.mean()):.4f}, {float(drawn.var()):.4f}",
    )
    again = torch.as_tensor(
        Streams(0).secret("noise", device=str(DEVICE)).standard_normal((1_000_000,))
    )
    report("noise", "the same seed repeats", str(bool(torch.equal(drawn, again))))
    for name, stream in (("on the device", on_device), ("on the CPU, copied", on_cpu)):

        def draw(stream: Any = stream) -> None:
            for _ in range(HEADS):
                torch.as_tensor(stream.standard_normal(shape)).to(DEVICE)

        report(
            "noise",
            f"{HEADS} heads of {shape[0]} × {shape[1]}, {name}",
            1e3 * median_seconds(draw),
            "ms",
        )


def grid() -> None:
    """Seconds of a sweep of PILLAR over k, ε and seeds on synthetic features, projection and
    eigenbasis included."""
    import pillar_core as pc

    n, d = (2_000, 64) if QUICK else (50_000, 2048)
    data = pc.load_features(pc.load_dataset("spiked_features", n=n, d=d, C=10))
    split = pc.split(data, public_fraction=0.1)
    ks = [5, 10, 20] if QUICK else [5, 10, 20, 40, 80, 120, 200, 280, 360]
    axes = {"k": ks, "epsilon": [0.1, 0.7, 2.0], "seed": [0, 1, 2]}
    for run in ("first", "again, warm"):
        began = time.perf_counter()
        table = pc.sweep({"dataset": split, "method": "pillar", **axes})
        report("grid", f"{len(table)} runs of pillar, {run}", time.perf_counter() - began, "s")
    best = table.groupby(["epsilon", "k"])["accuracy"].mean().groupby("epsilon").max()
    report(
        "grid", "best mean accuracy at ε = 0.1, 0.7, 2", ", ".join(f"{value:.3f}" for value in best)
    )


def extraction(library: str) -> None:
    """Images a second through a network with random weights in bfloat16, in batches of 256 at 224
    pixels."""
    if library == "timm":
        import timm

        name = "resnet18" if QUICK else "resnet50"
        network = timm.create_model(name, pretrained=False, num_classes=0)
    else:
        import torchvision

        name = "resnet18" if QUICK else "convnext_base"
        network = getattr(torchvision.models, name)(weights=None)
    network = network.to(DEVICE, dtype=torch.bfloat16).eval()
    batch, side = (4, 64) if QUICK else (256, 224)
    images = torch.rand(batch, 3, side, side, device=DEVICE).to(torch.bfloat16)
    with torch.inference_mode():
        seconds = median_seconds(lambda: network(images))
        first, second = network(images), network(images)
    report(
        f"extraction {library}",
        f"{name}, {side} pixels, batch {batch}",
        batch / seconds,
        "images/s",
    )
    report(
        f"extraction {library}",
        "two passes agree to the last bit",
        str(bool(torch.equal(first, second))),
    )


def deep_cases() -> dict[str, dict[str, Any]]:
    """Settings of a few steps of each deep learner."""
    if QUICK:
        small = {"steps": 2, "batch_size": 32, "noise_multiplier": 1.0}
        return {
            "from_scratch": {**small, "copies": 2},
            "private_fine_tuning": small,
            "second_phase": {**small, "public_epochs": 1},
        }
    wide = {"network": "wrn_16_4", "steps": 5, "batch_size": 1024, "noise_multiplier": 1.0}
    return {
        "from_scratch": {**wide, "copies": 8, "mirror": True, "ema_decay": 0.99},
        "private_fine_tuning": wide,
        "second_phase": {**wide, "public_epochs": 2, "trainable": "bias"},
    }


def deep(method: str, settings: dict[str, Any]) -> None:
    """Seconds a step on images of noise as large as CIFAR-10's, and the peak of the GPU's
    memory."""
    import pillar_core as pc
    from pillar_core.types import Dataset

    n, side = (300, 8) if QUICK else (12_000, 32)
    generator = rng.stream(0, "images")
    pixels = generator.integers(0, 256, (n, side, side, 3), dtype=np.uint8)
    labels = np.arange(n) % 10
    images = Dataset(
        "noise", pixels, labels, pixels[:100], labels[:100], tuple(map(str, range(10)))
    )
    split = pc.split(images, public_fraction=0.1, allow_overlap=True)
    if DEVICE.type == "cuda":
        torch.cuda.reset_peak_memory_stats(DEVICE)
    pc.run(method, split, **{**settings, "steps": 1})
    began = time.perf_counter()
    first = pc.run(method, split, **settings)
    finished()
    seconds = time.perf_counter() - began
    second = pc.run(method, split, **settings)
    same = all(
        np.array_equal(one, other)
        for one, other in zip(first.classifier.arrays, second.classifier.arrays, strict=True)
    )
    report(
        f"deep {method}",
        f"{settings.get('network', 'small_cnn')}, batch {settings['batch_size']}: a step",
        seconds / settings["steps"],
        "s",
    )
    report(f"deep {method}", "the same seed repeats to the last bit", str(same))
    report(
        f"deep {method}",
        "notes",
        "; ".join(note for note in first.notes if "memory" in note) or "none",
    )
    if DEVICE.type == "cuda":
        report(
            f"deep {method}",
            "peak GPU memory",
            torch.cuda.max_memory_allocated(DEVICE) / 2**30,
            "GB",
        )


if __name__ == "__main__":
    main()
