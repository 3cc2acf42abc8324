"""Only-public: the linear head trained on the labelled public rows alone, the floor that private rows must lift.

Guarantee: ε = 0, for no private row is read. Source: the Only-Public baseline of Golatkar et al., AdaMix.
Cost: some tens of gradients over the public rows.
"""

import dataclasses

import numpy as np

from pillar_core import params
from pillar_core.engine import LinearClassifier
from pillar_core.ledger import DpEvent, Ledger, compose
from pillar_core.methods.method import METHODS, Method, words_of
from pillar_core.methods.parts import mixed
from pillar_core.methods.parts.fields import toml_setting
from pillar_core.rng import Streams
from pillar_core.splits import Prepared, Transform, View
from pillar_core.types import PublicFacts, TrainResult


@dataclasses.dataclass(frozen=True)
class OnlyPublicSettings:
    """Settings of the public rows' head."""

    public_weight_decay: float = toml_setting("mixed", "public_weight_decay")
    public_steps: int = toml_setting("mixed", "public_steps")
    public_learning_rate: float | None = toml_setting("mixed", "public_learning_rate")
    standardise: bool | None = params.setting(params.STANDARDISE)
    centre: bool | None = params.setting(params.CENTRE)
    normalise: bool = params.setting(params.NORMALISE)


def cost(settings: OnlyPublicSettings, facts: PublicFacts) -> DpEvent:
    """Nothing."""
    return compose()


def fit(settings: OnlyPublicSettings, view: View, streams: Streams, ledger: Ledger) -> TrainResult:
    """The penalised maximum-likelihood head of the public rows."""
    transform = Transform(*view.moments(standardise=settings.standardise, centre=settings.centre), None, settings.normalise)
    z_public = transform(view.x_public)
    weights = mixed.public_head_of(settings, view, Prepared(z_public[:0], z_public, transform))
    return TrainResult(LinearClassifier(transform, weights, np.zeros(weights.shape[1], dtype=np.float32)))


METHODS.register(Method(**words_of("only_public"), settings=OnlyPublicSettings, cost=cost, fit=fit, budget_setting=None))
