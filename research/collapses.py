"""Which learners of linear heads and votes lose as ε grows, or fall below what they started from?
For research/learners.md.

    PYTHONPATH=. python research/collapses.py measure runs.csv   # 5 minutes of one core
    PYTHONPATH=. python research/collapses.py table runs.csv

Protocol, written down before the cells were read. Five sets that ship with at most 1,000 train
rows, a tenth public; learners with public labels also have two public rows a class. ε = 0.1, 1, 3,
10, δ = 10⁻⁵, every learner by its own rules, two seeds of split and noise. Accuracies are means
over both. Flagged are cells with (a) more than 3 points less than at a smaller ε, (b) more
than 3 below the public rows alone, for learners that start there (a limit set after part of the
cells was read), (c) more than 3 below the largest
class of the test rows.
"""

import dataclasses
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import torch

import pillar_core as pc
from pillar_core.types import FeatureSet, PublicUse, SemiPrivateSplit

SETS = ("breast_cancer", "digits", "fashion_mnist_2k", "pneumonia_mnist", "python_docs")
MOST, SEEDS, EPSILONS, DELTA, POINTS = 1000, (0, 1), (0.1, 1.0, 3.0, 10.0), 1e-5, 3.0
DEEP = ("from_scratch", "private_fine_tuning", "second_phase")
LEFT_OUT = (*DEEP, "disjunction")
"""Networks, and the learner of boolean rows."""
WITH_START = ("adamix", "adamix_theory", "dope_sgd", "pda_dpmd", "pillar_kalman_labelled", "ppgd")
"""Learners that start from the public rows' own head, or return to it."""
CELL = ["learner", "set", "public"]


def splits() -> Iterator[tuple[str, str, int, SemiPrivateSplit]]:
    """(set, which rows are public, seed, split) of every cell."""
    for name in SETS:
        features = pc.load_features(pc.load_dataset(name))
        for seed in SEEDS:
            kept = np.random.default_rng(seed).permutation(len(features.x_train))[:MOST]
            rows: FeatureSet = dataclasses.replace(
                features, x_train=features.x_train[kept], y_train=features.y_train[kept]
            )
            yield name, "a tenth", seed, pc.split(rows, public_fraction=0.1, seed=seed)
            yield name, "two a class", seed, pc.split(rows, public_per_class=2, seed=seed)


def measure(path: Path) -> None:
    """Writes accuracies in percent of every learner, set, public rows, seed and ε."""
    lines = []
    for name, public, seed, split in splits():
        largest = 100 * float(np.bincount(split.features.y_test).max() / len(split.features.y_test))
        start = 100 * pc.run("only_public", split, epsilon=1.0, seed=seed).accuracy
        for learner, method in pc.METHODS.items():
            is_left_out = learner in LEFT_OUT or not method.is_private
            if is_left_out or (public != "a tenth" and method.public_use is not PublicUse.LABELLED):
                continue
            for epsilon in EPSILONS:
                record = pc.run(learner, split, epsilon=epsilon, delta=DELTA, seed=seed)
                cell = (learner, name, public, seed, epsilon, 100 * record.accuracy)
                lines.append((*cell, start, largest))
        columns = [*CELL, "seed", "epsilon", "accuracy", "start", "largest"]
        pd.DataFrame(lines, columns=columns).to_csv(path, index=False)


def table(path: Path) -> None:
    """Prints every flagged cell."""
    runs = pd.read_csv(path).groupby([*CELL, "epsilon"]).mean().reset_index()
    runs["best before"] = runs.groupby(CELL)["accuracy"].transform(
        lambda part: part.cummax().shift(fill_value=0.0)
    )
    flags = {
        "a": runs["accuracy"] < runs["best before"] - POINTS,
        "b": runs["learner"].isin(WITH_START) & (runs["accuracy"] < runs["start"] - POINTS),
        "c": runs["accuracy"] < runs["largest"] - POINTS,
    }
    runs["flags"] = [
        "".join(name for name, cells in flags.items() if cells[row]) for row in runs.index
    ]
    print(len(runs), "cells,", {name: int(cells.sum()) for name, cells in flags.items()})
    print(runs[runs["flags"] != ""].drop(columns="seed").round(1).to_string(index=False))


if __name__ == "__main__":
    torch.set_num_threads(1)
    {"measure": measure, "table": table}[sys.argv[1]](Path(sys.argv[2]))
