"""Weighted pools of candidates from one release of class sums, against the best single one and all
of them.

`python research/mixtures.py FOLDER` prints the table of
research/choosing_public_data.md; FOLDER holds `cifar10.npz` and `gtsrb.npz`. The release is
`class_signal`'s at ε = 0.3; PILLAR trains at ε = 0.3 and 1 on the rows that each way takes, seed s
for release and training.

- nearest mean: weights w ≥ 0, Σ w = 1, that bring Σ w_j m_j nearest to the released mean of the
  private rows.
- greedy: from the first of the ranking, a fifth or a half of another candidate is mixed in while
  the mixture's own signal rises.
"""

import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from scipy.optimize import nnls

from judged import DELTA
from pillar_core import metrics
from pillar_core.accounting import mu_of
from pillar_core.arrays import Array
from pillar_core.ledger import Ledger
from pillar_core.rng import stream
from pillar_core.runs.run import run_many, solve
from pillar_core.runs.splitting import split
from pillar_core.screening.class_signal import (
    ROWS,
    Candidate,
    ClassSums,
    public_centre,
    release_class_sums,
    signal,
    unit,
)
from pillar_core.types import FeatureSet
from yardstick import DRAWN, LENT, Yardstick

SCREENED, EPSILONS, SEEDS = 0.3, (0.3, 1.0), range(5)
OTHERS = ("fashion_mnist", "mnist", "pneumonia_mnist", *LENT, *DRAWN)
STEPS, SHARES, READ = 3, (0.2, 0.5), 500
Weights = Mapping[str, float]


def taken(rows: Mapping[str, Array], weights: Weights, most: int = ROWS) -> Array:
    """At most `most` rows of the pool, of each candidate its share: as many as the scarcest of them
    allows."""
    whole = min(
        most, *(int(len(rows[name]) / share) for name, share in weights.items() if share > 0)
    )
    parts = [
        rows[name][: max(1, round(share * whole))] for name, share in weights.items() if share > 0
    ]
    joined = np.concatenate(parts)
    return joined[stream(0, "rows of a mixture").permutation(len(joined))]


def nearest_mean(release: ClassSums, rows: Mapping[str, Array]) -> Weights:
    means = np.stack([one.mean(axis=0) for one in rows.values()], axis=1).astype(np.float64)
    heavy = 100.0  # a row that holds Σ w = 1
    target = np.append(release.sums.sum(axis=1) / release.n, heavy)
    found = nnls(np.vstack([means, np.full(len(rows), heavy)]), target)[0]
    found[found < 0.02] = 0.0
    return dict(zip(rows, (found / found.sum()).tolist(), strict=True))


def greedy(release: ClassSums, rows: Mapping[str, Array], first: str) -> Weights:
    def value(weights: Weights) -> float:
        return float(signal(release, Candidate.of(taken(rows, weights, READ)))[0])

    weights: dict[str, float] = {first: 1.0}
    best = value(weights)
    for _ in range(STEPS):
        tried = []
        for name in rows:
            for share in SHARES:
                mixed = {one: (1 - share) * part for one, part in weights.items()}
                mixed[name] = mixed.get(name, 0.0) + share
                tried.append((value(mixed), mixed))
        found, mixed = max(tried, key=lambda pair: pair[0])
        if found <= best:
            break
        best, weights = found, mixed
    return weights


def main(folder: Path) -> None:
    torch.set_num_threads(1)
    made, lines = Yardstick(folder), []
    for task in made.tasks:
        private = made.private(task)
        everyone = {name: one.x_train for name, one in made.candidates(task).items()}
        for case, names in {
            "foreign": OTHERS,
            "with an own tenth": ("own, a tenth", *OTHERS),
        }.items():
            raw = {name: everyone[name] for name in names if name in everyone}
            centre = public_centre(list(raw.values()))
            rows = {name: unit(one[:ROWS], centre) for name, one in raw.items()}
            singles = {name: Candidate.of(one) for name, one in rows.items()}
            for seed in SEEDS:
                noise = stream(seed, "mixture release")
                multiplier = 1.0 / mu_of(SCREENED, DELTA)
                release = release_class_sums(
                    private,
                    len(private.x_train),
                    centre,
                    noise_multiplier=multiplier,
                    noise=noise,
                    ledger=Ledger(),
                )
                order = sorted(rows, key=lambda name: -float(signal(release, singles[name])[0]))
                ways: dict[str, Weights] = {
                    "first": {order[0]: 1.0},
                    "first and second, half each": {order[0]: 0.5, order[1]: 0.5},
                    "nearest mean": nearest_mean(release, rows),
                    "greedy": greedy(release, rows, order[0]),
                }
                pools = {way: taken(raw, weights) for way, weights in ways.items()} | {
                    "all": np.concatenate(list(raw.values()))
                }
                for way, pool in pools.items():
                    public = FeatureSet(np.ascontiguousarray(pool), None, None, None, (), name=way)
                    parts = split(private, public=public, allow_overlap=True)
                    records = run_many(
                        [
                            solve("pillar", parts, epsilon=epsilon, seed=seed)
                            for epsilon in EPSILONS
                        ],
                        parts,
                    )
                    for epsilon, record in zip(EPSILONS, records, strict=True):
                        cell = {
                            "task": task.name,
                            "case": case,
                            "epsilon": epsilon,
                            "seed": seed,
                            "way": way,
                        }
                        said = {
                            name: round(share, 2)
                            for name, share in ways.get(way, {}).items()
                            if share > 0
                        }
                        lines.append(
                            cell
                            | {
                                "accuracy": 100 * float(record.accuracy or 0.0),
                                "weights": said,
                            }
                        )
                        print(lines[-1], file=sys.stderr, flush=True)
    table = pd.DataFrame(lines).pivot_table(
        index=["case", "epsilon", "task", "seed"], columns="way", values="accuracy"
    )
    table = table.sub(table["first"], axis=0).drop(columns="first")
    for (case, epsilon), part in table.groupby(level=["case", "epsilon"]):
        for way in part:
            by_task = part[way].groupby(level="task").mean()
            mean, low, high = metrics.interval(list(by_task))
            print(
                f"{case}, ε = {epsilon:g}, {way} − first: {mean:+.1f} [{low:.1f}, {high:.1f}];"
                f" {by_task.round(1).to_dict()}"
            )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
