"""The privacy profile: every (ε, δ) at once, from any accountant that bounds."""

import numpy as np

from pillar_core.accounting.accountant import Accountant
from pillar_core.accounting.auto import resolve_bound
from pillar_core.accounting.elementary import ElementaryEvents, read
from pillar_core.arrays import Array
from pillar_core.ledger import DpEvent
from pillar_core.types import NeighboringRelation

LEAST_DELTA = 1e-12
POINTS = 48
DELTA_TOLERANCE = 1e-3


def profile(event: DpEvent, *, relation: str = "add_or_remove_one", accountant: str = "auto") -> tuple[Array, Array]:
    """(epsilons, deltas), each (m,) float64 with ε rising from 0 and δ falling: at each pair the run is (ε, δ)-DP.

    The first pair, (0, δ), is the largest advantage over guessing that any attacker can have. Empty arrays for ε = inf.

    Raises:
        UnsupportedError: the accountant gives no bound, or none for this event.
    """
    neighbours = NeighboringRelation.of(relation)
    chosen = resolve_bound(event, relation=neighbours, accountant=accountant)
    events = read(event, neighbours)
    if events.is_empty or events.is_non_private:
        return (np.zeros(1), np.zeros(1)) if events.is_empty else (np.empty(0), np.empty(0))
    if chosen.profile is not None and not chosen.refusal(events):
        epsilons, deltas = chosen.profile(events, _deltas)
    else:
        deltas = _deltas(_delta_at_zero(chosen, events))
        epsilons = np.array([0.0, *(chosen.epsilon_of(events, delta=float(delta)).upper for delta in deltas[1:])])
    usable = np.isfinite(epsilons) & (deltas < 1)
    return np.maximum.accumulate(epsilons[usable]), deltas[usable]


def _deltas(largest: float) -> Array:
    """(POINTS,) δ from the largest down, quadratic in log δ: dense near the largest, where the trade-off curve bends."""
    least = min(LEAST_DELTA, largest / 2)
    deltas: Array = largest * (least / largest) ** (np.linspace(0.0, 1.0, POINTS) ** 2)
    return deltas


def _delta_at_zero(accountant: Accountant, events: ElementaryEvents) -> float:
    """The smallest δ, from above, at which ε is 0; 1 where even δ near 1 needs more."""
    passing, failing = 1 - 1e-9, 0.0
    if accountant.epsilon_of(events, delta=passing).upper > 0:
        return 1.0
    while passing - failing > DELTA_TOLERANCE * passing and passing > LEAST_DELTA:
        middle = (passing + failing) / 2 if failing > passing / 100 else passing / 10
        if accountant.epsilon_of(events, delta=middle).upper > 0:
            failing = middle
        else:
            passing = middle
    return passing
