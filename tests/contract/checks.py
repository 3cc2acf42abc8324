"""The contract of every learner, as functions that raise AssertionError, so that planted faults can
be seen to fail.

They find faults and prove nothing: each method file states its sensitivity argument.
"""

import dataclasses
import functools
import importlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import numpy as np
from scipy import stats

from contract.tapes import Neighbour, Recorder, Replay, WithFirstRow, distance
from pillar_core import events, params
from pillar_core.auditing import noise
from pillar_core.events import (
    ExponentialMechanismEvent,
    GaussianRelease,
    PureEvent,
    RandomAllocationEvent,
)
from pillar_core.ledger import Call, DpEvent, Ledger, compose, event_counts
from pillar_core.memo import Memo
from pillar_core.methods import Method
from pillar_core.rng import Stream, Streams
from pillar_core.splits import View
from pillar_core.types import Provenance, SemiPrivateSplit, TrainResult

FURTHER_THAN_ADDED = 0.55
"""A replaced row must move a sum further than an added one can (half of its bound, where that is
twice as large)."""
PAST_ONE = 1.05
"""Times what one added row may move: no pair of rows need be harder than one that gets there."""
NEAR_ROWS = 8
"""Public rows that come or go as private ones."""
SLACK = 1e-4
"""Pre-noise values are float32 sums of about a hundred rows of norm at most 1: their rounding stays
below 1e-4."""
NEAR_BOUND = 0.8
"""The hardest neighbour must reach this share of the sensitivity, or the sensitivity test is
vacuous."""
SAME_SCORES = 1e-3
"""Share of the largest score by which rounding in another order may move one: rows as long as they
come make steps that carry it on."""
HUGE = 1e6
FEWEST_RUNS, MOST_RUNS, ENOUGH_DRAWS = 6, 200, 2500
"""The noise of 6 runs is looked at, and of more where they draw little;
tests/unit/auditing/test_noise.py: what 2,500 numbers tell."""
SIGNIFICANCE = 1e-9
"""Of each p-value, with a seed or without; tests/statistical/errors.csv adds them up."""
EXPONENTIAL = importlib.import_module("pillar_core.mechanisms.exponential")
"""The module: its package has a function of that name."""


Lines = Sequence[tuple[str, DpEvent]]
"""What a ledger was charged, by label."""
Pair = tuple[str, View, bool, np.ndarray, int | None]
"""(name, neighbour, whether a row was replaced, place of each old row in it or −1, the row forced
into samples)."""


@dataclasses.dataclass(frozen=True)
class Case:
    """A learner with settings and a view that it can be fitted on in milliseconds."""

    method: Method
    settings: Any
    view: View
    is_release: bool = False

    def streams(self, seed: int) -> Streams:
        """Those of the seed; of a release the operating system's."""
        return Streams(None if self.is_release else seed)

    def fit(
        self, view: View, tape: Recorder | None = None, *, seed: int = 3
    ) -> tuple[TrainResult, Ledger]:
        ledger = Ledger(tape)
        return self.method.train(self.settings, view, self.streams(seed), ledger), ledger

    def fit_each(self, view: View, tapes: Sequence[Recorder], seeds: Sequence[int]) -> None:
        """A fit for each tape and seed, as heads of one batch where the learner trains them so."""
        if self.method.fit_many is None:
            for tape, seed in zip(tapes, seeds, strict=True):
                self.fit(view, tape, seed=seed)
        else:
            ledgers, streams = (
                [Ledger(tape) for tape in tapes],
                [self.streams(seed) for seed in seeds],
            )
            self.method.fit_many([self.settings] * len(tapes), fresh(view), streams, ledgers)

    @functools.cached_property
    def recorded(self) -> tuple[TrainResult, Ledger, Recorder]:
        """A fit of the view itself, for all checks that need no more of it."""
        tape = Recorder()
        with patch.object(EXPONENTIAL, "softmax_choice", tape.choice(EXPONENTIAL.softmax_choice)):
            return *self.fit(self.view, tape), tape


def declared_is_spent(case: Case) -> None:
    """1. The ledger after `fit` equals the declared cost."""
    _, ledger, _ = case.recorded
    assert ledger.total_event == compose(case.method.cost(case.settings, case.view.facts))


def replays(case: Case) -> None:
    """2. With the releases replayed, nothing public about a fit depends on the private rows or on
    the sample drawn."""
    result, _, tape = case.recorded
    for name, view in hostile_views(case.view):
        replay = Replay(tape, sampling_seed=11)
        again, _ = case.fit(view, replay)
        assert replay.calls == tape.calls, f"{name}: the mechanisms were called otherwise"
        _assert_same_public(result, again, name)


def is_within_sensitivity(case: Case, *, rows: Mapping[str, np.ndarray] | None = None) -> None:
    """3. One row's change moves no pre-noise value further than was charged under either relation,
    and the hardest comes near.

    With `rows` these are the ones that come or go, and none has to come near.
    """
    nearest, furthest = {True: 0.0, False: 0.0}, 0.0
    for base, others, is_for_votes in pairs(case.view, rows):
        comes_near = nearest[False] >= NEAR_BOUND and nearest[True] >= FURTHER_THAN_ADDED
        if comes_near and (is_for_votes or furthest > PAST_ONE):
            break
        tape = WithFirstRow()
        _, ledger = case.fit(base, tape)
        for name, view, is_replaced, position_of, forced in others:
            other = Neighbour(tape, position_of=position_of, forced=forced)
            case.fit(view, other)
            share, moved = movement(tape, ledger.lines, other, is_replaced=is_replaced, name=name)
            nearest[is_replaced] = max(nearest[is_replaced], share)
            furthest = max(furthest, moved)
    if rows is None:
        assert nearest[False] >= NEAR_BOUND, (
            f"no added row came nearer than {nearest[False]:.3f} of the bound: the test is vacuous"
        )
        assert nearest[True] >= FURTHER_THAN_ADDED, (
            f"no replaced row came nearer than {nearest[True]:.3f}: the test is vacuous"
        )


def movement(
    tape: Recorder,
    lines: Lines,
    other: Recorder,
    *,
    is_replaced: bool,
    name: str = "",
    slack: float = SLACK,
) -> tuple[float, float]:
    """The largest share of its bound that a release moved between two data sets, and the largest
    multiple of what one added row may move it; one that moved further than was charged is
    refused."""
    nearest = furthest = 0.0
    for call, (_, event), value, moved in zip(
        tape.calls, lines, tape.values, other.values, strict=True
    ):
        times = replace_one_factor(event) if is_replaced else 1.0
        bounds = (
            [part[2] for part in call.detail]
            if call.kind == "gaussian_joint"
            else [call.sensitivity]
        )
        for bound, shift in zip(bounds, distance(value, moved, call.kind), strict=True):
            assert shift <= times * bound + slack, (
                f"{name}: {call.kind} moved by {shift:.4f}, bound {times * bound:.4f}"
            )
            nearest = max(nearest, shift / (times * bound))
            furthest = max(furthest, shift / bound)
    return nearest, furthest


def charged_as_called(case: Case) -> None:
    """Each release's event says what its call does: noise over sensitivity, and the probability of
    its sample."""
    _, ledger, tape = case.recorded
    charges_fit(ledger.lines, tape)


def charges_fit(lines: Lines, tape: Recorder) -> None:
    """See `charged_as_called`."""
    assert len(lines) == len(tape.calls), "a release was not charged"
    whole_pass, taken = None, 0
    for (label, event), call in zip(lines, tape.calls, strict=True):
        if isinstance(event, events.NoOpDpEvent):
            assert whole_pass is not None, f"{label} is free, and no pass was charged before it"
            assert taken < whole_pass.steps, f"{label} is free, and its pass is over"
            event = whole_pass
        whole_pass, taken = (
            (event, taken + 1 if event is whole_pass else 1)
            if isinstance(event, RandomAllocationEvent)
            else (None, 0)
        )
        charged = event.event if isinstance(event, events.PoissonSampledDpEvent) else event
        assert chance_charged(event) == call.sampling_probability, label
        np.testing.assert_allclose(
            noise_charged(charged, call), noise_called(call), rtol=1e-12, err_msg=label
        )


def chance_charged(event: DpEvent) -> float:
    """A row's chance to enter the release that an event is charged for."""
    match event:
        case events.PoissonSampledDpEvent():
            return event.sampling_probability
        case RandomAllocationEvent():
            return 1 / event.steps
    return 1.0


def noise_called(call: Call) -> float:
    """Noise over sensitivity of what a call does."""
    if call.kind == "gaussian_joint":
        return 1 / math.sqrt(sum((clip / std) ** 2 for _, std, clip in call.detail))
    return call.noise_std / call.sensitivity


def noise_charged(event: DpEvent, call: Call) -> float:
    """Noise over sensitivity that an event is charged for."""
    match event:
        case events.GaussianDpEvent() | GaussianRelease() | RandomAllocationEvent():
            return event.noise_multiplier
        case ExponentialMechanismEvent():
            return 1 / event.epsilon_add_remove
        case PureEvent():
            # Noisy SGD as printed, Bassily, Smith & Thakurta 2014, Theorem 2.1: n² is in the call,
            # ε and δ are in the event.
            return (
                math.sqrt(
                    32
                    * math.log(math.sqrt(call.detail[0]) / event.delta)
                    * math.log(1 / event.delta)
                )
                / event.epsilon_add_remove
            )
    raise AssertionError(
        f"the contract knows no noise of {event}: add it to tests/contract/checks.py"
    )


def replace_one_factor(event: DpEvent) -> float:
    """How much further than an added row a replaced one may move a release that is charged as
    `event`."""
    match event:
        case events.PoissonSampledDpEvent():
            return replace_one_factor(event.event)
        case GaussianRelease():
            return event.replace_one_factor
        case ExponentialMechanismEvent():
            return event.epsilon_replace_one / event.epsilon_add_remove
    return 2.0


def samples_as_charged(case: Case) -> None:
    """4. Poisson events come from Poisson samples: as many samples as events, at that probability,
    binomial in size; passes of random allocation from partitions of the rows, each row's step drawn
    by itself."""
    _, ledger, tape = case.recorded
    passes = [
        (event.steps, times)
        for event, times in event_counts(ledger.total_event).items()
        if isinstance(event, RandomAllocationEvent)
    ]
    charged = sum(
        times
        for event, times in event_counts(ledger.total_event).items()
        if isinstance(event, events.PoissonSampledDpEvent)
    )
    drawn = [(q, n, indices) for q, n, indices in tape.samples if q < 1]
    found = {}
    if passes:
        found = allocated(drawn, *passes[0])
    else:
        assert charged == len(drawn), (
            f"{charged} Poisson events were charged and {len(drawn)} samples drawn"
        )
        if len(drawn) >= 30:
            found = sampled(drawn)
    for name, p in found.items():
        assert p > SIGNIFICANCE, f"the samples are not those that were charged: {name}, p = {p:.1g}"


def two_sided(law: Any, value: Any) -> Any:
    """The p-value of a number, or each of several, under its law."""
    return np.minimum(1.0, 2 * np.minimum(law.cdf(value), law.sf(np.nextafter(value, -np.inf))))


def sampled(drawn: Sequence[tuple[float, int, np.ndarray]]) -> dict[str, float]:
    """A p-value for each way in which Poisson samples can be wrong. Counts are binomial, sums of
    many products normal."""
    q, n, _ = drawn[0]
    inside = np.zeros((len(drawn), n))
    for row, (_, _, indices) in zip(inside, drawn, strict=True):
        row[indices] = 1.0
    sizes, coins = inside.sum(axis=1), (inside - q) / np.sqrt(q * (1 - q))
    places = np.arange(1, n)
    expected = len(drawn) * (n - places) * q**2 * (1 - q) ** (places - 1)
    places = places[expected >= 30]
    seen = np.bincount(np.concatenate([np.diff(indices) for _, _, indices in drawn]), minlength=n)[
        places
    ]
    away = (seen - expected[places - 1]) ** 2 / expected[places - 1]
    return {
        "mean size": float(two_sided(stats.binom(inside.size, q), sizes.sum())),
        "spread of sizes": _spread(sizes, n * q * (1 - q)),
        "rows": n * float(two_sided(stats.binom(len(drawn), q), inside.sum(axis=0)).min()),
        **{
            f"neighbouring {name}": (
                2 * float(stats.norm.sf(abs((one * other).sum()) / np.sqrt(one.size)))
            )
            for name, one, other in (
                ("steps", coins[1:], coins[:-1]),
                ("rows", coins[:, 1:], coins[:, :-1]),
            )
        },
        "gaps between rows": float(stats.chi2.sf(away.sum(), len(places))),
    }


def _spread(sizes: np.ndarray, variance: float) -> float:
    return float(
        two_sided(stats.chi2(len(sizes) - 1), ((sizes - sizes.mean()) ** 2).sum() / variance)
    )


def allocated(
    drawn: Sequence[tuple[float, int, np.ndarray]], steps: int, passes: int
) -> dict[str, float]:
    """As `sampled`, of passes of random allocation; whether two draws are equal is a coin of its
    own for each two in a row."""
    assert len(drawn) == steps * passes, (
        f"{passes} passes of {steps} steps were charged and {len(drawn)} batches drawn"
    )
    n, share = drawn[0][1], 1 / steps
    step_of = np.full((passes, n), -1)
    for number, (_, _, indices) in enumerate(drawn):
        assert (step_of[number // steps, indices] == -1).all(), "a row enters two steps of one pass"
        step_of[number // steps, indices] = number % steps
    assert (step_of >= 0).all(), "a row enters no step of a pass"
    sizes = np.array([(step_of == step).sum(axis=1) for step in range(steps)])
    pairs = {"passes": step_of[1:] == step_of[:-1], "rows": step_of[:, 1:] == step_of[:, :-1]}
    return {
        "steps": steps * float(two_sided(stats.binom(passes * n, share), sizes.sum(axis=1)).min()),
        "spread of sizes": _spread(sizes[0], n * share * (1 - share)),
        **{
            f"neighbouring {name}": float(two_sided(stats.binom(equal.size, share), equal.sum()))
            for name, equal in pairs.items()
        },
    }


def noise_is_as_charged(case: Case) -> None:
    """What was added is independent normals of the call's standard deviation: law, releases,
    numbers, runs and heads of one batch.

    A choice is the exact sampler's, whose law tests/unit/mechanisms holds: its scores and its rate
    are what was charged.
    """
    _, _, tape = case.recorded
    _choices_as_charged(tape)
    per_run = sum(part.size for part in standard_noise(tape))
    if not per_run:
        return
    tapes = [
        Recorder()
        for _ in range(min(max(FEWEST_RUNS, math.ceil(ENOUGH_DRAWS / per_run)), MOST_RUNS))
    ]
    case.fit_each(case.view, tapes, range(len(tapes)))
    is_independent([standard_noise(one) for one in tapes], grid=grid(tapes[0]))


def grid(tape: Recorder) -> float:
    """The coarsest grid that exact noise on the tape was rounded to, in its standard deviations:
    clip norms are 2²⁴ units or more."""
    return max(
        (
            2.0**-24 * call.sensitivity / call.noise_std
            for call in tape.calls
            if call.noise_law == "exact"
        ),
        default=0.0,
    )


def is_independent(runs: Sequence[Sequence[np.ndarray]], *, grid: float = 0.0) -> None:
    """The noise of these runs, release by release, is independent standard normals, rounded to the
    grid."""
    assert len({tuple(map(np.shape, run)) for run in runs}) == 1, (
        "what is released hangs on the noise"
    )
    found = noise.p_values(runs, grid=grid)
    worst = min(found, key=lambda name: found[name])
    assert found[worst] > SIGNIFICANCE, (
        f"the noise is not what was charged: {worst}, p = {found[worst]:.1g}"
    )


def standard_noise(tape: Recorder) -> list[np.ndarray]:
    """What each Gaussian release added, in units of its call's standard deviation, part by part."""
    found = []
    for call, value, released in zip(tape.calls, tape.values, tape.released, strict=True):
        if call.kind == "gaussian" and call.noise_std:
            found.append((released - value).cpu().numpy() / call.noise_std)
        elif call.kind == "gaussian_joint":
            parts = zip(value, released, call.detail, strict=True)
            found.extend(
                (after - before).cpu().numpy() / std for before, after, (_, std, _) in parts if std
            )
    return found


def _choices_as_charged(tape: Recorder) -> None:
    asked = [
        (call, scores, position)
        for call, value, released in zip(tape.calls, tape.values, tape.released, strict=True)
        if call.kind == "exponential"
        for scores, position in zip(np.atleast_2d(value), np.atleast_1d(released), strict=True)
    ]
    assert len(asked) == len(tape.choices), "a choice is not the exact sampler's"
    for (call, scores, position), (own, rate, answer) in zip(asked, tape.choices, strict=True):
        assert position == answer, "a choice is not the exact sampler's"
        assert np.array_equal(scores, own), "a choice is drawn by other scores"
        assert 0 <= 1 - Fraction(call.noise_std) * rate / 2**64 < 1e-6, (
            "a choice is drawn at another rate"
        )


class Kept:
    """A stream that keeps the numbers it gave."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self.numbers: list[np.ndarray] = []

    def standard_normal(self, size: Any) -> np.ndarray:
        self.numbers.append(self._stream.standard_normal(size))
        return self.numbers[-1]

    def random(self, size: Any) -> np.ndarray:
        self.numbers.append(self._stream.random(size))
        return self.numbers[-1]


def takes_the_printed_steps(case: Case) -> None:
    """Noisy SGD as printed, which releases its last iterate alone: that is what its calls and
    numbers give, written out anew."""
    tape, streams, kept = Recorder(), case.streams(3), dict[str, Kept]()
    secret = streams.secret
    with patch.object(
        streams, "secret", lambda purpose: kept.setdefault(purpose, Kept(secret(purpose)))
    ):
        case.method.train(case.settings, case.view, streams, Ledger(tape))
    z = case.view.prepare(
        standardise=case.settings.standardise,
        centre=case.settings.centre,
        normalise=True,
        k=case.settings.k,
    ).z.astype(np.float64)
    z /= np.maximum(np.linalg.norm(z, axis=1, keepdims=True), 1.0)
    printed = [
        (call, made)
        for call, made in zip(tape.calls, tape.released, strict=True)
        if call.kind == "printed_noisy_sgd"
    ]
    classes, drawn = case.view.facts.n_classes, []
    for number, (call, made) in enumerate(printed):
        run, problem = divmod(number, classes)
        first, *normals = kept[f"noise/{run}/{problem}"].numbers
        normals, uniforms = (
            np.concatenate(normals),
            np.concatenate(kept[f"draws/{run}/{problem}"].numbers),
        )
        drawn.append([normals, stats.norm.ppf(uniforms)])
        signs, n, k = (
            np.where(case.view.y == problem, 1.0, -1.0),
            case.view.facts.n_private,
            z.shape[1],
        )
        lipschitz = 1 / math.log(2)
        assert call.sensitivity == n * lipschitz
        assert call.detail == (n * n,)
        assert normals.shape == (n * n - 1, k)
        w = first / max(np.linalg.norm(first), 1.0)
        steps = zip(call.noise_std * normals, uniforms, strict=True)
        for t, (gradient, uniform) in enumerate(steps, start=1):
            slot = int(uniform * n)
            if slot < len(z):
                gradient = gradient - n * lipschitz * signs[slot] * z[slot] / (
                    1 + np.exp(signs[slot] * (z[slot] @ w))
                )
            w = w - gradient / np.sqrt(t * ((n * lipschitz) ** 2 + k * call.noise_std**2))
            w /= max(np.linalg.norm(w), 1.0)
        np.testing.assert_allclose(
            made, w, atol=1e-9, err_msg="the last iterate is not that of the printed steps"
        )
    is_independent(drawn)


def repeats_and_leaves_inputs(case: Case) -> None:
    """6. Seeded fits repeat, other seeds differ, and inputs stay as they were."""
    before = [case.view.x.copy(), case.view.y.copy(), case.view.x_public.copy()]
    first, _ = case.fit(fresh(case.view))
    second, _ = case.fit(fresh(case.view))
    _assert_same_public(first, second, "the same seed")
    if case.method.is_private:
        other, _ = case.fit(fresh(case.view), seed=4)
        assert not np.array_equal(
            first.classifier.scores(case.view.x), other.classifier.scores(case.view.x)
        ), "seeds share their noise"
    for kept, now in zip(before, [case.view.x, case.view.y, case.view.x_public], strict=True):
        np.testing.assert_array_equal(kept, now)


def grid_equals_single(case: Case) -> None:
    """7. `fit_many` gives what `fit` gives, with the same events, whatever else is in the batch and
    in which order."""
    if case.method.fit_many is None:
        return
    variants = [(case.settings, 3), (_changed(case.settings), 3), (case.settings, 4)]
    ledgers = [Ledger() for _ in variants]
    many = case.method.fit_many(
        [s for s, _ in variants], fresh(case.view), [Streams(seed) for _, seed in variants], ledgers
    )
    for (settings, seed), together, ledger in reversed(
        list(zip(variants, many, ledgers, strict=True))
    ):
        alone = Ledger()
        single = case.method.train(settings, fresh(case.view), Streams(seed), alone)
        assert alone.total_event == ledger.total_event
        expected = single.classifier.scores(case.view.x)
        np.testing.assert_allclose(
            together.classifier.scores(case.view.x),
            expected,
            rtol=0,
            atol=SAME_SCORES * max(1.0, np.abs(expected).max()),
        )


def hostile_views(view: View) -> Iterator[tuple[str, View]]:
    """The same public data and facts with private rows that an adversary would choose."""
    x, y = private_rows(view)
    flipped = y[::-1].copy()
    yield "reversed", with_rows(view, x[::-1].copy(), flipped)
    yield "constant labels", with_rows(view, x, np.zeros_like(y))
    yield "zero rows", with_rows(view, np.zeros_like(x), y)
    yield "huge rows", with_rows(view, x * np.float32(1e30), y)
    yield "one row", with_rows(view, x[:1], y[:1])
    yield "twice the rows", with_rows(view, np.concatenate([x, x]), np.concatenate([y, flipped]))


def hostile_splits(split: SemiPrivateSplit) -> Iterator[SemiPrivateSplit]:
    """The same split with as many private rows that an adversary would choose."""
    features = split.features
    for change in (lambda x: 0 * x, lambda x: x[:1], lambda x: 1e30 * x[::-1], lambda x: x % 2):
        x, y = features.x_train.copy(), features.y_train.copy()
        x[split.private], y[split.private] = change(x[split.private]), y[split.private][0]
        yield dataclasses.replace(
            split, features=dataclasses.replace(features, x_train=x, y_train=y), memo=Memo()
        )


def pairs(
    view: View, rows: Mapping[str, np.ndarray] | None
) -> Iterator[tuple[View, Iterable[Pair], bool]]:
    """(a view, its neighbours, whether they are for votes): one whose first row reaches every clip.

    Then, where `rows` names none, other such first rows with rows at opposite ends and at right
    angles, of each class: a head that finds a huge row right has no gradient there. Last, public
    rows for public rows: a vote counts beside one of them alone.
    """
    straight = np.full(view.x.shape[1], HUGE, dtype=np.float32)
    bent = np.where(np.arange(len(straight)) % 2, -straight, straight)
    first = 1 if view.facts.n_classes > 2 else int(view.y[0])
    base = with_first_row(view, straight, first)
    yield base, neighbours(base, rows), False
    if rows is None:
        near = view.x_public[:NEAR_ROWS]
        for side, others in (
            (straight, (-straight, bent)),
            (bent, (-bent, straight)),
            *((row, near) for row in near),
        ):
            for label in range(view.facts.n_classes):
                base = with_first_row(view, side, label)
                yield base, of_each_class(base, others), others is near


def of_each_class(base: View, rows: Iterable[np.ndarray]) -> Iterator[Pair]:
    """The view with one of the rows, of each class, in place of the first or before it."""
    for number, row in enumerate(rows):
        for label in range(base.facts.n_classes):
            yield f"replace by {number} of {label}", *_replaced(base, row, label)
            yield f"add {number} of {label}", *_added(base, row, label, 0)


def neighbours(view: View, rows: Mapping[str, np.ndarray] | None = None) -> Iterator[Pair]:
    """The first kind of row comes at the beginning, in the middle and at the end, the others in the
    middle.

    Every row keeps its own number (`View.rows`, its place in the loaded rows); a new row has the
    next one, wherever it stands.
    """
    own = view.row_numbers
    n, rare = len(view.y), view.facts.n_classes - 1
    for number, (kind, row) in enumerate(
        _adversarial_rows(view.x[own], view.x_public) if rows is None else rows.items()
    ):
        for place in (n // 2,) if number else (0, n // 2, n):
            yield f"add {kind} at {place}", *_added(view, row, rare, place)
        yield f"replace by {kind}", *_replaced(view, row, rare)
    rest = with_rows(view, view.x, view.y[1:], rows=own[1:])
    yield "remove the first", rest, False, np.arange(n) - 1, None


def _added(
    view: View, row: np.ndarray, label: int, place: int
) -> tuple[View, bool, np.ndarray, int]:
    own, places = view.row_numbers, np.arange(len(view.y))
    more, y = np.concatenate([view.x, row[None]]), np.insert(view.y, place, label)
    added = with_rows(view, more, y, rows=np.insert(own, place, len(view.x)))
    return added, False, places + (places >= place), place


def _replaced(view: View, row: np.ndarray, label: int) -> tuple[View, bool, np.ndarray, None]:
    return with_first_row(view, row, label), True, np.arange(len(view.y)), None


def with_first_row(view: View, row: np.ndarray, label: int) -> View:
    """The view with another first private row."""
    own = view.row_numbers
    x, y = view.x.copy(), view.y.copy()
    x[own[0]], y[0] = row, label
    return with_rows(view, x, y, rows=own)


def private_rows(view: View) -> tuple[np.ndarray, np.ndarray]:
    return (view.x if view.rows is None else view.x[view.rows]), view.y


def with_rows(view: View, x: np.ndarray, y: np.ndarray, *, rows: np.ndarray | None = None) -> View:
    return dataclasses.replace(
        view, x=np.ascontiguousarray(x, dtype=np.float32), rows=rows, y=y, memo=Memo()
    )


def fresh(view: View) -> View:
    return dataclasses.replace(view, memo=Memo())


def _adversarial_rows(x: np.ndarray, x_public: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    yield "a huge row", np.full(x.shape[1], HUGE, dtype=np.float32)
    yield "the opposite row", -5 * x.mean(axis=0)
    yield "a zero row", np.zeros(x.shape[1], dtype=np.float32)
    if len(x_public):
        yield "a copy of a public row", x_public[0]


def _changed(settings: Any) -> Any:
    """Other settings of the same learner: half the step size, or one step more."""
    if getattr(settings, "learning_rate", None) is not None:
        return dataclasses.replace(settings, learning_rate=settings.learning_rate / 2)
    return settings


def _assert_same_public(one: TrainResult, other: TrainResult, name: str) -> None:
    """Every field of the two results that is not badged non-private agrees to the last bit."""
    _assert_same(one.classifier, other.classifier, name)
    assert one.notes == other.notes, name
    assert set(one.diagnostics) == set(other.diagnostics), name
    for key, (value, provenance) in one.diagnostics.items():
        if provenance is not Provenance.NON_PRIVATE:
            _assert_same(value, other.diagnostics[key][0], f"{name}: {key}")


def _assert_same(one: Any, other: Any, name: str) -> None:
    if dataclasses.is_dataclass(one):
        assert type(one) is type(other), name
        for field in dataclasses.fields(one):
            _assert_same(
                getattr(one, field.name), getattr(other, field.name), f"{name}: {field.name}"
            )
    elif isinstance(one, list | tuple):
        assert len(one) == len(other), name
        for a, b in zip(one, other, strict=True):
            _assert_same(a, b, name)
    elif isinstance(one, np.ndarray):
        assert np.array_equal(one, other), f"{name} differs"
    elif isinstance(one, functools.partial):
        assert one.func is other.func, name
        _assert_same([*one.keywords.items()], [*other.keywords.items()], name)
    else:
        assert one == other, f"{name} differs"


def bad_values(param: params.Param) -> Iterator[Any]:
    """Values that a parameter must refuse."""
    if param.kind in (int, float):
        yield math.nan
        yield "many"
        if param.low > -math.inf:
            yield param.kind(param.low) if param.low_open else param.kind(param.low) - 1
        if param.kind is float and param.low > 0:
            yield param.low / 2
        if param.high < math.inf:
            yield param.kind(param.high) if param.high_open else param.kind(param.high) + 1
    if param.choices:
        yield "no-such-choice"
    if param.kind is int:
        yield 1.5
    if param.kind is bool:
        yield "perhaps"
    if not param.none_means:
        yield None


def bad_settings(method: Method) -> Iterator[tuple[str, Any]]:
    """(setting, value) that must be refused."""
    for name, param in params.params_of(method.settings).items():
        for value in bad_values(param):
            yield name, value


PRIVACY = (
    declared_is_spent,
    charged_as_called,
    replays,
    is_within_sensitivity,
    noise_is_as_charged,
)
"""What every learner keeps in every variant; `samples_as_charged` joins where it samples."""


def keeps_the_contract(case: Case) -> None:
    """All of it, on fits that are made once where one will do."""
    for check in (*PRIVACY, grid_equals_single):
        check(case)
