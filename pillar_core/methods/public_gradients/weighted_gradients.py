"""Weighted gradients (semi-DP): each step follows a fixed mixture of the noised private and the public mean gradient.

w ← w − η(β·(Σ clip(g_i) + noise)/(qN) + (1 − β)·mean_pub clip(g)).

Guarantee: per step one Gaussian release of the clipped sum, on a Poisson sample where batch_size is set; public gradients are functions
of public rows and of what was released before. Source: Lowy, Li, Huang & Razaviyayn 2023 (arXiv 2306.15056: abstract and published
code, whose β is set by hand). Cost: PDA-DPMD's.
"""

import dataclasses
from collections.abc import Sequence

from pillar_core.deferred import torch
from pillar_core.engine import Clipping, NoisySum, Step, per_head
from pillar_core.methods.method import METHODS
from pillar_core.methods.parts import descent, mixed
from pillar_core.methods.parts.fields import own
from pillar_core.methods.public_gradients.pda_dpmd import PdaDpmdSettings, learner

SMALLEST = 1e-30


@dataclasses.dataclass(frozen=True)
class WeightedGradientsSettings(PdaDpmdSettings):
    """Noisy descent on a mixture of mean gradients."""

    private_weight: float = own("weighted_gradients", "private_weight")


def mixture(settings: Sequence[WeightedGradientsSettings], together: descent.Together, state: "torch.Tensor") -> Step:
    """w ← w − η (β g_priv + (1 − β) g_pub), on means of gradients clipped at the public rows' percentile."""
    public, facts = mixed.PublicRows.of(together), together.view.facts
    expected = mixed.plan_of(settings[0], facts).expected_rows
    beta = per_head([one.private_weight for one in settings], state)

    def step(number: int, state: "torch.Tensor", noisy_sum: NoisySum) -> "torch.Tensor":
        norms, _, residuals = public.gradients(state)
        clip = mixed.clip_norms(norms, settings)
        factors = (clip[:, None] / norms.clamp(min=SMALLEST)).clamp(max=1.0)
        mean = (residuals * factors[:, None]) @ public.z / public.count
        along = beta * noisy_sum(state, Clipping(clip)) / expected + (1 - beta) * mean
        return state - mixed.mean_rates(settings, facts, clip) * along

    return step


METHODS.register(learner("weighted_gradients", WeightedGradientsSettings, mixture))
