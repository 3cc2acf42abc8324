"""AdaDPS: private gradients scaled, entry by entry, by what labelled public rows say about each entry's size; then clipped.

ν is the mean, over public minibatches, of the squared public gradient at the current weights; a private row's gradient is
divided by √(ν + ε_c) and clipped. The scaling is normalised by a public constant so that public rows keep their mean squared
gradient norm: the clip norm and the step size then mean the same as without it, and a large ε_c is DP-SGD.

Guarantee: the scaling is a function of public rows and of released weights; rows are clipped after it, so each step is a
Gaussian release of a clipped sum (clipping before would let norms grow by the scaling). No bias, so that every entry is
scaled. Source: Li, Zaheer, Reddi & Smith 2022 (AdaDPS with public data). The published code shuffles batches and accounts
them as Poisson samples; here they are Poisson samples. Cost: DP-SGD's and one more product for the norms.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import torch

from pillar_core import params
from pillar_core.engine import LinearClassifier, training_device
from pillar_core.engine.preconditioned import gradient_second_moment, head_residuals, preconditioned_norms, preconditioned_sum
from pillar_core.grouping import grouped
from pillar_core.ledger import DpEvent, Ledger
from pillar_core.mechanisms import GaussianMechanism, sampled
from pillar_core.methods.method import METHODS, Method
from pillar_core.methods.parts import descent, rules
from pillar_core.params import Param
from pillar_core.rng import Streams
from pillar_core.splits import Prepared, View
from pillar_core.threads import threads_for
from pillar_core.types import PublicFacts, PublicUse, TrainResult

SMALLEST = 1e-30
CONDITIONER_FACTOR = 10.0
"""Measured on four real sets: no scaling beat plain DP-SGD there, mild scaling loses least (docs/methods/adadps.md)."""

CONDITIONER = Param(
    "conditioner",
    float,
    None,
    "ε_c, added to ν before the root: large turns the scaling off.",
    low=0,
    low_open=True,
    log=True,
    none_means="ten times the mean of ν",
)
PUBLIC_BATCH = Param("public_batch_size", int, 32, "Public rows in a minibatch whose gradient is squared.", low=1, unit="rows", log=True)
REFRESH = Param("refresh", int, 1, "Steps between two estimates of ν.", low=1, unit="steps", log=True)


@dataclasses.dataclass(frozen=True)
class AdaDpsSettings:
    """DP-SGD's settings without a bias, and how ν is estimated."""

    steps: int | None = params.setting(params.STEPS)
    batch_size: int | None = params.setting(params.BATCH_SIZE)
    learning_rate: float | None = params.setting(params.LEARNING_RATE)
    l2_clip_norm: float = params.setting(params.L2_CLIP_NORM)
    momentum: float = params.setting(params.MOMENTUM)
    conditioner: float | None = params.setting(CONDITIONER)
    public_batch_size: int = params.setting(PUBLIC_BATCH)
    refresh: int = params.setting(REFRESH)
    standardise: bool | None = params.setting(params.STANDARDISE)
    centre: bool | None = params.setting(params.CENTRE)
    normalise: bool = params.setting(params.NORMALISE)
    noise_multiplier: float | None = params.setting(params.NOISE_MULTIPLIER)


def cost(settings: AdaDpsSettings, facts: PublicFacts) -> DpEvent:
    """T Gaussian releases, each on a Poisson sample."""
    return descent.cost(settings, facts)


def public_scaling(settings: AdaDpsSettings, z: torch.Tensor, labels: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """(C, k) √D = 1/√(ν + ε_c), times the constant that keeps the public rows' mean squared gradient norm."""
    moment = gradient_second_moment(z, labels, weights, batch_size=settings.public_batch_size)
    added = CONDITIONER_FACTOR * float(moment.mean()) if settings.conditioner is None else settings.conditioner
    squares = 1.0 / (moment + max(added, SMALLEST))
    residuals = head_residuals(z, labels, weights)
    plain = (residuals.square().sum(0) * z.square().sum(1)).mean()
    scaled = preconditioned_norms(z, residuals, squares).mean()
    return torch.sqrt(squares * (plain / scaled.clamp(min=SMALLEST)))


def fit_many(settings: Sequence[AdaDpsSettings], view: View, streams: Sequence[Streams], ledgers: Sequence[Ledger]) -> list[TrainResult]:
    """Runs share the prepared rows."""
    results: dict[int, TrainResult] = {}
    for positions in grouped((one.standardise, one.centre, one.normalise) for one in settings):
        prepared = descent.rows_as_they_are(settings[positions[0]], view, streams[0])
        for position in positions:
            results[position] = _fit(settings[position], prepared, view, streams[position], ledgers[position])
    return [results[position] for position in range(len(settings))]


def _fit(settings: AdaDpsSettings, prepared: Prepared, view: View, streams: Streams, ledger: Ledger) -> TrainResult:
    plan = descent.plan_of(settings, view.facts)
    where = training_device()
    mechanism = GaussianMechanism(plan.noise_multiplier, plan.l2_clip_norm, streams.secret("noise", device=str(where)), ledger)
    sampling, probability = streams.secret("sampling"), plan.sampling_probability
    z, labels = torch.from_numpy(prepared.z).to(where), torch.from_numpy(view.y).to(where)
    z_public, y_public = (rows.to(where) for rows in _public_rows(prepared, view, streams))
    weights = torch.zeros((view.facts.n_classes, z.shape[1]), device=where)
    velocity, root = torch.zeros_like(weights), torch.ones_like(weights)
    with threads_for(2 * probability * z.numel() * view.facts.n_classes):
        for step in range(plan.steps):
            if step % settings.refresh == 0:
                root = public_scaling(settings, z_public, y_public, weights)
            with sampled(probability, len(z), sampling, [ledger]) as indices:
                picked = slice(None) if probability == 1 else torch.from_numpy(indices).to(where)
                total = preconditioned_sum(z[picked], labels[picked], weights, root, l2_clip_norm=plan.l2_clip_norm)
                released = mechanism.release(total).float()
            velocity = plan.momentum * velocity + released / (probability * plan.n_private)
            weights = weights - plan.learning_rate * velocity
    learned = np.ascontiguousarray(weights.T.cpu().numpy())
    classifier = LinearClassifier(prepared.transform, learned, np.zeros(len(weights), dtype=np.float32))
    return TrainResult(classifier)


def _public_rows(prepared: Prepared, view: View, streams: Streams) -> tuple[torch.Tensor, torch.Tensor]:
    """The public rows in a random order, so that minibatches mix the classes."""
    labels = np.asarray(view.y_public)
    order = streams.public("public order").permutation(len(labels))
    return torch.from_numpy(prepared.z_public[order]), torch.from_numpy(labels[order])


METHODS.register(
    Method(
        name="adadps",
        title="AdaDPS",
        source="Li, Zaheer, Reddi & Smith 2022; baseline of PILLAR",
        idea="Labelled public rows tell which entries of the gradient are usually small; these are scaled up before the noise.",
        public_use=PublicUse.LABELLED,
        settings=AdaDpsSettings,
        cost=cost,
        fit=descent.fit_with(fit_many),
        fit_many=fit_many,
        resolve_schedule=rules.resolve_schedule,
        resolve_hyperparameters=rules.resolve_hyperparameters,
        presets={"paper": {"steps": 1000, "batch_size": 1024, "learning_rate": 0.1, "conditioner": 0.001, "normalise": False}},
    )
)
