"""PPGD: a private model whose clip norm public rows decide, then a public fit that is held near it.

Guarantee: per step one Gaussian release of the clipped sum (μ = √T/σ); the clip norm is the public rows' mean gradient norm
at released weights, and the last fit reads public rows and the released model alone. Source: Wang & Zhou, AAAI 2020 (PPSGD),
with full batches as in Golatkar et al., AdaMix, section 4. Cost: two matrix products over all rows a step.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import torch

from pillar_core import params
from pillar_core.arrays import Array
from pillar_core.engine.logistic import public_head
from pillar_core.engine.mixed import Look, public_gradients
from pillar_core.methods.method import METHODS, Method, Plan, Settings
from pillar_core.methods.parts import descent, mixed, rules
from pillar_core.splits import Prepared, View
from pillar_core.types import PublicFacts, PublicUse

REUSE_ROWS = 0.1
"""How many public rows the private model counts for in the last fit, by default."""

REUSE = params.Param(
    "reuse",
    float,
    None,
    "L2 pull of the last public fit towards the private model, on the mean loss.",
    low=0,
    low_open=True,
    high=1e6,
    log=True,
    none_means="0.1 / public rows",
)


@dataclasses.dataclass(frozen=True)
class PpgdSettings(mixed.MixedSettings):
    """Noisy descent from zero, then model reuse on the public rows."""

    initialisation: str = params.setting(mixed.INITIALISATION, default="zero")
    reuse: float | None = params.setting(REUSE)


@dataclasses.dataclass(frozen=True, eq=False)
class PpgdGuide:
    """Clip at the public rows' mean gradient norm; step on private rows alone."""

    settings: Sequence[PpgdSettings]
    public: mixed.PublicRows
    facts: PublicFacts

    def look(self, step: int, state: torch.Tensor, heads: Sequence[int]) -> Look:
        """Mean norm and sum of the public rows' gradients."""
        norms, total, _ = public_gradients(self.public.z, self.public.squared, self.public.y, state)
        return Look(norms.mean(dim=1), total)

    def move(self, step: int, state: torch.Tensor, released: torch.Tensor, look: Look, heads: Sequence[int]) -> torch.Tensor:
        """w ← w − η · released / N."""
        rates = mixed.mean_rates([self.settings[h] for h in heads], self.facts, look.clip)
        return state - rates / self.facts.n_private * released


def guide(settings: Sequence[Settings], view: View, prepared: Prepared) -> PpgdGuide:
    """The guide of heads that share their preparation."""
    return PpgdGuide(settings, mixed.PublicRows.of(prepared, view), view.facts)


def reuse(weights: Array, settings: Settings, view: View, prepared: Prepared) -> Array:
    """The public rows' head, pulled towards the private model `weights` (d, C)."""
    return public_head(
        prepared.z_public,
        mixed.labels_of(view),
        n_classes=view.facts.n_classes,
        weight_decay=settings.reuse,
        steps=settings.public_steps,
        towards=weights,
    )


def resolve_hyperparameters(settings: Settings, facts: PublicFacts) -> Plan:
    """Fills `reuse`."""
    why = mixed.rate_words(settings, facts)
    if settings.reuse is None:
        settings = dataclasses.replace(settings, reuse=REUSE_ROWS / facts.n_public)
        why += (f"reuse = {settings.reuse:.3g}: {REUSE_ROWS} over the number of public rows.",)
    return Plan(settings, why)


fit_many = mixed.fit_many_with(guide, finishing=reuse)

METHODS.register(
    Method(
        name="ppgd",
        title="PPGD",
        source="Wang & Zhou, AAAI 2020, as in AdaMix",
        idea="Train privately with a clip norm that public rows decide, then fit the public rows without leaving that model.",
        public_use=PublicUse.LABELLED,
        settings=PpgdSettings,
        cost=mixed.cost,
        fit=descent.fit_with(fit_many),
        fit_many=fit_many,
        resolve_schedule=rules.resolve_schedule,
        resolve_hyperparameters=resolve_hyperparameters,
        presets={"paper": {"noise_multiplier": 20.0, "standardise": False, "centre": False}},
        preset_budget_settings={"paper": "steps"},
    )
)
