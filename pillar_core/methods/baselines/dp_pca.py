"""DP-PCA: a share of the budget buys the private rows' principal components, the rest buys noisy
descent in them.

The second moment Σ_i u_i u_iᵀ of rows clipped to norm 1 (after standardising and centring, which
are public) gets i.i.d. Gaussian noise in every entry and is then symmetrised (Analyze Gauss); its
top k eigenvectors are the projection.

Guarantee: one row moves the second moment by ‖u uᵀ‖_F ≤ 1 when added or removed, by √2 when
replaced (both are positive semidefinite). The share's noise is calibrated to that share of ε alone
at the same δ, then the descent's noise so that both together cost (ε, δ). Everything after the
first release is a fixed row-wise map. Without public rows the moment is uncentred: a private mean
would cost too. Source: Dwork, Talwar, Thakurta & Zhang 2014; the DP-PCA baseline of PILLAR, App. B.
Cost: one pass over the rows for the d × d moment, shared by all runs, and one eigendecomposition a
run.
"""

import dataclasses
import math
from collections.abc import Iterator

import numpy as np

from pillar_core import ledger as events
from pillar_core import params
from pillar_core.accounting import calibrate
from pillar_core.arrays import Array
from pillar_core.deferred import torch
from pillar_core.engine import Head, LinearClassifier, exact, train_heads
from pillar_core.grouping import slices
from pillar_core.ledger import DpEvent, Ledger
from pillar_core.mechanisms import GaussianMechanism
from pillar_core.methods.method import METHODS, Method, Plan, Run, group_runs
from pillar_core.methods.parts import descent, rules
from pillar_core.methods.public_subspace.pillar import PillarSettings
from pillar_core.rng import Streams
from pillar_core.splits import Transform, View
from pillar_core.splits.transform import squared_norms
from pillar_core.subspace import top_eigenpairs
from pillar_core.threads import threads_for
from pillar_core.types import PrivacyBudget, PublicFacts, TrainResult

REPLACE_ONE_FACTOR = math.sqrt(2.0)
CHUNK_ROWS = 4096

K_PER_FEATURE = 0.25
"""At small budgets the moment's noise hides most directions, so few components lose signal: k is at
least d/4."""


@dataclasses.dataclass(frozen=True)
class DpPcaSettings(PillarSettings):
    """PILLAR's settings, and how the budget is shared."""

    standardise: bool | None = params.setting(params.STANDARDISE)
    share: float = params.declare(
        0.01, "Share of ε that buys the components.", low=0, low_open=True, high=1, high_open=True
    )
    pca_noise_multiplier: float | None = params.declare(
        None,
        "Noise standard deviation on the second moment.",
        low=0,
        log=True,
        none_means="solved from the share",
    )


def cost(settings: DpPcaSettings, facts: PublicFacts) -> DpEvent:
    """One release of the second moment, then the descent."""
    moment = moment_event(settings.pca_noise_multiplier or 0.0)
    return events.compose(moment, descent.cost(settings, facts))


def moment_event(noise_multiplier: float) -> DpEvent:
    """One release of the second moment."""
    return events.gaussian(noise_multiplier, replace_one_factor=REPLACE_ONE_FACTOR)


def resolve_schedule(
    settings: DpPcaSettings, facts: PublicFacts, budget: PrivacyBudget | None
) -> Plan[DpPcaSettings]:
    """Fills `steps`, and the moment's noise from the share of the budget (or from the noise, where
    that was set)."""
    plan = rules.resolve_schedule(settings, facts, budget)
    if settings.pca_noise_multiplier is not None:
        return plan
    noise = _share_of(budget, plan.settings, facts)
    return plan.fill(
        "pca_noise_multiplier", noise, f"what {settings.share:.0%} of the budget buys by itself"
    )


def _share_of(budget: PrivacyBudget | None, settings: DpPcaSettings, facts: PublicFacts) -> float:
    """The noise at which the moment alone costs `share` of the budget; without one, has `share` of
    the whole μ: μ₁ = share·μ and μ₂ = √(1 − share²)·μ."""
    if budget is None:
        mu = rules.noise_scale(settings, facts)
        return 0.0 if math.isinf(mu) else math.sqrt(1.0 - settings.share**2) / (settings.share * mu)
    if math.isinf(budget.epsilon):
        return 0.0
    part = dataclasses.replace(budget, epsilon=settings.share * budget.epsilon)
    return calibrate(moment_event, part)


def resolve_hyperparameters(settings: DpPcaSettings, facts: PublicFacts) -> Plan[DpPcaSettings]:
    """Fills k (that of the shared rule, at least d/4) and the rate from the descent's noise."""
    rules.check_k(settings.k, facts.d)
    least = max(1, round(K_PER_FEATURE * facts.d))
    k = max(least, rules.default_k(rules.reach(settings, facts), facts.d))
    plan = Plan(settings).fill("k", k, f"at least a quarter of the {facts.d} features")
    return rules.fill_rate(plan, facts)


def second_moment(view: View, transform: Transform) -> "torch.Tensor":
    """(d, d) int64 Σ u uᵀ of private rows mapped by `transform` and clipped to norm 1, in units of
    1/SUM_UNITS.

    u is ROW_UNITS times the row in whole numbers, of it alone, with ‖u‖ ≤ ROW_UNITS, so ‖u uᵀ‖ ≤
    SUM_UNITS; all sums are exact.
    """
    d, ids = view.facts.d, view.row_numbers
    exact.refuse(len(ids), d, exact.SUM_UNITS)
    total = np.zeros((d, d), dtype=np.int64)
    with threads_for(CHUNK_ROWS * d**2):
        for part in slices(len(ids), CHUNK_ROWS):
            rows = transform.rows(view.x, ids[part]).astype(np.float64)
            rows *= (
                (exact.ROW_UNITS - math.sqrt(d) / 2 - 1)
                / np.maximum(np.sqrt(squared_norms(rows)), 1.0)
            )[:, None]
            np.rint(rows, out=rows)
            rows[np.square(rows).sum(axis=1) > exact.ROW_UNITS**2] = 0.0
            total += (rows.T @ rows).astype(np.int64)
    return torch.from_numpy(total)


def release_moment(
    moment: "torch.Tensor", noise_multiplier: float, streams: Streams, ledger: Ledger
) -> "torch.Tensor":
    """(d, d) float64 second moment with its noise."""
    mechanism = GaussianMechanism(
        noise_multiplier,
        1.0,
        streams.secret("second moment"),
        ledger,
        REPLACE_ONE_FACTOR,
        label="second moment",
    )
    if mechanism.is_exact:
        return mechanism.release_integers(moment, exact.SUM_UNITS)
    return mechanism.release(moment.double() / exact.SUM_UNITS)


def top_directions(moment: "torch.Tensor", k: int) -> Array:
    """(d, k) float32 eigenvectors of the symmetric part of `moment`, by falling eigenvalue, largest
    coordinate positive."""
    _, vectors = top_eigenpairs(((moment + moment.T) / 2).numpy(), k)
    signs = np.sign(np.take_along_axis(vectors, np.abs(vectors).argmax(axis=0)[None], axis=0))
    return np.ascontiguousarray(vectors * signs, dtype=np.float32)


@group_runs(*descent.PREPROCESSING)
def fit_many(view: View, runs: list[Run[DpPcaSettings]]) -> Iterator[TrainResult]:
    """Runs share the second moment; each has its own noise, so its own directions."""
    first = runs[0][0]
    plain = Transform(*view.moments(standardise=first.standardise, centre=first.centre))
    moment = second_moment(view, dataclasses.replace(plain, normalise=first.normalise))
    for settings, streams, ledger in runs:
        noise = settings.pca_noise_multiplier or 0.0
        released = release_moment(moment, noise, streams, ledger)
        directions = top_directions(released, int(settings.k or 0))
        transform = dataclasses.replace(plain, projection=directions, normalise=settings.normalise)
        prepared = view.apply(transform)
        head = Head(descent.plan_of(settings, view.facts), streams, ledger)
        [(weights, bias)] = train_heads(prepared.z, view.y, [head], n_classes=view.facts.n_classes)
        yield TrainResult(LinearClassifier(transform, weights, bias))


METHODS.register(
    Method(
        name="dp_pca",
        title="DP-PCA",
        source="Dwork, Talwar, Thakurta & Zhang 2014 (Analyze Gauss); baseline of PILLAR",
        idea="The projection is learnt from private rows, so it costs a share of the budget that"
        " public rows would have saved.",
        settings=DpPcaSettings,
        cost=cost,
        fit_many=fit_many,
        resolve_schedule=resolve_schedule,
        resolve_hyperparameters=resolve_hyperparameters,
        is_exact=True,
        version=5,
        presets={
            "paper": {
                **descent.PAPER,
                "bias": True,
                "k": 40,
                "share": 0.25,
            }
        },
    )
)
