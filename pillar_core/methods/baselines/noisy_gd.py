"""NoisyGD: full-batch gradient descent with Gaussian noise and exact Gaussian accounting.

Guarantee: T releases of the full clipped sum, μ = √T/σ exactly (Proposition 2 prints ρ = T²/(2σ²);
it is T/(2σ²)). Source: Golatkar et al., AdaMix, Algorithm 1 ("fully private"). Cost: two matrix
products over all rows a step.
"""

import dataclasses
from typing import ClassVar

from pillar_core import params
from pillar_core.methods.method import METHODS, FitMany
from pillar_core.methods.parts import descent, rules
from pillar_core.methods.parts.fields import toml_setting


@dataclasses.dataclass(frozen=True)
class NoisyGdSettings:
    """Settings of full-batch noisy descent."""

    batch_size: ClassVar[None] = None
    steps: int | None = params.setting(params.STEPS)
    learning_rate: float | None = params.setting(params.LEARNING_RATE)
    l2_clip_norm: float = params.setting(params.L2_CLIP_NORM, default=descent.CLIP)
    momentum: float = params.setting(params.MOMENTUM)
    weight_decay: float = toml_setting("noisy_gd", "weight_decay")
    bias: bool = params.setting(params.BIAS, default=False)
    standardise: bool | None = params.setting(params.STANDARDISE)
    centre: bool | None = params.setting(params.CENTRE)
    normalise: bool = params.setting(params.NORMALISE)
    noise_multiplier: float | None = params.setting(params.NOISE_MULTIPLIER)


fit_many: FitMany[NoisyGdSettings] = descent.fit_many_with(
    descent.all_features, descent.PREPROCESSING
)

METHODS.register(
    descent.learner("noisy_gd", NoisyGdSettings, fit_many, rules.resolve_hyperparameters)
)
