"""PPGD: a private model whose clip norm public rows decide, then a public fit that is held near it.

Guarantee: per step one Gaussian release of the clipped sum (μ = √T/σ); the clip norm is the public
rows' mean gradient norm at released weights, and the last fit reads public rows and the released
model alone. Source: Wang & Zhou, AAAI 2020 (PPSGD), with full batches as in Golatkar et al.,
AdaMix, section 4. Cost: two matrix products over all rows a step.
"""

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

from pillar_core import params
from pillar_core.arrays import Array
from pillar_core.deferred import torch
from pillar_core.engine import Clipping, NoisySum, Step
from pillar_core.engine.logistic import public_head
from pillar_core.engine.train import SMALLEST_CLIP
from pillar_core.methods.method import METHODS, Method, Plan
from pillar_core.methods.parts import descent, mixed, rules
from pillar_core.types import PublicFacts, PublicUse

REUSE_ROWS = 0.1
"""How many public rows the private model counts for in the last fit, by default."""


@dataclasses.dataclass(frozen=True)
class PpgdSettings(mixed.MixedSettings):
    """Noisy descent from zero, then model reuse on the public rows."""

    batch_size: ClassVar[None] = None
    initialisation: str = params.setting(mixed.INITIALISATION, default="zero")
    reuse: float | None = params.declare(
        None,
        "L2 pull of the last public fit towards the private model, on the mean loss.",
        low=0,
        low_open=True,
        high=1e6,
        log=True,
        none_means="0.1 / public rows",
    )


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
    plan = mixed.resolve_hyperparameters(settings, facts)
    why = f"{REUSE_ROWS} over the number of public rows"
    return plan.fill("reuse", REUSE_ROWS / facts.n_public, why)


METHODS.register(
    Method(
        name="ppgd",
        title="PPGD",
        source="Wang & Zhou, AAAI 2020, as in AdaMix",
        idea="Train privately with a clip norm that public rows decide, then fit the public rows"
        " without leaving that model.",
        public_use=PublicUse.LABELLED,
        settings=PpgdSettings,
        cost=mixed.cost,
        fit_many=descent.fit_many_by(
            mixed.plan_of,
            descent.all_features,
            mixed.SHARED,
            start=mixed.public_start,
            optimiser=clipped_by_public,
            finishing=reuse,
        ),
        resolve_schedule=rules.resolve_schedule,
        resolve_hyperparameters=resolve_hyperparameters,
        is_exact=True,
        version=3,
        preset_budget_settings={"paper": "steps"},
        presets={"paper": {"noise_multiplier": 20.0, "standardise": False, "centre": False}},
    )
)
