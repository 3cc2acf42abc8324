"""AdaMix: start from the public rows' head, clip at a public percentile, project on public gradients, step on both kinds of rows.

Guarantee: per step one Gaussian release of Σ clip_τ(g_i) over all private rows (μ = √T/σ exactly). Clip norm τ_t, subspace
and the public rows' gradient come from public rows and released weights. The noise is drawn before the projection: UᵀN has
the law of the paper's noise N(0, σ²τ²) in P×C coordinates, and projecting is post-processing. Corrections: ρ = T/(2σ²), not
T²/(2σ²); the total public gradient has at most C − 1 left singular vectors, so past them the basis is completed by the public
rows' principal directions. Source: Golatkar et al., AdaMix, Algorithm 2 and section 3.3 (start from class names).
Cost: two matrix products over all rows a step, and one thin QR where a projection is on.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from pillar_core import params
from pillar_core.arrays import Array
from pillar_core.engine.gradient_subspace import gradient_subspace
from pillar_core.engine.mixed import Look, public_gradients
from pillar_core.errors import DataError, SettingError
from pillar_core.methods.method import METHODS, Method, Plan, Settings
from pillar_core.methods.parts import descent, mixed, rules
from pillar_core.splits import Prepared, View
from pillar_core.types import PublicFacts, PublicUse

ROOM = 4
"""Projected only where public rows span at least this many times the dimensions that the noise allows: fewer lose signal."""

ADAPTIVE_CLIP = params.Param("adaptive_clip", bool, True, "Clip at the percentile of public gradient norms; off: at l2_clip_norm.")
PROJECTION = params.Param("projection", bool, True, "Project the released sum on the public gradient's subspace; off: all dimensions.")
TEXT_SCALE = params.Param(
    "text_scale", float, 100.0, "Length of the weights that start from class names.", low=0, low_open=True, high=1e6, log=True
)
WEIGHT_DECAY = params.Param("weight_decay", float, 0.0, "L2 penalty λ on the scale of the summed loss.", low=0, high=1e6, log=True)


@dataclasses.dataclass(frozen=True)
class AdamixSettings(mixed.MixedSettings):
    """AdaMix and its ablations; learning_rate and weight_decay are on the scale of sums over rows, as in the paper."""

    learning_rate: float | None = params.setting(
        params.LEARNING_RATE, help="Step size on the summed gradient of public and private rows.", none_means=mixed.RATE_RULE
    )
    initialisation: str = params.setting(
        mixed.INITIALISATION, choices=("public", "text", "zero"), help="Where training starts: public rows' head, class names, or zero."
    )
    k: int | None = params.setting(params.K)
    adaptive_clip: bool = params.setting(ADAPTIVE_CLIP)
    clip_percentile: float = params.setting(mixed.CLIP_PERCENTILE)
    l2_clip_norm: float = params.setting(params.L2_CLIP_NORM, help="Clip norm where adaptive_clip is off.")
    projection: bool = params.setting(PROJECTION)
    weight_decay: float = params.setting(WEIGHT_DECAY)
    text_scale: float = params.setting(TEXT_SCALE)


@dataclasses.dataclass(frozen=True, eq=False)
class AdamixGuide:
    """Clip norms, subspace and steps of heads with these settings. directions: (d, r) public principal directions or None."""

    settings: Sequence[AdamixSettings]
    public: mixed.PublicRows
    facts: PublicFacts
    directions: torch.Tensor | None

    def look(self, step: int, state: torch.Tensor, heads: Sequence[int]) -> Look:
        """Norms and sum of the public rows' gradients."""
        norms, total, _ = public_gradients(self.public.z, self.public.squared, self.public.y, state)
        own = [self.settings[h] for h in heads]
        adaptive = mixed.percentiles(norms, [one.clip_percentile for one in own])
        fixed = torch.tensor([0.0 if one.adaptive_clip else one.l2_clip_norm for one in own], device=state.device)
        return Look(torch.where(fixed > 0, fixed, adaptive), total)

    def move(self, step: int, state: torch.Tensor, released: torch.Tensor, look: Look, heads: Sequence[int]) -> torch.Tensor:
        """w ← w − η(G_pub + U Uᵀ G̃_priv + λw), on sums."""
        own = [self.settings[h] for h in heads]
        projected = torch.stack([self._projected(one, released[h], look.public_sum[h]) for h, one in enumerate(own)])
        rates = mixed.mean_rates(own, self.facts, look.clip)
        by_rule = torch.tensor([one.learning_rate is None for one in own], device=state.device)[:, None, None]
        rates = torch.where(by_rule, rates / self.facts.n_private, rates)
        decays = torch.tensor([one.weight_decay for one in own], device=state.device)[:, None, None]
        return state - rates * (look.public_sum + projected + decays * state)

    def subspace(self, settings: AdamixSettings, public_sum: torch.Tensor) -> torch.Tensor | None:
        """(d, k) orthonormal directions that a step keeps of the released sum (C, d), None for all."""
        if not settings.projection or settings.k is None or settings.k >= self.facts.d or self.directions is None:
            return None
        return gradient_subspace(public_sum, self.directions, settings.k)

    def _projected(self, settings: AdamixSettings, released: torch.Tensor, public_sum: torch.Tensor) -> torch.Tensor:
        basis = self.subspace(settings, public_sum)
        return released if basis is None else (released @ basis) @ basis.T


def guide(settings: Sequence[Settings], view: View, prepared: Prepared) -> AdamixGuide:
    """The guide of heads that share their preparation."""
    first = settings[0]
    projects = any(one.projection for one in settings)
    public = mixed.PublicRows.of(prepared, view)
    basis = view.basis(standardise=first.standardise, centre=first.centre) if projects else None
    directions = None if basis is None else torch.from_numpy(basis.vectors).to(public.z.device)
    return AdamixGuide(settings, public, view.facts, directions)


def start(settings: Settings, view: View, prepared: Prepared) -> Array:
    """(d, C) starting weights: the public rows' head, β times the unit encodings of the class names, or zeros."""
    if settings.initialisation != "text":
        return mixed.public_start(settings, view, prepared)
    text = _text(settings, view)
    lengths = np.linalg.norm(text, axis=1, keepdims=True)
    return np.ascontiguousarray((settings.text_scale * text / np.where(lengths > 0, lengths, 1.0)).T.astype(np.float32))


def public_statistics(settings: Settings, view: View) -> dict[str, int | float]:
    """The rank of the public rows: the largest k.

    Raises:
        DataError, SettingError: a start from class names that this split or preprocessing does not allow.
    """
    if settings.initialisation == "text":
        _text(settings, view)
    return {"public_rank": view.basis(standardise=settings.standardise, centre=settings.centre).rank}


def resolve_hyperparameters(settings: Settings, facts: PublicFacts) -> Plan:
    """Fills `k`: (μN)^(2/3) where public rows span room enough for it, else all dimensions.

    Raises:
        SettingError: k above the public rank.
    """
    rank = rules.public_rank(facts)
    why = list(mixed.rate_words(settings, facts))
    if settings.k is not None and rank < settings.k != facts.d:
        raise SettingError(f"k must be at most {rank}, the rank of the public rows, or {facts.d} for no projection; got {settings.k}.")
    if settings.projection and settings.k is None:
        reach = rules.noise_scale(settings, facts) * facts.n_private
        wanted = facts.d if math.isinf(reach) else max(rules.SMALLEST_K, round(reach ** (2 / 3)))
        k = wanted if ROOM * wanted <= rank else facts.d
        asked = f"(μN)^(2/3) with μN = {reach:,.0f} is {wanted}"
        outcome = "projected" if k == wanted else f"not projected, for that asks for a public rank of {ROOM * wanted}"
        why.append(f"k = {k}: {asked}; {outcome}; the public rank is {rank}.")
        settings = dataclasses.replace(settings, k=k)
    return Plan(settings, tuple(why))


def _text(settings: Settings, view: View) -> Array:
    if view.text_embeddings is None:
        raise DataError("initialisation='text' needs text embeddings of the class names; pass text_embeddings to split.")
    if settings.standardise or settings.centre:
        raise SettingError("standardise and centre must be false with initialisation='text': class names are encoded as raw features are.")
    return view.text_embeddings


def uses(settings: Mapping[str, Any]) -> PublicUse:
    """A start from class names reads them beside the labelled rows."""
    return PublicUse.TEXT if settings["initialisation"] == "text" else PublicUse.LABELLED


fit_many = mixed.fit_many_with(guide, start=start)
PAPER = {
    "noise_multiplier": 20.0,
    "learning_rate": 2.5e-3,
    "weight_decay": 1e-2,
    "public_steps": 200,
    "public_learning_rate": 0.1,
    "public_weight_decay": 0.0,
    "standardise": False,
    "centre": False,
}

METHODS.register(
    Method(
        name="adamix",
        title="AdaMix",
        source="Golatkar et al., AdaMix, Algorithm 2",
        idea="A few labelled public rows give the start, the clip norm and the subspace; private rows refine the head under noise.",
        public_use=PublicUse.LABELLED,
        settings=AdamixSettings,
        cost=mixed.cost,
        fit=descent.fit_with(fit_many),
        fit_many=fit_many,
        public_statistics=public_statistics,
        resolve_schedule=rules.resolve_schedule,
        resolve_hyperparameters=resolve_hyperparameters,
        uses=uses,
        presets={"paper": PAPER, "ngd": {"adaptive_clip": False, "projection": False}, "fixed_noise": {"noise_multiplier": 20.0}},
        preset_budget_settings={"paper": "steps", "fixed_noise": "steps"},
    )
)
