"""Basic and advanced composition: what could be said before loss distributions; loose, sound for
everything with an (ε, δ)."""

import math

from pillar_core.accounting.accountant import Accountant, unsupported_names
from pillar_core.accounting.elementary import (
    REPLACE_ONE,
    ElementaryEvents,
    ElementaryRelease,
    Kind,
    read,
)
from pillar_core.accounting.gaussian_dp import epsilon_of_mu
from pillar_core.ledger import DpEvent
from pillar_core.types import EpsilonBounds, NeighboringRelation


def _bounds(events: ElementaryEvents, delta: float) -> EpsilonBounds:
    spent = math.fsum(
        release.count * release.delta * release.sampling_probability for release in events.releases
    )
    free = delta - spent
    needs_delta = any(release.kind is Kind.GAUSSIAN for release in events.releases)
    if free > 0:
        upper = min(_basic_composition(events, free), _advanced_composition(events, free))
    else:
        upper = _basic_composition(events, free) if free == 0 and not needs_delta else math.inf
    return EpsilonBounds(0.0, upper, upper)


def _basic_composition(events: ElementaryEvents, delta: float) -> float:
    """ε adds up, and δ is shared equally by the releases that need one."""
    steps = _per_step(events, delta)
    return math.fsum(count * epsilon for epsilon, count in steps)


def _advanced_composition(events: ElementaryEvents, delta: float) -> float:
    """Heterogeneous advanced composition (Kairouz, Oh & Viswanath 2015, Theorem 3.5), half of δ for
    its slack."""
    steps = _per_step(events, delta / 2)
    drift = math.fsum(count * epsilon * math.tanh(epsilon / 2) for epsilon, count in steps)
    squares = math.fsum(count * epsilon * epsilon for epsilon, count in steps)
    return drift + math.sqrt(2 * math.log(2 / delta) * squares)


def _per_step(events: ElementaryEvents, delta: float) -> list[tuple[float, int]]:
    """(ε, count) of each release, where `delta` in all is spent on those that have no pure ε."""
    needing = sum(release.count for release in events.releases if release.kind is Kind.GAUSSIAN)
    return [
        (_epsilon(release, events, delta / max(needing, 1)), release.count)
        for release in events.releases
    ]


def _epsilon(release: ElementaryRelease, events: ElementaryEvents, delta: float) -> float:
    """ε of one release; a Poisson sample amplifies by log(1 + q(e^ε − 1)) at δ·q (Li, Qardaji & Su
    2012), add/remove only."""
    q = release.sampling_probability
    amplifies = q < 1 and events.relation is not REPLACE_ONE
    if release.kind is Kind.GAUSSIAN:
        # under replace-one the pair ±loss has twice the distance of one row from zero
        mu = 2 * release.loss if q < 1 and not amplifies else release.loss
        epsilon = epsilon_of_mu(mu, min(delta / q, 0.5))
    else:
        epsilon = release.loss
    if not amplifies:
        return epsilon
    return math.log1p(q * math.expm1(epsilon)) if epsilon < 700 else epsilon + math.log(q)


def pure_epsilon(event: DpEvent, relation: NeighboringRelation) -> float:
    """The ε of an event at δ = 0; inf where a release has none."""
    return _bounds(read(event, relation), 0.0).upper


def _refusal(events: ElementaryEvents) -> str:
    return f"nothing is known here about {unsupported_names(events)}" if events.unsupported else ""


BASIC = Accountant(
    "basic",
    "Basic and advanced composition",
    "Dwork & Roth 2014; Kairouz, Oh & Viswanath 2015",
    bounds=_bounds,
    refusal=_refusal,
)
