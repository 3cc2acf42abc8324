"""NoisyGD: full-batch gradient descent with Gaussian noise and exact Gaussian accounting.

Guarantee: T releases of the full clipped sum, μ = √T/σ exactly (Proposition 2 prints ρ = T²/(2σ²);
it is T/(2σ²)). Source: Golatkar et al., AdaMix, Algorithm 1 ("fully private"). Cost: two matrix
products over all rows a step.
"""

import dataclasses
from typing import ClassVar

from pillar_core import params
from pillar_core.methods.method import METHODS, FitMany, Method
from pillar_core.methods.parts import descent, rules


@dataclasses.dataclass(frozen=True)
class NoisyGdSettings:
    """Settings of full-batch noisy descent."""

    batch_size: ClassVar[None] = None
    steps: int | None = params.setting(params.STEPS)
    learning_rate: float | None = params.setting(params.LEARNING_RATE)
    l2_clip_norm: float = params.setting(params.L2_CLIP_NORM, default=descent.CLIP)
    momentum: float = params.setting(params.MOMENTUM)
    weight_decay: float = params.declare(
        0.0,
        "L2 penalty λ on weights and bias, on the mean gradient's scale.",
        low=0,
        high=1000,
        log=True,
    )
    bias: bool = params.setting(params.BIAS, default=False)
    standardise: bool | None = params.setting(params.STANDARDISE)
    centre: bool | None = params.setting(params.CENTRE)
    normalise: bool = params.setting(params.NORMALISE)
    noise_multiplier: float | None = params.setting(params.NOISE_MULTIPLIER)


fit_many: FitMany[NoisyGdSettings] = descent.fit_many_with(
    descent.all_features, descent.PREPROCESSING
)

METHODS.register(
    Method(
        name="noisy_gd",
        title="NoisyGD",
        source="Golatkar et al., AdaMix, Algorithm 1",
        idea="Every row in every step: no sampling to account for, and the exact Gaussian"
        " trade-off curve.",
        settings=NoisyGdSettings,
        cost=descent.cost,
        fit_many=fit_many,
        resolve_schedule=rules.resolve_schedule,
        resolve_hyperparameters=rules.resolve_hyperparameters,
        is_head_descent=True,
        is_exact=True,
        version=3,
    )
)
