"""How ε becomes noise: the smallest budget setting whose certified ε stays within the budget, and a
memory of answers."""

import dataclasses
import math
from collections.abc import Callable

from pillar_core.accounting.accountant import ANSWERS, Accountant
from pillar_core.accounting.auto import resolve, resolve_bound
from pillar_core.accounting.elementary import Kind, read
from pillar_core.accounting.gaussian_dp import mu_of
from pillar_core.errors import BudgetError
from pillar_core.events import PersonSampledEvent, RandomAllocationEvent
from pillar_core.fingerprint import fingerprint
from pillar_core.ledger import DpEvent, event_counts
from pillar_core.numerics import number_words
from pillar_core.types import PrivacyBudget

Cost = Callable[[float], DpEvent]

EXACT_TOLERANCE = 1e-9
"""Closed-form accountants are cheap enough to be solved almost to the last digit."""
LARGEST = 1e9
SMALLEST = 1e-9
VERSION = 1


def calibrate(
    cost: Cost, budget: PrivacyBudget, *, accountant: str = "auto", relative_tolerance: float = 1e-3
) -> float:
    """The smallest x (to the tolerance, from above) at which `cost(x)` has ε.upper <=
    budget.epsilon; 0.0 for ε = inf.

    `cost` must fall in x: it is the privacy event of a run whose budget setting (mostly
    noise_multiplier) is x. The budget is never exceeded: what is returned was itself seen to meet
    it. Raises BudgetError where no x meets the budget; the message says what would.
    Raises UnsupportedError where the accountant gives no bound, or none for these events.
    """
    if not 0 < relative_tolerance < 1:
        raise BudgetError(f"relative_tolerance must be in (0, 1); got {relative_tolerance!r}.")
    chosen = resolve_bound(cost(1.0), relation=budget.relation, accountant=accountant)
    if budget.epsilon == math.inf:
        return 0.0
    key = calibration_key(
        cost, budget, accountant=accountant, relative_tolerance=relative_tolerance
    )
    tolerance = min(relative_tolerance, EXACT_TOLERANCE) if chosen.is_exact else relative_tolerance

    def solve() -> tuple[float, str]:
        value = _solve(cost, budget, chosen, tolerance)
        return value, read(cost(value), budget.relation).key

    value, spent = ANSWERS.get(key, solve)
    is_same_cost = read(cost(value), budget.relation).key == spent
    return value if is_same_cost else solve()[0]


def calibration_key(
    cost: Cost, budget: PrivacyBudget, *, accountant: str = "auto", relative_tolerance: float = 1e-3
) -> str:
    """A fingerprint of a calibration: the cost at a few settings, event by event, the budget,
    tolerance and versions.

    Costs that spend alike but add up otherwise differ: so does the last digit of what solves them,
    and a seeded run's noise with it.

    A persistent memory may use it, and must check that `cost(value)` meets the budget before it
    trusts a remembered value.
    """
    chosen = resolve(cost(1.0), relation=budget.relation, accountant=accountant)
    spent = [
        [(repr(event), count) for event, count in event_counts(cost(probe)).items()]
        for probe in (0.37, 1.0, 13.0)
    ]
    target = (float(budget.epsilon), budget.delta, budget.relation, float(relative_tolerance))
    return fingerprint("calibration", VERSION, chosen.name, chosen.version, spent, target)


@dataclasses.dataclass(frozen=True)
class _Point:
    """A setting and its excess, log(ε.upper / budget): at most 0 where the budget is met."""

    x: float
    excess: float

    @property
    def passes(self) -> bool:
        return self.excess <= 0


def _solve(cost: Cost, budget: PrivacyBudget, accountant: Accountant, tolerance: float) -> float:
    """The passing end of a bracket closed to the tolerance."""

    def at(x: float) -> _Point:
        upper = accountant.epsilon(cost(x), delta=budget.delta, relation=budget.relation).upper
        return _Point(x, math.log(upper / budget.epsilon) if upper > 0 else -math.inf)

    failing, passing = _bracket(at, _gaussian_guess(cost, budget), tolerance)
    if passing is None:
        raise BudgetError(_infeasible(cost, budget, accountant))
    if failing is None:
        return passing.x
    halvings = 0
    while passing.x > failing.x * (1 + tolerance):
        width = math.log(passing.x / failing.x)
        point = at(_between(failing, passing, tolerance, bisect=halvings > 0))
        failing, passing = (failing, point) if point.passes else (point, passing)
        halvings = 0 if math.log(passing.x / failing.x) < width / 2 else 1 - halvings
    return passing.x


def _bracket(
    at: Callable[[float], _Point], start: float, tolerance: float
) -> tuple[_Point | None, _Point | None]:
    """A failing and a passing point around the answer; None for an end that does not exist."""
    failing: _Point | None = None
    passing: _Point | None = None
    x, margin = start, tolerance / 3
    while failing is None or passing is None:
        point = at(x)
        if point.passes:
            passing = point
        else:
            failing = point
        # ε falls about as 1/x: aim just past the answer, further with every miss
        factor = math.exp(min(abs(point.excess), 1.4)) * (1 + margin)
        margin *= 4
        if x < SMALLEST if point.passes else x > LARGEST:
            break
        x = point.x / factor if point.passes else point.x * factor
    return failing, passing


def _between(failing: _Point, passing: _Point, tolerance: float, *, bisect: bool) -> float:
    """Where to look next: beside the secant's root, on the side whose end is further away."""
    middle = math.sqrt(failing.x * passing.x)
    if bisect or not (math.isfinite(failing.excess) and math.isfinite(passing.excess)):
        return middle
    share = failing.excess / (failing.excess - passing.excess)
    root = failing.x * (passing.x / failing.x) ** share
    aim = (
        root * (1 + tolerance / 3)
        if passing.x > root * (1 + tolerance / 2)
        else root / (1 + tolerance / 2)
    )
    return aim if failing.x < aim < passing.x else middle


def _gaussian_guess(cost: Cost, budget: PrivacyBudget) -> float:
    """Where the Gaussian limit would meet the budget: closed form, no accountant asked; only a
    start."""
    target = mu_of(budget.epsilon, budget.delta)
    low, high = SMALLEST, LARGEST
    for _ in range(60):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if _rough_mu(cost(middle), budget) <= target else (middle, high)
        if high < low * 1.001:
            break
    return high if high < LARGEST else 1.0


def _rough_mu(event: DpEvent, budget: PrivacyBudget) -> float:
    """μ of the central limit (Bu et al. 2020) for sampled Gaussians, about ε/2 of spread for the
    rest."""
    events = read(event, budget.relation)
    if events.is_non_private:
        return math.inf
    squares = 0.0
    for release in events.releases:
        loss = release.loss if release.kind is Kind.GAUSSIAN else release.loss / 2
        spread = loss * loss if release.sampling_probability == 1 else _growth(loss * loss)
        squares += release.count * release.sampling_probability**2 * spread
    for part, count in events.unsupported:
        match part:
            case RandomAllocationEvent():
                squares += count * _growth(part.noise_multiplier**-2) / part.steps
            case PersonSampledEvent():
                sampled = (part.rows * part.sampling_probability) ** 2
                squares += count * sampled * _growth(part.noise_multiplier**-2)
    return math.sqrt(squares)


def _growth(square: float) -> float:
    """e^square − 1 in float64's range."""
    return math.expm1(min(square, 700.0))


def _infeasible(cost: Cost, budget: PrivacyBudget, accountant: Accountant) -> str:
    if read(cost(LARGEST), budget.relation).is_non_private:
        return (
            f"no noise meets epsilon = {budget.epsilon:g}: a part of the run releases without"
            " noise, whatever the setting is."
        )
    least = accountant.epsilon(cost(LARGEST), delta=budget.delta, relation=budget.relation).upper
    would = (
        f"epsilon of at least {least:.4g} would" if math.isfinite(least) else "a larger delta would"
    )
    return (
        f"no noise meets epsilon = {budget.epsilon:g} at delta = {number_words(budget.delta)}"
        f" ({budget.relation}): other parts of the run spend it; {would}, or fewer or cheaper other"
        " releases."
    )
