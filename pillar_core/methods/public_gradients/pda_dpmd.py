"""PDA-DPMD: noised private gradients first, public gradients more and more: mirror descent in its first-order form.

Guarantee: per step one Gaussian release of the clipped sum, on a Poisson sample where batch_size is set; public gradients
are added after the noise. With K the number of steps, step t moves along α_t · (noised private mean) + (1 − α_t) · (public
mean), α_t = cos(πt/2K). Source: Amid et al., ICML 2022, first-order approximation, as used for public-data selection (GSD,
appendix D.3). Cost: two matrix products over the batch and over the public rows a step.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import torch

from pillar_core import params
from pillar_core.engine.mixed import Look, public_gradients
from pillar_core.methods.method import METHODS, Method, Settings
from pillar_core.methods.parts import descent, mixed
from pillar_core.splits import Prepared, View
from pillar_core.types import PublicFacts, PublicUse


@dataclasses.dataclass(frozen=True)
class PdaDpmdSettings(mixed.MixedSettings):
    """Noisy descent mixed with the public mean gradient."""

    batch_size: int | None = params.setting(params.BATCH_SIZE)
    l2_clip_norm: float | None = params.setting(
        params.L2_CLIP_NORM, default=None, none_means="clip_percentile of public gradient norms, each step"
    )
    clip_percentile: float = params.setting(mixed.CLIP_PERCENTILE)


@dataclasses.dataclass(frozen=True, eq=False)
class PdaDpmdGuide:
    """Clip norms and mixing weights of heads with these settings."""

    settings: Sequence[PdaDpmdSettings]
    public: mixed.PublicRows
    facts: PublicFacts

    def look(self, step: int, state: torch.Tensor, heads: Sequence[int]) -> Look:
        """Norms and sum of the public rows' gradients."""
        norms, total, _ = public_gradients(self.public.z, self.public.squared, self.public.y, state)
        return Look(mixed.clip_norms(norms, [self.settings[h] for h in heads]), total)

    def move(self, step: int, state: torch.Tensor, released: torch.Tensor, look: Look, heads: Sequence[int]) -> torch.Tensor:
        """w ← w − η (α_t g_priv + (1 − α_t) g_pub), on means."""
        own = [self.settings[h] for h in heads]
        alpha = math.cos(math.pi * step / (2 * own[0].steps)) if own[0].steps else 1.0
        expected = mixed.plan_of(own[0], self.facts).sampling_probability * self.facts.n_private
        mean = alpha * released / expected + (1 - alpha) * look.public_sum / self.public.count
        return state - mixed.mean_rates(own, self.facts, look.clip) * mean


def guide(settings: Sequence[Settings], view: View, prepared: Prepared) -> PdaDpmdGuide:
    """The guide of heads that share their preparation."""
    return PdaDpmdGuide(settings, mixed.PublicRows.of(prepared, view), view.facts)


fit_many = mixed.fit_many_with(guide)

METHODS.register(
    Method(
        name="pda_dpmd",
        title="PDA-DPMD (mirror descent)",
        source="Amid et al., ICML 2022; GSD, appendix D.3",
        idea="Follow private gradients while they say most, and let public gradients take over as the noise adds up.",
        public_use=PublicUse.LABELLED,
        settings=PdaDpmdSettings,
        cost=mixed.cost,
        fit=descent.fit_with(fit_many),
        fit_many=fit_many,
        resolve_schedule=mixed.resolve_short_schedule,
        resolve_hyperparameters=mixed.resolve_hyperparameters,
        presets={"paper": {"initialisation": "zero", "l2_clip_norm": 1.0, "learning_rate": 0.05, "steps": 1000, "batch_size": 256}},
    )
)
