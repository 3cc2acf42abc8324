"""AdaDPS: private gradients scaled, entry by entry, by what labelled public rows say about each
entry's size; then clipped.

ν is the mean, over public minibatches, of the squared public gradient at the current weights; a
private row's gradient is divided by √(ν + ε_c) and clipped. The scaling is normalised by a public
constant so that public rows keep their mean squared gradient norm: the clip norm and the step size
then mean the same as without it, and a large ε_c is DP-SGD.

Guarantee: the scaling is a function of public rows and of released weights; rows are clipped after
it, so each step is a Gaussian release of a clipped sum (clipping before would let norms grow by the
scaling). No bias, so that every entry is scaled. Source: Li, Zaheer, Reddi & Smith 2022 (AdaDPS
with public data). The published code shuffles batches and accounts them as Poisson samples; here
they are Poisson samples. Cost: DP-SGD's and one more product for the norms.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from pillar_core import params
from pillar_core.deferred import torch
from pillar_core.engine import Clipping, NoisySum, Step, heavy_ball
from pillar_core.engine.mixed import gradient_second_moment, head_residuals, preconditioned_norms
from pillar_core.methods.method import METHODS, FitMany, Method
from pillar_core.methods.parts import descent, rules
from pillar_core.types import PublicUse

SMALLEST = 1e-30
CONDITIONER_FACTOR = 10.0
"""Measured on four real sets: no scaling beat plain DP-SGD there, mild scaling loses least
(docs/methods/adadps.md)."""


@dataclasses.dataclass(frozen=True)
class AdaDpsSettings(descent.StepSettings):
    """DP-SGD's settings without a bias, and how ν is estimated."""

    bias: ClassVar[bool] = False
    conditioner: float | None = params.declare(
        None,
        "ε_c, added to ν before the root: large turns the scaling off.",
        low=0,
        low_open=True,
        log=True,
        none_means="ten times the mean of ν",
    )
    public_batch_size: int = params.declare(
        32, "Public rows in a minibatch whose gradient is squared.", low=1, unit="rows", log=True
    )
    refresh: int = params.declare(
        1, "Steps between two estimates of ν.", low=1, unit="steps", log=True
    )


def public_scaling(
    settings: AdaDpsSettings, z: torch.Tensor, labels: torch.Tensor, weights: torch.Tensor
) -> torch.Tensor:
    """(C, k) √D = 1/√(ν + ε_c), times the constant that keeps the public rows' mean squared
    gradient norm."""
    moment = gradient_second_moment(z, labels, weights, batch_size=settings.public_batch_size)
    added = (
        CONDITIONER_FACTOR * float(moment.mean())
        if settings.conditioner is None
        else settings.conditioner
    )
    squares = 1.0 / (moment + max(added, SMALLEST))
    residuals = head_residuals(z, labels, weights)
    plain = (residuals.square().sum(0) * z.square().sum(1)).mean()
    scaled = preconditioned_norms(z, residuals, squares).mean()
    return torch.sqrt(squares * (plain / scaled.clamp(min=SMALLEST)))


def preconditioned_descent(
    settings: Sequence[AdaDpsSettings], group: descent.HeadGroup, state: torch.Tensor
) -> Step:
    """Descent with momentum on sums of gradients that are scaled by what the public rows say, every
    `refresh` steps anew."""
    facts = group.view.facts
    z, labels = (rows.to(state.device) for rows in _public_rows(group))
    descend, scaling = (
        heavy_ball([descent.plan_of(head, facts) for head in settings], state),
        torch.ones_like(state),
    )

    def step(number: int, state: torch.Tensor, noisy_sum: NoisySum) -> torch.Tensor:
        for h, head in enumerate(settings):
            if number % head.refresh == 0:
                scaling[h] = public_scaling(head, z, labels, state[h])
        return descend(state, noisy_sum(state, Clipping(scaling=scaling)))

    return step


def _public_rows(group: descent.HeadGroup) -> tuple[torch.Tensor, torch.Tensor]:
    """The public rows in a random order, so that minibatches mix the classes."""
    labels = np.asarray(group.view.y_public)
    order = group.streams.public("public order").permutation(len(labels))
    return torch.from_numpy(group.prepared.z_public[order]), torch.from_numpy(labels[order])


fit_many: FitMany[AdaDpsSettings] = descent.fit_many_with(
    descent.all_features, descent.PREPROCESSING, per_seed=True, optimiser=preconditioned_descent
)

METHODS.register(
    Method(
        name="adadps",
        title="AdaDPS",
        source="Li, Zaheer, Reddi & Smith 2022; baseline of PILLAR",
        idea="Labelled public rows tell which entries of the gradient are usually small; these"
        " are scaled up before the noise.",
        public_use=PublicUse.LABELLED,
        settings=AdaDpsSettings,
        cost=descent.cost,
        fit_many=fit_many,
        resolve_schedule=rules.resolve_schedule,
        resolve_hyperparameters=rules.resolve_hyperparameters,
        is_exact=True,
        version=3,
        presets={
            "paper": {
                **descent.PAPER,
                "conditioner": 0.001,
                "standardise": True,
                "normalise": False,
            }
        },
    )
)
