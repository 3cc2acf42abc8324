"""DOPE-SGD: clip what a private gradient differs from the public mean by, not the gradient itself.

Guarantee: per step one Gaussian release of Σ clip(g_i − g_pub) over the batch, on a Poisson sample where batch_size is set.
g_pub is a public constant of the step, so a row present or absent moves the sum by at most the clip norm, and a replaced
one by twice that. The step is g_pub + released/(q·N): |batch| · g_pub is never added back, for the size of a batch is
private. Source: Nasr et al., Effectively Using Public Data in Privacy Preserving Machine Learning, ICML 2023 (the clipping;
not its generative models). Cost: three matrix products over the batch a step, ‖r⊗z − G‖² = ‖r‖²‖z‖² − 2rᵀGz + ‖G‖².
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import torch

from pillar_core import params
from pillar_core.engine.mixed import Look, public_gradients
from pillar_core.methods.method import METHODS, Method, Settings
from pillar_core.methods.parts import descent, mixed
from pillar_core.methods.public_gradients.pda_dpmd import PdaDpmdSettings
from pillar_core.splits import Prepared, View
from pillar_core.types import PublicFacts, PublicUse


@dataclasses.dataclass(frozen=True)
class DopeSgdSettings(PdaDpmdSettings):
    """Noisy descent on differences from the public mean gradient."""

    l2_clip_norm: float | None = params.setting(
        params.L2_CLIP_NORM,
        default=None,
        help="Largest L2 norm of a row's difference from the public mean gradient.",
        none_means="clip_percentile of the public rows' own differences, each step",
    )


@dataclasses.dataclass(frozen=True, eq=False)
class DopeSgdGuide:
    """Reference gradient, clip norms and steps of heads with these settings."""

    settings: Sequence[DopeSgdSettings]
    public: mixed.PublicRows
    facts: PublicFacts

    def look(self, step: int, state: torch.Tensor, heads: Sequence[int]) -> Look:
        """The public mean gradient, and how far public rows lie from it."""
        norms, total, residuals = public_gradients(self.public.z, self.public.squared, self.public.y, state)
        mean = total / self.public.count
        inner = (mean.reshape(-1, mean.shape[2]) @ self.public.z.T).view_as(residuals)
        squared = norms.square() - 2 * (residuals * inner).sum(1) + mean.square().sum((1, 2))[:, None]
        distances = squared.clamp_(min=0.0).sqrt_()
        return Look(mixed.clip_norms(distances, [self.settings[h] for h in heads]), total, mean)

    def move(self, step: int, state: torch.Tensor, released: torch.Tensor, look: Look, heads: Sequence[int]) -> torch.Tensor:
        """w ← w − η (g_pub + released / (q·N))."""
        own = [self.settings[h] for h in heads]
        expected = mixed.plan_of(own[0], self.facts).sampling_probability * self.facts.n_private
        return state - mixed.mean_rates(own, self.facts, look.clip) * (look.public_sum / self.public.count + released / expected)


def guide(settings: Sequence[Settings], view: View, prepared: Prepared) -> DopeSgdGuide:
    """The guide of heads that share their preparation."""
    return DopeSgdGuide(settings, mixed.PublicRows.of(prepared, view), view.facts)


fit_many = mixed.fit_many_with(guide)

METHODS.register(
    Method(
        name="dope_sgd",
        title="DOPE-SGD",
        source="Nasr et al., ICML 2023",
        idea="Public rows say where gradients point on average; only what private rows add to that is clipped and noised.",
        public_use=PublicUse.LABELLED,
        settings=DopeSgdSettings,
        cost=mixed.cost,
        fit=descent.fit_with(fit_many),
        fit_many=fit_many,
        resolve_schedule=mixed.resolve_short_schedule,
        resolve_hyperparameters=mixed.resolve_hyperparameters,
        presets={},
    )
)
