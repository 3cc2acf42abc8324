"""What the paid choice reaches against the best choice in hindsight, for docs/public_data.md:
regret, and how often its range held.

    PYTHONPATH=. python research/choose.py measure runs.jsonl [folder of feature files]
    PYTHONPATH=. python research/choose.py backbones runs.jsonl
    PYTHONPATH=. python research/choose.py table runs.jsonl

`backbones`: each of the image sets here beside the others with their labels, and three backbones to
choose among. Measuring goes on where the file ends. Beside each private set: a tenth of its own
rows, the sets of equal width, uniform noise, and none. The best choice is found on the other half
of the seeds, with the whole ε for its training, so that it is no winner's maximum.
"""

import dataclasses
import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd

import pillar_core as pc
from pillar_core import rng
from pillar_core.types import FeatureSet

EPSILONS, SEEDS, ROWS, FOREIGN = (0.3, 1.0, 3.0), (0, 1, 2, 3), 5000, 600
SETS = {
    "mnist": "efficientnet_lite0",
    "fashion_mnist": "efficientnet_lite0",
    "pneumonia_mnist": "efficientnet_lite0",
}
BACKBONES, PAIR = ("efficientnet_lite0", "raw_pixels", "scattering"), (0, 1)
LEARNERS = {"own": ("adamix", "pillar_kalman"), "none": ("dp_raft",)}


def measure(path: Path, folder: Path | None) -> None:
    """Adds a line for each private set, seed and ε that the file lacks."""
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    done = {(line["set"], line["seed"], line["epsilon"]) for line in lines}
    groups = [
        {name: pc.load_features(pc.load_dataset(name), backbone) for name, backbone in SETS.items()}
    ]
    groups += (
        [{one.name: _cut(pc.load_features(one)) for one in sorted(folder.glob("*.npz"))}]
        if folder
        else []
    )
    for sets in groups:
        for name, seed in ((name, seed) for seed in SEEDS for name in sets):
            own = pc.split(sets[name], public_fraction=0.1, seed=seed)
            noise = rng.stream(seed, "noise as public rows").random(
                (400, own.features.d), dtype=np.float32
            )
            others = {
                f"{other}": _unlabelled(rows.x_train[:FOREIGN])
                for other, rows in sets.items()
                if other != name
            }
            others |= {"uniform noise": _unlabelled(noise * sets[name].x_train[:FOREIGN].mean())}
            for epsilon in EPSILONS:
                if (name, seed, epsilon) not in done:
                    line = {
                        "set": name,
                        "seed": seed,
                        "epsilon": epsilon,
                        "n": len(own.private),
                    } | _cell(own, others, epsilon, seed)
                    with path.open("a") as file:
                        file.write(json.dumps(line) + "\n")


def measure_backbones(path: Path) -> None:
    """Adds a line for each image set, seed and ε that the file lacks, with the best of all
    backbones."""
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    done = {(line["set"], line["seed"], line["epsilon"]) for line in lines}
    images = {name: pc.load_dataset(name) for name in SETS}
    for seed, epsilon, name in (
        (seed, epsilon, name) for seed in PAIR for epsilon in EPSILONS for name in SETS
    ):
        if (name, seed, epsilon) in done:
            continue
        others, reached = {other: rows for other, rows in images.items() if other != name}, {}
        for backbone in BACKBONES:
            own = pc.split(pc.load_features(images[name], backbone), public_fraction=0.1, seed=seed)
            for side, method, record in _runs(
                own,
                {o: pc.load_features(rows, backbone) for o, rows in others.items()},
                epsilon,
                seed,
            ):
                reached[f"{side}, {method}, {backbone}"] = record.accuracy
        own = pc.split(pc.load_features(images[name], BACKBONES[0]), public_fraction=0.1, seed=seed)
        alone = dataclasses.replace(own, public_x=own.public_x[:0], public_y=None)
        chosen = _choices(own, alone, others, epsilon, seed, backbones=BACKBONES)
        line = {
            "set": name,
            "seed": seed,
            "epsilon": epsilon,
            "n": len(own.private),
            "reached": reached,
            "chosen": chosen,
        }
        with path.open("a") as file:
            file.write(json.dumps(line | {"default": f"none, dp_raft, {BACKBONES[0]}"}) + "\n")


def _cell(own, others, epsilon, seed):
    reached = {
        f"{side}, {method}": record.accuracy
        for side, method, record in _runs(own, others, epsilon, seed)
    }
    return {"reached": reached, "chosen": _choices(own, _alone(own), others, epsilon, seed)}


def _alone(own):
    x, y = own.features.x_train[own.private], own.features.y_train[own.private]
    return dataclasses.replace(own.features, x_train=x, y_train=y, images=None)


def _runs(own, others, epsilon, seed):
    alone = _alone(own)
    sides = {"own": own, "none": pc.split(alone)} | {
        name: pc.split(alone, public=rows) for name, rows in others.items()
    }
    for side, rows in sides.items():
        for method in LEARNERS.get(side, ("pillar_kalman",)):
            yield side, method, pc.run(method, rows, epsilon=epsilon, seed=seed)


def _choices(own, alone, others, epsilon, seed, **request):
    chosen = {}
    for kind, private in (("own", own), ("foreign", alone)):
        choice = pc.choose(private, others, epsilon=epsilon, seed=seed, **request)
        low, high = choice.expected_accuracy
        is_inside = low <= choice.record.metrics[choice.expected.metric] <= high
        chosen[kind] = {
            "public": choice.public,
            "accuracy": choice.record.accuracy,
            "inside": is_inside,
            "backbone": choice.backbone,
        }
        chosen[kind]["reasons"] = choice.reasons
    return chosen


def _cut(rows):
    return dataclasses.replace(rows, x_train=rows.x_train[:ROWS], y_train=rows.y_train[:ROWS])


def _unlabelled(x):
    return FeatureSet(x, None, None, None, ())


def table(path: Path) -> None:
    """Prints regret by ε and set, and the misses."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    rows = []
    for line in lines:
        same = [
            one for one in lines if (one["set"], one["epsilon"]) == (line["set"], line["epsilon"])
        ]
        other = [one["reached"] for one in same if one["seed"] % 2 != line["seed"] % 2]
        for kind, chosen in line["chosen"].items():
            able = [
                name for name in line["reached"] if kind == "own" or not name.startswith("own,")
            ]
            best = max(
                able, key=lambda name, other=other: np.mean([reached[name] for reached in other])
            )
            cell = {name: line[name] for name in ("set", "epsilon", "seed")}
            cell |= {
                "candidates": kind,
                "chosen": f"{chosen['public']} {chosen.get('backbone') or ''}",
                "best": best,
                "inside": chosen["inside"],
            }
            cell["regret"], over = (
                100 * (line["reached"][name] - chosen["accuracy"])
                for name in (best, line.get("default", "none, dp_raft"))
            )
            rows.append(cell | {"default": -over})
    every = pd.DataFrame(rows)
    means = (
        every.groupby(["set", "candidates", "epsilon"])
        .agg(regret=("regret", "mean"), default=("default", "mean"))
        .reset_index()
    )
    for key in (["candidates", "epsilon"], ["set", "candidates", "epsilon"]):
        print(
            "| "
            + " | ".join(
                [
                    *key,
                    "cells",
                    "mean regret",
                    "within 5",
                    "worst",
                    "over no public rows",
                    "inside its range",
                ]
            )
            + " |"
        )
        print("| --- " * (len(key) + 6) + "|")
        for names, group in every.groupby(key):
            of = means[(means[key] == list(names)).all(axis=1)]
            numbers = (
                f"{len(of)} | {of.regret.mean():.1f} | {(of.regret <= 5).mean():.0%} |"
                f" {of.regret.max():.1f}"
            )
            inside = f"{int(group.inside.sum())} of {len(group)}"
            print(
                "| "
                + " | ".join(map(str, names))
                + f" | {numbers} | {of['default'].mean():+.1f} | {inside} |"
            )
    print(every[every.regret > 5].round(1).to_string())


if __name__ == "__main__":
    place = Path(sys.argv[2])
    if sys.argv[1] == "measure":
        measure(place, Path(sys.argv[3]) if len(sys.argv) > 3 else None)
    else:
        measure_backbones(place) if sys.argv[1] == "backbones" else table(place)
