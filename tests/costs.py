"""What an event costs, in the budget that tests ask for unless they say another."""

from pillar_core import accounting
from pillar_core.ledger import DpEvent
from pillar_core.types import EpsilonBounds


def cost_of(
    event: DpEvent,
    accountant: str = "auto",
    *,
    delta: float = 1e-5,
    relation: str = "add_or_remove_one",
) -> EpsilonBounds:
    """ε of an event, by an accountant."""
    return accounting.epsilon(event, delta=delta, relation=relation, accountant=accountant)
