"""DOPE-SGD: clip what a private gradient differs from the public mean by, not the gradient itself.

Guarantee: per step one Gaussian release of Σ clip(g_i − g_pub), over a batch where batch_size is
set. g_pub is a public constant of the step, so a row present or absent moves the sum by at most the
clip norm, and a replaced one by twice that. The step is g_pub + released/(q·N): |batch| · g_pub is
never added back, for the size of a batch is private. Source: Nasr et al., Effectively Using Public
Data in Privacy Preserving Machine Learning, ICML 2023 (the clipping; not its generative models).
Cost: three matrix products over the batch a step, ‖r⊗z − G‖² = ‖r‖²‖z‖² − 2rᵀGz + ‖G‖².
"""

import dataclasses
from collections.abc import Sequence

from pillar_core import params
from pillar_core.deferred import torch
from pillar_core.engine import Clipping, NoisySum, Step
from pillar_core.methods.method import METHODS, Method
from pillar_core.methods.parts import descent, mixed, rules
from pillar_core.methods.public_gradients.pda_dpmd import PdaDpmdSettings
from pillar_core.types import PublicUse


@dataclasses.dataclass(frozen=True)
class DopeSgdSettings(PdaDpmdSettings):
    """Noisy descent on differences from the public mean gradient."""

    l2_clip_norm: float | None = params.setting(
        params.L2_CLIP_NORM,
        default=None,
        help="Largest L2 norm of a row's difference from the public mean gradient.",
        none_means="clip_percentile of the public rows' own differences, each step",
    )


def differences(
    settings: Sequence[DopeSgdSettings], group: descent.HeadGroup, state: "torch.Tensor"
) -> Step:
    """w ← w − η (g_pub + released / (q·N)): how far rows lie from the public mean gradient is
    clipped and released."""
    public, facts = mixed.PublicRows.of(group), group.view.facts
    expected = mixed.plan_of(settings[0], facts).expected_rows

    def step(number: int, state: "torch.Tensor", noisy_sum: NoisySum) -> "torch.Tensor":
        norms, public_sum, residuals = public.gradients(state)
        mean = public_sum / public.count
        inner = (mean.reshape(-1, mean.shape[2]) @ public.z.T).view_as(residuals)
        squared = (
            norms.square() - 2 * (residuals * inner).sum(1) + mean.square().sum((1, 2))[:, None]
        )
        distances = squared.clamp_(min=0.0).sqrt_()
        clip = public.clip_norms(distances, settings, [head.l2_clip_norm for head in settings])
        released = noisy_sum(state, Clipping(clip, reference=mean))
        return state - mixed.mean_rates(settings, facts, clip) * (
            public_sum / public.count + released / expected
        )

    return step


METHODS.register(
    Method(
        name="dope_sgd",
        title="DOPE-SGD",
        source="Nasr et al., ICML 2023",
        idea="Public rows say where gradients point on average; only what private rows add to"
        " that is clipped and noised.",
        public_use=PublicUse.LABELLED,
        settings=DopeSgdSettings,
        cost=mixed.cost,
        fit_many=descent.fit_many_by(
            mixed.plan_of,
            descent.all_features,
            mixed.SHARED,
            start=mixed.public_start,
            optimiser=differences,
        ),
        resolve_schedule=rules.resolve_schedule,
        resolve_hyperparameters=mixed.resolve_hyperparameters,
        version=4,
    )
)
