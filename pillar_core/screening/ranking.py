"""The two ways to a ranking: scores read from private rows without noise, and scores after one private release."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from pillar_core import accounting
from pillar_core.errors import DataError, SettingError, UnsupportedError
from pillar_core.ledger import Ledger
from pillar_core.rng import Streams, stream
from pillar_core.screening import release as releases
from pillar_core.screening.gsd import Side
from pillar_core.screening.release import Release
from pillar_core.screening.scores import SCORES, Seen
from pillar_core.subspace import projection_distance, random_distance
from pillar_core.types import Dataset, NeighboringRelation, Provenance

Array = np.ndarray[Any, Any]
Progress = Callable[[int, int, str], None]

COLUMNS = ("public", "score", "value", "low", "high", "rank", "n_examples", "provenance", "epsilon_upper")
NOISE_DRAWS = 12
"""Noise copies for the interval of a private ranking."""
LEVEL = 0.95


@dataclasses.dataclass(frozen=True)
class Task:
    """Everything about one screening, checked. `seed` names the noise (None: the operating system's), `public_seed` all else."""

    private: Dataset
    public: Mapping[str, Dataset]
    scores: tuple[str, ...]
    k: int
    n_examples: int
    repeats: int
    seed: int | None
    public_seed: int
    progress: Progress


def without_noise(task: Task, own: Side, sides: Mapping[str, Side]) -> pd.DataFrame:
    """The table of non-private diagnostics: the private gradients are made once a repeat, each candidate's once a repeat.

    Raises:
        SettingError: a score that is a private release. DataError: naming the candidate that cannot be scored.
    """
    for name in task.scores:
        if SCORES[name].value is None:
            raise SettingError(f"the score {name} is a private release and needs epsilon.")
    values: dict[tuple[str, str], list[float]] = {(name, score): [] for name in sides for score in task.scores}
    width = 0
    for repeat in range(task.repeats):
        private = Seen(own, repeat)
        for number, (name, side) in enumerate(sides.items()):
            task.progress(repeat * len(sides) + number, task.repeats * len(sides), name)
            public = Seen(side, repeat)
            for score in task.scores:
                values[name, score].append(_scored(score, private, public, task.k, name))
        width = private.gradients.width if set(task.scores) & {"gsd", "missed_energy"} else 0
    task.progress(1, 1, "done")
    rows = []
    for (name, score), found in values.items():
        low, high = interval(found)
        rows.append(_row(name, score, (low, float(np.mean(found)), high), _count(own, sides[name]), Provenance.NON_PRIVATE, math.inf))
    return _ranked(rows, null=random_distance(task.k, width) if width else None, width=width)


def with_noise(task: Task, own: Side, sides: Mapping[str, Side], epsilon: float, delta: float) -> pd.DataFrame:
    """The table from one release at (ε, δ); several kinds of release share ε equally. Candidates cost nothing more.

    Raises:
        UnsupportedError: a score without a private form. SettingError: ε not in (0, ∞).
    """
    forms = _forms(task, epsilon)
    gradients = own.gradients(0)
    matrix = releases.sketch_matrix(gradients.width, seed=task.public_seed)
    public: dict[tuple[str, int], Array] = {}
    for number, (name, side) in enumerate(sides.items()):
        for repeat in range(task.repeats):
            task.progress(number * task.repeats + repeat, len(sides) * task.repeats + 1, name)
            public[name, repeat] = releases.sketched(side.gradients(repeat, start=0).chunks(), matrix)
    clip = releases.public_clip([rows for (_, repeat), rows in public.items() if repeat == 0])
    task.progress(1, 2, "private rows")
    rows = releases.sketched(gradients.chunks(), matrix)
    ledger, made = Ledger(), {}
    noise = Streams(task.seed).secret("screening noise")
    for form in forms:
        made[form] = _released(form, rows, task.k, clip, epsilon / len(forms), delta, noise, ledger)
    bounds = accounting.epsilon(ledger.spent, delta=delta, relation=NeighboringRelation.ADD_OR_REMOVE_ONE, accountant="auto")
    bases = {key: releases.top_of(releases.moment_of(releases.clipped(part, clip)), task.k) for key, part in public.items()}
    found = []
    for score in task.scores:
        release = made[SCORES[score].private_form]
        generators = [stream(task.public_seed, "noise copies", number) for number in range(NOISE_DRAWS)]
        copies = [] if release.moment is None else [releases.noise_copy(release, generator) for generator in generators]
        for name in sides:
            ends = _from_release(score, release, copies, [bases[name, repeat] for repeat in range(task.repeats)])
            found.append(_row(name, score, ends, _count(own, sides[name]), Provenance.PRIVATE, bounds.upper))
    task.progress(1, 1, "done")
    return _ranked(found, null=random_distance(task.k, releases.SKETCH), width=releases.SKETCH)


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Student's 95 % interval of the mean, cut at 0; NaN for one value."""
    if len(values) < 2:
        return math.nan, math.nan
    half = float(stats.t.ppf(0.5 + LEVEL / 2, len(values) - 1)) * float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return max(0.0, float(np.mean(values)) - half), float(np.mean(values)) + half


def _scored(score: str, private: Seen, public: Seen, k: int, name: str) -> float:
    compute = SCORES[score].value
    if compute is None:
        raise SettingError(f"the score {score} is a private release and needs epsilon.")
    try:
        return compute(private, public, k, min(private.count, public.count))
    except DataError as cause:
        raise DataError(f"public set {name!r}: {cause}") from cause


def _forms(task: Task, epsilon: float) -> list[str]:
    """The kinds of release that the scores need, each once."""
    lacking = [name for name in task.scores if not SCORES[name].private_form]
    if lacking:
        able = ", ".join(name for name in SCORES if SCORES[name].private_form)
        raise UnsupportedError(f"{', '.join(lacking)} has no private form: with epsilon use {able}, or leave epsilon out.")
    if not 0 < epsilon < math.inf:
        raise SettingError(f"epsilon must be above 0 and finite (leave it out for a non-private diagnostic); got {epsilon!r}.")
    if not task.k < releases.SKETCH:
        raise SettingError(f"k must be below {releases.SKETCH}, the size of the private sketch; got {task.k}.")
    return sorted({SCORES[name].private_form for name in task.scores})


def _released(form: str, rows: Array, k: int, clip: float, epsilon: float, delta: float, noise: Any, ledger: Ledger) -> Release:
    if form == "moment":
        return releases.release_moment(rows, k=k, l2_clip_norm=clip, epsilon=epsilon, delta=delta, noise=noise, ledger=ledger)
    return releases.release_directions(rows, k=k, l2_clip_norm=clip, epsilon=epsilon, noise=noise, ledger=ledger)


def _from_release(score: str, release: Release, copies: Sequence[Array], bases: Sequence[Array]) -> tuple[float, float, float]:
    """(low, value, high): the spread joins fresh noise of the same law with that over the candidate's own draws of rows.

    The pure form has no noise of known spread to copy: its ends are NaN.
    """
    if score == "missed_energy" and release.moment is not None:
        values = [releases.missed_energy(release.moment, basis) for basis in bases]
        noisy = [releases.missed_energy(copy, bases[0]) for copy in copies]
    else:
        values = [projection_distance(release.basis, basis) for basis in bases]
        noisy = [projection_distance(releases.top_of(copy, release.basis.shape[1]), bases[0]) for copy in copies]
    value = float(np.mean(values))
    if len(noisy) < 2:
        return math.nan, value, math.nan
    rows_variance = float(np.var(values, ddof=1)) / len(values) if len(values) > 1 else 0.0
    half = float(stats.norm.ppf(0.5 + LEVEL / 2)) * math.sqrt(float(np.var(noisy, ddof=1)) + rows_variance)
    return max(0.0, value - half), value, value + half


def _count(own: Side, other: Side) -> int:
    return min(len(own.chosen[0]), len(other.chosen[0]))


def _row(name: str, score: str, ends: tuple[float, float, float], count: int, kind: Provenance, upper: float) -> dict[str, Any]:
    low, value, high = ends
    return {
        "public": name,
        "score": score,
        "value": value,
        "low": low,
        "high": high if math.isnan(high) else min(high, SCORES[score].largest),
        "n_examples": count,
        "provenance": str(kind),
        "epsilon_upper": upper,
    }


def _ranked(rows: Sequence[Mapping[str, Any]], *, null: float | None, width: int) -> pd.DataFrame:
    """The table with ranks from 1 within each score (equal values share the smaller), scores in the order asked for."""
    table = pd.DataFrame(rows)
    table["rank"] = table.groupby("score")["value"].rank(method="min").astype(int)
    order = {score: place for place, score in enumerate(dict.fromkeys(table["score"]))}
    table = table.sort_values(["score", "rank"], key=lambda column: column.map(order) if column.name == "score" else column, kind="stable")
    table = table.reset_index(drop=True)[list(COLUMNS)]
    table.attrs["random_subspaces"], table.attrs["width"] = null, width
    return table
