"""Settings, cost and training that the gradient-descent learners share: they differ in how rows are
prepared."""

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar, TypeVar

import numpy as np

from pillar_core import ledger as events
from pillar_core import params
from pillar_core.arrays import Array
from pillar_core.deferred import torch
from pillar_core.engine import (
    Head,
    HeadPlan,
    LinearClassifier,
    Step,
    independent_noise,
    train_heads,
)
from pillar_core.ledger import DpEvent
from pillar_core.methods.method import FitMany, Run, group_runs
from pillar_core.methods.parts import rules
from pillar_core.rng import Streams
from pillar_core.splits import Prepared, View
from pillar_core.types import PublicFacts, TrainResult

S = TypeVar("S")
Descent = TypeVar("Descent", bound=rules.HasDescent)


@dataclasses.dataclass(frozen=True)
class HeadGroup:
    """What heads that are trained together share; `streams` are those of the first."""

    view: View
    prepared: Prepared
    streams: Streams


Prepare = Callable[[S, View, Streams], Prepared]
Start = Callable[[S, HeadGroup], Array]
"""(k, C) float32 starting weights."""
OptimiserOf = Callable[[Sequence[S], HeadGroup, "torch.Tensor"], Step]
"""The step of heads with these settings, from their starting weights (H, C, k)."""


CLIP = 0.4
"""Default clip norm of descent on unit rows, measured in research/default_settings.md."""


@dataclasses.dataclass(frozen=True)
class StepSettings:
    """Settings of noisy gradient descent on clipped sums."""

    weight_decay: ClassVar[float] = 0.0
    steps: int | None = params.setting(params.STEPS)
    batch_size: int | None = params.setting(params.BATCH_SIZE)
    sampling: str = params.setting(params.SAMPLING)
    learning_rate: float | None = params.setting(params.LEARNING_RATE)
    l2_clip_norm: float = params.setting(params.L2_CLIP_NORM, default=CLIP)
    momentum: float = params.setting(params.MOMENTUM)
    standardise: bool | None = params.setting(params.STANDARDISE)
    centre: bool | None = params.setting(params.CENTRE)
    normalise: bool = params.setting(params.NORMALISE)
    noise_multiplier: float | None = params.setting(params.NOISE_MULTIPLIER)


@dataclasses.dataclass(frozen=True)
class DescentSettings(StepSettings):
    """And whether the linear head has a bias."""

    bias: bool = params.setting(params.BIAS, default=False)


def cost(settings: rules.HasDescent, facts: PublicFacts) -> DpEvent:
    """T Gaussian releases, each on a Poisson sample at q = batch_size / n_private (all rows where
    batch_size is None).

    With random allocation: the passes that T steps begin, each charged whole.
    """
    plan = plan_of(settings, facts)
    return cost_of_steps(plan, plan.noise_multiplier)


def cost_of_steps(plan: HeadPlan, noise_multiplier: float) -> DpEvent:
    """The plan's steps, each one Gaussian release of the rows in its batch, at this noise
    multiplier."""
    if plan.steps_of_pass > 1:
        return events.repeat(
            events.allocation_pass(noise_multiplier, plan.steps_of_pass),
            math.ceil(plan.steps / plan.steps_of_pass),
        )
    return events.repeat(
        events.subsample(events.gaussian(noise_multiplier), plan.sampling_probability), plan.steps
    )


def is_allocated(settings: object) -> bool:
    """Whether batches are passes of random allocation; else, or without the setting, they are
    Poisson samples."""
    return getattr(settings, "sampling", "poisson") == "random_allocation"


def plan_of(settings: rules.HasDescent, facts: PublicFacts) -> HeadPlan:
    """The engine's plan for settings whose rules have been applied; for `cost`, which has no rate
    yet, the rate is 0."""
    return HeadPlan(
        steps=rules.require(settings.steps, "steps"),
        learning_rate=settings.learning_rate or 0.0,
        noise_multiplier=rules.require(settings.noise_multiplier, "noise_multiplier"),
        l2_clip_norm=settings.l2_clip_norm,
        n_private=facts.n_private,
        batch_size=settings.batch_size,
        momentum=settings.momentum,
        bias=settings.bias,
        weight_decay=settings.weight_decay,
        is_allocated=is_allocated(settings),
    )


def fit_many_with(
    prepare: Prepare[Descent],
    shared: Sequence[str],
    *,
    per_seed: bool = False,
    optimiser: OptimiserOf[Descent] | None = None,
) -> FitMany[Descent]:
    """`fit_many` of a learner of linear heads that start from zero; as `fit_many_by`, planned by
    `plan_of`."""
    return fit_many_by(plan_of, prepare, shared, per_seed=per_seed, optimiser=optimiser)


def fit_many_by(
    plan: Callable[[S, PublicFacts], HeadPlan],
    prepare: Prepare[S],
    shared: Sequence[str],
    *,
    per_seed: bool = False,
    start: Start[S] | None = None,
    optimiser: OptimiserOf[S] | None = None,
    finishing: Callable[[Array, S, HeadGroup], Array] | None = None,
    noise_std: Callable[[S, PublicFacts], float | None] | None = None,
) -> FitMany[S]:
    """`fit_many` of a learner of linear heads; heads whose settings agree on `shared` share rows
    and start.

    per_seed: rows, start or optimiser draw public randomness, so only heads of one seed share them.
    start, optimiser: zeros and `heavy_ball` unless given. finishing(weights, settings, group) →
    weights: what public rows do to the released head in the end. noise_std: of a weight's noise, as
    `LinearClassifier` means it; that of `heavy_ball` is known.
    """

    @group_runs(*shared, per_seed=per_seed)
    def fit_many(view: View, runs: list[Run[S]]) -> Iterator[TrainResult]:
        settings, streams = [head for head, _, _ in runs], runs[0][1]
        group = HeadGroup(view, prepare(settings[0], view, streams), streams)
        n_classes = view.facts.n_classes
        initial = (
            None
            if start is None
            else (start(settings[0], group), np.zeros(n_classes, dtype=np.float32))
        )
        heads = [
            Head(plan(head, view.facts), stream, ledger, initial) for head, stream, ledger in runs
        ]
        of_positions = (
            None
            if optimiser is None
            else lambda positions, state: optimiser([settings[p] for p in positions], group, state)
        )
        trained = train_heads(
            group.prepared.rows, view.y, heads, n_classes=n_classes, optimiser=of_positions
        )
        for head, (weights, bias) in zip(settings, trained, strict=True):
            final = weights if finishing is None else finishing(weights, head, group)
            std = None if noise_std is None else noise_std(head, view.facts)
            if optimiser is None and finishing is None:
                std = plan(head, view.facts).noise_std
            law = None if std is None else independent_noise(std)
            yield TrainResult(LinearClassifier(group.prepared.transform, final, bias, law))

    fit_many.__module__ = (optimiser or prepare).__module__
    return fit_many


def all_features(settings: rules.HasMoments, view: View, streams: Streams) -> Prepared:
    """All features, after the shared preprocessing."""
    return rules.prepare(settings, view)


PREPROCESSING = ("standardise", "centre", "normalise")
PAPER = {"steps": 1000, "batch_size": 1024, "learning_rate": 0.1, "l2_clip_norm": 1.0}
"""What PILLAR's authors gave DP-SGD and its relatives."""
