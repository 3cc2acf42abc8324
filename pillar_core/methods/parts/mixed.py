"""Settings, cost and training that the learners with labelled public rows share: they differ in their guide.

A private row enters clipped sums alone; public rows enter as they are. The step rule gives the noise its scale: with
μ = q·√T/σ and m public rows, the steps together travel μN · μN/(μN + m) clip norms, at most 160·C, so that a weight
gathers at most one unit of noise and the less, the more the public rows know already (measured in docs/defaults.md).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence

import numpy as np
import torch

from pillar_core import ledger as events
from pillar_core import params
from pillar_core.arrays import Array
from pillar_core.engine import LinearClassifier, training_device
from pillar_core.engine.gradient import squared_lengths
from pillar_core.engine.logistic import descended_head, public_head
from pillar_core.engine.mixed import Guide, MixedHead, MixedPlan, train_mixed
from pillar_core.errors import DataError
from pillar_core.grouping import grouped
from pillar_core.ledger import DpEvent, Ledger
from pillar_core.methods.method import Plan, Settings
from pillar_core.methods.parts import descent, rules
from pillar_core.rng import Streams
from pillar_core.splits import Prepared, View
from pillar_core.types import PrivacyBudget, PublicFacts, TrainResult

STEPS_OF_PUBLIC_MEAN = 40
"""Steps of the learners that move by the public rows' mean gradient: fewer make it overshoot."""

INITIALISATION = params.Param(
    "initialisation", str, "public", "Where training starts: the head of the public rows, or zero.", choices=("public", "zero")
)
PUBLIC_WEIGHT_DECAY = params.Param(
    "public_weight_decay", float, 1e-4, "L2 penalty of the head of the public rows.", low=0, high=1e3, log=True
)
PUBLIC_STEPS = params.Param(
    "public_steps", int, 200, "Most iterations for the head of the public rows.", low=1, high=100_000, unit="steps", log=True
)
PUBLIC_LEARNING_RATE = params.Param(
    "public_learning_rate",
    float,
    None,
    "Step size of plain gradient descent on the public rows.",
    low=0,
    low_open=True,
    log=True,
    none_means="L-BFGS instead",
)
CLIP_PERCENTILE = params.Param(
    "clip_percentile", float, 90.0, "Clip norm: this percentile of the public rows' gradient norms.", low=0, low_open=True, high=100
)
RATE_RULE = "each step the rule of travel over steps and clip norm"


@dataclasses.dataclass(frozen=True)
class MixedSettings:
    """Settings of noisy descent that starts from the public rows' head."""

    steps: int | None = params.setting(params.STEPS)
    learning_rate: float | None = params.setting(params.LEARNING_RATE, none_means=RATE_RULE)
    initialisation: str = params.setting(INITIALISATION)
    public_weight_decay: float = params.setting(PUBLIC_WEIGHT_DECAY)
    public_steps: int = params.setting(PUBLIC_STEPS)
    public_learning_rate: float | None = params.setting(PUBLIC_LEARNING_RATE)
    standardise: bool | None = params.setting(params.STANDARDISE, default=False)
    centre: bool | None = params.setting(params.CENTRE)
    normalise: bool = params.setting(params.NORMALISE)
    noise_multiplier: float | None = params.setting(params.NOISE_MULTIPLIER)


PUBLIC_PHASE = ("public_weight_decay", "public_steps", "public_learning_rate")
SHARED = (*descent.PREPROCESSING, *PUBLIC_PHASE, "initialisation", "text_scale")


@dataclasses.dataclass(frozen=True, eq=False)
class PublicRows:
    """The public rows as tensors. z: (m, k) float32; y: (m,) int64; squared: (m,) squared norms."""

    z: torch.Tensor
    y: torch.Tensor
    squared: torch.Tensor

    @classmethod
    def of(cls, prepared: Prepared, view: View) -> PublicRows:
        """The public rows of a view that shows their labels."""
        z = torch.from_numpy(prepared.z_public).to(training_device())
        return cls(z, torch.from_numpy(labels_of(view)).to(training_device()), squared_lengths(z))

    @property
    def count(self) -> int:
        """m."""
        return len(self.y)


GuideMaker = Callable[[Sequence[Settings], View, Prepared], Guide]
Start = Callable[[Settings, View, Prepared], Array]


def cost(settings: Settings, facts: PublicFacts) -> DpEvent:
    """T Gaussian releases of the clipped sum, each on a Poisson sample where batch_size is set."""
    plan = plan_of(settings, facts)
    return events.repeated(events.subsampled(events.gaussian(plan.noise_multiplier), plan.sampling_probability), plan.steps)


def plan_of(settings: Settings, facts: PublicFacts) -> MixedPlan:
    """The engine's plan for settings whose steps and noise are known."""
    return MixedPlan(settings.steps, settings.noise_multiplier, facts.n_private, getattr(settings, "batch_size", None))


def resolve_short_schedule(settings: Settings, facts: PublicFacts, budget: PrivacyBudget | None) -> Plan:
    """Fills `steps` of a learner that moves by the public mean gradient."""
    if settings.steps is not None or budget is None or math.isinf(budget.epsilon):
        return rules.resolve_schedule(settings, facts, budget)
    why = (f"steps = {STEPS_OF_PUBLIC_MEAN}: enough for steps along the public mean gradient not to overshoot.",)
    return Plan(dataclasses.replace(settings, steps=STEPS_OF_PUBLIC_MEAN), why)


def resolve_hyperparameters(settings: Settings, facts: PublicFacts) -> Plan:
    """Nothing to fill; says which rate the steps will take."""
    return Plan(settings, rate_words(settings, facts))


def rate_words(settings: Settings, facts: PublicFacts) -> tuple[str, ...]:
    """The reason line of a step size that is left to the rule."""
    if settings.learning_rate is not None:
        return ()
    length = travel(settings, facts)
    return (f"learning_rate: {length:,.4g} / (steps × clip norm) on the mean gradient: min(μN · μN/(μN + m), 160·C) over all steps.",)


def travel(settings: Settings, facts: PublicFacts) -> float:
    """How many clip norms all steps together move by: min(μN · μN/(μN + m), 160·C)."""
    reach = rules.noise_scale(settings, facts) * facts.n_private
    own = reach if math.isinf(reach) or not reach else reach * reach / (reach + facts.n_public)
    return min(own, rules.LARGEST_TRAVEL_PER_CLASS * facts.n_classes)


def mean_rates(settings: Sequence[Settings], facts: PublicFacts, clip: torch.Tensor) -> torch.Tensor:
    """(H, 1, 1) step sizes on the mean gradient: those set, else the rule's at this step's clip norms (H,)."""
    rates = [
        one.learning_rate if one.learning_rate is not None else travel(one, facts) / (one.steps * float(clip[h]))
        for h, one in enumerate(settings)
    ]
    return torch.tensor(rates, dtype=torch.float32, device=clip.device)[:, None, None]


def percentiles(norms: torch.Tensor, wanted: Sequence[float]) -> torch.Tensor:
    """(H,) percentile `wanted[h]` of norms (H, m)."""
    return torch.stack([torch.quantile(row, share / 100.0) for row, share in zip(norms, wanted, strict=True)])


def clip_norms(norms: torch.Tensor, settings: Sequence[Settings]) -> torch.Tensor:
    """(H,) clip norms: those set, else each head's percentile of the public norms (H, m)."""
    by_public = percentiles(norms, [one.clip_percentile for one in settings])
    fixed = torch.tensor([math.nan if one.l2_clip_norm is None else one.l2_clip_norm for one in settings], device=norms.device)
    return torch.where(fixed.isnan(), by_public, fixed)


def public_start(settings: Settings, view: View, prepared: Prepared) -> Array:
    """(k, C) float32 starting weights: the head of the public rows, or zeros."""
    if settings.initialisation == "zero":
        return np.zeros((prepared.z_public.shape[1], view.facts.n_classes), dtype=np.float32)
    return public_head_of(settings, view, prepared)


def public_head_of(settings: Settings, view: View, prepared: Prepared) -> Array:
    """(k, C) float32 head of the public rows, by L-BFGS or, where public_learning_rate is set, by plain descent."""
    classes = view.facts.n_classes
    if settings.public_learning_rate is None:
        return public_head(
            prepared.z_public, labels_of(view), n_classes=classes, weight_decay=settings.public_weight_decay, steps=settings.public_steps
        )
    return descended_head(
        prepared.z_public,
        labels_of(view),
        n_classes=classes,
        learning_rate=settings.public_learning_rate,
        steps=settings.public_steps,
        weight_decay=settings.public_weight_decay,
    )


def labels_of(view: View) -> Array:
    """The public labels of a view made for a labelled method."""
    if view.y_public is None:
        raise DataError("this method needs labelled public rows and this view shows no labels.")
    return view.y_public


def fit_many_with(
    make_guide: GuideMaker, *, start: Start = public_start, finishing: Callable[..., Array] | None = None
) -> Callable[..., list[TrainResult]]:
    """`fit_many` of a learner with this guide; heads that agree on preprocessing and start share rows and steps.

    finishing(weights, settings, view, prepared) → weights: what public rows do to the released head in the end.
    """

    def fit_many(settings: Sequence[Settings], view: View, streams: Sequence[Streams], ledgers: Sequence[Ledger]) -> list[TrainResult]:
        results: dict[int, TrainResult] = {}
        for positions in grouped(tuple(getattr(one, name, None) for name in SHARED) for one in settings):
            own = [settings[p] for p in positions]
            prepared = view.prepare(standardise=own[0].standardise, centre=own[0].centre, normalise=own[0].normalise)
            initial = start(own[0], view, prepared)
            heads = [MixedHead(plan_of(settings[p], view.facts), streams[p], ledgers[p], initial) for p in positions]
            trained = train_mixed(prepared.z, view.y, heads, make_guide(own, view, prepared))
            for position, weights in zip(positions, trained, strict=True):
                if finishing is not None:
                    weights = finishing(weights, settings[position], view, prepared)
                results[position] = result_of(weights, prepared)
        return [results[position] for position in range(len(settings))]

    return fit_many


def result_of(weights: Array, prepared: Prepared) -> TrainResult:
    """A head without bias, weights (k, C), as a result."""
    return TrainResult(LinearClassifier(prepared.transform, weights, np.zeros(weights.shape[1], dtype=np.float32)))
