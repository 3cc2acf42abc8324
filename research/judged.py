"""Scores of public data on the yardstick: what taking a score's first costs in accuracy, and how
well it orders the candidates.

`python research/judged.py` prints each score's regret and rank correlation on both sides of the
yardstick, from the accuracies in yardstick.csv: the tables of research/choosing_public_data.md.
`--help` names the folder of images that do not come with the library, and more.

Every score is a function of one release: the class sums Σ u e_yᵀ, the second moment Σ u uᵀ or a
mean of random features, of rows u in coordinates that the candidates decide
(`class_signal.public_centre`), each with sensitivity 1; two together get noise √2 as large.
"""

import argparse
import itertools
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pillar_core import metrics
from pillar_core.accounting import epsilon_of_mu, mu_of
from pillar_core.arrays import Array
from pillar_core.commands.options import printer
from pillar_core.deferred import stats, torch
from pillar_core.rng import stream
from pillar_core.runs.records import without_formulas
from pillar_core.screening import class_signal
from pillar_core.screening.class_signal import Candidate, ClassSums
from pillar_core.subspace import projection_distance
from yardstick import LENT, NONE, TASKS, Task, Yardstick, measured

KEPT = Path(__file__).with_name("yardstick.csv")
"""Measured accuracies: task, candidate, learner, epsilon and one accuracy a seed."""
DELTA = 1e-5
LEAST_SIGNAL = 10.0
"""μN/C below which a cell is not counted: neither training nor screening has anything to work
with."""
TOP, GSD_TOP = 40, 16
FEATURES, LENGTH = 500, 1.0
DRAWS = 4
FIVES, OF = 400, 5
SEEDS = r"^seed\d"
"""The columns of single seeds."""


class Question:
    """A task's private rows and candidates in their common coordinates, and what the scores read of
    them."""

    def __init__(self, yardstick: Yardstick, task: Task) -> None:
        private, public = yardstick.private(task), yardstick.candidates(task)
        self.n, self.n_classes = len(private.x_train), private.n_classes
        centre = class_signal.public_centre([one.x_train for one in public.values()])
        rows = class_signal.unit(private.x_train, centre)
        others = {
            name: class_signal.unit(one.x_train[: class_signal.ROWS], centre)
            for name, one in public.items()
        }
        self.candidates = {name: Candidate.of(one) for name, one in others.items()}
        waves = (
            stream(0, "random features")
            .standard_normal((len(centre), FEATURES // 2))
            .astype(np.float32)
            / LENGTH
        )
        self.sums = rows.T.astype(np.float64) @ np.eye(self.n_classes)[private.y_train]
        self.moment = (rows.T @ rows).astype(np.float64)
        self.features = _waved(rows, waves).sum(axis=0)
        self.their_features = {
            name: _waved(one, waves).mean(axis=0) for name, one in others.items()
        }

    def noised(self, std: float, draw: int) -> "Noised":
        """What one release of each kind gives with this noise."""
        generator = stream(draw, "yardstick noise")
        parts = [
            part + std * generator.standard_normal(part.shape)
            for part in (self.sums, self.moment, self.features)
        ]
        return Noised(self, std, *parts)


class Noised:
    """The releases of one draw, and the scores of a candidate by name: larger is nearer."""

    def __init__(
        self, asked: Question, std: float, sums: Array, moment: Array, features: Array
    ) -> None:
        self.asked, self.std, self.sums, self.moment, self.features = (
            asked,
            std,
            sums,
            (moment + moment.T) / 2,
            features,
        )
        self.n, self.c = asked.n, asked.n_classes
        self._moments: dict[str, Array] = {}

    @cached_property
    def top(self) -> Array:
        """(d, 16) directions of the private rows."""
        return np.asarray(
            torch.linalg.eigh(torch.from_numpy(self.moment))[1].numpy()[:, ::-1][:, :GSD_TOP]
        )

    def default(self, name: str) -> float:
        """`class_signal`."""
        return float(class_signal.signal(self.release, self.asked.candidates[name])[0])

    @property
    def release(self) -> ClassSums:
        """The class sums as `class_signal` releases them."""
        return ClassSums(self.sums, self.std, self.n)

    def top_signal(self, name: str) -> float:
        """The class sums' squared length in the top 40 directions, over the mean square distance
        from the candidate's mean."""
        kept, apart = self._kept(name)
        return (
            (float(np.square(kept).sum()) - len(kept) * (self.c - 1) * self.std**2)
            * self.c
            / self.n**2
            / max(apart, 0.05)
        )

    def nearness(self, name: str) -> float:
        """Minus the private rows' mean square distance from the candidate's mean."""
        return -self._kept(name)[1]

    def projection(self, name: str) -> float:
        """Share of the private second moment in the top 40 directions."""
        directions = self.asked.candidates[name].directions[:, :TOP]
        return float(np.sum(directions * (self.moment @ directions))) / self.n

    def h_score(self, name: str) -> float:
        """Ridge H-score in the top 40 directions: tr (M + r)⁻¹ B; two releases."""
        kept, _ = self._kept(name)
        moment = self._projected(name)[:TOP, :TOP]
        ridge = max(float(np.trace(moment)), 1.0) / len(kept) * np.eye(len(kept))
        return float(np.trace(kept.T @ np.linalg.pinv(moment + ridge) @ kept)) * self.c / self.n

    def frechet(self, name: str) -> float:
        """Minus the Fréchet distance of Gaussians (FreD), in the candidate's directions; two
        releases."""
        one, mean = self.asked.candidates[name], self.sums.sum(axis=1) / self.n
        values = one.weights**2 * one.total
        offset = one.directions.T @ mean
        covariance = self._projected(name) / self.n - np.outer(offset, offset)
        root = np.sqrt(values)
        inner = np.linalg.eigvalsh(root[:, None] * covariance * root)
        return float(
            -np.square(mean - one.mean).sum()
            - values.sum()
            + 2 * np.sqrt(np.maximum(inner, 0)).sum()
        )

    def subspaces(self, name: str) -> float:
        """Minus the distance of the top 16 directions of features (GSD's form)."""
        return -projection_distance(self.top, self.asked.candidates[name].directions[:, :GSD_TOP])

    def mmd(self, name: str) -> float:
        """Minus the squared distance of mean random features (DP-MERF)."""
        return -float(np.square(self.features / self.n - self.asked.their_features[name]).sum())

    def _projected(self, name: str) -> Array:
        if name not in self._moments:
            directions = self.asked.candidates[name].directions
            self._moments[name] = directions.T @ (self.moment @ directions)
        return self._moments[name]

    def _kept(self, name: str) -> tuple[Array, float]:
        one, total = self.asked.candidates[name], self.sums.sum(axis=1)
        kept = one.directions[:, :TOP].T @ (self.sums - total[:, None] / self.c)
        return kept, 1.0 - 2.0 * float(total @ one.mean) / self.n + float(one.mean @ one.mean)


TRIED: Mapping[str, tuple[Callable[[Noised, str], float], bool]] = {
    "class_signal": (Noised.default, False),
    "class signal, top 40": (Noised.top_signal, False),
    "distance of means": (Noised.nearness, False),
    "projection residual, top 40": (Noised.projection, False),
    "H-score, top 40": (Noised.h_score, True),
    "Fréchet distance": (Noised.frechet, True),
    "MMD, random features": (Noised.mmd, False),
    "GSD of features, top 16": (Noised.subspaces, False),
}
"""By title the score (larger is nearer), and whether it needs two releases."""


def scored(
    yardstick: Yardstick,
    tasks: Sequence[Task],
    *,
    epsilons: Sequence[float | None],
    draws: int = DRAWS,
) -> Iterator[dict[str, Any]]:
    """The value of every score: task, candidate, score, spent (∞ without noise), draw, value."""
    for task in tasks:
        asked = Question(yardstick, task)
        for epsilon, draw in itertools.product(epsilons, range(draws)):
            if epsilon is None and draw:
                continue
            std = 0.0 if epsilon is None else 1.0 / mu_of(epsilon, DELTA)
            alone, halved = asked.noised(std, draw), asked.noised(math.sqrt(2) * std, draw)
            for title, (value, is_joint) in TRIED.items():
                one = halved if is_joint else alone
                cell = {
                    "task": task.name,
                    "score": title,
                    "spent": math.inf if epsilon is None else epsilon,
                    "draw": draw,
                }
                yield from (
                    cell | {"candidate": name, "value": value(one, name)}
                    for name in asked.candidates
                )


def verdicts(
    yardstick: Yardstick,
    tasks: Sequence[Task],
    *,
    epsilons: Sequence[float],
    accuracies: pd.DataFrame,
    draws: int = DRAWS,
) -> Iterator[dict[str, Any]]:
    """What `class_signal` says of random fives, trained at the ε nearest to what it spends: task,
    confirms, spent, is_clear, lost (points that its first loses), is_wrong (clear, and more than
    one point is lost), covered (share of intervals that hold the value without noise)."""
    means = (
        accuracies[accuracies["learner"] == "pillar"]
        .set_index(["task", "epsilon", "candidate"])["accuracy"]
        .sort_index()
    )
    trained = list(means.index.unique("epsilon"))
    for task in tasks:
        asked = Question(yardstick, task)
        exact = {
            name: float(class_signal.signal(asked.noised(0.0, 0).release, one)[0])
            for name, one in asked.candidates.items()
        }
        for epsilon, draw in itertools.product(
            [one for one in epsilons if has_signal(task.name, one)], range(draws)
        ):
            release = asked.noised(1.0 / mu_of(epsilon, DELTA), draw).release
            found = {
                name: float(class_signal.signal(release, one)[0])
                for name, one in asked.candidates.items()
            }
            spread = class_signal.noise_copies(release, asked.candidates)
            inside = {
                name: abs(found[name] - exact[name]) <= stats.norm.ppf(0.975) * one.std()
                for name, one in spread.items()
            }
            reached = means[task.name, min(trained, key=lambda one: abs(one - epsilon))]
            generator = stream(draw, "fives of a verdict")
            for _ in range(FIVES // 10):
                five = [str(name) for name in generator.choice(list(found), OF, replace=False)]
                first = max(five, key=lambda name: found[name])
                is_clear = not class_signal.rivals({name: found[name] for name in five}, spread)
                lost = 100 * float(reached[five].max() - reached[first])
                cell = {
                    "task": task.name,
                    "confirms": task.confirms,
                    "spent": epsilon,
                    "is_clear": is_clear,
                    "lost": lost,
                }
                yield cell | {
                    "is_wrong": is_clear and lost > 1.0,
                    "covered": float(np.mean([inside[name] for name in five])),
                }


def in_one_budget(
    yardstick: Yardstick,
    tasks: Sequence[Task],
    *,
    total: float,
    spent: float,
    accuracies: pd.DataFrame,
    draws: int = DRAWS,
) -> Iterator[dict[str, Any]]:
    """A row a task: PILLAR trained with `class_signal`'s first of random fives on what screening
    leaves of the total ε, against the whole ε with the average and the best of the five: confirms,
    epsilon (of training), gain and lost in points. `accuracies` holds the total.
    """
    epsilon = epsilon_of_mu(math.sqrt(mu_of(total, DELTA) ** 2 - mu_of(spent, DELTA) ** 2), DELTA)
    chosen = accuracies[
        (accuracies["learner"] == "pillar") & (accuracies["epsilon"] == total)
    ].set_index(["task", "candidate"])
    for task in tasks:
        asked, whole, picks = Question(yardstick, task), chosen["accuracy"].loc[task.name], []
        for draw in range(draws):
            noised, generator = (
                asked.noised(1.0 / mu_of(spent, DELTA), draw),
                stream(draw, "fives of a budget"),
            )
            found = {name: noised.default(name) for name in asked.candidates}
            for _ in range(FIVES // 10):
                five = [str(name) for name in generator.choice(list(found), OF, replace=False)]
                picks.append((max(five, key=lambda name: found[name]), whole[five]))
        seeds = range(chosen.filter(regex=SEEDS).shape[1])
        first = list(dict.fromkeys(name for name, _ in picks))
        runs = pd.DataFrame(
            measured(
                yardstick, [task], learners=["pillar"], epsilons=[epsilon], seeds=seeds, only=first
            )
        )
        reached = runs.groupby("candidate")["accuracy"].mean()
        gain, lost = (
            [float(reached[name] - mark(five)) for name, five in picks]
            for mark in (pd.Series.mean, pd.Series.max)
        )
        yield {
            "task": task.name,
            "confirms": task.confirms,
            "epsilon": epsilon,
            "gain": 100 * np.mean(gain),
            "lost": -100 * np.mean(lost),
        }


def judged(
    values: pd.DataFrame, accuracies: pd.DataFrame, *, learner: str = "pillar"
) -> pd.DataFrame:
    """A row a task, score, spent ε and training ε: regret and regret_of_five in points, spearman,
    kendall, confirms.

    regret: mean accuracy of the truly best candidate less that of the score's first.
    regret_of_five: the same with five candidates drawn at random, over 400 draws. Cells whose μN/C
    is below 10 at either ε are left out.
    """
    rows = []
    means = (
        accuracies[accuracies["learner"] == learner]
        .set_index(["task", "epsilon", "candidate"])["accuracy"]
        .sort_index()
    )
    known = set(
        zip(
            means.index.get_level_values("task"),
            means.index.get_level_values("epsilon"),
            strict=True,
        )
    )
    for keys, part in values.groupby(["task", "score", "spent", "draw"], sort=False):
        (task, score, _, draw), spent = map(str, keys), float(part["spent"].iloc[0])
        found = part.set_index("candidate")["value"]
        for epsilon in sorted(set(accuracies["epsilon"])):
            if has_signal(task, min(spent, epsilon)) and (task, epsilon) in known:
                reached = means.loc[(task, epsilon)].reindex(found.index)
                rows.append(
                    {
                        "task": task,
                        "score": score,
                        "spent": spent,
                        "draw": draw,
                        "epsilon": epsilon,
                        **_marks(found, reached),
                    }
                )
    table = pd.DataFrame(rows)
    table["confirms"] = table["task"].map({task.name: task.confirms for task in TASKS})
    return table


def sides(table: pd.DataFrame) -> pd.DataFrame:
    """Means over tasks with 95 % intervals in words, a row a side, score and spent ε: what `judged`
    gave, each task counted alike."""
    marks = ["regret", "regret_of_five", "spearman", "kendall"]
    tasks = table.groupby(["confirms", "score", "spent", "task"], sort=False)[marks].mean()
    return (
        tasks.groupby(level=["confirms", "score", "spent"], sort=False)[marks]
        .agg(_words)
        .reset_index()
    )


def kept() -> pd.DataFrame:
    """The accuracies that were measured, a row a cell: task, candidate, learner, epsilon, seed0 …,
    accuracy (their mean)."""
    table = pd.read_csv(KEPT)
    return table.assign(accuracy=table.filter(regex=SEEDS).mean(axis=1))


def ceiling(accuracies: pd.DataFrame, *, learner: str = "pillar") -> pd.DataFrame:
    """The Spearman correlation that seed noise allows by task and epsilon: √r, r the means'
    reliability (Spearman and Brown)."""
    rows = []
    chosen = accuracies[(accuracies["learner"] == learner) & (accuracies["candidate"] != NONE)]
    for (task, epsilon), part in chosen.groupby(["task", "epsilon"], sort=False):
        seeds = part.filter(regex=SEEDS).dropna(axis=1).to_numpy()
        pairs = [
            stats.spearmanr(seeds[:, a], seeds[:, b])[0]
            for a, b in itertools.combinations(range(seeds.shape[1]), 2)
        ]
        single, count = float(np.mean(pairs)), seeds.shape[1]
        rows.append(
            {
                "task": task,
                "epsilon": epsilon,
                "ceiling": math.sqrt(max(count * single / (1 + (count - 1) * single), 0.0)),
            }
        )
    return pd.DataFrame(rows)


def has_signal(task: str, epsilon: float) -> bool:
    """Whether μN/C is at least 10 for this task."""
    sizes = {one.name: one.n_private / len(one.groups) for one in TASKS}
    return math.isinf(epsilon) or mu_of(epsilon, DELTA) * sizes[task] >= LEAST_SIGNAL


def _marks(found: pd.Series, reached: pd.Series) -> dict[str, float]:
    values, gained = found.to_numpy(), reached.to_numpy()
    drawn = np.argsort(stream(0, "candidates in fives").random((FIVES, len(values))), axis=1)[
        :, :OF
    ]
    first = drawn[np.arange(FIVES), values[drawn].argmax(axis=1)]
    return {
        "regret": 100 * float(gained.max() - gained[values.argmax()]),
        "regret_of_five": 100 * float((gained[drawn].max(axis=1) - gained[first]).mean()),
        "spearman": float(stats.spearmanr(values, gained)[0]),
        "kendall": float(stats.kendalltau(values, gained)[0]),
    }


def _words(values: pd.Series) -> str:
    mean, low, _ = metrics.interval(list(values))
    return f"{mean:.2f} ± {mean - low:.2f}"


def _waved(rows: Array, waves: Array) -> Array:
    turned = rows @ waves
    return np.concatenate([np.cos(turned), np.sin(turned)], axis=1).astype(np.float64) / math.sqrt(
        waves.shape[1]
    )


def main() -> None:
    """Prints the tables, or measures accuracies anew."""
    parser = argparse.ArgumentParser(
        description="scores of public data against the accuracy that each candidate gives"
    )
    parser.add_argument(
        "--images",
        type=Path,
        help=f"a folder with {' and '.join(LENT.values())}, which do not come with the library",
    )
    parser.add_argument(
        "--epsilon",
        default="0.1,0.3,1,3,inf",
        help="comma-separated budgets of screening; inf: without noise",
    )
    parser.add_argument(
        "--train",
        help=(
            "comma-separated learners: measure accuracies anew, into --output, in place of judging"
            " scores"
        ),
    )
    parser.add_argument(
        "--total",
        type=float,
        help=(
            "screen at 0.3 and train PILLAR on what is left of this ε (1 or 3), and no more tables"
        ),
    )
    parser.add_argument(
        "--seeds", type=int, default=3, help="runs a cell, where accuracies are measured"
    )
    parser.add_argument(
        "--output", default="yardstick.csv", help="CSV file of accuracies that were measured"
    )
    options = parser.parse_args()
    made = Yardstick(options.images, progress=printer(unit="steps"))
    absent = [task.name for task in TASKS if task not in made.tasks]
    if absent:
        print(
            f"without {', '.join(absent)}, and without candidates from {', '.join(LENT)}: give"
            " --images",
            file=sys.stderr,
        )
    if options.train:
        runs = pd.DataFrame(
            measured(
                made, made.tasks, learners=options.train.split(","), seeds=range(options.seeds)
            )
        )
        cells = ["task", "candidate", "learner", "epsilon"]
        wide = (
            runs.pivot(index=cells, columns="seed", values="accuracy")
            .rename(columns="seed{}".format)
            .reset_index()
        )
        without_formulas(wide).to_csv(options.output, index=False)
        return
    accuracies = kept()
    if options.total:
        print(
            pd.DataFrame(
                in_one_budget(
                    made, made.tasks, total=options.total, spent=0.3, accuracies=accuracies
                )
            ).to_string(index=False)
        )
        return
    epsilons = [None if text == "inf" else float(text) for text in options.epsilon.split(",")]
    table = judged(pd.DataFrame(scored(made, made.tasks, epsilons=epsilons)), accuracies)
    print(sides(table).to_string(index=False))
    print(ceiling(accuracies).to_string(index=False))
    said = pd.DataFrame(
        verdicts(
            made,
            made.tasks,
            epsilons=[one for one in epsilons if one is not None],
            accuracies=accuracies,
        )
    )
    print(
        said.groupby(["confirms", "spent"])[["is_clear", "is_wrong", "lost", "covered"]]
        .mean()
        .to_string()
    )


if __name__ == "__main__":
    main()
