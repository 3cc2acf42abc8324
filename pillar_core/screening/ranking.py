"""The ranking that reads private rows without noise, and what it shares with the private one: rows, ranks, intervals."""

import dataclasses
import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from pillar_core.deferred import stats
from pillar_core.errors import DataError, SettingError
from pillar_core.screening.gsd import Side
from pillar_core.screening.models import GradientModel
from pillar_core.screening.scores import SCORES, Need, Seen
from pillar_core.subspace import random_distance
from pillar_core.types import Dataset, Progress, Provenance

COLUMNS = ("public", "score", "value", "low", "high", "rank", "n_examples", "provenance", "epsilon_upper")
APART = " Candidates' rows count as public: ε protects no private row, and nobody of the private rows, that is among them too."
LEVEL = 0.95


@dataclasses.dataclass(frozen=True)
class Screening:
    """Everything about one screening, checked. `seed` names the noise (None: the operating system's), `public_seed` all else;
    `n_private` is the number of private rows that counts as public, whatever rows are there."""

    private: Dataset
    n_private: int
    public: Mapping[str, Dataset]
    scores: tuple[str, ...]
    model: GradientModel
    k: int
    n_examples: int
    repeats: int
    seed: int | None
    public_seed: int
    progress: Progress


def without_noise(task: Screening, private_side: Side, sides: Mapping[str, Side]) -> pd.DataFrame:
    """The table of non-private diagnostics: the private gradients are made once a repeat, each candidate's once a repeat.

    Raises:
        SettingError: a score that is a private release. DataError: naming the candidate that cannot be scored.
    """
    values: dict[tuple[str, str], list[float]] = {(name, score): [] for name in sides for score in task.scores}
    width = 0
    for repeat in range(task.repeats):
        private = Seen(private_side, repeat)
        for number, (name, side) in enumerate(sides.items()):
            task.progress(repeat * len(sides) + number, task.repeats * len(sides), name)
            public = Seen(side, repeat)
            for score in task.scores:
                values[name, score].append(_compute_score(score, private, public, task.k, name))
        width = private.gradients.width if any(Need.GRADIENTS in SCORES[name].needs for name in task.scores) else 0
    task.progress(1, 1, "done")
    rows = []
    for (name, score), repeats in values.items():
        low, high = interval(repeats)
        count = min(len(private_side.chosen[0]), len(sides[name].chosen[0]))
        rows.append(row_of(name, score, (low, float(np.mean(repeats)), high), count, Provenance.NON_PRIVATE, math.inf))
    return rank_table(rows, null=random_distance(task.k, width) if width else None, width=width)


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Student's 95 % interval of the mean; NaN for one value."""
    if len(values) < 2:
        return math.nan, math.nan
    half = float(stats.t.ppf(0.5 + LEVEL / 2, len(values) - 1)) * float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return float(np.mean(values)) - half, float(np.mean(values)) + half


def _compute_score(score: str, private: Seen, public: Seen, k: int, name: str) -> float:
    compute = SCORES[score].value
    if compute is None:
        raise SettingError(f"the score {score} is a private release and needs epsilon.")
    try:
        return compute(private, public, k, min(private.count, public.count))
    except DataError as cause:
        raise DataError(f"public set {name!r}: {cause}") from cause


def row_of(name: str, score: str, ends: tuple[float, float, float], count: int, kind: Provenance, upper: float) -> dict[str, object]:
    """One row of the table; ends: (low, value, high), cut to what the score can be."""
    low, value, high = ends
    return {
        "public": name,
        "score": score,
        "value": value,
        "low": low if math.isnan(low) else max(low, SCORES[score].smallest),
        "high": high if math.isnan(high) else min(high, SCORES[score].largest),
        "n_examples": count,
        "provenance": str(kind),
        "epsilon_upper": upper,
    }


def rank_table(rows: Sequence[Mapping[str, object]], *, null: float | None, width: int) -> pd.DataFrame:
    """The table with ranks from 1 within each score, scores in the order of the question; equal values share the smaller rank."""
    table = pd.DataFrame(rows)
    table["rank"] = table.groupby("score")["value"].rank(method="min").astype(int)
    order = {score: place for place, score in enumerate(dict.fromkeys(table["score"]))}
    table = table.sort_values(["score", "rank"], key=lambda column: column.map(order) if column.name == "score" else column, kind="stable")
    table = table.reset_index(drop=True)[list(COLUMNS)]
    table.attrs["random_subspaces"], table.attrs["width"] = null, width
    return table
