"""The tightest sound accountant for a run, chosen from what the run is made of."""

from pillar_core.accounting.accountant import ACCOUNTANTS, Accountant
from pillar_core.accounting.basic import BASIC
from pillar_core.accounting.elementary import ElementaryEvents, read
from pillar_core.accounting.gaussian_dp import ANALYTIC_GAUSSIAN
from pillar_core.accounting.pillar import PILLAR
from pillar_core.accounting.pld import PLD
from pillar_core.accounting.rdp import RDP
from pillar_core.accounting.selection import SELECTION
from pillar_core.errors import UnsupportedError
from pillar_core.ledger import DpEvent

CHOICES = (ANALYTIC_GAUSSIAN, PILLAR, PLD, SELECTION, RDP, BASIC)
"""Exact first; the central limit approximation is never chosen."""


def resolve(event: DpEvent, *, relation: str, accountant: str = "auto") -> Accountant:
    """The accountant that answers for `event`: the named one, or auto's choice.

    Raises UnknownNameError for no accountant of that name. Raises UnsupportedError where auto finds
    no sound bound.
    """
    if accountant != "auto":
        return ACCOUNTANTS[accountant]
    return _choice(read(event, relation))


def resolve_bound(event: DpEvent, *, relation: str, accountant: str = "auto") -> Accountant:
    """As `resolve`, of accountants whose ε is an upper bound alone: what noise is set by, and what
    a guarantee may state.

    Raises UnknownNameError for no accountant of that name. Raises UnsupportedError where auto finds
    no sound bound, or the named accountant gives none.
    """
    chosen = resolve(event, relation=relation, accountant=accountant)
    if not chosen.is_bound:
        raise UnsupportedError(
            f"accountant {chosen.name!r} is an approximation, not a bound: use 'auto'."
        )
    return chosen


def _choice(events: ElementaryEvents) -> Accountant:
    accountant = next(
        (accountant for accountant in CHOICES if not accountant.refusal(events)), None
    )
    if accountant is None:
        raise UnsupportedError(_refusal(events))
    return accountant


def _refusal(events: ElementaryEvents) -> str:
    reasons = [
        f"{accountant.name}: {reason}"
        for accountant in CHOICES
        if (reason := accountant.refusal(events))
    ]
    return (
        f"no sound bound under this relation: {'; '.join(reasons)}."
        if len(reasons) == len(CHOICES)
        else ""
    )


AUTO = Accountant(
    name="auto",
    title="Tightest sound bound",
    source="analytic Gaussian, else ours, else PLD, else selection, else RDP, else basic",
    is_bound=True,
    version=1 + sum(accountant.version - 1 for accountant in CHOICES),  # rises with any of them
    bounds=lambda events, delta: _choice(events).epsilon_of(events, delta=delta),
    refusal=_refusal,
)
