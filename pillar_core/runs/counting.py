"""Budgets that are solved for a whole number: how many steps at fixed noise stay within (ε, δ)."""

import math
from collections.abc import Callable
from typing import TypeVar

from pillar_core import accounting, params
from pillar_core.errors import BudgetError
from pillar_core.ledger import DpEvent
from pillar_core.methods import Method
from pillar_core.types import PrivacyBudget

S = TypeVar("S")


def largest_count(fits: Callable[[int], bool], *, ceiling: int) -> int:
    """The largest whole number up to `ceiling` for which the falling test `fits` holds; 0 where 1 already fails."""
    passing, failing = 0, 1
    while failing <= ceiling and fits(failing):
        passing, failing = failing, 2 * failing
    failing = min(failing, ceiling + 1)
    while failing - passing > 1:
        middle = (passing + failing) // 2
        passing, failing = (middle, failing) if fits(middle) else (passing, middle)
    return passing


def solved_count(learner: Method[S], name: str, settings: S, cost_of: Callable[[S], DpEvent], budget: PrivacyBudget, accountant: str) -> S:
    """`settings` with the setting `name` at the largest whole number whose cost stays within the budget.

    Raises BudgetError: one already exceeds it (the message says which noise one would need), or the budget is infinite.
    """
    if math.isinf(budget.epsilon):
        raise BudgetError(f"an infinite epsilon bounds no {name}; pass {name} without epsilon, or leave the preset out.")

    accounting.resolve_bound(cost_of(settings), relation=budget.relation, accountant=accountant)

    def cost(**values: float) -> DpEvent:
        return cost_of(params.replace_settings(settings, **values))

    def fits(count: int) -> bool:
        spent = accounting.epsilon(cost(**{name: count}), delta=budget.delta, relation=budget.relation, accountant=accountant)
        return spent.upper <= budget.epsilon

    count = largest_count(fits, ceiling=int(params.params_of(settings)[name].high))
    if not count:
        noise = str(learner.budget_setting)
        least = accounting.calibrate(lambda value: cost(**{name: 1, noise: value}), budget, accountant=accountant)
        raise BudgetError(
            f"{noise} = {getattr(settings, noise):g} allows no single one of {name} at epsilon = {budget.epsilon:g}; one needs {noise} "
            f"of at least {math.ceil(100 * least) / 100:g}. Raise {noise} or epsilon, or leave the preset out: then the noise is solved."
        )
    return params.replace_settings(settings, **{name: count})
