"""Accuracy-ε curves of data sets, from which a fit to three runs takes its error: `PYTHONPATH=.
python research/budget_curves.py`.

Writes the table that ships (pillar_core/studies/budget_curves.csv, a line a run) and prints how far
left-out budgets are missed.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from pillar_core.runs.loading import load_features
from pillar_core.runs.splitting import default_backbone, load_named_features
from pillar_core.runs.sweep import sweep
from pillar_core.studies import budget_curves

SETS = ("fashion_mnist_2k", "pneumonia_mnist", "mnist", "digits", "breast_cancer")
LEARNERS = ["pillar", "pillar_kalman", "dp_sgd", "adamix", "dp_raft"]
BUDGETS = [0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 3.0, 5.0, 8.0]


def main() -> None:
    """Measures, writes, prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--features", type=Path, help="a folder of npz with features of further sets"
    )
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    sets = {name: load_named_features(name, default_backbone(name)) for name in SETS}
    sets |= (
        {path.stem: load_features(path) for path in sorted(options.features.glob("*.npz"))}
        if options.features
        else {}
    )
    lines = []
    for name, features in sets.items():
        grid = {
            "dataset": features,
            "public_fraction": 0.1,
            "method": LEARNERS,
            "epsilon": BUDGETS,
            "seed": list(range(options.seeds)),
        }
        runs = sweep(grid).pivot(index=["method", "seed"], columns="epsilon", values="accuracy")
        for (learner, seed), values in runs.iterrows():
            lines.append(
                f"{name},{learner},{features.n_classes},{seed},"
                + ",".join(f"{value:.4f}" for value in values)
            )
        print(lines[-1], flush=True)
    head = ",".join(["set", "learner", "classes", "seed", *map(str, BUDGETS)])
    budget_curves.TABLE.write_text("\n".join([head, *lines]) + "\n", encoding="utf-8")
    print(left_out().to_string(index=False))


def left_out(
    fits: Sequence[Sequence[float]] = (
        budget_curves.RUNS,
        (0.3, 1.0, 3.0),
        (0.1, 0.5, 2.0),
        (1.0, 3.0, 8.0),
    ),
) -> pd.DataFrame:
    """How far budgets that were left out are missed, in points: a row for each choice of three
    budgets and side of them.

    Columns fitted, side, sigmoid, line (the mean of the sets' mean absolute errors; line: straight
    in log ε), worst (the sigmoid's on one set).
    """
    rows = []
    for budgets in fits:
        misses = budget_curves.misses(tuple(budgets))
        for side, part in misses.groupby("side", sort=False):
            by_set = (
                part.assign(sigmoid=100 * part["sigmoid"].abs(), line=100 * part["line"].abs())
                .groupby("set")[["sigmoid", "line"]]
                .mean()
            )
            fitted = ", ".join(f"{epsilon:g}" for epsilon in budgets)
            rows.append(
                (
                    fitted,
                    side,
                    by_set["sigmoid"].mean(),
                    by_set["line"].mean(),
                    by_set["sigmoid"].max(),
                )
            )
    return pd.DataFrame(rows, columns=["fitted", "side", "sigmoid", "line", "worst"]).round(1)


if __name__ == "__main__":
    main()
