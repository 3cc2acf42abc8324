"""Our accountant: numerical composition with certified lower and upper ends, for every release of
the ledger.

Each direction of the relation is composed by itself; ε is the larger of the two, and never more
than what holds without sampling. docs/accounting.md has the argument that every error lands on the
safe side.

Random allocation: in each pass every row enters one of t noisy steps, drawn by itself; both ends of
ε, add/remove only.

The likelihood ratio of a pass is the mean of t independent lognormals of mean 1, and δ(ε) is the
mean of a convex function of it in either direction: spreading a lognormal over grid points at the
same mean raises δ(ε), merging cells lowers it. docs/accounting.md has the proof, for steps that
depend on all before them and for composed passes. The scheme is that of Feldman & Shenfeld (2025,
2026).
"""

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import ndtri

from pillar_core.accounting.accountant import Accountant, unsupported_names
from pillar_core.accounting.basic import BASIC
from pillar_core.accounting.elementary import REPLACE_ONE, ElementaryEvents, Kind
from pillar_core.accounting.ends import (
    Direction,
    delta_at_zero,
    direction_bounds,
    end_of,
    upper_composition,
)
from pillar_core.accounting.gaussian_dp import ANALYTIC_GAUSSIAN, epsilon_of_mu
from pillar_core.accounting.loss import (
    AtomPair,
    GaussianPair,
    OpposedPair,
    Pair,
    PersonPair,
    SwappedPair,
    atoms,
    release_pairs,
)
from pillar_core.arrays import Array
from pillar_core.events import PersonSampledEvent, RandomAllocationEvent
from pillar_core.ledger import DpEvent
from pillar_core.types import EpsilonBounds, NeighboringRelation

ANCHORS = 8
"""Compositions a direction that serve a whole profile; each answers for the δ nearest to its
own."""


def _bounds(events: ElementaryEvents, delta: float) -> EpsilonBounds:
    if not ANALYTIC_GAUSSIAN.refusal(events):
        return ANALYTIC_GAUSSIAN.bounds(events, delta)
    ceiling = _without_sampling(events, delta)
    if ceiling == 0:
        return EpsilonBounds(0.0, 0.0, 0.0)
    lower = estimate = upper = 0.0
    allocated = [(event, count) for event, count in events.unsupported if _is_allocation(event)]
    slack = MASS_ERROR * sum(event.steps * count for event, count in allocated)
    for direction in _directions(events):
        ends = direction_bounds(direction, delta * math.exp(-slack), known=upper)
        lower, estimate, upper = max(lower, ends[0]), max(estimate, ends[1]), max(upper, ends[2])
    if allocated:
        better = _directions(events, is_upper=False)
        lower = max(
            direction_bounds(direction, delta * math.exp(slack), known=0.0)[0] if direction else 0.0
            for direction in better
        )
    upper = min(upper, ceiling)
    lower = min(lower, upper)
    return EpsilonBounds(lower, min(max(estimate, lower), upper), upper)


def _directions(events: ElementaryEvents, *, is_upper: bool = True) -> tuple[Direction, ...]:
    """The pairs of every release by direction, one direction where they mirror; those of random
    allocation worse or better for privacy than the true ones."""
    parts = [
        (release_pairs(release, events.relation), release.count) for release in events.releases
    ]
    parts += [
        (_pairs(event, events.relation, is_upper=is_upper), count)
        for event, count in events.unsupported
        if is_upper or not _is_full(event)
    ]
    return tuple(
        dict.fromkeys(tuple((pair[side], count) for pair, count in parts) for side in (0, 1))
    )


def _pairs(event: Any, relation: NeighboringRelation, *, is_upper: bool) -> tuple[Pair, Pair]:
    """(removal, addition) of an event that is no release of `elementary`; equal for symmetric
    pairs."""
    loss = 1 / event.noise_multiplier
    if _is_full(event):
        return GaussianPair(loss), GaussianPair(loss)
    if _is_allocation(event):
        return pairs(loss, event.steps, is_upper=is_upper)
    if relation is REPLACE_ONE:
        return (OpposedPair(loss, event.sampling_probability, event.rows),) * 2
    pair = PersonPair(loss, event.sampling_probability, event.rows)
    return pair, SwappedPair(pair)


def _is_allocation(event: DpEvent) -> bool:
    return isinstance(event, RandomAllocationEvent)


def _is_full(event: Any) -> bool:
    """A pass whose amplification is not computed."""
    return _is_allocation(event) and not LOSSES[0] <= 1 / event.noise_multiplier <= LOSSES[1]


def _without_sampling(events: ElementaryEvents, delta: float) -> float:
    """An upper bound in closed form: all Gaussians at full size, or composition of the parts' own
    ε."""
    if all(release.kind is Kind.GAUSSIAN for release in events.releases):
        doubled = 2.0 if events.relation is REPLACE_ONE else 1.0
        losses = (
            (release.loss * (doubled if release.sampling_probability < 1 else 1.0), release.count)
            for release in events.releases
        )
        passes = (
            (doubled * getattr(event, "rows", 1) / event.noise_multiplier, count)
            for event, count in events.unsupported
        )
        return epsilon_of_mu(
            math.sqrt(math.fsum(count * loss * loss for loss, count in (*losses, *passes))), delta
        )
    if events.unsupported:
        return math.inf
    return BASIC.bounds(events, delta).upper


def _profile(events: ElementaryEvents, deltas: Callable[[float], Array]) -> tuple[Array, Array]:
    """Upper ends of ε at `deltas(δ at ε = 0)`, from a few compositions instead of one for each
    δ."""
    every = _directions(events)
    wanted = deltas(max(delta_at_zero(direction) for direction in every))
    epsilons = np.zeros(len(wanted))
    for direction in every:
        epsilons = np.maximum(epsilons, _direction_profile(direction, wanted))
    epsilons[0] = 0.0
    return epsilons, wanted


def _direction_profile(direction: Direction, deltas: Array) -> Array:
    groups = np.array_split(np.arange(len(deltas)), ANCHORS)
    epsilons = np.full(len(deltas), np.inf)
    for group in groups:
        anchored = upper_composition(direction, float(np.exp(np.log(deltas[group]).mean())))
        if anchored is not None:
            composed, start = anchored
            for i in group:
                epsilons[i] = end_of(composed, start, float(deltas[i]))
    return epsilons


def _refusal(events: ElementaryEvents) -> str:
    is_known = all(
        isinstance(event, PersonSampledEvent | RandomAllocationEvent)
        for event, _ in events.unsupported
    )
    return "" if is_known else f"no loss distribution here for {unsupported_names(events)}"


PILLAR = Accountant(
    "pillar",
    "Certified numerical composition (ours)",
    "after Gopi, Lee & Wutschitz 2021; Doroshenko et al. 2022; Zhu, Dong & Wang 2022",
    bounds=_bounds,
    refusal=_refusal,
    profile=_profile,
)


POINTS = 1000
"""Grid points of a law: half of them within six standard deviations of its mean, half on a
geometric scale to its ends."""
TAIL = 1e-14
"""Mass of one lognormal beyond either end of its grid; above, the likelihood counts as infinite
loss."""
MASS_ERROR = 1e-11
"""Relative error of one lognormal's masses, roundings of the sums included."""
LOSSES = (1e-3, 8.0)
"""Losses of a row (clip norm / noise) whose lognormal float64 holds to that accuracy; elsewhere the
bound of a full release stands."""


@dataclasses.dataclass(frozen=True, eq=False)
class _Law:
    """Atoms at `values` >= 0 with `masses`; `lost` is what the cut took from the mean."""

    values: Array
    masses: Array
    lost: float = 0.0


@functools.lru_cache(maxsize=64)
def pairs(loss: float, steps: int, *, is_upper: bool) -> tuple[AtomPair, AtomPair]:
    """The pairs (removal, addition) of one pass over `steps` steps, worse or better for privacy
    than the true ones.

    loss: one row's largest norm over the noise's standard deviation, the clip norm's 1/σ.

    Guarantee: one row added or removed, n public, each row's step drawn by itself and secret; the
    other rows' steps are arbitrary.
    """
    law = _self_compose(_lognormal(loss, is_upper=is_upper), steps, is_upper=is_upper)
    p, q = law.values / steps * law.masses, law.masses
    removal = atoms(p, q)
    return dataclasses.replace(removal, infinite=removal.infinite + law.lost), atoms(q, p)


def _lognormal(loss: float, *, is_upper: bool) -> _Law:
    """e^Z with Z ~ N(−loss²/2, loss²): the ratio of one step, were it the row's own."""
    reach = -float(ndtri(TAIL))
    low, high = (math.exp(sign * loss * reach - loss * loss / 2) for sign in (-1, 1))
    walls = _grid(1.0, min(math.sqrt(math.expm1(loss * loss)), 5.0), low, high)
    p, q = GaussianPair(loss).masses(np.log(walls))
    if not is_upper:
        return _Law(p / q, q)
    law = _spread(np.append(p[:-1] / q[:-1], walls[-1]), q, np.append(0.0, walls))
    return dataclasses.replace(law, lost=float(p[-1] - q[-1] * walls[-1]))


def _self_compose(law: _Law, count: int, *, is_upper: bool) -> _Law:
    """The sum of `count` independent copies, by doubling."""
    power, total = law, None
    while count:
        if count & 1:
            total = power if total is None else _sum(total, power, is_upper=is_upper)
        count >>= 1
        power = _sum(power, power, is_upper=is_upper) if count else power
    return law if total is None else dataclasses.replace(total, lost=law.lost)


def _sum(first: _Law, second: _Law, *, is_upper: bool) -> _Law:
    """The law of the sum on a grid of its own: all terms are positive, so that masses keep their
    relative accuracy."""
    values = np.add.outer(first.values, second.values).ravel()
    masses = np.multiply.outer(first.masses, second.masses).ravel()
    if not masses.all():
        values, masses = values[masses > 0], masses[masses > 0]
    mean = float(values @ masses)
    walls = _grid(
        mean,
        math.sqrt(float((values - mean) ** 2 @ masses)),
        float(values[values > 0].min()),
        float(values.max()),
    )
    if is_upper:
        return _spread(values, masses, np.append(0.0, walls))
    cell = np.searchsorted(walls, values, side="right")
    total, moment = (np.bincount(cell, weights) for weights in (masses, masses * values))
    return _Law(moment[total > 0] / total[total > 0], total[total > 0])


def _spread(values: Array, masses: Array, walls: Array) -> _Law:
    """Each mass on the two walls around its value, at the same mean."""
    cell = np.clip(np.searchsorted(walls, values, side="right") - 1, 0, len(walls) - 2)
    up = ((values - walls[cell]) / np.diff(walls)[cell]).clip(0.0, 1.0)
    total = np.bincount(cell, masses * (1 - up), len(walls))
    total[1:] += np.bincount(cell, masses * up, len(walls) - 1)
    return _Law(walls[total > 0], total[total > 0])


def _grid(mean: float, deviation: float, low: float, high: float) -> Array:
    bulk = np.linspace(max(mean - 6 * deviation, low), min(mean + 6 * deviation, high), POINTS // 2)
    return np.unique(np.concatenate([bulk, np.geomspace(low, high, POINTS // 2)]))
