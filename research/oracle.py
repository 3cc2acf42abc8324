"""Learners by their own rules against PILLAR with every setting picked on test rows: `PYTHONPATH=.
python research/oracle.py`.

The oracle looks at test accuracy, which nobody may: it says what tuning could give at most. It
starts from a coarse grid and goes on to the neighbours of its best (factors of two in k up to the
rank, steps up to 100, step size; clip norms; raw or standardised rows) until they are no better, so
that picks are interior. The best are then re-run on all seeds, and the best of those with new
noise, by which the last one is picked and reported: what luck is left favours the oracle.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from keeping import keep

from pillar_core import metrics
from pillar_core.accounting import mu_of
from pillar_core.commands.options import method_settings, printer
from pillar_core.methods import METHODS
from pillar_core.runs import run
from pillar_core.runs.loading import load_features
from pillar_core.runs.splitting import default_backbone, load_named_features, split
from pillar_core.studies import papers
from pillar_core.types import FeatureSet, Progress, SemiPrivateSplit

SETS = ("fashion_mnist", "pneumonia_mnist", "mnist", "digits", "breast_cancer")
"""Those whose features or rows every clone has."""
LEARNERS = ("pillar_kalman", "pillar", "pillar_one_shot", "dp_sgd")
ORACLE, TUNED = "oracle", "pillar"
SMALLEST_K, MOST_STEPS = 5, 100
PRINTED = {"cifar10.npz": "CIFAR-10", "gtsrb.npz": "GTSRB", "pneumonia.npz": "Pneumonia"}
"""What the sets of features are called in PILLAR's Table II."""
CLIPS = (0.2, 0.4, 1.0)
FINALISTS, LAST = 12, 6
NEW_NOISE = 1000
"""Added to a seed for noise that no earlier choice has seen; the split stays that of the seed."""


def main() -> None:
    """Prints means with 95 % intervals, and what the first learner is above the others."""
    options = _options()
    sets = {
        name: load_named_features(name, default_backbone(name))
        for name in filter(None, options.sets.split(","))
    }
    if options.features is not None:
        sets |= {
            f"{path.stem}.npz": load_features(path)
            for path in sorted(options.features.glob("*.npz"))
        }
    learners = {title: _learner(title) for title in options.learner or LEARNERS}
    runs = table(
        sets,
        epsilons=[float(text) for text in options.epsilon.split(",")],
        seeds=range(options.first_seed, options.first_seed + options.seeds),
        learners=learners,
        oracle=not options.no_oracle,
        public={"public_per_class": options.public_per_class} if options.public_per_class else None,
        progress=printer(unit="cells"),
    )
    print(means(runs).to_string(index=False))
    print(margins(runs, next(iter(learners))).to_string(index=False))
    if options.keep:
        keep_leads(runs)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--sets", default=",".join(SETS), help="comma-separated registered sets ('' for none)"
    )
    parser.add_argument(
        "--features", type=Path, help="a folder of npz feature files, which join the sets"
    )
    parser.add_argument(
        "--learner",
        action="append",
        help="NAME or NAME:SETTING=VALUE,…; the first is held against the others",
    )
    parser.add_argument(
        "--epsilon",
        default="0.1,0.3,1,3",
        help="comma-separated budgets, δ = 1e-5, add or remove one",
    )
    parser.add_argument(
        "--seeds", type=int, default=5, help="runs a cell; seed s sets split and noise"
    )
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument(
        "--public-per-class",
        type=int,
        help="public rows a class (default: a tenth of the train rows)",
    )
    parser.add_argument(
        "--no-oracle",
        action="store_true",
        help="leave out PILLAR picked on test rows, which takes most of the time",
    )
    parser.add_argument(
        "--keep",
        action="store_true",
        help="keep PILLAR's lead over DP-SGD beside the published one",
    )
    return parser.parse_args()


def _learner(text: str) -> tuple[str, dict[str, Any]]:
    name, _, settings = text.partition(":")
    return METHODS[name].name, method_settings(name, [part for part in settings.split(",") if part])


@dataclasses.dataclass(frozen=True)
class Candidate:
    """Settings of noisy descent. noise: the standard deviation that the noise adds up to in a
    weight, which is η·T·clip/(μN)."""

    k: int
    steps: int
    noise: float
    l2_clip_norm: float
    standardise: bool

    def settings(self, mu: float, n_private: int) -> dict[str, Any]:
        """The learner's own settings."""
        rate = self.noise * mu * n_private / (self.steps * self.l2_clip_norm)
        own = {name: getattr(self, name) for name in ("k", "steps", "l2_clip_norm", "standardise")}
        return own | {"learning_rate": rate}

    def neighbours(self, rank: int) -> list[Candidate]:
        """One setting moved, by a factor of two where it is a size."""
        clip = CLIPS.index(self.l2_clip_norm)
        moves: list[dict[str, Any]] = [
            {"noise": self.noise * 2},
            {"noise": self.noise / 2},
            {"standardise": not self.standardise},
        ]
        moves += [
            {"k": k} for k in (min(2 * self.k, rank), max(self.k // 2, min(SMALLEST_K, rank)))
        ]
        moves += [
            {"steps": steps} for steps in (min(2 * self.steps, MOST_STEPS), max(self.steps // 2, 1))
        ]
        moves += [
            {"l2_clip_norm": CLIPS[place]}
            for place in (clip - 1, clip + 1)
            if 0 <= place < len(CLIPS)
        ]
        return [dataclasses.replace(self, **move) for move in moves]


def start(rank: int) -> list[Candidate]:
    """The coarse grid."""
    ks = sorted({min(k, rank) for k in (10, 40, 160)})
    return [
        Candidate(*one)
        for one in itertools.product(ks, (5, 20), (0.25, 1.0), (0.4, 1.0), (False, True))
    ]


def accuracies(
    method: str,
    rows: SemiPrivateSplit,
    epsilon: float,
    seed: int,
    many: Sequence[Mapping[str, Any]],
) -> list[float]:
    """Test accuracies of runs that differ in their settings, trained together."""
    solved = [run.solve(method, rows, epsilon=epsilon, seed=seed, **settings) for settings in many]
    return [float(record.accuracy or 0.0) for record in run.run_many(solved, rows)]


def picked(
    splits: Mapping[int, SemiPrivateSplit], epsilon: float, *, rounds: int = 8
) -> tuple[Candidate, list[float]]:
    """The oracle's settings at this budget, by seed of `splits` their accuracies; at most `rounds`
    times to the neighbours."""
    rank = min(_rank(rows) for rows in splits.values())
    seed, rows = next(iter(splits.items()))
    found: dict[Candidate, float] = {}
    wanted = start(rank)
    for _ in range(1 + rounds):
        found |= dict(zip(wanted, _accuracies(rows, epsilon, seed, wanted), strict=True))
        best = sorted(found, key=lambda one: -found[one])[:LAST]
        wanted = list(
            dict.fromkeys(
                one for leader in best for one in leader.neighbours(rank) if one not in found
            )
        )
        if not wanted:
            break
    finalists = sorted(found, key=lambda one: -found[one])[:FINALISTS]
    for shift, kept in ((NEW_NOISE, LAST), (2 * NEW_NOISE, 1)):
        by_seed = np.array(
            [_accuracies(rows, epsilon, seed + shift, finalists) for seed, rows in splits.items()]
        )
        order = np.argsort(-by_seed.mean(axis=0), kind="stable")[:kept]
        finalists, by_seed = [finalists[place] for place in order], by_seed[:, order]
    return finalists[0], by_seed[:, 0].tolist()


def table(
    sets: Mapping[str, FeatureSet],
    *,
    epsilons: Sequence[float],
    seeds: Sequence[int],
    learners: Mapping[str, tuple[str, Mapping[str, Any]]],
    oracle: bool = True,
    public: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """One row a run: set, epsilon, learner, seed, accuracy, settings (the oracle's picks).
    learners: title → (name, settings).

    public: how `split` finds the public rows; a tenth of the train rows unless given.
    """
    rows: list[dict[str, Any]] = []
    cells = list(itertools.product(sets, epsilons))
    for done, (name, epsilon) in enumerate(cells):
        if progress is not None:
            progress(done, len(cells), f"{name}, ε = {epsilon:g}")
        share = public or {"public_fraction": 0.1}
        splits = {seed: split(sets[name], **share, allow_overlap=True, seed=seed) for seed in seeds}
        found: dict[str, tuple[str, list[float]]] = {}
        for title, (method, settings) in learners.items():
            found[title] = (
                "",
                [
                    accuracies(method, part, epsilon, seed, [settings])[0]
                    for seed, part in splits.items()
                ],
            )
        if oracle:
            candidate, values = picked(splits, epsilon)
            found[ORACLE] = (
                ", ".join(
                    f"{key}={value:g}" for key, value in dataclasses.asdict(candidate).items()
                ),
                values,
            )
        for title, (words, values) in found.items():
            shared = {"set": name, "epsilon": epsilon, "learner": title, "settings": words}
            rows += [
                {**shared, "seed": seed, "accuracy": value}
                for seed, value in zip(seeds, values, strict=True)
            ]
    if progress is not None:
        progress(len(cells), len(cells), "")
    return pd.DataFrame(rows)


def means(runs: pd.DataFrame) -> pd.DataFrame:
    """A line a set and learner, a column a budget: the mean in percent and half of its 95 %
    interval over seeds."""
    cells = runs.groupby(["set", "learner", "epsilon"], sort=False)["accuracy"].agg(_words)
    return cells.unstack("epsilon").reset_index()


def margins(runs: pd.DataFrame, first: str) -> pd.DataFrame:
    """What `first` is above each other learner, in points: the mean over all cells, its interval
    over seeds, the worst cell's mean."""
    wide = runs.pivot_table(
        index=["set", "epsilon", "seed"], columns="learner", values="accuracy", sort=False
    )
    lines = []
    for other in wide.columns.drop(first):
        apart = wide[first] - wide[other]
        cells = apart.groupby(level=["set", "epsilon"], sort=False).mean()
        name, epsilon = cells.index[int(cells.argmin())]
        lines.append(
            {
                "above": other,
                "mean": _words(apart.groupby(level="seed").mean()),
                "cells": len(cells),
                "worst": f"{100 * cells.min():+.1f} ({name}, ε = {epsilon:g})",
                "cells ahead": int((cells > 0).sum()),
            }
        )
    return pd.DataFrame(lines)


def keep_leads(runs: pd.DataFrame) -> None:
    """Keeps what PILLAR and PILLAR Kalman are above DP-SGD at the budgets of PILLAR's Table II, and
    what the table says."""
    printed = papers.published("pillar-table-2").set_index(["dataset", "method", "epsilon"])[
        "published"
    ]
    wide, lines = (
        runs.pivot_table(
            index=["set", "epsilon", "seed"], columns="learner", values="accuracy", sort=False
        ),
        [],
    )
    for (own, name), epsilon in itertools.product(
        PRINTED.items(), sorted({0.1, 0.3} & set(runs["epsilon"]))
    ):
        row = f"{name}, ε = {epsilon:g}"
        lead = 100 * (printed[name, "pillar", epsilon] - printed[name, "dp_sgd", epsilon]).item()
        lines.append({"row": row, "series": "PILLAR, published", "mean": lead, "half": None})
        for learner, title in (
            ("pillar", "PILLAR, here"),
            ("pillar_kalman", "PILLAR Kalman, here"),
        ):
            mean, low, _ = metrics.interval(
                100 * (wide[learner] - wide["dp_sgd"]).loc[own, epsilon]
            )
            lines.append({"row": row, "series": title, "mean": mean, "half": mean - low})
    keep("world", pd.DataFrame(lines))


def _accuracies(
    rows: SemiPrivateSplit, epsilon: float, seed: int, candidates: Sequence[Candidate]
) -> list[float]:
    mu, n_private = mu_of(epsilon, 1e-5), rows.facts.n_private
    return accuracies(
        TUNED, rows, epsilon, seed, [one.settings(mu, n_private) for one in candidates]
    )


def _rank(rows: SemiPrivateSplit) -> int:
    return min(
        int(run.solve(TUNED, rows, epsilon=1.0, standardise=on).view.facts.extra["public_rank"])
        for on in (False, True)
    )


def _words(values: pd.Series) -> str:
    mean, low, _ = metrics.interval([100 * value for value in values])
    return f"{mean:.1f} ± {mean - low:.1f}"


if __name__ == "__main__":
    main()
