"""Advice against what learners reach: measures every set, fits `pillar_core/studies/advice/fitted.toml` and prints docs/advice.md's table.

    PYTHONPATH=. python benchmarks/advice.py measure runs.jsonl [folder of feature files]
    PYTHONPATH=. python benchmarks/advice.py fit runs.jsonl

Measuring takes hours on two cores; it goes on where the file ends.
"""

import dataclasses
import itertools
import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd

import pillar_core as pc
from pillar_core.accounting import mu_of
from pillar_core.data.cards import default_backbone
from pillar_core.errors import PillarError
from pillar_core.studies.advice import simulation
from pillar_core.studies.advice.free import FEW_A_CLASS, FEW_PUBLIC, MARGIN
from pillar_core.types import PrivacyBudget, PublicFacts

SETS = ("breast_cancer", "digits", "mnist", "pneumonia_mnist", "fashion_mnist")
EPSILONS, SEEDS = (0.1, 0.3, 1.0, 3.0), (0, 1)
SHARES = {"tenth": {"public_fraction": 0.1}, "five": {"public_per_class": 5}}
PLAYED = ("adamix", "pillar_kalman_labelled", "only_public", "pillar")
RIVALS = {
    "labelled": ("only_public", "pillar_kalman_labelled", "adamix", "pillar_kalman", "pillar", "dp_sgd"),
    "unlabelled": ("pillar_kalman", "pillar", "pillar_one_shot", "prototypes", "dp_sgd", "dp_raft"),
    "none": ("dp_sgd", "dp_raft"),
    "foreign": ("dp_sgd", "dp_raft", "pillar_kalman", "pillar"),
}
TERMS = {
    "labelled": ("constant", "rows"),
    "unlabelled": ("constant", "signal", "classes", "directions", "rows"),
    "none": ("constant", "signal", "classes"),
    "foreign": ("constant", "signal", "classes"),
}
LEARNERS = {"labelled": PLAYED, "unlabelled": ("pillar_kalman", "pillar"), "none": ("dp_sgd",), "foreign": ("dp_sgd", "pillar_kalman")}
RIDGE = {"labelled": 1.0, "unlabelled": 3.0, "none": 3.0, "foreign": 1.0}
IMAGES, BACKBONES, MOST = ("pneumonia_mnist", "mnist", "fashion_mnist"), ("efficientnet_lite0", "raw_pixels"), (2000, 600)
"""Sets of images whose classes differ: each is public for each other, so many private and public rows."""
CELL = ["base", "problem", "mode", "eps"]


def measure(path: Path, folder: Path | None) -> None:
    """Adds a line for each cell that the file lacks."""
    done = {tuple(json.loads(line)[name] for name in (*CELL, "seed")) for line in path.read_text().splitlines()} if path.exists() else set()
    files = sorted(folder.glob("*.npz")) if folder else []
    for name in (*SETS, *files):
        features = pc.load_features(name) if isinstance(name, Path) else pc.load_features(pc.load_dataset(name), default_backbone(name))
        title = name.name if isinstance(name, Path) else name
        for mode, share in SHARES.items():
            for seed in SEEDS:
                rows = pc.split(features, **share, seed=seed, allow_overlap=True)
                for epsilon in EPSILONS:
                    cell = {"base": title, "problem": title, "mode": mode, "eps": epsilon, "seed": seed}
                    if tuple(cell.values()) not in done:
                        with path.open("a") as file:
                            file.write(json.dumps(cell | _measured(rows, epsilon, seed)) + "\n")


def measure_foreign(path: Path) -> None:
    """Adds a line for each pair of image sets, one private, one public."""
    for backbone in BACKBONES:
        sets = {name: pc.load_features(pc.load_dataset(name), backbone) for name in IMAGES}
        for private, public in itertools.permutations(IMAGES, 2):
            own, other = (
                dataclasses.replace(sets[name], x_train=sets[name].x_train[:n], y_train=sets[name].y_train[:n], images=None)
                for name, n in zip((private, public), MOST, strict=True)
            )
            rows = pc.split(own, public=other)
            for epsilon, seed in itertools.product(EPSILONS, SEEDS):
                cell = {"base": private, "problem": f"{private}, {backbone}", "mode": public, "eps": epsilon, "seed": seed}
                with path.open("a") as file:
                    file.write(json.dumps(cell | _measured(rows, epsilon, seed)) + "\n")


def _measured(rows, epsilon, seed):
    budget, accuracies, plays = PrivacyBudget(epsilon), {}, {}
    for method in sorted({name for names in RIVALS.values() for name in names}):
        spends = {"epsilon": epsilon} if pc.METHODS[method].budget_setting else {}
        try:
            accuracies[method] = pc.run(method, rows, **spends, seed=seed).accuracy
        except PillarError as refusal:
            print(method, refusal, file=sys.stderr)
    if simulation.can_play(rows):
        plays = {method: simulation.played(method, rows, budget, 0) for method in PLAYED}
    facts, y_test = rows.facts, rows.features.y_test
    sizes = {"N": facts.n_private, "m": facts.n_public, "d": facts.d, "C": facts.n_classes, "mu": mu_of(epsilon, budget.delta)}
    shares = {"effd": simulation.effective_directions(rows), "maj_test": float(np.bincount(y_test).max() / len(y_test))}
    return sizes | shares | {"acc": accuracies, "sim": plays}


def fit(path: Path) -> None:
    """Writes the fitted table and prints the measured one."""
    runs = pd.DataFrame([json.loads(line) for line in path.read_text().splitlines()]).drop_duplicates(["problem", "mode", "seed", "eps"])
    lines = [
        "# Weights on the scale of log odds by learner, and the 95 % quantiles of |predicted - reached| with each set left out in turn"
    ]
    lines[0] += " (docs/advice.md)."
    every, is_own = runs, runs["mode"].isin(list(SHARES))
    for kind in LEARNERS:
        runs = every[~is_own if kind == "foreign" else is_own]
        predicted, reached, weights = _fitted(runs, kind)
        cells = runs.loc[predicted.index]
        chosen = pd.Series([_chosen(kind, predicted.loc[place], row) for place, row in cells.iterrows()], index=cells.index)
        error = 100 * pd.Series([predicted.loc[place, one] - reached.loc[place, one] for place, one in chosen.items()], index=cells.index)
        few = cells["m"] < FEW_A_CLASS * cells["C"]
        lines += [f"[{kind}]", f"error = {error[~few].abs().quantile(0.95) / 100:.3f}"]
        lines += [f"error_of_few = {error[few if few.any() else ~few].abs().quantile(0.95) / 100:.3f}"]
        for method, own in weights.items():
            lines += [f"[{kind}.learners.{method}]", *(f"{term} = {value}" for term, value in own.items())]
        _report(kind, cells, runs, chosen, predicted, error)
    place = Path(simulation.__file__).with_name("fitted.toml")
    place.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _fitted(runs, kind):
    predicted, reached, weights = {}, {}, {}
    able = runs["sim"].map(lambda plays: kind != "labelled" or all(name in plays for name in PLAYED))
    for method in LEARNERS[kind]:
        cells = runs[able & runs["acc"].map(lambda found, method=method: method in found)]
        terms = [_terms(row) for _, row in cells.iterrows()]
        x = np.array([[each[name] for name in TERMS[kind]] for each in terms])
        mean = x.mean(axis=0) * (np.arange(x.shape[1]) > 0)
        accuracy = np.array([found[method] for found in cells["acc"]])
        offset = np.array([simulation.logit(plays[method]) if kind == "labelled" else 0.0 for plays in cells["sim"]])
        y = np.array([simulation.logit(share) for share in accuracy]) - offset
        weight = np.maximum(accuracy * (1 - accuracy), 0.02) / cells.groupby("base")["N"].transform("count").to_numpy()
        weight, odds = weight / weight.mean(), np.zeros(len(y))
        for base in cells["base"].unique():
            own = (cells["base"] == base).to_numpy()
            odds[own] = (x[own] - mean) @ _ridge(x[~own] - mean, y[~own], weight[~own], RIDGE[kind]) + offset[own]
        whole = _ridge(x - mean, y, weight, RIDGE[kind])
        whole[0] -= (whole * mean).sum()
        weights[method] = dict(zip(TERMS[kind], whole.round(4).tolist(), strict=True)) | ({"plays": 1.0} if kind == "labelled" else {})
        predicted[method] = pd.Series(1 / (1 + np.exp(-odds)), index=cells.index)
        reached[method] = pd.Series(accuracy, index=cells.index)
    return pd.DataFrame(predicted), pd.DataFrame(reached), weights


def _terms(row):
    facts = PublicFacts(int(row["N"]), int(row["m"]), int(row["d"]), int(row["C"]))
    return simulation.regressors(facts, row["mu"], {"directions": row["effd"]})


def _ridge(x, y, weight, strength):
    penalty = strength * np.diag([0.01] + [1.0] * (x.shape[1] - 1))
    return np.linalg.solve(x.T @ (weight[:, None] * x) + penalty, x.T @ (weight * y))


def _chosen(kind, predicted, row):
    if kind in ("none", "foreign"):
        return "dp_sgd"
    if kind == "unlabelled":
        return "pillar" if row["m"] < FEW_PUBLIC else "pillar_kalman"
    best = predicted.idxmax()
    is_clear = predicted[best] > predicted["adamix"] + MARGIN and row["m"] >= FEW_A_CLASS * row["C"]
    return best if is_clear else "adamix"


def _report(kind, cells, runs, chosen, predicted, error):
    every = pd.DataFrame([{name: found.get(name) for name in RIVALS[kind]} for found in runs["acc"]], index=runs.index)
    means = every.groupby([runs[name] for name in CELL]).mean()
    keys = list(zip(*(cells[name] for name in CELL), strict=True))
    regret = [100 * (means.loc[key].max() - means.loc[key][one]) for key, one in zip(keys, chosen, strict=True)]
    below = [row["acc"][chosen[place]] < row["maj_test"] for place, row in cells.iterrows()]
    table = cells[["problem", "mode"]].assign(
        error=error, size=error.abs(), near=error.abs() <= 5, regret=regret, below=below, chosen=chosen
    )
    table = table[~cells["problem"].str.contains("/")]
    print(f"\n{kind}")
    for key in (["mode"], ["problem", "mode"]):
        columns = {"cells": ("size", "count"), "error": ("size", "mean"), "within 5": ("near", "mean"), "largest": ("size", "max")}
        columns |= {"regret": ("regret", "mean"), "worst": ("regret", "max"), "below": ("below", "sum")}
        print(table.groupby(key).agg(**columns).round(2).to_string())


if __name__ == "__main__":
    place = Path(sys.argv[2])
    if sys.argv[1] == "measure":
        measure(place, Path(sys.argv[3]) if len(sys.argv) > 3 else None)
        measure_foreign(place)
    else:
        fit(place)
