"""Semi-private halfspace: public principal components, then a noisy halfspace in few dimensions with the ramp loss.

Guarantee: public rows decide the projection; per step one Gaussian release of Σ clip(joint gradient over the one-versus-rest
halfspaces), so C classes cost what one release costs. Source: Hu, Pinto, Sanyal & Yang, Semi-private learning via low dimensional
structures, section 3.2 (its analysis borrows that of convex losses, and the ramp loss is not convex: no error bound is
claimed here). Cost: two matrix
products over the batch a step.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

from pillar_core import ledger as events
from pillar_core.engine.device import training_device
from pillar_core.engine.halfspaces import HalfspaceHead, HalfspacePlan, Loss, ramp, train_halfspaces
from pillar_core.grouping import grouped
from pillar_core.ledger import DpEvent, Ledger
from pillar_core.methods.method import METHODS, Method, said_of
from pillar_core.methods.parts import halfspaces, rules
from pillar_core.methods.parts.fields import own
from pillar_core.rng import Streams
from pillar_core.splits import View
from pillar_core.types import PublicFacts, PublicUse, TrainResult


@dataclasses.dataclass(frozen=True)
class SemiPrivateHalfspaceSettings(halfspaces.HalfspaceSettings):
    """Noisy descent with the ramp loss."""

    margin: float = own("semi_private_halfspace", "margin")


def cost(settings: SemiPrivateHalfspaceSettings, facts: PublicFacts) -> DpEvent:
    """T Gaussian releases, each on a Poisson sample where batch_size is set."""
    plan = _plan(settings, facts, ramp(settings.margin))
    return events.repeated(events.subsampled(events.gaussian(plan.noise_multiplier), plan.sampling_probability), plan.steps)


def fit_many(
    settings: Sequence[SemiPrivateHalfspaceSettings], view: View, streams: Sequence[Streams], ledgers: Sequence[Ledger]
) -> list[TrainResult]:
    """The halfspaces of every head; heads that agree on rows and margin are trained together."""
    results: dict[int, TrainResult] = {}
    for positions in grouped((one.k, one.standardise, one.centre, one.margin) for one in settings):
        prepared = halfspaces.project(settings[positions[0]], view)
        loss = ramp(settings[positions[0]].margin)
        heads = [
            HalfspaceHead(_plan(settings[p], view.facts, loss), *_streams(streams[p]), ledgers[p], streams[p].identity) for p in positions
        ]
        trained = train_halfspaces(prepared.z, view.y, heads, n_classes=view.facts.n_classes)
        results.update((p, halfspaces.result_of(weights, prepared)) for p, weights in zip(positions, trained, strict=True))
    return [results[position] for position in range(len(settings))]


def _streams(streams: Streams) -> tuple[Any, Any]:
    return streams.secret("noise", device=str(training_device())), streams.sampling()


def _plan(settings: SemiPrivateHalfspaceSettings, facts: PublicFacts, loss: Loss) -> HalfspacePlan:
    return HalfspacePlan(
        int(settings.steps or 0),
        settings.learning_rate or 0.0,
        settings.noise_multiplier or 0.0,
        settings.l2_clip_norm,
        facts.n_private,
        loss,
        settings.batch_size,
    )


METHODS.register(
    Method(
        **said_of("semi_private_halfspace"),
        public_use=PublicUse.UNLABELLED,
        settings=SemiPrivateHalfspaceSettings,
        cost=cost,
        fit_many=fit_many,
        public_statistics=rules.public_statistics,
        resolve_schedule=halfspaces.resolve_schedule,
        resolve_hyperparameters=halfspaces.resolve_hyperparameters,
        version=2,
    )
)
