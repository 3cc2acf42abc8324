"""Trimming a big mixed public set by private votes: the table of research/choosing_public_data.md.

`python research/trimming.py FOLDER [TASK …]`; FOLDER holds `cifar10.npz` and `gtsrb.npz`.
Accuracies in percent, five seeds, 95 %. Each case takes 5 to 15 minutes of one core once the
features are there.
"""

import dataclasses
import math
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import torch

from judged import DELTA
from pillar_core import metrics
from pillar_core.accounting import epsilon_of_mu, mu_of
from pillar_core.arrays import Array
from pillar_core.rng import stream
from pillar_core.runs.run import run_many, solve
from pillar_core.runs.splitting import split
from pillar_core.screening.trim import trim
from pillar_core.types import FeatureSet
from yardstick import LENT, MOST, TASKS, Yardstick

OWN = {
    "Fashion, 10 classes": 1000,
    "MNIST, 10 classes": 250,
    "X-rays, pneumonia or not": 150,
    "CIFAR-10, animal or vehicle": 100,
}
"""By task its source's own public rows: a tenth."""
SOURCES, DRAWN = (
    ("fashion_mnist", "mnist", "pneumonia_mnist", *LENT),
    (
        "drawn_textures",
        "drawn_noise",
    ),
)
VOTES = {0.3: 0.1, 1.0: 0.3}
"""What the votes take of the total ε."""
SHARES, SEEDS = (0.1, 0.25, 0.5), range(5)
CASES = (
    *(
        (task, has_own, epsilon)
        for task, has_own in (("Fashion, 10 classes", True), ("MNIST, 10 classes", True))
        for epsilon in VOTES
    ),
    *(("X-rays, pneumonia or not", True, epsilon) for epsilon in VOTES),
    ("CIFAR-10, animal or vehicle", True, 1.0),
    ("Fashion, 10 classes", False, 1.0),
    *(("MNIST, 10 classes", False, epsilon) for epsilon in VOTES),
)


@dataclasses.dataclass(frozen=True)
class Case:
    """A private set beside a pool of public rows."""

    private: FeatureSet
    parts: Mapping[str, Array]

    @classmethod
    def of(cls, made: Yardstick, name: str, *, has_own: bool) -> "Case":
        task = next(one for one in TASKS if one.name == name)
        others = {
            source: made.source(source).x_train[:MOST]
            for source in SOURCES
            if source != task.source
        }
        own = {"own": made.source(task.source).x_train[: OWN[name]]} if has_own else {}
        return cls(
            made.private(task), own | others | {source: made.public(source)[0] for source in DRAWN}
        )

    def accuracies(self, rows: Array, epsilon: float, seeds: Iterable[int]) -> list[float]:
        """PILLAR's, in percent, a seed."""
        public = FeatureSet(np.ascontiguousarray(rows), None, None, None, (), name="pool")
        parts = split(self.private, public=public, allow_overlap=True)
        records = run_many(
            [solve("pillar", parts, epsilon=epsilon, seed=seed) for seed in seeds], parts
        )
        return [100 * float(record.accuracy or 0.0) for record in records]


def measured(case: Case, total: float) -> dict[str, list[float]]:
    """By way the accuracies of all seeds."""
    rows = np.concatenate(list(case.parts.values()))
    rows = rows[stream(0, "mix").permutation(len(rows))]
    found = {"whole": case.accuracies(rows, total, SEEDS)}
    found |= {
        f"single {name}": case.accuracies(part, total, SEEDS) for name, part in case.parts.items()
    }
    left = epsilon_of_mu(
        math.sqrt(mu_of(total, DELTA) ** 2 - mu_of(VOTES[total], DELTA) ** 2), DELTA
    )
    pool = FeatureSet(rows, None, None, None, (), name="mixed")
    for seed in SEEDS:
        trimmed = trim(case.private, pool, share=SHARES[0], epsilon=VOTES[total], seed=seed)
        for share in SHARES:
            kept = trimmed.at(share)
            drawn = np.sort(stream(seed, "random trim").permutation(len(rows))[: len(kept)])
            found.setdefault(f"votes {share}", []).extend(case.accuracies(rows[kept], left, [seed]))
            found.setdefault(f"random {share}", []).extend(
                case.accuracies(rows[drawn], total, [seed])
            )
    return found


def line(title: str, total: float, found: Mapping[str, list[float]]) -> str:
    """One line of the table."""
    best = max(
        (name for name in found if name.startswith("single")),
        key=lambda name: float(np.mean(found[name])),
    )
    ways = [f"{word} {share}" for word in ("votes", "random") for share in SHARES]
    gained = [
        votes - whole for votes, whole in zip(found["votes 0.1"], found["whole"], strict=True)
    ]
    single = f"{_words(found[best])} ({best.removeprefix('single ')})"
    cells = [
        title,
        f"{total:g}",
        _words(found["whole"]),
        single,
        *(_words(found[way]) for way in ways),
        _words(gained),
    ]
    return f"| {' | '.join(cells)} |"


def _words(values: list[float]) -> str:
    mean, low, _ = metrics.interval(values)
    return f"{mean:.1f} ± {mean - low:.1f}"


def main(folder: Path, names: list[str]) -> None:
    torch.set_num_threads(1)
    made = Yardstick(folder)
    print(
        "| private | ε | whole | best single | votes 10 % | 25 % | 50 % | random 10 % | 25 % | 50 %"
        " | votes 10 % − whole |"
    )
    for name, has_own, total in CASES:
        if not names or name in names:
            found = measured(Case.of(made, name, has_own=has_own), total)
            print(line(name if has_own else f"{name}, no own rows", total, found), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
