"""PPGD: a private model whose clip norm public rows decide, then a public fit that is held near it.

Guarantee: per step one Gaussian release of the clipped sum (μ = √T/σ); the clip norm is the public
rows' mean gradient norm at released weights, and the last fit reads public rows and the released
model alone. Source: Wang & Zhou, AAAI 2020 (PPSGD), with full batches as in Golatkar et al.,
AdaMix, section 4. Cost: two matrix products over all rows a step.
"""

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

from pillar_core.arrays import Array
from pillar_core.deferred import torch
from pillar_core.engine import Clipping, NoisySum, Step
from pillar_core.engine.logistic import public_head
from pillar_core.engine.train import SMALLEST_CLIP
from pillar_core.methods.method import METHODS, Plan
from pillar_core.methods.parts import descent, mixed
from pillar_core.methods.parts.fields import toml_setting
from pillar_core.types import PublicFacts

REUSE_ROWS = 0.1
"""How many public rows the private model counts for in the last fit, by default."""


@dataclasses.dataclass(frozen=True)
class PpgdSettings(mixed.MixedSettings):
    """Noisy descent from zero, then model reuse on the public rows."""

    batch_size: ClassVar[None] = None
    initialisation: str = toml_setting("mixed", "initialisation", default="zero")
    reuse: float | None = toml_setting("ppgd", "reuse")


def clipped_by_public(
    settings: Sequence[PpgdSettings], group: descent.HeadGroup, state: "torch.Tensor"
) -> Step:
    """w ← w − η · released / N, rows clipped at the public rows' mean gradient norm."""
    public, facts = mixed.PublicRows.of(group), group.view.facts

    def step(number: int, state: "torch.Tensor", noisy_sum: NoisySum) -> "torch.Tensor":
        norms, _, _ = public.gradients(state)
        clip = norms.mean(dim=1).clamp(min=SMALLEST_CLIP)
        return state - mixed.mean_rates(settings, facts, clip) / facts.n_private * noisy_sum(
            state, Clipping(clip)
        )

    return step


def reuse(weights: Array, settings: PpgdSettings, group: descent.HeadGroup) -> Array:
    """The public rows' head, pulled towards the private model `weights` (d, C)."""
    return public_head(
        group.prepared.z_public,
        mixed.labels_of(group.view),
        n_classes=group.view.facts.n_classes,
        weight_decay=float(settings.reuse or 0.0),
        steps=settings.public_steps,
        towards=weights,
    )


def resolve_hyperparameters(settings: PpgdSettings, facts: PublicFacts) -> Plan[PpgdSettings]:
    """Fills `reuse`."""
    why = mixed.rate_words(settings, facts)
    if settings.reuse is None:
        settings = dataclasses.replace(settings, reuse=REUSE_ROWS / facts.n_public)
        why += (f"reuse = {settings.reuse:.3g}: {REUSE_ROWS} over the number of public rows.",)
    return Plan(settings, why)


METHODS.register(
    mixed.learner(
        "ppgd",
        PpgdSettings,
        clipped_by_public,
        finishing=reuse,
        resolve_hyperparameters=resolve_hyperparameters,
    )
)
