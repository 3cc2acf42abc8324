"""PDA-DPMD: noised private gradients first, public gradients more and more: mirror descent in its
first-order form.

Guarantee: per step one Gaussian release of the clipped sum, over a batch where batch_size is set;
public gradients are added after the noise. With K the number of steps, step t moves along α_t ·
(noised private mean) + (1 − α_t) · (public mean), α_t = cos(πt/2K); the public part's step by the
rule is no longer than its curvature allows. Source: Amid et al., ICML 2022,
first-order approximation, as used for public-data selection (GSD, appendix D.3). Cost: two matrix
products over the batch and over the public rows a step.
"""

import dataclasses
import math
from collections.abc import Sequence

from pillar_core import params
from pillar_core.deferred import torch
from pillar_core.engine import Clipping, NoisySum, Step
from pillar_core.methods.method import METHODS, Method
from pillar_core.methods.parts import descent, mixed, rules
from pillar_core.types import PublicUse


@dataclasses.dataclass(frozen=True)
class PdaDpmdSettings(mixed.MixedSettings):
    """Noisy descent mixed with the public mean gradient."""

    batch_size: int | None = params.setting(params.BATCH_SIZE)
    sampling: str = params.setting(params.SAMPLING)
    l2_clip_norm: float | None = params.setting(
        params.L2_CLIP_NORM,
        default=None,
        none_means="clip_percentile of public gradient norms, each step",
    )
    clip_percentile: float = params.setting(mixed.CLIP_PERCENTILE)


def mirror_descent(
    settings: Sequence[PdaDpmdSettings], group: descent.HeadGroup, state: "torch.Tensor"
) -> Step:
    """w ← w − η (α_t g_priv + (1 − α_t) g_pub), on means; rows are clipped at the public rows'
    percentile."""
    public, facts = mixed.PublicRows.of(group), group.view.facts
    expected, steps = mixed.plan_of(settings[0], facts).expected_rows, settings[0].steps
    longest = mixed.longest_public_rate(settings[0], public, group.view)

    def step(number: int, state: "torch.Tensor", noisy_sum: NoisySum) -> "torch.Tensor":
        norms, public_sum, _ = public.gradients(state)
        clip = public.clip_norms(norms, settings, [head.l2_clip_norm for head in settings])
        alpha = math.cos(math.pi * number / (2 * steps)) if steps else 1.0
        rates = mixed.mean_rates(settings, facts, clip)
        stable = mixed.damping(settings, rates * (1 - alpha), longest)
        return state - rates * (
            alpha * noisy_sum(state, Clipping(clip)) / expected
            + stable * (1 - alpha) * public_sum / public.count
        )

    return step


METHODS.register(
    Method(
        name="pda_dpmd",
        title="PDA-DPMD (mirror descent)",
        source="Amid et al., ICML 2022; GSD, appendix D.3",
        idea="Follow private gradients while they say most, and let public gradients take over as"
        " the noise adds up.",
        public_use=PublicUse.LABELLED,
        settings=PdaDpmdSettings,
        cost=mixed.cost,
        fit_many=descent.fit_many_by(
            mixed.plan_of,
            descent.all_features,
            mixed.SHARED,
            start=mixed.public_start,
            optimiser=mirror_descent,
        ),
        resolve_schedule=rules.resolve_schedule,
        resolve_hyperparameters=mixed.resolve_hyperparameters,
        is_exact=True,
        version=4,
        presets={
            "paper": {
                "initialisation": "zero",
                "l2_clip_norm": 1.0,
                "learning_rate": 0.05,
                "steps": 1000,
                "batch_size": 256,
            }
        },
    )
)
