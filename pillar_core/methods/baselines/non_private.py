"""Non-private: the linear head trained by L-BFGS on all private rows, the ceiling that privacy is
measured against.

Guarantee: none; ε is infinite. Source: the paragon of AdaMix, ε = ∞ of PILLAR. Cost: some tens of
full gradients.
"""

import dataclasses

import numpy as np

from pillar_core import params
from pillar_core.arrays import Array
from pillar_core.deferred import torch
from pillar_core.engine import LinearClassifier
from pillar_core.ledger import Call, DpEvent, Ledger, gaussian
from pillar_core.methods.method import METHODS, Method, Plan
from pillar_core.methods.parts import rules
from pillar_core.rng import Streams
from pillar_core.splits import Prepared, View
from pillar_core.threads import threads_for
from pillar_core.types import PublicFacts, TrainResult

CHUNK_ROWS = 4096


@dataclasses.dataclass(frozen=True)
class NonPrivateSettings:
    """Settings of the non-private head; k projects on public principal components first."""

    k: int | None = params.setting(params.K, none_means="all features")
    steps: int = params.setting(
        params.STEPS, default=100, none_means="", help="Largest number of L-BFGS iterations."
    )
    weight_decay: float = params.declare(
        0.0001, "L2 penalty on the weights.", low=0, high=1000, log=True
    )
    standardise: bool | None = params.setting(params.STANDARDISE)
    centre: bool | None = params.setting(params.CENTRE)
    normalise: bool = params.setting(params.NORMALISE)


def cost(settings: NonPrivateSettings, facts: PublicFacts) -> DpEvent:
    """A release without noise: ε = ∞."""
    return gaussian(0.0)


def resolve_hyperparameters(
    settings: NonPrivateSettings, facts: PublicFacts
) -> Plan[NonPrivateSettings]:
    """The settings, an explicit k checked against the rank."""
    rules.check_k(settings.k, rules.public_rank(facts))
    return Plan(settings)


def fit(settings: NonPrivateSettings, view: View, streams: Streams, ledger: Ledger) -> TrainResult:
    """The penalised maximum-likelihood head."""
    prepared = rules.prepare(settings, view, k=settings.k)
    weights, bias = minimise(prepared, view, settings)
    call = Call("non_private", tuple(weights.shape), 0.0, float("inf"), float("inf"))
    weights, bias = ledger.release(
        gaussian(0.0), call, (weights, bias), lambda: (weights, bias), label="weights without noise"
    )
    return TrainResult(LinearClassifier(prepared.transform, weights.numpy(), bias.numpy()))


def minimise(
    prepared: Prepared, view: View, settings: NonPrivateSettings
) -> "tuple[torch.Tensor, torch.Tensor]":
    """(weights (k, C), bias (C,)) float32 minimising mean cross-entropy + weight_decay/2·‖W‖² by
    L-BFGS."""
    from scipy.optimize import minimize

    z, y = torch.from_numpy(prepared.z), torch.from_numpy(view.y)
    k, classes = z.shape[1], view.facts.n_classes

    def loss(flat: Array) -> tuple[float, Array]:
        state = torch.from_numpy(flat).float().view(classes, k + 1)
        value, gradient = mean_loss(z, y, state)
        weights = state[:, :k]
        gradient[:, :k] += settings.weight_decay * weights
        return (
            value + 0.5 * settings.weight_decay * float(weights.square().sum()),
            gradient.double().view(-1).numpy(),
        )

    with threads_for(2.0 * z.numel() * classes):
        best = minimize(
            loss,
            np.zeros(classes * (k + 1)),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": settings.steps, "gtol": 1e-5},
        )
    final = torch.from_numpy(best.x).float().view(classes, k + 1)
    return final[:, :k].T.contiguous(), final[:, k].clone()


def mean_loss(
    z: "torch.Tensor", y: "torch.Tensor", state: "torch.Tensor"
) -> "tuple[float, torch.Tensor]":
    """Mean cross-entropy of rows z (n, k), labels y (n,), and its gradient (C, k + 1) at `state`
    (C, k + 1), bias last."""
    k = z.shape[1]
    total, gradient = 0.0, torch.zeros_like(state)
    for rows, labels in zip(torch.split(z, CHUNK_ROWS), torch.split(y, CHUNK_ROWS), strict=True):
        logits = state[:, :k] @ rows.T + state[:, k:]
        log_probabilities = torch.log_softmax(logits, dim=0)
        total -= float(log_probabilities.gather(0, labels[None]).sum(dtype=torch.float64))
        residuals = log_probabilities.exp_().scatter_add_(
            0, labels[None], torch.full((1, len(labels)), -1.0)
        )
        gradient[:, :k] += residuals @ rows
        gradient[:, k] += residuals.sum(1)
    return total / len(z), gradient / len(z)


METHODS.register(
    Method(
        name="non_private",
        title="Non-private",
        source="the papers' ceiling, ε = ∞",
        idea="What the same head reaches when nobody's privacy is protected.",
        settings=NonPrivateSettings,
        cost=cost,
        fit=fit,
        resolve_hyperparameters=resolve_hyperparameters,
        public_statistics=rules.projection_statistics,
        budget_setting=None,
        protects=False,
        version=2,
    )
)
