"""PILLAR Kalman with labelled public rows: from their head, AdaMix's steps on all features, with
one small clip norm and no projection.

Few labelled rows show few directions, and their own head fits them well. So a projection on them
loses signal, and a clip norm that is a percentile of their gradients says nothing of private ones.
The steps together are as long as the noise allows.

Guarantee: per step one Gaussian release of Σ clip(g_i) over all private rows at a fixed clip norm
(μ = √T/σ). Start, step sizes and the public rows' gradient read public rows, released weights, N
and C. Source: ours, after AdaMix (Golatkar et al.); measured in research/open_questions.md. Cost:
two matrix products over all rows a step.
"""

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

from pillar_core import params
from pillar_core.deferred import torch
from pillar_core.engine import Clipping, NoisySum, Step
from pillar_core.methods.method import METHODS, Method
from pillar_core.methods.parts import descent, mixed, rules
from pillar_core.types import PublicUse


@dataclasses.dataclass(frozen=True)
class LabelledSettings(mixed.MixedSettings):
    """Noisy descent from the public rows' head at one clip norm."""

    batch_size: ClassVar[None] = None
    l2_clip_norm: float = params.setting(params.L2_CLIP_NORM, default=0.1)


def both_kinds(
    settings: Sequence[LabelledSettings], group: descent.HeadGroup, state: "torch.Tensor"
) -> Step:
    """w ← w − η(G_pub + G̃_priv)/N, the public part no longer than its curvature allows."""
    public, facts = mixed.PublicRows.of(group), group.view.facts
    clip = torch.tensor([head.l2_clip_norm for head in settings], device=state.device)
    rates = mixed.mean_rates(settings, facts, clip)
    longest = mixed.longest_public_rate(settings[0], public, group.view)
    stable = mixed.damping(settings, rates * public.count / facts.n_private, longest)

    def step(number: int, state: "torch.Tensor", noisy_sum: NoisySum) -> "torch.Tensor":
        _, public_sum, _ = public.gradients(state)
        return state - rates / facts.n_private * (
            stable * public_sum + noisy_sum(state, Clipping(clip))
        )

    return step


METHODS.register(
    Method(
        name="pillar_kalman_labelled",
        title="PILLAR Kalman, labelled",
        source="ours, after Golatkar et al., AdaMix",
        idea="From the head of a few labelled public rows, by short steps on all features as long"
        " as the noise allows; no setting to choose.",
        public_use=PublicUse.LABELLED,
        settings=LabelledSettings,
        cost=mixed.cost,
        fit_many=descent.fit_many_by(
            mixed.plan_of,
            descent.all_features,
            mixed.SHARED,
            start=mixed.public_start,
            optimiser=both_kinds,
            noise_std=mixed.noise_std,
        ),
        resolve_schedule=rules.resolve_schedule,
        resolve_hyperparameters=mixed.resolve_hyperparameters,
        is_exact=True,
        version=7,
    )
)
