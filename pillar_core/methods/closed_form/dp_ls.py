"""DP-LS: noisy class sums, solved against the second moment of public rows: least squares that pays
for its right side alone.

θ_c = (N·S + λI)⁻¹ b̃_c, where S is the public rows' mean second moment, b_c the sum of class c's
private unit rows and b̃_c its noisy release. The published DP-LS also releases the private rows'
second moments, one of all rows and one a class, d × d numbers each; here public rows give S for
nothing, so that all of the budget is left for d × C numbers. A class's own second moment is taken
for its share of S, which scales every θ_c alike.

Guarantee: rows have norm at most 1 (`within_unit_ball`; one that is not finite adds 0), so a row
moves the sums by at most 1 under add/remove and 2 under replace-one, which the opposite row of the
same class attains. One Gaussian release, exact; S, N and λ are public. Source: Mehta, Krichene,
Thakurta, Kurakin & Cutkosky 2022 (arXiv 2211.13403: abstract and published code); public second
moments: Cao & Zhang 2025 (arXiv 2508.18037: abstract). Cost: one sum over the rows, one d × d
solve.
"""

import dataclasses
import functools
from collections.abc import Iterator

import numpy as np

from pillar_core import ledger as events
from pillar_core import params
from pillar_core.arrays import Array
from pillar_core.engine import LinearClassifier
from pillar_core.ledger import DpEvent
from pillar_core.mechanisms import GaussianMechanism
from pillar_core.methods.closed_form.pillar_one_shot import Sums
from pillar_core.methods.method import METHODS, Method, Run, group_runs
from pillar_core.methods.parts import rules
from pillar_core.params import Param
from pillar_core.splits import View
from pillar_core.splits.basis import second_moment
from pillar_core.types import PublicFacts, PublicUse, TrainResult

RIDGE_PER_NOISE = 10.0
"""Picked on four sets, at ε from 0.1 to 3 (docs/methods/dp_ls.md)."""
SMALLEST_RIDGE = 1e-4
"""Least penalty per private row: few public rows leave S singular."""


RIDGE = Param(
    "ridge",
    float,
    None,
    "Penalty λ on ‖θ‖².",
    low=0,
    low_open=True,
    log=True,
    none_means="ten times the noise's standard deviation",
)


@dataclasses.dataclass(frozen=True)
class DpLsSettings:
    """What one release and one solve need."""

    ridge: float | None = params.setting(RIDGE)
    standardise: bool | None = params.setting(params.STANDARDISE)
    centre: bool | None = params.setting(params.CENTRE)
    noise_multiplier: float | None = params.setting(params.NOISE_MULTIPLIER)


def cost(settings: DpLsSettings, facts: PublicFacts) -> DpEvent:
    """One Gaussian release."""
    return events.gaussian(settings.noise_multiplier or 0.0)


@group_runs("standardise", "centre")
def fit_many(view: View, runs: list[Run[DpLsSettings]]) -> Iterator[TrainResult]:
    """Runs that agree on preprocessing share the sums and S; each has its own noise."""
    facts = view.facts
    first = runs[0][0]
    prepared = rules.prepare(first, view)
    sums = Sums(prepared.z, view.y, facts.n_classes)
    moment = facts.n_private * second_moment(prepared.z_public)
    for settings, streams, ledger in runs:
        noise = settings.noise_multiplier or 0.0
        mechanism = GaussianMechanism(
            noise, 1.0, streams.secret("noise"), ledger, label="class sums"
        )
        released = sums.release(mechanism)
        ridge = settings.ridge or max(RIDGE_PER_NOISE * noise, SMALLEST_RIDGE * facts.n_private)
        weights = np.linalg.solve(moment + ridge * np.eye(len(moment)), released.numpy().T)
        law = functools.partial(noise_std, moment=moment, ridge=ridge, noise=noise)
        yield TrainResult(LinearClassifier.without_bias(prepared.transform, weights, law))


def noise_std(rows: Array, moment: Array, ridge: float, noise: float) -> Array:
    """As `LinearClassifier.noise_std`, and exact: the solve is linear in the release."""
    solved = np.linalg.solve(moment + ridge * np.eye(len(moment)), rows.T)
    return np.asarray(noise * np.linalg.norm(solved, axis=0))


METHODS.register(
    Method(
        name="dp_ls",
        title="DP-LS (public second moment)",
        source="Mehta et al. 2022; Cao & Zhang 2025",
        idea="Least squares whose second moment comes from public rows, so that only noisy class"
        " sums have to be paid for.",
        public_use=PublicUse.UNLABELLED,
        settings=DpLsSettings,
        cost=cost,
        fit_many=fit_many,
        version=2,
        is_exact=True,
    )
)
