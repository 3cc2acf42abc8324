"""Settings, cost and training that the gradient-descent learners share: they differ in how rows are prepared."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from pillar_core import ledger as events
from pillar_core import params
from pillar_core.engine import Head, HeadPlan, LinearClassifier, train_heads
from pillar_core.grouping import grouped
from pillar_core.ledger import DpEvent, Ledger
from pillar_core.methods.method import Settings
from pillar_core.rng import Streams
from pillar_core.splits import Prepared, View
from pillar_core.types import PublicFacts, TrainResult

Prepare = Callable[[Settings, View, Streams], Prepared]


@dataclasses.dataclass(frozen=True)
class DescentSettings:
    """Settings of noisy gradient descent on a linear head."""

    steps: int | None = params.setting(params.STEPS)
    batch_size: int | None = params.setting(params.BATCH_SIZE)
    learning_rate: float | None = params.setting(params.LEARNING_RATE)
    l2_clip_norm: float = params.setting(params.L2_CLIP_NORM)
    momentum: float = params.setting(params.MOMENTUM)
    bias: bool = params.setting(params.BIAS, default=False)
    standardise: bool | None = params.setting(params.STANDARDISE)
    centre: bool | None = params.setting(params.CENTRE)
    normalise: bool = params.setting(params.NORMALISE)
    noise_multiplier: float | None = params.setting(params.NOISE_MULTIPLIER)


def cost(settings: Settings, facts: PublicFacts) -> DpEvent:
    """T Gaussian releases, each on a Poisson sample at q = batch_size / n_private (all rows where batch_size is None)."""
    plan = plan_of(settings, facts)
    return events.repeated(events.subsampled(events.gaussian(plan.noise_multiplier), plan.sampling_probability), plan.steps)


def plan_of(settings: Settings, facts: PublicFacts) -> HeadPlan:
    """The engine's plan for settings whose rules have been applied; for `cost`, which has no rate yet, the rate is 0."""
    return HeadPlan(
        steps=settings.steps,
        learning_rate=settings.learning_rate or 0.0,
        noise_multiplier=settings.noise_multiplier,
        l2_clip_norm=settings.l2_clip_norm,
        n_private=facts.n_private,
        batch_size=getattr(settings, "batch_size", None),
        momentum=getattr(settings, "momentum", 0.0),
        bias=getattr(settings, "bias", False),
        weight_decay=getattr(settings, "weight_decay", 0.0),
    )


def fit_many_with(prepare: Prepare, shared: Sequence[str], *, per_seed: bool = False) -> Callable[..., list[TrainResult]]:
    """`fit_many` of a learner that prepares rows by `prepare`; heads whose settings agree on `shared` share the rows.

    `per_seed`: preparing draws public randomness, so only heads of one seed share them.
    """

    def fit_many(settings: Sequence[Settings], view: View, streams: Sequence[Streams], ledgers: Sequence[Ledger]) -> list[TrainResult]:
        draws = (stream.identity if per_seed else None for stream in streams)
        agreed = (tuple(getattr(one, name, None) for name in shared) for one in settings)
        results: dict[int, TrainResult] = {}
        for positions in grouped(zip(draws, agreed, strict=True)):
            first = positions[0]
            prepared = prepare(settings[first], view, streams[first])
            heads = [Head(plan_of(settings[p], view.facts), streams[p], ledgers[p]) for p in positions]
            trained = train_heads(prepared.z, view.y, heads, n_classes=view.facts.n_classes)
            for position, (weights, bias) in zip(positions, trained, strict=True):
                results[position] = TrainResult(LinearClassifier(prepared.transform, weights, bias))
        return [results[position] for position in range(len(settings))]

    return fit_many


def fit_with(fit_many: Callable[..., list[TrainResult]]) -> Callable[[Settings, View, Streams, Ledger], TrainResult]:
    """`fit` as the grid of one."""
    return lambda settings, view, streams, ledger: fit_many([settings], view, [streams], [ledger])[0]


def rows_as_they_are(settings: Settings, view: View, streams: Streams) -> Prepared:
    """All features, after the shared preprocessing."""
    return view.prepare(standardise=settings.standardise, centre=settings.centre, normalise=settings.normalise)


PREPROCESSING = ("standardise", "centre", "normalise")
