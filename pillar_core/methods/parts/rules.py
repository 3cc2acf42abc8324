"""Default settings from public facts and the budget alone, so that nothing is tuned on private data.

Full-batch noisy descent on unit rows, clip 1, zero start, no bias. In the noise's own scale, μ = q·√T/σ (for full
batches the Gaussian-DP parameter under add/remove), the rules, measured on real features in docs/defaults.md, are:
T = 50μ steps within 5 … 40; step size η = min((½ + μ)μN, μN, 160·C)/T on the mean gradient, so that the noise that
accumulates in each weight is half a unit for small budgets and at most one, and at most 4k, so that it does not overshoot
in few dimensions; k = 0.65(μN)^(2/3).
"""

from __future__ import annotations

import dataclasses
import math

from pillar_core import params
from pillar_core.accounting import mu_of
from pillar_core.errors import DataError
from pillar_core.methods.method import Plan, Settings
from pillar_core.types import NeighboringRelation, PrivacyBudget, PublicFacts

FEWEST_STEPS, MOST_STEPS = 5, 40
STEPS_PER_MU = 50.0
STEPS_WITHOUT_NOISE = 100
LONGEST_PATH_PER_CLASS = 160.0
LARGEST_RATE_PER_DIMENSION = 4.0
"""Unit rows have a mean square of 1/k per direction: longer steps overshoot there."""
SMALLEST_K = 5
K_FACTOR = 0.65


def resolve_schedule(settings: Settings, facts: PublicFacts, budget: PrivacyBudget | None) -> Plan:
    """Fills `steps`."""
    if settings.steps is not None:
        return Plan(settings)
    if (budget is not None and math.isinf(budget.epsilon)) or settings.noise_multiplier == 0:
        steps, reason = STEPS_WITHOUT_NOISE, "without noise further steps only help"
    elif budget is None:
        steps, reason = FEWEST_STEPS, "few steps share the noise that was set"
    else:
        mu = gaussian_mu(budget)
        steps = round(min(max(STEPS_PER_MU * mu, FEWEST_STEPS), MOST_STEPS))
        reason = f"50 μ within {FEWEST_STEPS} … {MOST_STEPS}, with μ = {mu:.3g} of the budget; more steps share the same budget"
    return Plan(dataclasses.replace(settings, steps=steps), (f"steps = {steps}: {reason}.",))


def resolve_hyperparameters(settings: Settings, facts: PublicFacts, *, k_ceiling: int | None = None) -> Plan:
    """Fills `learning_rate` and, where the method has one, `k` (at most `k_ceiling`, else the public rank), from the noise solved.

    Raises:
        DataError: an explicit k above that.
    """
    plan = resolve_k(settings, facts, k_ceiling=k_ceiling)
    if plan.settings.learning_rate is not None:
        return plan
    rate = descent_rate(plan.settings, facts) * (1.0 - settings.momentum)
    reason = "min((½ + μ)μN, μN, 160·C)/steps, so a weight gathers half to one unit of noise, and at most 4 k"
    why = f"learning_rate = {rate:.4g}: {reason}."
    return Plan(dataclasses.replace(plan.settings, learning_rate=rate), (*plan.why, why))


def resolve_k(settings: Settings, facts: PublicFacts, *, k_ceiling: int | None = None) -> Plan:
    """Fills `k` alone, where the method has one; as `resolve_hyperparameters`."""
    ceiling = k_ceiling or public_rank(facts)
    check_k(settings, ceiling)
    if "k" not in params.params_of(settings) or settings.k is not None:
        return Plan(settings)
    path_length = noise_scale(settings, facts) * facts.n_private
    k = default_k(path_length, ceiling)
    why = f"k = {k}: 0.65 (μN)^(2/3) with μN = {path_length:,.0f}, at least {SMALLEST_K} and at most the rank."
    return Plan(dataclasses.replace(settings, k=k), (why,))


def descent_rate(settings: Settings, facts: PublicFacts) -> float:
    """The rule's step size of descent without momentum, in units of 1 / l2_clip_norm."""
    mu = noise_scale(settings, facts)
    rate = min(min(0.5 + mu, 1.0) * mu * facts.n_private, LONGEST_PATH_PER_CLASS * facts.n_classes) / settings.steps
    dimensions = getattr(settings, "k", None) or facts.d
    return float(min(rate, LARGEST_RATE_PER_DIMENSION * dimensions) / settings.l2_clip_norm)


def check_k(settings: Settings, ceiling: int) -> None:
    """Refuses an explicit k above what the rows span.

    Raises:
        DataError: naming the largest k.
    """
    k = getattr(settings, "k", None)
    if k is not None and k > ceiling:
        raise DataError(f"k must be at most {ceiling}, the directions that there are; got {k}. Lower k or bring more public rows.")


def gaussian_mu(budget: PrivacyBudget) -> float:
    """μ such that μ-GDP is (ε, δ)-DP, in units of the clip norm: halved under replace-one, whose clipped sums move by 2."""
    mu = mu_of(budget.epsilon, budget.delta)
    return mu / 2 if budget.relation is NeighboringRelation.REPLACE_ONE else mu


def noise_scale(settings: Settings, facts: PublicFacts) -> float:
    """μ = q·√T/σ, ∞ without noise."""
    if not settings.noise_multiplier:
        return math.inf
    batch = getattr(settings, "batch_size", None)
    q = 1.0 if batch is None else min(1.0, batch / facts.n_private)
    return q * math.sqrt(settings.steps) / float(settings.noise_multiplier)


def public_rank(facts: PublicFacts) -> int:
    """The rank of the public rows, where it was measured, else the most that m centred rows of d features can have."""
    return int(facts.extra.get("public_rank", min(facts.d, max(facts.n_public - 1, 1))))


def default_k(path_length: float, ceiling: int) -> int:
    """k = 0.65·(path length)^(2/3), the path length being μN, at least 5 and at most `ceiling`."""
    wanted = ceiling if math.isinf(path_length) else round(K_FACTOR * path_length ** (2 / 3))
    return max(1, min(max(wanted, SMALLEST_K), ceiling))
