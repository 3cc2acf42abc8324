"""What the paid choice reaches against the best choice in hindsight, for docs/advice.md: regret, and how often its range held.

    PYTHONPATH=. python benchmarks/choose.py measure runs.jsonl [folder of feature files]
    PYTHONPATH=. python benchmarks/choose.py table runs.jsonl

Measuring goes on where the file ends. Beside each private set: a tenth of its own rows, the sets of equal width, uniform noise, and none.
The best choice is found on the other half of the seeds, with the whole ε for its training, so that it is no winner's maximum.
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
SETS = {"mnist": "efficientnet_lite0", "fashion_mnist": "efficientnet_lite0", "pneumonia_mnist": "efficientnet_lite0"}
LEARNERS = {"own": ("adamix", "pillar_kalman"), "none": ("dp_raft",)}


def measure(path: Path, folder: Path | None) -> None:
    """Adds a line for each private set, seed and ε that the file lacks."""
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    done = {(line["set"], line["seed"], line["epsilon"]) for line in lines}
    groups = [{name: pc.load_features(pc.load_dataset(name), backbone) for name, backbone in SETS.items()}]
    groups += [{one.name: _cut(pc.load_features(one)) for one in sorted(folder.glob("*.npz"))}] if folder else []
    for sets in groups:
        for name, seed in ((name, seed) for seed in SEEDS for name in sets):
            own = pc.split(sets[name], public_fraction=0.1, seed=seed)
            noise = rng.stream(seed, "noise as public rows").random((400, own.features.d), dtype=np.float32)
            others = {f"{other}": _unlabelled(rows.x_train[:FOREIGN]) for other, rows in sets.items() if other != name}
            others |= {"uniform noise": _unlabelled(noise * sets[name].x_train[:FOREIGN].mean())}
            for epsilon in EPSILONS:
                if (name, seed, epsilon) not in done:
                    line = {"set": name, "seed": seed, "epsilon": epsilon, "n": len(own.private)} | _cell(own, others, epsilon, seed)
                    with path.open("a") as file:
                        file.write(json.dumps(line) + "\n")


def _cell(own, others, epsilon, seed):
    alone = dataclasses.replace(
        own.features, x_train=own.features.x_train[own.private], y_train=own.features.y_train[own.private], images=None
    )
    sides = {"own": own, "none": pc.split(alone)} | {name: pc.split(alone, public=one) for name, one in others.items()}
    every = [(name, method) for name in sides for method in LEARNERS.get(name, ("pillar_kalman",))]
    reached = {f"{name}, {method}": pc.run(method, sides[name], epsilon=epsilon, seed=seed).accuracy for name, method in every}
    chosen = {}
    for kind, private in (("own", own), ("foreign", alone)):
        one = pc.choose(private, others, epsilon=epsilon, seed=seed)
        low, high = one.expected_accuracy
        is_inside = low <= one.record.metrics[one.metric] <= high
        chosen[kind] = {"public": one.public, "accuracy": one.record.accuracy, "inside": is_inside}
    return {"reached": reached, "chosen": chosen}


def _cut(rows):
    return dataclasses.replace(rows, x_train=rows.x_train[:ROWS], y_train=rows.y_train[:ROWS])


def _unlabelled(x):
    return FeatureSet(x, None, None, None, ())


def table(path: Path) -> None:
    """Prints regret by ε and set, and the misses."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    rows = []
    for line in lines:
        same = [one for one in lines if (one["set"], one["epsilon"]) == (line["set"], line["epsilon"])]
        other = [one["reached"] for one in same if one["seed"] % 2 != line["seed"] % 2]
        for kind, chosen in line["chosen"].items():
            able = [name for name in line["reached"] if kind == "own" or not name.startswith("own,")]
            best = max(able, key=lambda name, other=other: np.mean([reached[name] for reached in other]))
            cell = {name: line[name] for name in ("set", "epsilon", "seed")}
            cell |= {"candidates": kind, "chosen": chosen["public"], "best": best, "inside": chosen["inside"]}
            cell["regret"], over = (100 * (line["reached"][name] - chosen["accuracy"]) for name in (best, "none, dp_raft"))
            rows.append(cell | {"default": -over})
    every = pd.DataFrame(rows)
    means = every.groupby(["set", "candidates", "epsilon"]).agg(regret=("regret", "mean"), default=("default", "mean")).reset_index()
    for key in (["candidates", "epsilon"], ["set", "candidates", "epsilon"]):
        print("| " + " | ".join([*key, "cells", "mean regret", "within 5", "worst", "over no public rows", "inside its range"]) + " |")
        print("| --- " * (len(key) + 6) + "|")
        for names, group in every.groupby(key):
            of = means[(means[key] == list(names)).all(axis=1)]
            numbers = f"{len(of)} | {of.regret.mean():.1f} | {(of.regret <= 5).mean():.0%} | {of.regret.max():.1f}"
            inside = f"{int(group.inside.sum())} of {len(group)}"
            print("| " + " | ".join(map(str, names)) + f" | {numbers} | {of['default'].mean():+.1f} | {inside} |")
    print(every[every.regret > 5].round(1).to_string())


if __name__ == "__main__":
    place = Path(sys.argv[2])
    if sys.argv[1] == "measure":
        measure(place, Path(sys.argv[3]) if len(sys.argv) > 3 else None)
    else:
        table(place)
