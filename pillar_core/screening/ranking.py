"""Two rankings: one reads private rows without noise; of the other, one release of their sketched
gradients gives every score."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pillar_core import accounting
from pillar_core.accounting import basic
from pillar_core.arrays import Array
from pillar_core.data import uploads
from pillar_core.deferred import pandas as pd
from pillar_core.deferred import stats, torch
from pillar_core.errors import DataError, SettingError, UnsupportedError
from pillar_core.fingerprint import fingerprint
from pillar_core.ledger import DpEvent, Ledger
from pillar_core.mechanisms import draw_batch, poisson_sample
from pillar_core.numerics import half_width, number_words, round_up
from pillar_core.rng import Streams, stream
from pillar_core.screening import release as releases
from pillar_core.screening.batches import Start
from pillar_core.screening.gsd import Side
from pillar_core.screening.models import GradientModel
from pillar_core.screening.release import LARGEST_PURE_K, ReleasedSubspace
from pillar_core.screening.scores import SCORES, Need, Score, Seen
from pillar_core.subspace import random_distance
from pillar_core.types import Dataset, NeighboringRelation, Progress, Provenance

COLUMNS = (
    "public",
    "score",
    "value",
    "low",
    "high",
    "rank",
    "n_examples",
    "provenance",
    "epsilon_upper",
)
APART = (
    " Candidate sets are treated as public: a private row, or a person, that is also in one of them"
    " is not protected."
)
LEVEL = 0.95


@dataclasses.dataclass(frozen=True)
class Screening:
    """Everything about one screening, checked. `seed` names the noise (None: the operating
    system's), `public_seed` all else; `n_private` is the number of private rows that counts as
    public, whatever rows are there."""

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


def without_noise(task: Screening, private_side: Side, sides: Mapping[str, Side]) -> "pd.DataFrame":
    """The table of non-private diagnostics: the private gradients are made once a repeat, each
    candidate's once a repeat.

    Raises SettingError: a score that is a private release. DataError: naming the candidate that
    cannot be scored.
    """
    values: dict[tuple[str, str], list[float]] = {
        (name, score): [] for name in sides for score in task.scores
    }
    width = 0
    for repeat in range(task.repeats):
        private = Seen(private_side, repeat)
        for number, (name, side) in enumerate(sides.items()):
            task.progress(repeat * len(sides) + number, task.repeats * len(sides), name)
            public = Seen(side, repeat)
            for score in task.scores:
                values[name, score].append(_compute_score(score, private, public, task.k, name))
        width = (
            private.gradients.width
            if any(Need.GRADIENTS in SCORES[name].needs for name in task.scores)
            else 0
        )
    task.progress(1, 1, "done")
    rows = []
    for (name, score), repeats in values.items():
        low, high = interval(repeats)
        count = min(len(private_side.chosen[0]), len(sides[name].chosen[0]))
        ends = (low, float(np.mean(repeats)), high)
        rows.append(row_of(name, score, ends, count, math.inf))
    return rank_table(rows, null=random_distance(task.k, width) if width else None, width=width)


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Student's 95 % interval of the mean; NaN for one value."""
    mean = float(np.mean(values))
    half = half_width(float(np.std(values, ddof=1)), len(values)) if len(values) > 1 else math.nan
    return mean - half, mean + half


def ties(table: "pd.DataFrame") -> list[str]:
    """The candidates that may be as good as the first: the table's `rivals`, else those whose
    interval reaches into its own.

    table: the rows of one score, best first.
    """
    overlapping = table[~(table["low"] > table["high"].iloc[0])]["public"].iloc[1:]
    return list(table.attrs.get("rivals", overlapping))


def is_noise(table: "pd.DataFrame") -> bool:
    """Whether noise alone may make the first score. table: as in `ties`."""
    return bool(table["value"].iloc[0] >= table.attrs.get("noise_floor", math.inf))


def _compute_score(score: str, private: Seen, public: Seen, k: int, name: str) -> float:
    compute = SCORES[score].value
    if compute is None:
        raise SettingError(f"the score {score} is a private release and needs epsilon.")
    try:
        return compute(private, public, k, min(private.count, public.count))
    except DataError as cause:
        raise DataError(f"public set {uploads.title_of(name)!r}: {cause}") from cause


def row_of(
    name: str,
    score: str,
    ends: tuple[float, float, float],
    count: int,
    upper: float,
) -> dict[str, object]:
    """One row of the table; ends: (low, value, high), cut to what the score can be; upper: of ε,
    inf without noise."""
    low, value, high = ends
    kind = Provenance.NON_PRIVATE if math.isinf(upper) else Provenance.PRIVATE
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


def rank_table(
    rows: Sequence[Mapping[str, object]], *, null: float | None, width: int
) -> "pd.DataFrame":
    """The table with ranks from 1 within each score, scores in the order of the question; equal
    values share the smaller rank."""
    table = pd.DataFrame(rows)
    table["rank"] = table.groupby("score")["value"].rank(method="min").astype(int)
    order = list(dict.fromkeys(table["score"]))
    table = table.sort_values(
        ["score", "rank"],
        key=lambda column: column.map(order.index) if column.name == "score" else column,
        kind="stable",
        ignore_index=True,
    )[list(COLUMNS)]
    table.attrs["random_subspaces"], table.attrs["width"] = null, width
    return table


LARGEST_EPSILON = 1e6
"""Beyond it nothing is protected, and noise is too small for its lattice."""
NOISE_DRAWS = 12
"""Noise copies for the interval of a private ranking."""
SKETCHES = {"moment": releases.SKETCH, "directions": releases.PURE_SKETCH}
"""Numbers of a sketched gradient in each form of release."""


def with_noise(
    task: Screening, sides: Mapping[str, Side], epsilon: float, delta: float
) -> "pd.DataFrame":
    """The table from one release at (ε, δ); several kinds of release share ε equally. Candidates
    cost nothing more.

    Raises UnsupportedError: a score without a private form. SettingError: ε not in (0, ∞).
    """
    forms = _forms(task, epsilon)
    matrix = releases.sketch_matrix(
        next(iter(sides.values())).gradients(0).width, seed=task.public_seed
    )
    public: dict[tuple[str, int], Array] = {}
    for number, (name, side) in enumerate(sides.items()):
        for repeat in range(task.repeats):
            task.progress(number * task.repeats + repeat, len(sides) * task.repeats + 1, name)
            public[name, repeat] = releases.sketch_rows(
                side.gradients(repeat, start=0).chunks(), matrix
            )
    task.progress(len(public), len(public) + 1, "private rows")
    ledger = Ledger()

    def release_form(form: str) -> tuple[ReleasedSubspace, dict[tuple[str, int], Array]]:
        """One form's release, and each candidate's directions in its sketch by (name, repeat)."""
        narrow = releases.narrowing(size=SKETCHES[form], seed=task.public_seed)
        parts = {key: part @ narrow.double().numpy() for key, part in public.items()}
        clip = releases.public_clip([part for (_, repeat), part in parts.items() if repeat == 0])
        bases = {
            key: releases.top_of(releases.moment_of(releases.clip_rows(part, clip)), task.k)
            for key, part in parts.items()
        }
        return (
            release_rows(task, form, matrix @ narrow, clip, epsilon / len(forms), delta, ledger),
            bases,
        )

    by_form = {form: release_form(form) for form in forms}
    upper = _epsilon(
        ledger.total_event,
        0.0 if _is_pure(task.scores) else delta,
        NeighboringRelation.ADD_OR_REMOVE_ONE,
    )
    rows = []
    for score in task.scores:
        release, bases = by_form[SCORES[score].private_form]
        generators = (
            stream(task.public_seed, "noise copies", number) for number in range(NOISE_DRAWS)
        )
        copies = [
            releases.noise_copy(release, generator)
            for generator in generators
            if release.moment is not None
        ]
        for name, side in sides.items():
            own = [bases[name, repeat] for repeat in range(task.repeats)]
            ends = _from_release(SCORES[score], release, copies, own)
            count = min(task.n_examples, task.n_private, len(side.chosen[0]))
            rows.append(row_of(name, score, ends, count, upper))
    task.progress(1, 1, "done")
    width = SKETCHES[SCORES[task.scores[0]].private_form]
    table = rank_table(rows, null=random_distance(task.k, width), width=width)
    table.attrs["guarantee"] = _guarantee(task, ledger.total_event, delta)
    return table


def release_rows(
    task: Screening,
    form: str,
    matrix: "torch.Tensor",
    clip: float,
    epsilon: float,
    delta: float,
    ledger: Ledger,
) -> ReleasedSubspace:
    """One release of the task's private rows at `epsilon`: form "moment" (Gaussian, δ) or
    "directions" (pure).

    Each row is in the sample with probability q, whatever other rows there are; only the moment,
    one release a sample, is charged as subsampled. A label that is drawn for a row says nothing
    about it, so both neighbours' laws stay mixtures of the same terms.
    """
    public = {name: data.fingerprint for name, data in task.public.items()}
    counts = (task.k, task.n_private, task.n_examples, task.repeats, task.public_seed)
    asked = (task.private.fingerprint, public, task.scores, task.model.name, *counts)
    streams = Streams(task.seed, fingerprint(*asked, form, clip, epsilon, delta))
    n, q = len(task.private.x_train), releases.sampling_probability(task.n_private, task.n_examples)
    sampling, labels = (
        streams.sampling(f"screening {what} {form}") for what in ("sample", "labels")
    )
    noise, start = streams.secret(f"screening noise {form}"), Start(task.public_seed)

    def sampled(indices: Array) -> Array:
        return releases.sampled_rows(task.private, task.model, indices, matrix, labels, start)

    shared: dict[str, Any] = {
        "k": task.k,
        "l2_clip_norm": clip,
        "noise": noise,
        "ledger": ledger,
    }
    if form == "directions":
        rows = sampled(poisson_sample(q, n, sampling))
        return releases.release_directions(rows, epsilon=epsilon, **shared)
    multiplier = accounting.noise_multiplier(epsilon, delta=delta, sampling_probability=q)
    with draw_batch(q, n, sampling, [ledger]) as indices:
        return releases.release_moment(sampled(indices), noise_multiplier=multiplier, **shared)


def _guarantee(task: Screening, spent: DpEvent, delta: float) -> str:
    """The promise of the release in words."""
    n, pure = task.n_private, _is_pure(task.scores)
    q = releases.sampling_probability(n, task.n_examples)
    entry = (
        "all private rows enter"
        if q == 1
        else f"each private row enters with probability {q:.3g}, independently of the others"
    )
    covers = (
        f"This covers the table as a whole: {entry} and gets a random label of its own, so one row"
        " more or less changes one clipped term of each sum released."
    )
    loose = (
        f" δ = {number_words(delta)} is at least 1/{n:,}: lower it."
        if delta >= 1 / n and not pure
        else ""
    )
    low_bits = (
        " It holds if nobody reads the low bits of the noise, which was drawn in floating point."
        if task.seed is None
        else ""
    )
    known = "their images' size and colour"
    promise = promise_of(spent, covers, delta, n, task.seed, known=known, is_pure=pure)
    return promise + loose + low_bits


def promise_of(
    spent: DpEvent,
    covers: str,
    delta: float,
    n: int,
    seed: int | None,
    *,
    known: str = "the classes",
    is_pure: bool = False,
) -> str:
    """What was spent, in words. covers: what all follows from it; known: what counts as public
    besides the number of private rows, n; is_pure: holds at δ = 0."""
    slack = 0.0 if is_pure else delta
    added, replaced = (
        round_up(_epsilon(spent, slack, relation)) for relation in NeighboringRelation
    )
    secret = (
        "" if seed is None else " The seed of the noise is known: an experiment, not for release."
    )
    return (
        f"ε ≤ {added} with a slack of δ = {number_words(slack)}, for one row"
        f" added or removed; ε ≤ {replaced} for one row replaced. {covers} The number of private"
        f" rows, {n:,}, and {known} count as public.{APART}{secret}"
    )


def _epsilon(spent: DpEvent, delta: float, relation: NeighboringRelation) -> float:
    """An upper end of what was spent at δ; the pure ε at δ = 0."""
    if not delta:
        return basic.pure_epsilon(spent, relation)
    return accounting.epsilon(spent, delta=delta, relation=relation, accountant="auto").upper


def _is_pure(scores: Sequence[str]) -> bool:
    return not any(SCORES[name].private_form == "moment" for name in scores)


def _forms(task: Screening, epsilon: float) -> list[str]:
    """The kinds of release that the scores need, each once."""
    lacking = [name for name in task.scores if not SCORES[name].private_form]
    if lacking:
        able = ", ".join(name for name in SCORES if SCORES[name].private_form)
        raise UnsupportedError(
            f"{', '.join(lacking)} has no private form: with epsilon use {able}, or leave epsilon"
            " out."
        )
    if not 0 < epsilon <= LARGEST_EPSILON:
        raise SettingError(
            f"epsilon must be above 0 and at most {LARGEST_EPSILON:g} (leave it out for a"
            f" non-private diagnostic); got {epsilon!r}."
        )
    forms = sorted({SCORES[name].private_form for name in task.scores})
    for form in forms:
        if not task.k < SKETCHES[form]:
            better = f" Take k ≤ {LARGEST_PURE_K}, or gsd." if form == "directions" else ""
            raise SettingError(
                f"k must be below {SKETCHES[form]}, the size of the private sketch; got"
                f" {task.k}.{better}"
            )
    return forms


def _from_release(
    score: Score, release: ReleasedSubspace, copies: Sequence[Array], bases: Sequence[Array]
) -> tuple[float, float, float]:
    """(low, value, high): the spread joins fresh noise of the same law with that over the
    candidate's own draws of rows.

    The pure form has no noise of known spread to copy: its ends are NaN.
    """
    if release.moment is not None and score.from_moment is not None:
        values = [score.from_moment(release.moment, basis) for basis in bases]
        noisy = [score.from_moment(copy, bases[0]) for copy in copies]
    elif score.from_directions is not None:
        values, noisy = [score.from_directions(release.basis, basis) for basis in bases], []
    else:
        raise UnsupportedError(f"the score {score.name} has no private form.")
    value = float(np.mean(values))
    if len(noisy) < 2:
        return math.nan, value, math.nan
    rows_variance = float(np.var(values, ddof=1)) / len(values) if len(values) > 1 else 0.0
    half = float(stats.norm.ppf(0.5 + LEVEL / 2)) * math.sqrt(
        float(np.var(noisy, ddof=1)) + rows_variance
    )
    return value - half, value, value + half
