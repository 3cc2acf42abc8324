"""Semi-private halfspace: public principal components, then a noisy halfspace in few dimensions
with the ramp loss.

Guarantee: public rows decide the projection; per step one Gaussian release of Σ clip(joint gradient
over the one-versus-rest halfspaces), so C classes cost what one release costs. Source: Hu, Pinto,
Sanyal & Yang, Semi-private learning via low dimensional structures, section 3.2 (its analysis
borrows that of convex losses, and the ramp loss is not convex: no error bound is claimed here).
Cost: two matrix products over the batch a step.
"""

import dataclasses

from pillar_core import params
from pillar_core.engine.device import training_device
from pillar_core.engine.halfspaces import HalfspaceHead, ramp, train_halfspaces
from pillar_core.methods.method import METHODS, Method, Run, group_runs
from pillar_core.methods.parts import descent, halfspaces, rules
from pillar_core.splits import View
from pillar_core.types import PublicUse, TrainResult


@dataclasses.dataclass(frozen=True)
class SemiPrivateHalfspaceSettings(halfspaces.HalfspaceSettings):
    """Noisy descent with the ramp loss."""

    margin: float = params.declare(
        0.3,
        "Margin γ at which the loss is 0; at −γ it stops to rise.",
        low=0,
        low_open=True,
        high=1,
        log=True,
    )


@group_runs("k", "standardise", "centre", "margin")
def fit_many(view: View, runs: list[Run[SemiPrivateHalfspaceSettings]]) -> list[TrainResult]:
    """The halfspaces of every head; heads that agree on rows and margin are trained together."""
    prepared, loss = halfspaces.project(runs[0][0], view), ramp(runs[0][0].margin)
    heads = [
        HalfspaceHead(
            descent.plan_of(settings, view.facts),
            loss,
            streams.secret("noise", device=str(training_device())),
            streams.sampling(),
            ledger,
            streams.identity,
        )
        for settings, streams, ledger in runs
    ]
    trained = train_halfspaces(prepared.z, view.y, heads, n_classes=view.facts.n_classes)
    return [halfspaces.result_of(weights, prepared) for weights in trained]


METHODS.register(
    Method(
        name="semi_private_halfspace",
        title="Semi-private halfspace",
        source="Hu, Pinto, Sanyal & Yang, Semi-private learning, section 3.2",
        idea="A large-margin halfspace survives projection on public principal components; learn"
        " it there with noise.",
        public_use=PublicUse.UNLABELLED,
        settings=SemiPrivateHalfspaceSettings,
        cost=descent.cost,
        fit_many=fit_many,
        public_statistics=rules.public_statistics,
        resolve_schedule=halfspaces.resolve_schedule,
        resolve_hyperparameters=halfspaces.resolve_hyperparameters,
        version=2,
    )
)
