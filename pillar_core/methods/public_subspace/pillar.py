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
from pillar_core.methods.method import METHODS, Method
from pillar_core.methods.parts import descent, rules
from pillar_core.rng import Streams
from pillar_core.splits import Prepared, View
from pillar_core.types import PublicUse


@dataclasses.dataclass(frozen=True)
class PillarSettings(descent.DescentSettings):
    """DP-SGD's settings and the dimension of the projection."""

    k: int | None = params.setting(params.K)


def project(settings: PillarSettings, view: View, streams: Streams) -> Prepared:
    """Private rows in the first k public principal directions (k None: all features)."""
    return rules.prepare(settings, view, k=settings.k)


fit_many = descent.fit_many_with(project, ("k", *descent.PREPROCESSING))

METHODS.register(
    Method(
        name="pillar",
        title="PILLAR",
        source="Pinto, Hu, Yang & Sanyal, PILLAR, Algorithm 1",
        idea="Public principal components keep the signal in few dimensions, so the noise has"
        " fewer places to go.",
        public_use=PublicUse.UNLABELLED,
        settings=PillarSettings,
        cost=descent.cost,
        fit_many=fit_many,
        resolve_schedule=rules.resolve_schedule,
        resolve_hyperparameters=rules.resolve_projection,
        public_statistics=rules.public_statistics,
        is_head_descent=True,
        is_exact=True,
        version=3,
        presets={
            "paper": {
                **descent.PAPER,
                "bias": True,
                "k": 40,
                "standardise": True,
                "normalise": False,
            }
        },
    )
)
