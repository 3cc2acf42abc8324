"""The contract of every learner, as functions that raise AssertionError, so that planted faults can be seen to fail.

They find faults and prove nothing: each method file states its sensitivity argument.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from dp_accounting import dp_event

from contract.tapes import Neighbour, Recorder, Replay, distance
from pillar_core import params
from pillar_core.ledger import Ledger, compose, counted
from pillar_core.memo import Memo
from pillar_core.methods import Method
from pillar_core.rng import Streams
from pillar_core.splits import View
from pillar_core.types import Provenance, TrainResult

SLACK = 1e-4
"""Pre-noise values are float32 sums of about a hundred rows of norm at most 1: their rounding stays below 1e-4."""
NEAR_BOUND = 0.8
"""The hardest neighbour must reach this share of the sensitivity, or the sensitivity test is vacuous."""
LEAST_FITS, MOST_FITS, ENOUGH_DRAWS = 40, 200, 1500
"""The noise of 40 fits is looked at, and of more where they draw little: 1,500 normals tell a variance to 5·√(2/1500) = 18 %."""


@dataclasses.dataclass(frozen=True)
class Case:
    """A learner with settings and a view that it can be fitted on in milliseconds."""

    method: Method
    settings: Any
    view: View

    def fit(self, view: View, tape: Recorder | None = None, *, seed: int = 3) -> tuple[TrainResult, Ledger]:
        ledger = Ledger(tape)
        return self.method.fit(self.settings, view, Streams(seed), ledger), ledger


def declared_is_spent(case: Case) -> None:
    """1. The ledger after `fit` equals the declared cost."""
    _, ledger = case.fit(case.view)
    assert ledger.spent == compose(case.method.cost(case.settings, case.view.facts))


def replays(case: Case) -> None:
    """2. With the releases replayed, nothing public about a fit depends on the private rows or on the sample drawn."""
    tape = Recorder()
    result, _ = case.fit(case.view, tape)
    for name, view in hostile_views(case.view):
        replay = Replay(tape, sampling_seed=11)
        again, _ = case.fit(view, replay)
        assert replay.calls == tape.calls, f"{name}: the mechanisms were called otherwise"
        _assert_same_public(result, again, name)


def is_within_sensitivity(case: Case, *, rows: Mapping[str, np.ndarray] | None = None) -> None:
    """3. One row's change moves no pre-noise value further than the mechanism was told, and the hardest comes near.

    With `rows` these are the ones that come or go, and none has to come near.
    """
    tape = Recorder()
    case.fit(case.view, tape)
    nearest = 0.0
    for name, view, factor, position_of, forced in neighbours(case.view, rows):
        other = Neighbour(tape, position_of=position_of, forced=forced)
        case.fit(view, other)
        for call, value, moved in zip(tape.calls, tape.values, other.values, strict=True):
            bounds = [part[2] for part in call.detail] if call.kind == "gaussian_joint" else [call.sensitivity]
            for bound, shift in zip(bounds, distance(value, moved, call.kind), strict=True):
                assert shift <= factor * bound + SLACK, f"{name}: {call.kind} moved by {shift:.4f}, bound {factor * bound:.4f}"
                nearest = max(nearest, shift / (factor * bound))
    assert rows is not None or nearest >= NEAR_BOUND, f"no neighbour came nearer than {nearest:.3f} of the bound: the test is vacuous"


def samples_as_charged(case: Case) -> None:
    """4. Poisson events come from Poisson samples: as many samples as events, at that probability, binomial in size."""
    tape = Recorder()
    _, ledger = case.fit(case.view, tape)
    charged = sum(times for event, times in counted(ledger.spent).items() if isinstance(event, dp_event.PoissonSampledDpEvent))
    drawn = [(q, n, len(indices)) for q, n, indices in tape.samples if q < 1]
    assert charged == len(drawn), f"{charged} Poisson events were charged and {len(drawn)} samples drawn"
    if len(drawn) < 30:
        return
    sizes = np.array([size for _, _, size in drawn])
    q, n, _ = drawn[0]
    variance = n * q * (1 - q)
    # Mean of m binomials: 5 standard errors. Their variance estimate has relative error √(2/m): 5 of those, and never 0.
    assert abs(sizes.mean() - n * q) <= 5 * np.sqrt(variance / len(sizes)), "the samples' mean size is not q·n"
    assert abs(sizes.var() / variance - 1) <= 5 * np.sqrt(2 / len(sizes)), "the samples' sizes do not spread as Poisson samples do"


def noise_is_as_charged(case: Case) -> None:
    """The noise that was added is normal with the standard deviation of the call, and independent of the value."""
    draws: list[np.ndarray] = []
    choices: list[tuple[float, float]] = []
    for seed in range(MOST_FITS):
        if seed >= LEAST_FITS and (choices or sum(map(len, draws)) >= ENOUGH_DRAWS):
            break
        tape = Recorder()
        case.fit(case.view, tape, seed=seed)
        for call, value, released in zip(tape.calls, tape.values, tape.released, strict=True):
            parts = [call.noise_std] if call.kind != "gaussian_joint" else [part[1] for part in call.detail]
            pairs = [(value, released)] if call.kind != "gaussian_joint" else list(zip(value, released, strict=True))
            if call.kind in ("gaussian", "gaussian_joint"):
                draws.extend(((after - before).numpy() / std).ravel() for std, (before, after) in zip(parts, pairs, strict=True) if std)
            elif call.kind == "exponential":
                choices.append(_surprise(value, call.noise_std, released))
    if choices:
        excess, variance = np.sum(choices, axis=0)
        # Independent choices: the sum of centred scores is within 5 standard errors of 0.
        assert abs(excess) <= 5 * np.sqrt(variance) + 1e-12, "the choices are not spread as the exponential mechanism's"
        if not draws:
            return
    noise = np.concatenate(draws)
    # Sample variance of N normals: relative error √(2/N); 5 of them. The wrong scales 2/3 and 3/2 are off by 0.56 and 1.25.
    tolerance = 5 * np.sqrt(2 / len(noise))
    assert tolerance < 0.2, "too few draws to tell a wrong scale"
    assert abs(noise.var() - 1) <= tolerance, f"the noise has variance {noise.var():.3f} of what was charged"
    assert abs(noise.mean()) <= 5 / np.sqrt(len(noise))


def _surprise(scores: np.ndarray, scale: float, chosen: int) -> tuple[float, float]:
    """(score of the choice less its mean, its variance) under softmax(score/scale), in units of the scale."""
    tilted = (scores - scores.max()) / scale
    law = np.exp(tilted) / np.exp(tilted).sum()
    mean = float(law @ tilted)
    return float(tilted[chosen]) - mean, float(law @ (tilted - mean) ** 2)


def repeats_and_leaves_inputs(case: Case) -> None:
    """6. Seeded fits repeat, other seeds differ, and inputs stay as they were."""
    before = [case.view.x.copy(), case.view.y.copy(), case.view.x_public.copy()]
    first, _ = case.fit(fresh(case.view))
    second, _ = case.fit(fresh(case.view))
    _assert_same_public(first, second, "the same seed")
    if case.method.is_private:
        other, _ = case.fit(fresh(case.view), seed=4)
        assert not np.array_equal(first.classifier.scores(case.view.x), other.classifier.scores(case.view.x)), "seeds share their noise"
    for kept, now in zip(before, [case.view.x, case.view.y, case.view.x_public], strict=True):
        np.testing.assert_array_equal(kept, now)


def grid_equals_single(case: Case) -> None:
    """7. `fit_many` gives what `fit` gives, with the same events, whatever else is in the batch and in which order."""
    if case.method.fit_many is None:
        return
    variants = [(case.settings, 3), (_changed(case.settings), 3), (case.settings, 4)]
    ledgers = [Ledger() for _ in variants]
    many = case.method.fit_many([s for s, _ in variants], fresh(case.view), [Streams(seed) for _, seed in variants], ledgers)
    for (settings, seed), together, ledger in reversed(list(zip(variants, many, ledgers, strict=True))):
        alone = Ledger()
        single = case.method.fit(settings, fresh(case.view), Streams(seed), alone)
        assert alone.spent == ledger.spent
        np.testing.assert_allclose(together.classifier.scores(case.view.x), single.classifier.scores(case.view.x), rtol=1e-5, atol=1e-5)


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


def neighbours(view: View, rows: Mapping[str, np.ndarray] | None = None) -> Iterator[tuple[str, View, float, np.ndarray, int | None]]:
    """(name, neighbour, factor on the sensitivity, place of each old row in it or −1, the row forced into samples).

    Every row keeps its own number (`View.rows`, its place in the loaded rows); a new row has the next one, wherever it stands.
    """
    own = np.arange(len(view.x)) if view.rows is None else view.rows
    y, n, rare = view.y, len(view.y), view.facts.n_classes - 1
    places = np.arange(n)
    for kind, row in _adversarial_rows(view.x[own], view.x_public) if rows is None else rows.items():
        more = np.concatenate([view.x, row[None]])
        for place in (0, n // 2, n):
            added = with_rows(view, more, np.insert(y, place, rare), rows=np.insert(own, place, len(view.x)))
            yield f"add {kind} at {place}", added, 1.0, places + (places >= place), place
        replaced, labels = view.x.copy(), y.copy()
        replaced[own[0]], labels[0] = row, rare
        yield f"replace by {kind}", with_rows(view, replaced, labels, rows=own), 2.0, places, None
    yield "remove the first", with_rows(view, view.x, y[1:], rows=own[1:]), 1.0, places - 1, None


def private_rows(view: View) -> tuple[np.ndarray, np.ndarray]:
    return (view.x if view.rows is None else view.x[view.rows]), view.y


def with_rows(view: View, x: np.ndarray, y: np.ndarray, *, rows: np.ndarray | None = None) -> View:
    return dataclasses.replace(view, x=np.ascontiguousarray(x, dtype=np.float32), rows=rows, y=y, memo=Memo())


def fresh(view: View) -> View:
    return dataclasses.replace(view, memo=Memo())


def _adversarial_rows(x: np.ndarray, x_public: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    yield "a huge row", np.full(x.shape[1], 1e6, dtype=np.float32)
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
            _assert_same(getattr(one, field.name), getattr(other, field.name), f"{name}: {field.name}")
    elif isinstance(one, list | tuple):
        assert len(one) == len(other), name
        for a, b in zip(one, other, strict=True):
            _assert_same(a, b, name)
    elif isinstance(one, np.ndarray):
        assert np.array_equal(one, other), f"{name} differs"
    else:
        assert one == other, f"{name} differs"


def bad_settings(method: Method) -> Iterator[tuple[str, Any]]:
    """(setting, value) that must be refused."""
    for name, param in params.params_of(method.settings).items():
        for value in param.bad_values():
            yield name, value
