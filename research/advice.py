"""Advice against what learners reach: measures sets, fits `pillar_core/studies/advice/fitted.toml`,
prints docs/public_data.md's tables.

    export PYTHONPATH=.:benchmarks
    python research/advice.py measure runs.jsonl [folder of feature files, or of tables]
    python research/advice.py fit runs.jsonl tables.jsonl
    python research/advice.py check outside.jsonl

Measuring takes about ten minutes of one core and goes on where the file ends. With a folder its
files are measured instead: csv files of tables go into the fit, too (benchmarks/tables.py), and
`check` compares npz files with the fitted table. Each number is fitted by itself. A set is the
unit: a set is *inside* where each of its predictions, the mean of its seeds, is within the range
that the other sets give.
"""

import dataclasses
import itertools
import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import tables
from sklearn import datasets

import pillar_core as pc
from pillar_core import splits
from pillar_core.accounting import mu_of
from pillar_core.data.partition import stratify
from pillar_core.errors import PillarError
from pillar_core.memo import Memo
from pillar_core.metrics import FIGURES
from pillar_core.runs.splitting import default_backbone, mapped, unmapped
from pillar_core.studies.advice import maps, prediction, simulation
from pillar_core.types import PrivacyBudget, PublicFacts

IMAGES = ("mnist", "fashion_mnist", "pneumonia_mnist", "drawn_letters", "drawn_textures")
SETS, TABLES = ("breast_cancer", "digits", *IMAGES), ("wine", "iris", "diabetes")
CHOSEN = "german heart magic phoneme pima satimage segment spambase splice titanic vehicle wdbc"
FEW = "housevotes sonar bupa saheart ionosphere glass0 breast bands haberman"
UNTOUCHED = (
    "australian bands breast bupa chess contraceptive ionosphere letter mammographic marketing"
    " optdigits saheart texture tic-tac-toe vowel"
)
PARTS = {
    ("labelled", "table"): CHOSEN.split(),
    ("labelled", "few_table"): FEW.split(),
    ("none", "table"): UNTOUCHED.split(),
    ("made_up", "range"): [name for name in CHOSEN.split() if name != "spambase"],
}
"""Tables by the range that they give; counts, as of spambase, take no made-up rows."""
EARLIER = {("accuracy", "few_table"): 0.545, ("balanced_accuracy", "few_table"): 0.545}
"""Errors on the same tables and other seeds, before each number had a fit (research/tables.md)."""
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
        "dp_raft",
    ),
    "unlabelled": ("pillar_kalman", "pillar", "pillar_one_shot", "prototypes", "dp_sgd", "dp_raft"),
    "none": ("dp_raft", "dp_sgd"),
    "made_up": ("pillar_kalman",),
    "foreign": ("dp_sgd", "dp_raft", "pillar_kalman", "pillar"),
}
LEARNERS = {
    "labelled": (
        "adamix",
        "pillar_kalman_labelled",
        "only_public",
        "pillar",
        "pillar_kalman",
        "dp_raft",
    ),
    "unused": ("dp_raft",),
    "unlabelled": ("pillar_kalman", "pillar"),
    "none": ("dp_raft", "dp_sgd"),
    "made_up": ("pillar_kalman",),
    "foreign": ("dp_sgd", "pillar_kalman"),
}
TERMS = {
    "labelled": ("scarcity",),
    "unused": ("scarcity",),
    "unlabelled": ("constant", "signal", "classes", "directions", "rows"),
    "none": ("constant", "signal", "classes"),
    "made_up": ("constant", "signal", "classes"),
    "foreign": ("constant", "signal", "classes"),
}
RIDGE = {
    "labelled": 1.0,
    "unused": 1.0,
    "unlabelled": 3.0,
    "none": 3.0,
    "made_up": 3.0,
    "foreign": 1.0,
}
PLAYED = ("labelled", "unused")
CELL = ["set", "kind", "beside", "epsilon"]


def measure(path: Path, folder: Path | None) -> None:
    """Adds a line for each cell and seed that the file lacks."""
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    done = {tuple(line[name] for name in (*CELL, "seed")) for line in lines}
    has_tables = folder is not None and any(folder.glob("*.csv"))
    sets = _tables(folder) if has_tables else _own(folder)
    for name, kind, beside, seed, rows in itertools.chain(sets, () if folder else _foreign()):
        for epsilon in EPSILONS[has_tables:]:
            cell = {"set": name, "kind": kind, "beside": beside, "epsilon": epsilon, "seed": seed}
            if tuple(cell.values()) not in done:
                through = _through(rows, epsilon) if has_tables else {"": rows}
                found = {of: _reached(each, kind, epsilon, seed) for of, each in through.items()}
                with path.open("a") as file:
                    file.write(json.dumps(cell | {"through": found}) + "\n")


def _tables(folder):
    """As `_own`, each table for the ranges that it gives."""
    for (kind, part), names in PARTS.items():
        for seed, name in itertools.product(SEEDS, names):
            public, rows = tables.parts(folder / f"{name}.csv", seed)
            if kind == "labelled":
                given = pc.load_features(rows, label="label", public=public)
                split = pc.split(given, public=public, allow_overlap=True, seed=seed)
            else:
                given = tables.declared(pd.concat([public, rows[public.columns]]), rows)
                split = pc.split(given, public="made_up" if kind == "made_up" else None, seed=seed)
            yield name, kind, part, seed, split


def _through(rows, epsilon):
    """{numbers of which the map is advised: the rows through this map} of a table."""
    sides, budget = {"own": simulation.blind(rows)}, PrivacyBudget(epsilon)
    by_map = maps.sides_by_map(sides, rows.features)
    found = {}
    for metric in FIGURES:
        name, _ = maps.choose_map(by_map, budget, 0, metric)
        found.setdefault(name, []).append(metric)
    return {" ".join(of): mapped(rows, name) for name, of in found.items()}


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
    labels, budget = rows.features.y_train[rows.private], PrivacyBudget(epsilon)
    metric = simulation.metric_of(dataclasses.replace(rows, public_y=labels, memo=Memo()))
    reached = {}
    for method in LEARNERS[kind] if rows.features.names else RIVALS[kind]:
        spends = {"epsilon": epsilon} if pc.METHODS[method].budget_setting else {}
        try:
            metrics = pc.run(method, rows, **spends, seed=seed).metrics
            reached[method] = {name: metrics[name] for name in FIGURES}
        except PillarError as refusal:
            print(method, refusal, file=sys.stderr)
    plays = {}
    if kind == "labelled" and simulation.can_play(rows):
        plays = {method: simulation.plays(method, rows, budget, 0) for method in LEARNERS[kind]}
        plays["unused"] = simulation.plays("dp_raft", rows, budget, 0, is_unused=True)
        bare = pc.run(
            "dp_raft", splits.beside(unmapped(rows), None), epsilon=epsilon, seed=seed
        ).metrics
        reached["unused"] = {name: bare[name] for name in FIGURES}
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


def fit(*paths: Path) -> None:
    """Writes the fitted table and prints the measured one."""
    lines = [
        "# Weights on the scale of log odds by number and learner. error: half of a range, the",
        "# largest |predicted - reached| of the sets, each left out of the fit; inside: of how",
        "# many it lay within the range of the others (docs/public_data.md). Tables had a part in",
        "# the fit of made-up rows alone.",
    ]
    said = {}
    for metric in FIGURES:
        every = _read(paths, metric)
        for kind in LEARNERS:
            runs = every[every["kind"] == kind]
            errors = _left_out(runs, kind)
            nested = {
                name: _left_out(runs[runs["set"] != name], kind)
                if of_set["is_table"].all() == (kind == "made_up")
                else errors[errors["set"] != name]
                for name, of_set in runs.groupby("set")
            }
            for part, cells in errors.groupby("part", sort=False):
                if kind == "unused" and part != "table":
                    continue  # it is asked of no others
                sizes = cells.groupby("set", sort=False)["size"].max()
                inside = sum(
                    size <= nested[name].loc[nested[name]["part"] == part, "size"].max()
                    for name, size in sizes.items()
                )
                error = max(sizes.max(), EARLIER.get((metric, part), 0.0))
                lines += [f"[{metric}.{kind}.{part}]", f"error = {error:.3f}"]
                lines += [f"inside = {inside}", f"sets = {len(sizes)}"]
                title = kind if part == "range" else f"{kind}, {part}"
                cell = f"{inside} of {len(sizes)} | ± {100 * error:.1f}"
                said[title] = [*said.get(title, []), cell]
            of_fit = runs[runs["is_table"] == (kind == "made_up")]
            for method, weights in _weights_of(of_fit, kind).items():
                lines += [
                    f"[{metric}.{kind}.learners.{method}]",
                    *(f"{term} = {weight:.4f}" for term, weight in weights.items()),
                ]
            print(metric)
            _report(errors)
    print("\n".join(f"| {title} | {' | '.join(cells)} |" for title, cells in said.items()))
    Path(prediction.__file__).with_name("fitted.toml").write_text(
        "\n".join(lines) + "\n", encoding="utf-8"
    )


def check(*paths: Path) -> None:
    """Prints the errors of the fitted table on sets that it was not fitted on."""
    for metric in FIGURES:
        every = _read(paths, metric)
        for kind in every["kind"].unique():
            runs, fitted = every[every["kind"] == kind], prediction.FITTED[metric][kind]
            print(metric)
            _report(_errors(runs, kind, fitted["learners"]))


def _read(paths, metric):
    """A line for each run of one number, of tables that through the map that is advised for it."""
    lines = []
    for line in (json.loads(text) for path in paths for text in path.read_text().splitlines()):
        through = line.pop("through")
        of, found = next(
            item for item in through.items() if metric in item[0].split() or not item[0]
        )
        numbers = {
            name: {method: each[metric] for method, each in found[name].items()}
            for name in ("reached", "plays")
        }
        is_few = found["m"] < prediction.FEW_A_CLASS * found["C"]
        part = "few" if is_few and line["kind"] in ("labelled", "unlabelled") else "range"
        line |= found | {"is_table": bool(of), "part": line["beside"] if of else part}
        line["terms"] = _terms(line)
        without = {name: {"dp_raft": each.pop("unused", None)} for name, each in numbers.items()}
        if line["kind"] != "labelled" or numbers["plays"]:
            lines.append(line | numbers)
        if numbers["plays"]:
            lines.append(line | without | {"kind": "unused"})
    return pd.DataFrame(lines)


def _left_out(runs, kind):
    """The errors of each set, its predictions from a fit on the others."""
    of_fit = runs[runs["is_table"] == (kind == "made_up")]
    every, others = of_fit["set"].unique(), runs[~runs["set"].isin(of_fit["set"])]
    parts = [_errors(others, kind, _weights_of(of_fit, kind))] if len(others) else []
    for name in every:
        weights = _weights_of(of_fit[of_fit["set"] != name], kind)
        parts.append(_errors(runs[runs["set"] == name], kind, weights))
    return pd.concat(parts)


def _errors(runs, kind, weights):
    """A line for each run and chosen learner: the error of its prediction and the regret, in [0,
    1]."""
    means = {
        key: pd.DataFrame(group["reached"].to_list()).mean() for key, group in runs.groupby(CELL)
    }
    lines = []
    for run in runs.to_dict("records"):
        predicted = {
            method: _predicted(run, kind, method, weights[method])
            for method in LEARNERS[kind]
            if run["reached"].get(method) is not None
        }
        mean = means[tuple(run[name] for name in CELL)]
        for method in _chosen(kind, predicted, run) if predicted else ():
            error = predicted[method] - run["reached"][method]
            line = {"error": error, "size": abs(error), "regret": mean.max() - mean[method]}
            cell = {name: run[name] for name in (*CELL, "part")}
            lines.append(cell | line | {"method": method})
    return pd.DataFrame(lines)


def _predicted(run, kind, method, weights):
    odds = sum(weights[term] * value for term, value in run["terms"].items() if term in weights)
    played = simulation.logit(run["plays"][method]) if kind in PLAYED else 0.0
    return 1 / (1 + np.exp(-odds - played))


def _weights_of(runs, kind):
    return {method: _weights(runs, kind, method) for method in LEARNERS[kind]}


def _weights(runs, kind, method):
    """{term: weight} of a ridge fit, each set counted alike."""
    cells = runs[runs["reached"].map(lambda reached: reached.get(method) is not None)]
    x = np.array([[each[name] for name in TERMS[kind]] for each in cells["terms"]])
    mean = x.mean(axis=0) * (np.arange(x.shape[1]) > 0)
    accuracy = np.array([reached[method] for reached in cells["reached"]])
    offset = np.array(
        [simulation.logit(plays[method]) if kind in PLAYED else 0.0 for plays in cells["plays"]]
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
        {"plays": 1.0} if kind in PLAYED else {}
    )


def _terms(row):
    facts = PublicFacts(int(row["N"]), int(row["m"]), int(row["d"]), int(row["C"]))
    signal = row["mu"] * facts.n_private / facts.n_classes
    return simulation.regressors(facts, signal, {"directions": row["directions"]})


def _chosen(kind, predicted, run):
    """The learners that advice takes; of public rows of other classes also the one that the paid
    choice takes."""
    if kind == "foreign":
        return ("dp_sgd", "pillar_kalman")
    if kind == "unlabelled":
        return ("pillar" if run["m"] < prediction.FEW_PUBLIC else "pillar_kalman",)
    if kind != "labelled":
        return LEARNERS[kind][:1]
    is_table = bool(run["is_table"])
    return (prediction.preferred(predicted, run["m"], run["C"], is_table=is_table),)


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
    for key in (["kind", "part"], ["kind", "part", "set"]):
        print(percent.groupby(key, sort=False).agg(**columns).round(1).to_string())


if __name__ == "__main__":
    place, *further = map(Path, sys.argv[2:])
    if sys.argv[1] == "measure":
        measure(place, *further or [None])
    else:
        {"fit": fit, "check": check}[sys.argv[1]](place, *further)
