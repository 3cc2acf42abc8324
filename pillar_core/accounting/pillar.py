"""Our accountant: numerical composition with certified lower and upper ends, for every release of the ledger.

Each direction of the relation is composed by itself; ε is the larger of the two, and never more than what holds without
sampling. docs/accounting.md has the argument that every error lands on the safe side.
"""

import math
from collections.abc import Callable

import numpy as np

from pillar_core.accounting import allocation
from pillar_core.accounting.accountant import Accountant, unsupported_names
from pillar_core.accounting.analytic_gaussian import ANALYTIC_GAUSSIAN
from pillar_core.accounting.basic import BASIC
from pillar_core.accounting.elementary import REPLACE_ONE, ElementaryEvents, Kind
from pillar_core.accounting.ends import Direction, delta_at_zero, direction_bounds, upper_composition, upper_end
from pillar_core.accounting.gaussian_dp import epsilon_of_mu
from pillar_core.accounting.loss import GaussianPair, Pair, PersonPair, SwappedPair, directions
from pillar_core.arrays import Array
from pillar_core.ledger import DpEvent
from pillar_core.types import EpsilonBounds

ANCHORS = 8
"""Compositions a direction that serve a whole profile; each answers for the δ nearest to its own."""


def _bounds(events: ElementaryEvents, delta: float) -> EpsilonBounds:
    if not ANALYTIC_GAUSSIAN.refusal(events):
        return ANALYTIC_GAUSSIAN.bounds(events, delta)
    ceiling = _without_sampling(events, delta)
    if ceiling == 0:
        return EpsilonBounds(0.0, 0.0, 0.0)
    lower = estimate = upper = 0.0
    allocated = [(event, count) for event, count in events.unsupported if _is_allocation(event)]
    slack = allocation.MASS_ERROR * sum(event.steps * count for event, count in allocated)
    for direction in _directions(events):
        ends = direction_bounds(direction, delta * math.exp(-slack), known=upper)
        lower, estimate, upper = max(lower, ends[0]), max(estimate, ends[1]), max(upper, ends[2])
    if allocated:
        better = _directions(events, is_upper=False)
        lower = max(direction_bounds(direction, delta * math.exp(slack), known=0.0)[0] if direction else 0.0 for direction in better)
    upper = min(upper, ceiling)
    lower = min(lower, upper)
    return EpsilonBounds(lower, min(max(estimate, lower), upper), upper)


def _directions(events: ElementaryEvents, *, is_upper: bool = True) -> tuple[Direction, ...]:
    """The pairs of every release by direction; those of random allocation worse or better for privacy than the true ones."""
    every = directions(events)
    if not events.unsupported:
        return every
    extra = [(_pairs(event, is_upper=is_upper), count) for event, count in events.unsupported if is_upper or not _is_full(event)]
    return tuple((*every[-side], *((pair[side], count) for pair, count in extra)) for side in (0, 1))


def _pairs(event: DpEvent, *, is_upper: bool) -> tuple[Pair, Pair]:
    """(removal, addition) of an event that is no release of `elementary`."""
    loss = 1 / event.noise_multiplier
    if _is_full(event):
        return GaussianPair(loss), GaussianPair(loss)
    if _is_allocation(event):
        return allocation.pairs(loss, event.steps, is_upper=is_upper)
    pair = PersonPair(loss, event.sampling_probability, event.rows)
    return pair, SwappedPair(pair)


def _is_allocation(event: DpEvent) -> bool:
    from pillar_core.events import RandomAllocationEvent

    return isinstance(event, RandomAllocationEvent)


def _is_full(event: DpEvent) -> bool:
    """A pass whose amplification is not computed."""
    return _is_allocation(event) and not allocation.is_covered(1 / event.noise_multiplier)


def _without_sampling(events: ElementaryEvents, delta: float) -> float:
    """An upper bound in closed form: all Gaussians at full size, or composition of the parts' own ε."""
    if all(release.kind is Kind.GAUSSIAN for release in events.releases):
        doubled = 2.0 if events.relation is REPLACE_ONE else 1.0
        losses = ((release.loss * (doubled if release.sampling_probability < 1 else 1.0), release.count) for release in events.releases)
        passes = ((getattr(event, "rows", 1) / event.noise_multiplier, count) for event, count in events.unsupported)
        return epsilon_of_mu(math.sqrt(math.fsum(count * loss * loss for loss, count in (*losses, *passes))), delta)
    if events.unsupported:
        return math.inf
    return BASIC.bounds(events, delta).upper


def _profile(events: ElementaryEvents, deltas: Callable[[float], Array]) -> tuple[Array, Array]:
    """Upper ends of ε at `deltas(δ at ε = 0)`, from a few compositions instead of one for each δ."""
    every = _directions(events)
    asked = deltas(max(delta_at_zero(direction) for direction in every))
    epsilons = np.zeros(len(asked))
    for direction in every:
        epsilons = np.maximum(epsilons, _direction_profile(direction, asked))
    epsilons[0] = 0.0
    return epsilons, asked


def _direction_profile(direction: Direction, deltas: Array) -> Array:
    groups = np.array_split(np.arange(len(deltas)), ANCHORS)
    epsilons = np.full(len(deltas), np.inf)
    for group in groups:
        anchored = upper_composition(direction, float(np.exp(np.log(deltas[group]).mean())))
        if anchored is not None:
            composed, start = anchored
            for i in group:
                epsilons[i] = upper_end(composed, start, float(deltas[i]))
    return epsilons


def _refusal(events: ElementaryEvents) -> str:
    if not events.unsupported:
        return ""
    from pillar_core.events import PersonSampledEvent, RandomAllocationEvent

    if not all(isinstance(event, PersonSampledEvent | RandomAllocationEvent) for event, _ in events.unsupported):
        return f"no loss distribution here for {unsupported_names(events)}"
    both = "random allocation and samples of several rows of one person are bounded for rows added or removed only"
    return both if events.relation is REPLACE_ONE else ""


PILLAR = Accountant(
    name="pillar",
    title="Certified numerical composition (ours)",
    source="after Gopi, Lee & Wutschitz 2021; Doroshenko et al. 2022; Zhu, Dong & Wang 2022",
    is_bound=True,
    version=1,
    bounds=_bounds,
    refusal=_refusal,
    profile=_profile,
)
