"""Advice against what learners reach: measures sets, fits `pillar_core/studies/advice/fitted.toml`,
prints docs/public_data.md's tables.

    PYTHONPATH=. python research/advice.py measure runs.jsonl [folder of feature files]
    PYTHONPATH=. python research/advice.py fit runs.jsonl
    PYTHONPATH=. python research/advice.py check outside.jsonl

Measuring takes about ten minutes of one core and goes on where the file ends. With a folder its
files are measured instead; `check` compares them with the fitted table. A set is the unit: a set is
*inside* where each of its predictions, the mean of its seeds, is within the range that the other
sets give.
"""

import dataclasses
import itertools
import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn import datasets

import pillar_core as pc
from pillar_core.accounting import mu_of
from pillar_core.data.partition import stratify
from pillar_core.errors import PillarError
from pillar_core.memo import Memo
from pillar_core.runs.splitting import default_backbone
from pillar_core.studies.advice import prediction, simulation
from pillar_core.types import PrivacyBudget, PublicFacts

IMAGES = ("mnist", "fashion_mnist", "pneumonia_mnist", "drawn_letters", "drawn_textures")
SETS, TABLES = ("breast_cancer", "digits", *IMAGES), ("wine", "iris", "diabetes")
EPSILONS, SEEDS, ROWS, FOREIGN_ROWS = (0.1, 0.3, 1.0, 3.0), (0, 1), 2500, 600
SHARES = {"tenth": {"public_fraction": 0.1}, "five": {"public_per_class": 5}}
RIVALS = {
    "labelled": (
        "only_public",
        "pillar_kalman_labelled",
        "adamix",
        "pillar_kalman",
        "pillar",
        "dp_sgd",
    ),
    "unlabelled": ("pillar_kalman", "pillar", "pillar_one_shot", "prototypes", "dp_sgd", "dp_raft"),
    "none": ("dp_raft", "dp_sgd"),
    "foreign": ("dp_sgd", "dp_raft", "pillar_kalman", "pillar"),
}
LEARNERS = {
    "labelled": ("adamix", "pillar_kalman_labelled", "only_public", "pillar"),
    "unlabelled": ("pillar_kalman", "pillar"),
    "none": ("dp_raft", "dp_sgd"),
    "foreign": ("dp_sgd", "pillar_kalman"),
}
TERMS = {
    "labelled": ("scarcity",),
    "unlabelled": ("constant", "signal", "classes", "directions", "rows"),
    "none": ("constant", "signal", "classes"),
    "foreign": ("constant", "signal", "classes"),
}
RIDGE = {"labelled": 1.0, "unlabelled": 3.0, "none": 3.0, "foreign": 1.0}
CELL = ["set", "kind", "beside", "epsilon"]


def measure(path: Path, folder: Path | None) -> None:
    """Adds a line for each cell and seed that the file lacks."""
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    done = {tuple(line[name] for name in (*CELL, "seed")) for line in lines}
    for name, kind, beside, seed, rows in itertools.chain(
        _own(folder), () if folder else _foreign()
    ):
        for epsilon in EPSILONS:
            cell = {"set": name, "kind": kind, "beside": beside, "epsilon": epsilon, "seed": seed}
            if tuple(cell.values()) not in done:
                with path.open("a") as file:
                    file.write(json.dumps(cell | _reached(rows, kind, epsilon, seed)) + "\n")


def _own(folder):
    """(set, kind, share, seed, split): each set with a share of its own rows as public ones,
    labelled or not, or with none."""
    sets = (
        (pc.load_features(file) for file in sorted(folder.glob("*.npz")))
        if folder
        else map(_loaded, (*SETS, *TABLES))
    )
    for features in sets:
        for (share, public), seed in itertools.product(SHARES.items(), SEEDS):
            split = pc.split(_cut(features, ROWS), **public, seed=seed, allow_overlap=True)
            x, y = features.x_train[split.private], features.y_train[split.private]
            sides = {
                "labelled": split,
                "unlabelled": dataclasses.replace(split, public_y=None, memo=Memo()),
            }
            sides |= (
                {"none": pc.split(dataclasses.replace(split.features, x_train=x, y_train=y))}
                if share == "tenth"
                else {}
            )
            for kind, rows in sides.items():
                yield features.name, kind, share, seed, rows


def _foreign():
    """As `_own`, each set of images beside each other one, as pixels and through the network that
    is here."""
    for backbone in ("efficientnet_lite0", "raw_pixels"):
        sets = {name: _loaded(name, backbone) for name in IMAGES}
        for (private, rows), (public, others) in itertools.permutations(sets.items(), 2):
            if rows.d == others.d:
                split = pc.split(_cut(rows, ROWS), public=_cut(others, FOREIGN_ROWS))
                yield private, "foreign", f"{public}, {backbone}", 0, split


def _loaded(name, backbone=None):
    if name in TABLES:
        extra = {"scaled": False} if name == "diabetes" else {}
        x, y = getattr(datasets, f"load_{name}")(return_X_y=True, **extra)
        y = (y > np.median(y)).astype(int) if name == "diabetes" else y
        train, test = stratify(y, seed=0, name=name)
        return dataclasses.replace(pc.features(x[train], y[train], x[test], y[test]), name=name)
    settings = {"n": 2000} if name.startswith("drawn") else {}
    data = pc.load_dataset(name, **settings)
    network = "efficientnet_lite0" if name.startswith("drawn") else default_backbone(name)
    return dataclasses.replace(pc.load_features(data, backbone or network), name=name)


def _cut(rows, most):
    return dataclasses.replace(
        rows, x_train=rows.x_train[:most], y_train=rows.y_train[:most], images=None
    )


def _reached(rows, kind, epsilon, seed):
    labels = rows.features.y_train[rows.private]
    budget, metric = (
        PrivacyBudget(epsilon),
        simulation.metric_of(dataclasses.replace(rows, public_y=labels, memo=Memo())),
    )
    reached = {}
    for method in RIVALS[kind]:
        spends = {"epsilon": epsilon} if pc.METHODS[method].budget_setting else {}
        try:
            reached[method] = pc.run(method, rows, **spends, seed=seed).metrics[metric]
        except PillarError as refusal:
            print(method, refusal, file=sys.stderr)
    can_play = kind == "labelled" and simulation.can_play(rows)
    plays = (
        {method: simulation.mean_play(method, rows, budget, 0) for method in LEARNERS[kind]}
        if can_play
        else {}
    )
    facts, directions = (
        rows.facts,
        (simulation.effective_directions(rows) if kind == "unlabelled" else 1.0),
    )
    sizes = {
        "N": facts.n_private,
        "m": facts.n_public,
        "d": facts.d,
        "C": facts.n_classes,
        "mu": mu_of(epsilon, budget.delta),
    }
    return sizes | {"metric": metric, "directions": directions, "reached": reached, "plays": plays}


def fit(path: Path) -> None:
    """Writes the fitted table and prints the measured one."""
    every = _read(path)
    lines = [
        (
            "# Weights on the scale of log odds by learner. error: half of a range; sets: the"
            " largest |predicted - reached| of each set left"
        ),
        (
            "# out of the fit; inside: of these sets those within the range that the others gave"
            " (docs/public_data.md)."
        ),
    ]
    for kind, learners in LEARNERS.items():
        runs = every[every["kind"] == kind]
        errors = _left_out(runs, kind)
        nested = {name: _left_out(runs[runs["set"] != name], kind) for name in runs["set"].unique()}
        for is_few, cells in errors.groupby("few"):
            sizes = cells.groupby("set", sort=False)["size"].max()
            inside = sum(
                size <= nested[name].loc[nested[name]["few"] == is_few, "size"].max()
                for name, size in sizes.items()
            )
            table = ", ".join(f"{name} = {size:.3f}" for name, size in sizes.items())
            lines += [f"[{kind}.{'few' if is_few else 'range'}]", f"error = {sizes.max():.3f}"]
            lines += [f"inside = {inside}", f"sets = {{ {table} }}"]
            print(
                f"| {kind}{', few' if is_few else ''} | {inside} of {len(sizes)} | ±"
                f" {100 * sizes.max():.1f} |"
            )
        for method in learners:
            weights = _weights(runs, kind, method)
            lines += [
                f"[{kind}.learners.{method}]",
                *(f"{term} = {weight:.4f}" for term, weight in weights.items()),
            ]
        _report(errors)
    Path(prediction.__file__).with_name("fitted.toml").write_text(
        "\n".join(lines) + "\n", encoding="utf-8"
    )


def check(path: Path) -> None:
    """Prints the errors of the fitted table on sets that it was not fitted on."""
    every = _read(path)
    for kind in every["kind"].unique():
        runs = every[every["kind"] == kind]
        weights = {method: prediction.FITTED[kind]["learners"][method] for method in LEARNERS[kind]}
        _report(_errors(runs, kind, weights))


def _read(path):
    runs = pd.DataFrame([json.loads(line) for line in path.read_text().splitlines()])
    runs = runs[(runs["kind"] != "labelled") | runs["plays"].map(bool)]
    return runs.assign(
        few=runs["kind"].isin(["labelled", "unlabelled"])
        & (runs["m"] < prediction.FEW_A_CLASS * runs["C"])
    )


def _left_out(runs, kind):
    """The errors of each set, its predictions from a fit on the others."""
    parts = []
    for name in runs["set"].unique():
        others = runs[runs["set"] != name]
        weights = {method: _weights(others, kind, method) for method in LEARNERS[kind]}
        parts.append(_errors(runs[runs["set"] == name], kind, weights))
    return pd.concat(parts)


def _errors(runs, kind, weights):
    """A line for each run and chosen learner: the error of its prediction and the regret, in [0,
    1]."""
    means = {
        key: pd.DataFrame(group["reached"].to_list()).mean() for key, group in runs.groupby(CELL)
    }
    lines = []
    for _, run in runs.iterrows():
        predicted = {
            method: _predicted(run, kind, method, weights[method])
            for method in LEARNERS[kind]
            if method in run["reached"]
        }
        mean = means[tuple(run[CELL])]
        for method in _chosen(kind, predicted, run):
            error = predicted[method] - run["reached"][method]
            line = {"error": error, "size": abs(error), "regret": mean.max() - mean[method]}
            lines.append(run[[*CELL, "few"]].to_dict() | line | {"method": method})
    return pd.DataFrame(lines)


def _predicted(run, kind, method, weights):
    odds = sum(weights[term] * value for term, value in _terms(run).items() if term in weights)
    return 1 / (
        1 + np.exp(-odds - (simulation.logit(run["plays"][method]) if kind == "labelled" else 0.0))
    )


def _weights(runs, kind, method):
    """{term: weight} of a ridge fit, each set counted alike."""
    cells = runs[runs["reached"].map(lambda reached: method in reached)]
    terms = [_terms(row) for _, row in cells.iterrows()]
    x = np.array([[each[name] for name in TERMS[kind]] for each in terms])
    mean = x.mean(axis=0) * (np.arange(x.shape[1]) > 0)
    accuracy = np.array([reached[method] for reached in cells["reached"]])
    offset = np.array(
        [simulation.logit(plays[method]) if kind == "labelled" else 0.0 for plays in cells["plays"]]
    )
    y = np.array([simulation.logit(share) for share in accuracy]) - offset
    weight = (
        np.maximum(accuracy * (1 - accuracy), 0.02)
        / cells.groupby("set")["N"].transform("count").to_numpy()
    )
    x, weight, penalty = (
        x - mean,
        weight / weight.mean(),
        RIDGE[kind] * np.diag([0.01] + [1.0] * (x.shape[1] - 1)),
    )
    weights = np.linalg.solve(x.T @ (weight[:, None] * x) + penalty, x.T @ (weight * y))
    weights[0] -= (weights * mean).sum()
    return dict(zip(TERMS[kind], weights.tolist(), strict=True)) | (
        {"plays": 1.0} if kind == "labelled" else {}
    )


def _terms(row):
    facts = PublicFacts(int(row["N"]), int(row["m"]), int(row["d"]), int(row["C"]))
    return simulation.regressors(facts, row["mu"], {"directions": row["directions"]})


def _chosen(kind, predicted, run):
    """The learners that advice takes; of public rows of other classes also the one that the paid
    choice takes."""
    if kind == "foreign":
        return ("dp_sgd", "pillar_kalman")
    if kind != "labelled":
        return (
            (
                "dp_raft"
                if kind == "none"
                else "pillar"
                if run["m"] < prediction.FEW_PUBLIC
                else "pillar_kalman"
            ),
        )
    best = max(predicted, key=predicted.get)
    is_clear = predicted[best] > predicted["adamix"] + prediction.MARGIN and not run["few"]
    return (best if is_clear else "adamix",)


def _report(errors):
    percent = errors.assign(
        **{name: 100 * errors[name] for name in ("error", "size", "regret")},
        near=100 * (errors["size"] <= 0.05),
    )
    columns = {
        "runs": ("size", "count"),
        "error": ("size", "mean"),
        "within 5": ("near", "mean"),
        "largest": ("size", "max"),
    }
    columns |= {"regret": ("regret", "mean"), "worst": ("regret", "max"), "up": ("error", "mean")}
    for key in (["kind", "few"], ["kind", "few", "set"]):
        print(percent.groupby(key, sort=False).agg(**columns).round(1).to_string())


if __name__ == "__main__":
    place = Path(sys.argv[2])
    if sys.argv[1] == "measure":
        measure(place, Path(sys.argv[3]) if len(sys.argv) > 3 else None)
    else:
        {"fit": fit, "check": check}[sys.argv[1]](place)
