"""AdaMix as its theorems take it: one public pass, then noisy descent on the penalised sum,
averaged, without clipping.

Guarantee: rows have unit norm, so a row's cross-entropy gradient has norm at most L = √2 (‖softmax
− onehot‖ ≤ √2): the sum over private rows needs no clip, and L is stated as its sensitivity (the
clip at √2 only bounds rounding). ρ = TL²/(2σ²), μ = √(2ρ) = √T/multiplier. Corrections: the
regulariser's gradient λ(w − w_ref) is missing in print; ρ = T²L²/(2σ²) is a typo; Theorem 3's λ is
√(2dL²/(ρ‖w* − w_ref‖²)). Source: Golatkar et al., AdaMix, Algorithm 3 and Theorems 3 and 4. Cost:
two matrix products over all rows a step.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from pillar_core import params
from pillar_core.arrays import Array
from pillar_core.deferred import torch
from pillar_core.engine import Clipping, NoisySum, Step, per_head
from pillar_core.methods.method import METHODS, Method, Plan
from pillar_core.methods.parts import descent, mixed, rules
from pillar_core.types import PrivacyBudget, PublicFacts, PublicUse

LIPSCHITZ = math.sqrt(2.0)
STEPS = 40


@dataclasses.dataclass(frozen=True)
class AdamixTheorySettings:
    """What Algorithm 3 leaves open; rows always have unit norm."""

    batch_size: ClassVar[None] = None
    normalise: ClassVar[bool] = True
    steps: int | None = params.setting(params.STEPS)
    strong_convexity: float | None = params.declare(
        None,
        "c of the population risk: sets the public pass's steps 2/(c(t + 1)).",
        low=0,
        low_open=True,
        high=1e6,
        log=True,
        none_means="1 / public rows",
    )
    radius: float = params.declare(
        100.0,
        "Radius of the ball that holds the weights.",
        low=0,
        low_open=True,
        high=1e6,
        log=True,
    )
    regularisation: float | None = params.declare(
        None,
        "λ of λ/2·‖w − w_ref‖² beside the summed loss; steps are 2/(λ(t + 1)).",
        low=0,
        low_open=True,
        high=1e12,
        log=True,
        none_means="Theorem 3's, for ‖w* − w_ref‖ = 2 · radius",
    )
    standardise: bool | None = params.setting(params.STANDARDISE)
    centre: bool | None = params.setting(params.CENTRE)
    noise_multiplier: float | None = params.setting(params.NOISE_MULTIPLIER)


def averaged_descent(
    settings: Sequence[AdamixTheorySettings], group: descent.HeadGroup, state: "torch.Tensor"
) -> Step:
    """w ← Π(w − 2/(λ(t + 1)) · (released + G_pub + λ(w − w_ref))), w_ref the start; the last step
    returns Σ 2t/(T(T + 1)) w_t."""
    public, reference, average = mixed.PublicRows.of(group), state, torch.zeros_like(state)
    steps = int(settings[0].steps or 0)
    decay = per_head(
        [rules.require(head.regularisation, "regularisation") for head in settings], state
    )
    radius = per_head([head.radius for head in settings], state)
    clip = torch.full((len(settings),), LIPSCHITZ, device=state.device)

    def step(number: int, state: "torch.Tensor", noisy_sum: NoisySum) -> "torch.Tensor":
        nonlocal average
        average = average + 2.0 * (number + 1) / (steps * (steps + 1)) * state
        _, public_sum, _ = public.gradients(state)
        gradient = noisy_sum(state, Clipping(clip)) + public_sum + decay * (state - reference)
        moved = state - 2.0 / (decay * (number + 2)) * gradient
        lengths: torch.Tensor = torch.linalg.vector_norm(moved, dim=(1, 2), keepdim=True)
        return (
            average
            if number == steps - 1
            else moved * (radius / lengths.clamp(min=1e-30)).clamp(max=1.0)
        )

    return step


def resolve_schedule(
    settings: AdamixTheorySettings, facts: PublicFacts, budget: PrivacyBudget | None
) -> Plan[AdamixTheorySettings]:
    """Fills `steps` and `strong_convexity`."""
    convexity = 1.0 / max(facts.n_public, 1)
    assumed = "one over the public rows, an assumption about the population"
    plan = Plan(settings).fill("strong_convexity", convexity, assumed)
    why = "the bound falls in T at equal privacy, and beyond this accuracy hardly moves"
    return plan.fill("steps", STEPS, why)


def resolve_hyperparameters(
    settings: AdamixTheorySettings, facts: PublicFacts
) -> Plan[AdamixTheorySettings]:
    """Fills `regularisation`: Theorem 3's λ, or the one that balances its 1/T term where that is
    larger."""
    distance = 2.0 * settings.radius
    mu = rules.noise_scale(settings, facts)
    theorem = (
        0.0
        if math.isinf(mu)
        else math.sqrt(4.0 * facts.d * facts.n_classes) * LIPSCHITZ / (mu * distance)
    )
    balance = math.sqrt(8.0 / float(settings.steps or 1)) * facts.n_private * LIPSCHITZ / distance
    why = (
        f"the larger of √(2dL²/(ρr²)) = {theorem:.4g} and √8·NL/(√T·r) = {balance:.4g}, r ="
        f" {distance:g}"
    )
    return Plan(settings).fill("regularisation", max(theorem, balance), why)


def one_public_pass(settings: AdamixTheorySettings, group: descent.HeadGroup) -> Array:
    """(d, C) float32 last iterate from zero of one pass over the public rows in a random order: the
    start, and what is pulled back to.

    Step t is 2/(c(t + 1)) long, c the strong convexity of the population risk, and ends in ‖W‖ ≤
    radius.
    """
    labels, convexity = mixed.labels_of(group.view), float(settings.strong_convexity or math.nan)
    rows = group.prepared.z_public.astype(np.float64)
    weights = np.zeros((group.view.facts.n_classes, rows.shape[1]))
    for t, row in enumerate(group.streams.public("one pass").permutation(len(labels)), start=1):
        logits = weights @ rows[row]
        residual = np.exp(logits - logits.max())
        residual /= residual.sum()
        residual[labels[row]] -= 1.0
        weights -= 2.0 / (convexity * (t + 1)) * np.outer(residual, rows[row])
        weights *= min(1.0, settings.radius / max(float(np.linalg.norm(weights)), 1e-300))
    return np.ascontiguousarray(weights.T.astype(np.float32))


METHODS.register(
    Method(
        name="adamix_theory",
        title="AdaMix (theory)",
        source="Golatkar et al., AdaMix, Algorithm 3",
        idea="The version that the convergence theorems speak of: a public pass, a pull back to"
        " it, shrinking steps, averaging.",
        public_use=PublicUse.LABELLED,
        settings=AdamixTheorySettings,
        cost=mixed.cost,
        fit_many=descent.fit_many_by(
            mixed.plan_of,
            descent.all_features,
            ("standardise", "centre", "strong_convexity", "radius"),
            start=one_public_pass,
            optimiser=averaged_descent,
            per_seed=True,
        ),
        resolve_schedule=resolve_schedule,
        resolve_hyperparameters=resolve_hyperparameters,
        is_exact=True,
        version=3,
        preset_budget_settings={"paper": "steps"},
        presets={"paper": {"noise_multiplier": 20.0, "standardise": False, "centre": False}},
    )
)
