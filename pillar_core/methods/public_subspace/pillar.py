"""PILLAR: project private rows on the public rows' top k principal components, then DP-SGD in k
dimensions.

Guarantee: the basis, mean and scale come from public rows, so the projection is a fixed row-wise
map; the rest is DP-SGD on the projected rows, clipped after projection. The noise has k·C
coordinates instead of d·C. The paper's Algorithm 1 prints the uncentred second moment, its code
centres by the public mean: centred is the default, both are offered. Source: Pinto, Hu, Yang &
Sanyal, PILLAR, Algorithm 1. Cost: one eigendecomposition of public rows serves every k.
"""

import dataclasses

from pillar_core import params
from pillar_core.methods.method import METHODS
from pillar_core.methods.parts import descent, rules
from pillar_core.rng import Streams
from pillar_core.splits import Prepared, View


@dataclasses.dataclass(frozen=True)
class PillarSettings(descent.DescentSettings):
    """DP-SGD's settings and the dimension of the projection."""

    k: int | None = params.setting(params.K)


def project(settings: PillarSettings, view: View, streams: Streams) -> Prepared:
    """Private rows in the first k public principal directions (k None: all features)."""
    return view.prepare(
        standardise=settings.standardise,
        centre=settings.centre,
        normalise=settings.normalise,
        k=settings.k,
    )


fit_many = descent.fit_many_with(project, ("k", *descent.PREPROCESSING))

METHODS.register(
    descent.learner(
        "pillar",
        PillarSettings,
        fit_many,
        rules.resolve_projection,
        public_statistics=rules.public_statistics,
    )
)
