"""AdaMix: start from the public rows' head, clip at a public percentile, project on public
gradients, step on both kinds of rows.

Guarantee: per step one Gaussian release of Σ clip_τ(g_i) over all private rows (μ = √T/σ exactly).
Clip norm τ_t, subspace and the public rows' gradient come from public rows and released weights.
The noise is drawn before the projection: UᵀN has the law of the paper's noise N(0, σ²τ²) in P×C
coordinates, and projecting is post-processing. Corrections: ρ = T/(2σ²), not T²/(2σ²); the total
public gradient has at most C − 1 left singular vectors, so past them the basis is completed by the
public rows' principal directions. Source: Golatkar et al., AdaMix, Algorithm 2 and section 3.3
(start from class names). Cost: two matrix products over all rows a step, and one thin QR where a
projection is on.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from pillar_core import params
from pillar_core.arrays import Array
from pillar_core.deferred import torch
from pillar_core.engine import Clipping, NoisySum, Step, per_head, training_device
from pillar_core.engine.mixed import gradient_subspace
from pillar_core.errors import DataError, SettingError
from pillar_core.methods.method import METHODS, Method, Plan
from pillar_core.methods.parts import descent, mixed, rules
from pillar_core.splits import View
from pillar_core.types import PublicFacts, PublicUse, Values

ROOM = 4
"""Projected only where public rows span at least this many times the dimensions that the noise
allows: fewer lose signal."""


@dataclasses.dataclass(frozen=True)
class AdamixSettings(mixed.MixedSettings):
    """AdaMix and its ablations; learning_rate and weight_decay are on the scale of sums over rows,
    as in the paper."""

    batch_size: ClassVar[None] = None
    learning_rate: float | None = params.setting(
        params.LEARNING_RATE,
        help="Step size on the summed gradient of public and private rows.",
        none_means=mixed.RATE_RULE,
    )
    initialisation: str = params.setting(
        mixed.INITIALISATION,
        choices=("public", "text", "zero"),
        help="Where training starts: public rows' head, class names, or zero.",
    )
    k: int | None = params.setting(params.K)
    adaptive_clip: bool = params.declare(
        True, "Clip at the percentile of public gradient norms; off: at l2_clip_norm."
    )
    clip_percentile: float = params.setting(mixed.CLIP_PERCENTILE)
    l2_clip_norm: float = params.setting(
        params.L2_CLIP_NORM, help="Clip norm where adaptive_clip is off."
    )
    projection: bool = params.declare(
        True, "Project the released sum on the public gradient's subspace; off: all dimensions."
    )
    weight_decay: float = params.declare(
        0.0, "L2 penalty λ on the scale of the summed loss.", low=0, high=1e6, log=True
    )
    text_scale: float = params.declare(
        100.0,
        "Length of the weights that start from class names.",
        low=0,
        low_open=True,
        high=1e6,
        log=True,
    )


def both_kinds(
    settings: Sequence[AdamixSettings], group: descent.HeadGroup, state: "torch.Tensor"
) -> Step:
    """w ← w − η(G_pub + U Uᵀ G̃_priv + λw), on sums."""
    public, facts, directions = (
        mixed.PublicRows.of(group),
        group.view.facts,
        public_directions(settings, group.view),
    )
    fixed = [None if head.adaptive_clip else head.l2_clip_norm for head in settings]
    by_rule = torch.tensor([head.learning_rate is None for head in settings], device=state.device)[
        :, None, None
    ]
    decays = per_head([head.weight_decay for head in settings], state)
    longest = mixed.longest_public_rate(settings[0], public, group.view)

    def step(number: int, state: torch.Tensor, noisy_sum: NoisySum) -> torch.Tensor:
        norms, public_sum, _ = public.gradients(state)
        clip = public.clip_norms(norms, settings, fixed)
        released = noisy_sum(state, Clipping(clip))
        bases = [
            subspace(head, gradient, directions)
            for head, gradient in zip(settings, public_sum, strict=True)
        ]
        parts = [
            part if basis is None else (part @ basis) @ basis.T
            for part, basis in zip(released, bases, strict=True)
        ]
        rates = mixed.mean_rates(settings, facts, clip)
        stable = mixed.damping(settings, rates * public.count / facts.n_private, longest)
        moved = stable * public_sum + torch.stack(parts) + decays * state
        return state - torch.where(by_rule, rates / facts.n_private, rates) * moved

    return step


def public_directions(settings: Sequence[AdamixSettings], view: View) -> "torch.Tensor | None":
    """(d, r) principal directions of the public rows, None where no head projects."""
    if not any(head.projection for head in settings):
        return None
    basis = view.basis(standardise=settings[0].standardise, centre=settings[0].centre)
    return torch.from_numpy(basis.vectors).to(training_device())


def subspace(
    settings: AdamixSettings, public_sum: "torch.Tensor", directions: "torch.Tensor | None"
) -> "torch.Tensor | None":
    """(d, k) orthonormal directions that a step keeps of the released sum (C, d), None for all."""
    if (
        not settings.projection
        or settings.k is None
        or settings.k >= public_sum.shape[1]
        or directions is None
    ):
        return None
    return gradient_subspace(public_sum, directions, settings.k)


def start(settings: AdamixSettings, group: descent.HeadGroup) -> Array:
    """(d, C) starting weights: the public rows' head, β times the unit encodings of the class
    names, or zeros."""
    if settings.initialisation != "text":
        return mixed.public_start(settings, group)
    text = _text(settings, group.view)
    lengths = np.linalg.norm(text, axis=1, keepdims=True)
    return np.ascontiguousarray(
        (settings.text_scale * text / np.where(lengths > 0, lengths, 1.0)).T.astype(np.float32)
    )


def public_statistics(settings: AdamixSettings, view: View) -> dict[str, int | float]:
    """The rank of the public rows: the largest k.

    Raises DataError, SettingError for a start from class names that this split or preprocessing
    does not allow.
    """
    if settings.initialisation == "text":
        _text(settings, view)
    return rules.public_statistics(settings, view)


def resolve_hyperparameters(settings: AdamixSettings, facts: PublicFacts) -> Plan[AdamixSettings]:
    """Fills `k`: (μN)^(2/3) where public rows span room enough for it, else all dimensions.

    Raises SettingError for k above the public rank.
    """
    rank = rules.public_rank(facts)
    plan = mixed.resolve_hyperparameters(settings, facts)
    if settings.k is not None and rank < settings.k != facts.d:
        raise SettingError(
            f"k must be at most {rank}, the rank of the public rows, or {facts.d} for no"
            f" projection; got {settings.k}."
        )
    if settings.projection:
        reach = rules.reach(settings, facts)
        wanted = facts.d if math.isinf(reach) else max(rules.SMALLEST_K, round(reach ** (2 / 3)))
        k = wanted if ROOM * wanted <= rank else facts.d
        rule = f"(μN)^(2/3) with μN = {reach:,.0f} is {wanted}"
        outcome = (
            "projected"
            if k == wanted
            else f"not projected, for that asks for a public rank of {ROOM * wanted}"
        )
        plan = plan.fill("k", k, f"{rule}; {outcome}; the public rank is {rank}")
    return plan


def _text(settings: AdamixSettings, view: View) -> Array:
    if view.text_embeddings is None:
        raise DataError(
            "initialisation='text' needs text embeddings of the class names; pass text_embeddings"
            " to split."
        )
    if settings.standardise or settings.centre:
        raise SettingError(
            "standardise and centre must be false with initialisation='text': class names are"
            " encoded as raw features are."
        )
    return view.text_embeddings


def uses(settings: Values) -> PublicUse:
    """A start from class names reads them beside the labelled rows."""
    return PublicUse.TEXT if settings["initialisation"] == "text" else PublicUse.LABELLED


METHODS.register(
    Method(
        name="adamix",
        title="AdaMix",
        source="Golatkar et al., AdaMix, Algorithm 2",
        idea="A few labelled public rows give the start, the clip norm and the subspace; private"
        " rows refine the head under noise.",
        public_use=PublicUse.LABELLED,
        settings=AdamixSettings,
        cost=mixed.cost,
        fit_many=descent.fit_many_by(
            mixed.plan_of,
            descent.all_features,
            (*mixed.SHARED, "text_scale"),
            start=start,
            optimiser=both_kinds,
            noise_std=mixed.noise_std,
        ),
        resolve_schedule=rules.resolve_schedule,
        resolve_hyperparameters=resolve_hyperparameters,
        public_statistics=public_statistics,
        uses=uses,
        is_exact=True,
        is_mixed_descent=True,
        version=5,
        preset_budget_settings={"paper": "steps", "fixed_noise": "steps"},
        presets={
            "ngd": {"adaptive_clip": False, "projection": False},
            "fixed_noise": {"noise_multiplier": 20.0},
            "paper": {
                "noise_multiplier": 20.0,
                "learning_rate": 0.0025,
                "weight_decay": 0.01,
                "public_steps": 200,
                "public_learning_rate": 0.1,
                "public_weight_decay": 0.0,
                "standardise": False,
                "centre": False,
            },
        },
    )
)
