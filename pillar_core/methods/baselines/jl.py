"""JL: a random Gaussian projection to k dimensions, then DP-SGD; the projection knows nothing about
the data.

Guarantee: the projection is public randomness, drawn before and apart from the private rows; the
rest is DP-SGD on the projected rows, clipped after projection. Source: the JL baseline of PILLAR
(Nguyen, Ullman & Zakynthinou 2020; scikit-learn's scaling N(0, 1/k)). Cost: one projection, then
k-dimensional steps.
"""

import numpy as np

from pillar_core.methods.method import METHODS, Method
from pillar_core.methods.parts import descent, rules
from pillar_core.methods.public_subspace.pillar import PillarSettings
from pillar_core.rng import Streams
from pillar_core.splits import Prepared, Transform, View


def project(settings: PillarSettings, view: View, streams: Streams) -> Prepared:
    """Private rows in k random directions, after the shared preprocessing."""
    k, d = int(settings.k or 0), view.facts.d
    plain = view.moments(standardise=settings.standardise, centre=settings.centre)
    matrix = streams.public("jl").standard_normal((d, k)).astype(np.float32) / np.float32(
        np.sqrt(k)
    )
    return view.apply(Transform(*plain, matrix, settings.normalise))


fit_many = descent.fit_many_with(project, ("k", *descent.PREPROCESSING), per_seed=True)

METHODS.register(
    Method(
        name="jl",
        title="JL (random projection)",
        source="Nguyen, Ullman & Zakynthinou 2020; baseline of PILLAR",
        idea="A random projection also has fewer places for noise, but keeps no more signal there"
        " than anywhere else.",
        settings=PillarSettings,
        cost=descent.cost,
        fit_many=fit_many,
        resolve_schedule=rules.resolve_schedule,
        resolve_hyperparameters=lambda settings, facts: rules.resolve_projection(
            settings, facts, k_ceiling=facts.d
        ),
        is_head_descent=True,
        is_exact=True,
        version=3,
        presets={
            "paper": {
                **descent.PAPER,
                "bias": True,
                "k": 40,
                "normalise": False,
            }
        },
    )
)
