"""AdaMix as its theorems take it: one public pass, then noisy descent on the penalised sum, averaged, without clipping.

Guarantee: rows have unit norm, so a row's cross-entropy gradient has norm at most L = √2 (‖softmax − onehot‖ ≤ √2): the sum
over private rows needs no clip, and L is stated as its sensitivity (the clip at √2 only bounds rounding). ρ = TL²/(2σ²),
μ = √(2ρ) = √T/multiplier. Corrections: the regulariser's gradient λ(w − w_ref) is missing in print; ρ = T²L²/(2σ²) is a typo;
Theorem 3's λ is √(2dL²/(ρ‖w* − w_ref‖²)). Source: Golatkar et al., AdaMix, Algorithm 3 and Theorems 3 and 4.
Cost: two matrix products over all rows a step.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
import torch

from pillar_core import params
from pillar_core.arrays import Array
from pillar_core.engine.mixed import Look, MixedHead, public_gradients, train_mixed
from pillar_core.engine.one_pass import one_pass
from pillar_core.grouping import grouped
from pillar_core.ledger import Ledger
from pillar_core.methods.method import METHODS, Method, Plan, Settings
from pillar_core.methods.parts import descent, mixed, rules
from pillar_core.rng import Streams
from pillar_core.splits import View
from pillar_core.types import PrivacyBudget, PublicFacts, PublicUse, TrainResult

LIPSCHITZ = math.sqrt(2.0)
STEPS = 40

STRONG_CONVEXITY = params.Param(
    "strong_convexity",
    float,
    None,
    "c of the population risk: sets the public pass's steps 2/(c(t + 1)).",
    low=0,
    low_open=True,
    high=1e6,
    log=True,
    none_means="1 / public rows",
)
RADIUS = params.Param("radius", float, 100.0, "Radius of the ball that holds the weights.", low=0, low_open=True, high=1e6, log=True)
REGULARISATION = params.Param(
    "regularisation",
    float,
    None,
    "λ of λ/2·‖w − w_ref‖² beside the summed loss; steps are 2/(λ(t + 1)).",
    low=0,
    low_open=True,
    high=1e12,
    log=True,
    none_means="Theorem 3's, for ‖w* − w_ref‖ = 2 · radius",
)


@dataclasses.dataclass(frozen=True)
class AdamixTheorySettings:
    """What Algorithm 3 leaves open; rows always have unit norm."""

    steps: int | None = params.setting(params.STEPS)
    strong_convexity: float | None = params.setting(STRONG_CONVEXITY)
    radius: float = params.setting(RADIUS)
    regularisation: float | None = params.setting(REGULARISATION)
    standardise: bool | None = params.setting(params.STANDARDISE, default=False)
    centre: bool | None = params.setting(params.CENTRE)
    noise_multiplier: float | None = params.setting(params.NOISE_MULTIPLIER)


class TheoryGuide:
    """Steps of Algorithm 3, and the weighted averages Σ 2t/(T(T + 1)) w_t of the iterates."""

    def __init__(self, settings: Sequence[AdamixTheorySettings], public: mixed.PublicRows, reference: torch.Tensor) -> None:
        self.settings, self.public, self.reference = settings, public, reference
        self.averages: dict[int, torch.Tensor] = {}

    def look(self, step: int, state: torch.Tensor, heads: Sequence[int]) -> Look:
        """The public rows' summed gradient; the iterate enters its average."""
        for row, head in enumerate(heads):
            steps = int(self.settings[head].steps or 0)
            before = self.averages.get(head, torch.zeros_like(state[row]))
            self.averages[head] = before + 2.0 * (step + 1) / (steps * (steps + 1)) * state[row]
        _, total, _ = public_gradients(self.public.z, self.public.squared, self.public.y, state)
        return Look(torch.full((len(heads),), LIPSCHITZ, device=state.device), total)

    def move(self, step: int, state: torch.Tensor, released: torch.Tensor, look: Look, heads: Sequence[int]) -> torch.Tensor:
        """w ← Π(w − 2/(λ(t + 1)) · (released + G_pub + λ(w − w_ref)))."""
        decay = torch.tensor([float(self.settings[h].regularisation or math.nan) for h in heads], device=state.device)[:, None, None]
        radius = torch.tensor([self.settings[h].radius for h in heads], device=state.device)[:, None, None]
        moved = state - 2.0 / (decay * (step + 2)) * (released + look.public_sum + decay * (state - self.reference))
        lengths: torch.Tensor = torch.linalg.vector_norm(moved, dim=(1, 2), keepdim=True)
        return moved * (radius / lengths.clamp(min=1e-30)).clamp(max=1.0)


def resolve_schedule(settings: AdamixTheorySettings, facts: PublicFacts, budget: PrivacyBudget | None) -> Plan:
    """Fills `steps` and `strong_convexity`."""
    why: list[str] = []
    if settings.strong_convexity is None:
        settings = dataclasses.replace(settings, strong_convexity=1.0 / max(facts.n_public, 1))
        why.append(f"strong_convexity = {settings.strong_convexity:.3g}: one over the public rows, an assumption about the population.")
    if settings.steps is None:
        settings = dataclasses.replace(settings, steps=STEPS)
        why.append(f"steps = {STEPS}: the bound falls in T at equal privacy, and beyond this accuracy hardly moves.")
    return Plan(settings, tuple(why))


def resolve_hyperparameters(settings: AdamixTheorySettings, facts: PublicFacts) -> Plan:
    """Fills `regularisation`: Theorem 3's λ, or the one that balances its 1/T term where that is larger."""
    if settings.regularisation is not None:
        return Plan(settings)
    distance = 2.0 * settings.radius
    mu = rules.noise_scale(settings, facts)
    theorem = 0.0 if math.isinf(mu) else math.sqrt(4.0 * facts.d * facts.n_classes) * LIPSCHITZ / (mu * distance)
    balance = math.sqrt(8.0 / float(settings.steps or 1)) * facts.n_private * LIPSCHITZ / distance
    value = max(theorem, balance)
    why = f"regularisation = {value:.4g}: the larger of √(2dL²/(ρr²)) = {theorem:.4g} and √8·NL/(√T·r) = {balance:.4g}, r = {distance:g}."
    return Plan(dataclasses.replace(settings, regularisation=value), (why,))


def fit_many(
    settings: Sequence[AdamixTheorySettings], view: View, streams: Sequence[Streams], ledgers: Sequence[Ledger]
) -> list[TrainResult]:
    """The averaged heads; those that agree on rows, public pass and its order share them."""
    agreed = ((one.standardise, one.centre, one.strong_convexity, one.radius) for one in settings)
    results: dict[int, TrainResult] = {}
    for positions in grouped(zip(agreed, (stream.identity for stream in streams), strict=True)):
        own = [settings[p] for p in positions]
        prepared = view.prepare(standardise=own[0].standardise, centre=own[0].centre, normalise=True)
        reference = _reference(own[0], view, prepared.z_public, streams[positions[0]])
        public = mixed.PublicRows.of(prepared, view)
        guide = TheoryGuide(own, public, torch.from_numpy(np.ascontiguousarray(reference.T)).to(public.z.device))
        heads = [MixedHead(mixed.plan_of(settings[p], view.facts), streams[p], ledgers[p], reference) for p in positions]
        train_mixed(prepared.z, view.y, heads, guide)
        for head, position in enumerate(positions):
            weights = np.ascontiguousarray(guide.averages[head].cpu().numpy().T)
            results[position] = mixed.result_of(weights, prepared)
    return [results[position] for position in range(len(settings))]


def _reference(settings: Settings, view: View, z_public: Array, streams: Streams) -> Array:
    labels = mixed.labels_of(view)
    order = streams.public("one pass").permutation(len(labels))
    return one_pass(
        z_public, labels, order, n_classes=view.facts.n_classes, strong_convexity=settings.strong_convexity, radius=settings.radius
    )


METHODS.register(
    Method(
        name="adamix_theory",
        title="AdaMix (theory)",
        source="Golatkar et al., AdaMix, Algorithm 3",
        idea="The version that the convergence theorems speak of: a public pass, a pull back to it, shrinking steps, averaging.",
        public_use=PublicUse.LABELLED,
        settings=AdamixTheorySettings,
        cost=mixed.cost,
        fit=descent.fit_with(fit_many),
        fit_many=fit_many,
        resolve_schedule=resolve_schedule,
        resolve_hyperparameters=resolve_hyperparameters,
        presets={"paper": {"noise_multiplier": 20.0, "standardise": False, "centre": False}},
        preset_budget_settings={"paper": "steps"},
    )
)
