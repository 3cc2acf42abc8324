"""Default settings from public facts and the budget alone, so that nothing is tuned on private
data.

Full-batch noisy descent on unit rows, clip 0.4, zero start, no bias. In the noise's own scale, μ =
q·√T/σ (for full batches the Gaussian-DP parameter under add/remove), the rules, measured on real
features in research/default_settings.md, are: T = 50μ steps within 5 … 40; step size η =
min((½ + μ)μN, μN, 160·C)/T on the mean gradient, so that the noise that accumulates in each weight
is half a unit for small budgets and at most one, and at most 4k, so that it does not overshoot in
few dimensions; k = 0.65(μN)^(2/3).

They read settings through protocols. A learner without one of these settings has a class variable
in its place (`batch_size: ClassVar[None] = None`: every step takes all rows), which is no setting
and enters no key.
"""

import math
from typing import Protocol, TypeVar, runtime_checkable

from pillar_core.accounting import mu_of
from pillar_core.errors import DataError, SettingError
from pillar_core.methods.method import Plan
from pillar_core.splits import Prepared, View
from pillar_core.types import NeighboringRelation, PrivacyBudget, PublicFacts

FEWEST_STEPS, MOST_STEPS = 5, 40
STEPS_PER_MU = 50.0
LONGEST_PATH_PER_CLASS = 160.0
LARGEST_RATE_PER_DIMENSION = 4.0
"""Unit rows have a mean square of 1/k per direction: longer steps overshoot there."""
SMALLEST_K = 5
K_FACTOR = 0.65


@runtime_checkable
class HasMoments(Protocol):
    """Preprocessing by public means and scales."""

    @property
    def standardise(self) -> bool | None: ...
    @property
    def centre(self) -> bool | None: ...


class HasBatch(Protocol):
    """Noisy steps on Poisson samples, or on all rows where batch_size is None."""

    @property
    def steps(self) -> int | None: ...
    @property
    def noise_multiplier(self) -> float | None: ...
    @property
    def batch_size(self) -> int | None: ...


class HasRate(HasBatch, Protocol):
    """Noisy steps along the mean gradient."""

    @property
    def learning_rate(self) -> float | None: ...


class HasDescent(HasRate, Protocol):
    """All that the engine's plan of one head names."""

    @property
    def l2_clip_norm(self) -> float: ...
    @property
    def momentum(self) -> float: ...
    @property
    def bias(self) -> bool: ...
    @property
    def weight_decay(self) -> float: ...


@runtime_checkable
class HasDimension(Protocol):
    """A projection on k directions; None where a rule decides k, or for all features."""

    @property
    def k(self) -> int | None: ...


class HasChosenDimension(HasMoments, HasDimension, Protocol):
    """Preprocessing, and a projection or none."""


class HasProjectedDescent(HasDescent, HasDimension, Protocol):
    """Descent in k directions."""


V = TypeVar("V")
Steps = TypeVar("Steps", bound=HasBatch)
Descent = TypeVar("Descent", bound=HasDescent)
Dimension = TypeVar("Dimension", bound=HasDimension)
Projected = TypeVar("Projected", bound=HasProjectedDescent)


def resolve_schedule(
    settings: Steps,
    facts: PublicFacts,
    budget: PrivacyBudget | None,
    *,
    steps_per_mu: float = STEPS_PER_MU,
    fewest: int = FEWEST_STEPS,
) -> Plan[Steps]:
    """Fills `steps`, at least `fewest` where there is noise."""
    if settings.steps is not None:
        return Plan(settings)
    if (budget is not None and math.isinf(budget.epsilon)) or settings.noise_multiplier == 0:
        steps, reason = 100, "without noise further steps only help"
    elif budget is None:
        steps, reason = fewest, "few steps share the noise that was set"
    else:
        mu = gaussian_mu(budget)
        steps = round(min(max(steps_per_mu * mu, fewest), MOST_STEPS))
        reason = (
            f"{steps_per_mu:g} times the budget's μ = {mu:.3g}, at least {fewest} and at most"
            f" {MOST_STEPS}; more steps share the same budget"
        )
    return Plan(settings).fill("steps", steps, reason)


def resolve_projection(
    settings: Projected, facts: PublicFacts, *, k_ceiling: int | None = None
) -> Plan[Projected]:
    """Fills `k` (at most `k_ceiling`, else the public rank) and `learning_rate`, from the noise
    solved.

    Raises DataError for an explicit k above that.
    """
    return fill_rate(resolve_k(settings, facts, reach(settings, facts), k_ceiling=k_ceiling), facts)


def resolve_hyperparameters(settings: Descent, facts: PublicFacts) -> Plan[Descent]:
    """Fills `learning_rate` from the noise solved."""
    return fill_rate(Plan(settings), facts)


def fill_rate(plan: Plan[Descent], facts: PublicFacts) -> Plan[Descent]:
    """The plan with `learning_rate`, from the noise solved."""
    return plan.fill(
        "learning_rate",
        descent_rate(plan.settings, facts) * (1.0 - plan.settings.momentum),
        "the least of (½ + μ)μN, μN and 160·C over steps × clip norm, so that a weight gathers half"
        " to one unit of noise; never above 4·k, which would overshoot",
    )


def resolve_k(
    settings: Dimension,
    facts: PublicFacts,
    reach: float,
    *,
    factor: float = K_FACTOR,
    k_ceiling: int | None = None,
) -> Plan[Dimension]:
    """Fills `k` alone, from the reach μN; as `resolve_projection`."""
    ceiling = k_ceiling or public_rank(facts)
    check_k(settings.k, ceiling)
    return Plan(settings).fill(
        "k",
        default_k(reach, ceiling, factor=factor),
        f"{factor:g} (μN)^(2/3) with μN = {reach:,.0f}, at least {SMALLEST_K} and at most the rank",
    )


def descent_rate(settings: HasDescent, facts: PublicFacts) -> float:
    """The rule's step size of descent without momentum, in units of 1 / l2_clip_norm; of heads in
    k dimensions, where the settings have one, else of all features."""
    rate = path_length(noise_scale(settings, facts), facts) / require(settings.steps, "steps")
    dimensions = getattr(settings, "k", None) or facts.d
    return float(min(rate, LARGEST_RATE_PER_DIMENSION * dimensions) / settings.l2_clip_norm)


def path_length(mu: float, facts: PublicFacts) -> float:
    """The sum of all step sizes on the mean gradient, in units of 1 / l2_clip_norm."""
    return min(min(0.5 + mu, 1.0) * mu * facts.n_private, LONGEST_PATH_PER_CLASS * facts.n_classes)


def effective_steps(steps: int, momentum: float) -> float:
    """Σ_t (1 − m^t)/(1 − m): the path length of T unit gradients under heavy-ball momentum m, in
    units of the rate."""
    return (steps - momentum * (1.0 - momentum**steps) / (1.0 - momentum)) / (1.0 - momentum)


def check_k(k: int | None, ceiling: int) -> None:
    """Refuses an explicit k above what the rows span. Raises DataError, naming the largest k."""
    if k is not None and k > ceiling:
        raise DataError(
            f"k must be at most {ceiling}, the directions that there are; got {k}. Lower k or bring"
            " more public rows."
        )


def gaussian_mu(budget: PrivacyBudget) -> float:
    """μ such that μ-GDP is (ε, δ)-DP, in units of the clip norm: halved under replace-one, whose
    clipped sums move by 2."""
    mu = mu_of(budget.epsilon, budget.delta)
    return mu / 2 if budget.relation is NeighboringRelation.REPLACE_ONE else mu


def reach(settings: HasBatch, facts: PublicFacts) -> float:
    """μN: how many clip norms a sum of all rows weighs against the noise of all steps."""
    return noise_scale(settings, facts) * facts.n_private


def noise_scale(settings: HasBatch, facts: PublicFacts) -> float:
    """μ = q·√T/σ, ∞ without noise."""
    if not settings.noise_multiplier:
        return math.inf
    q = sampling_probability(settings.batch_size, facts)
    return q * math.sqrt(require(settings.steps, "steps")) / float(settings.noise_multiplier)


def sampling_probability(batch_size: int | None, facts: PublicFacts) -> float:
    """q of a Poisson sample of so many expected rows; 1 without a batch size."""
    return 1.0 if batch_size is None else min(1.0, batch_size / facts.n_private)


def prepare(settings: HasMoments, view: View, *, k: int | None = None) -> Prepared:
    """Rows standardised and centred as the settings say, in the first k public directions (None:
    all features), of unit norm unless a setting `normalise` says no."""
    return view.prepare(
        standardise=settings.standardise,
        centre=settings.centre,
        normalise=getattr(settings, "normalise", True),
        k=k,
    )


def public_statistics(settings: HasMoments, view: View) -> dict[str, int | float]:
    """The rank of the public rows: the largest k."""
    return {
        "public_rank": view.basis(standardise=settings.standardise, centre=settings.centre).rank
    }


def projection_statistics(settings: HasChosenDimension, view: View) -> dict[str, int | float]:
    """The rank of the public rows, where k asks for a projection."""
    return {} if settings.k is None else public_statistics(settings, view)


def public_rank(facts: PublicFacts) -> int:
    """The rank of the public rows, where it was measured, else the most that m centred rows of d
    features can have."""
    return int(facts.extra.get("public_rank", min(facts.d, max(facts.n_public - 1, 1))))


def default_k(reach: float, ceiling: int, *, factor: float = K_FACTOR) -> int:
    """k = factor · (μN)^(2/3), `reach` being μN, at least 5 and at most `ceiling`."""
    wanted = ceiling if math.isinf(reach) else round(factor * reach ** (2 / 3))
    return max(1, min(max(wanted, SMALLEST_K), ceiling))


def require(value: V | None, name: str) -> V:
    """The value of a setting that a rule or the budget has filled. Raises SettingError where it is
    still None."""
    if value is None:
        raise SettingError(
            f"{name} is not known yet: the learner's rules and the budget fill it before its cost"
            " is computed."
        )
    return value
