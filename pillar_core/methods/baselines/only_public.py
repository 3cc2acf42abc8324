"""Only-public: the linear head trained on the labelled public rows alone, the floor that private
rows must lift.

Guarantee: ε = 0, for no private row is read. Source: the Only-Public baseline of Golatkar et al.,
AdaMix. Cost: some tens of gradients over the public rows.
"""

from pillar_core.engine import LinearClassifier
from pillar_core.ledger import DpEvent, Ledger, compose
from pillar_core.methods.method import METHODS, Method
from pillar_core.methods.parts import mixed
from pillar_core.rng import Streams
from pillar_core.splits import Prepared, Transform, View
from pillar_core.types import PublicFacts, PublicUse, TrainResult


def cost(settings: mixed.PublicHeadSettings, facts: PublicFacts) -> DpEvent:
    """Nothing."""
    return compose()


def fit(
    settings: mixed.PublicHeadSettings, view: View, streams: Streams, ledger: Ledger
) -> TrainResult:
    """The penalised maximum-likelihood head of the public rows."""
    transform = Transform(
        *view.moments(standardise=settings.standardise, centre=settings.centre),
        None,
        settings.normalise,
    )
    z_public = transform(view.x_public)
    weights = mixed.public_head_of(
        settings, view, Prepared(z_public[:0], transform, lambda: z_public)
    )
    return TrainResult(LinearClassifier.without_bias(transform, weights))


METHODS.register(
    Method(
        name="only_public",
        title="Only public",
        source="baseline of Golatkar et al., AdaMix",
        idea="What the public rows reach alone: perfect privacy for the private rows, which"
        " nobody reads.",
        public_use=PublicUse.LABELLED,
        settings=mixed.PublicHeadSettings,
        cost=cost,
        fit=fit,
        budget_setting=None,
        version=2,
        presets={
            "paper": {
                "public_steps": 200,
                "public_learning_rate": 0.1,
                "public_weight_decay": 0.0,
                "standardise": False,
                "centre": False,
            }
        },
    )
)
