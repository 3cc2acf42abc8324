"""What the halfspace learners share: projected unit rows, default k and step size, one head as a
classifier."""

import dataclasses
import math
from typing import ClassVar, TypeVar

from pillar_core import params
from pillar_core.deferred import torch
from pillar_core.engine import LinearClassifier
from pillar_core.engine.halfspaces import class_weights, problems
from pillar_core.methods.method import Plan
from pillar_core.methods.parts import rules
from pillar_core.splits import Prepared, View
from pillar_core.types import PrivacyBudget, PublicFacts, TrainResult

STEP = 5.0
"""Step size on the mean gradient where noise is small: far enough to leave the start."""
STEPS_PER_MU = 10.0
"""Few long steps do best in the ball at small budgets, as measured on real features."""

RATE = dataclasses.replace(
    params.LEARNING_RATE,
    help="Step size on the mean gradient in units of the loss's Lipschitz constant, over √t.",
    none_means="rule from noise and k",
)


@dataclasses.dataclass(frozen=True)
class HalfspaceSettings:
    """Settings of noisy descent on halfspaces; rows always have unit norm."""

    momentum: ClassVar[float] = 0.0
    weight_decay: ClassVar[float] = 0.0
    bias: ClassVar[bool] = False
    k: int | None = params.setting(params.K)
    steps: int | None = params.setting(params.STEPS)
    batch_size: int | None = params.setting(params.BATCH_SIZE)
    learning_rate: float | None = params.setting(RATE)
    l2_clip_norm: float = params.setting(
        params.L2_CLIP_NORM,
        help=(
            "Largest norm of a row's joint gradient over all halfspaces, in units of the loss's"
            " Lipschitz constant."
        ),
    )
    standardise: bool | None = params.setting(params.STANDARDISE)
    centre: bool | None = params.setting(params.CENTRE)
    noise_multiplier: float | None = params.setting(params.NOISE_MULTIPLIER)


H = TypeVar("H", bound=HalfspaceSettings)


def project(settings: HalfspaceSettings, view: View) -> Prepared:
    """Private rows in the first k public principal directions, at unit norm."""
    return rules.prepare(settings, view, k=settings.k)


def resolve_schedule(settings: H, facts: PublicFacts, budget: PrivacyBudget | None) -> Plan[H]:
    """Fills `steps`."""
    return rules.resolve_schedule(settings, facts, budget, steps_per_mu=STEPS_PER_MU)


def resolve_hyperparameters(settings: H, facts: PublicFacts) -> Plan[H]:
    """Fills `k` and `learning_rate`."""
    plan = rules.resolve_k(settings, facts, rules.reach(settings, facts))
    per_step = rules.require(settings.noise_multiplier, "noise_multiplier") / (
        facts.n_private * rules.sampling_probability(settings.batch_size, facts)
    )
    noisy = problems(facts.n_classes) * rules.require(plan.settings.k, "k") * per_step**2
    return plan.fill(
        "learning_rate",
        STEP / (settings.l2_clip_norm * math.sqrt(1 + noisy)),
        f"{STEP:g} over the norm of one noisy mean gradient at most; step t takes it over √t",
    )


def result_of(
    halfspaces: "torch.Tensor", prepared: Prepared, notes: tuple[str, ...] = ()
) -> TrainResult:
    """Halfspaces (P, k) as a linear classifier."""
    weights = class_weights(halfspaces.numpy())
    return TrainResult(LinearClassifier.without_bias(prepared.transform, weights), notes=notes)
