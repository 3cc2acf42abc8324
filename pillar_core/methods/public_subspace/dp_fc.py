"""DP-FC: noisy descent on the logistic loss, each step divided by the features' second moment in
place of the Hessian.

θ ← θ − η·(G + λI)⁻¹·(Σ clip(g_i) + noise), G the second moment of all rows. The published learner
releases G of the private rows once; by default G is here N times the public rows' mean second
moment, which costs nothing, and `covariance=private` is the published form.

Guarantee: T full-batch Gaussian releases of sums of gradients clipped to l2_clip_norm (moved by
that under add/remove, by twice that under replace-one). With private covariance one more, of Σ u uᵀ
over rows of norm at most 1: ‖u uᵀ‖_F ≤ 1, √2 under replace-one (both are positive semidefinite), at
the same noise multiplier; its symmetric, positive part is post-processing. Public size. Source:
Mehta, Krichene, Thakurta, Kurakin & Cutkosky 2022 (arXiv 2211.13403: abstract and published code).
Cost: two matrix products over the rows and one in d × d a step, one d × d inverse.
"""

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from pillar_core import ledger as events
from pillar_core import params
from pillar_core.arrays import Array
from pillar_core.deferred import torch
from pillar_core.engine import Head, LinearClassifier, NoisySum, Step, train_heads
from pillar_core.ledger import DpEvent, Ledger
from pillar_core.methods.baselines import dp_pca
from pillar_core.methods.closed_form import dp_ls
from pillar_core.methods.method import METHODS, Method
from pillar_core.methods.parts import descent, rules
from pillar_core.rng import Streams
from pillar_core.splits import Prepared, View
from pillar_core.splits.basis import second_moment
from pillar_core.types import PublicFacts, PublicUse, TrainResult

STEP_PER_CLASS = 0.25
"""At a head of zeros the loss curves by at most 1/C in each direction, so C would be Newton's step:
a quarter of it was measured best."""


@dataclasses.dataclass(frozen=True)
class DpFcSettings:
    """Full-batch descent with a preconditioner."""

    batch_size: ClassVar[None] = None
    momentum: ClassVar[float] = 0.0
    weight_decay: ClassVar[float] = 0.0
    bias: ClassVar[bool] = False
    covariance: str = params.declare(
        "public",
        "Whose second moment divides the steps: that of public rows, or a noisy one of private"
        " rows.",
        choices=("public", "private"),
    )
    ridge: float | None = params.setting(dp_ls.RIDGE)
    steps: int = params.setting(params.STEPS, default=10, high=1_000, none_means="")
    learning_rate: float | None = params.setting(
        params.LEARNING_RATE, none_means="a quarter of the number of classes"
    )
    l2_clip_norm: float = params.setting(params.L2_CLIP_NORM, default=0.5)
    standardise: bool | None = params.setting(params.STANDARDISE)
    centre: bool | None = params.setting(params.CENTRE)
    noise_multiplier: float | None = params.setting(params.NOISE_MULTIPLIER)


def cost(settings: DpFcSettings, facts: PublicFacts) -> DpEvent:
    """The second moment, where it is of private rows, then T clipped sums at the same noise
    multiplier."""
    steps = descent.cost(settings, facts)
    if settings.covariance == "public":
        return steps
    return events.compose(dp_pca.moment_event(settings.noise_multiplier or 0.0), steps)


def fit(settings: DpFcSettings, view: View, streams: Streams, ledger: Ledger) -> TrainResult:
    """The head after T preconditioned steps from zero."""
    facts, noise = view.facts, settings.noise_multiplier or 0.0
    prepared = rules.prepare(settings, view)
    moment = _moment(settings, view, prepared, streams, ledger)
    ridge = settings.ridge or max(
        dp_ls.RIDGE_PER_NOISE * noise * settings.l2_clip_norm,
        dp_ls.SMALLEST_RIDGE * facts.n_private,
    )
    rate = settings.learning_rate or STEP_PER_CLASS * facts.n_classes
    divided = torch.from_numpy(
        (rate * np.linalg.inv(moment + ridge * np.eye(len(moment)))).astype(np.float32)
    )

    def start(positions: Sequence[int], state: "torch.Tensor") -> Step:
        inverse = divided.to(state.device)

        def step(number: int, state: "torch.Tensor", noisy_sum: NoisySum) -> "torch.Tensor":
            return state - noisy_sum(state) @ inverse

        return step

    head = Head(descent.plan_of(settings, facts), streams, ledger)
    [(weights, bias)] = train_heads(
        prepared.z, view.y, [head], n_classes=facts.n_classes, optimiser=start
    )
    return TrainResult(LinearClassifier(prepared.transform, weights, bias))


def _moment(
    settings: DpFcSettings, view: View, prepared: Prepared, streams: Streams, ledger: Ledger
) -> Array:
    """(d, d) float64 positive semidefinite: of public rows at the size of the private set, or of
    private rows under noise."""
    if settings.covariance == "public":
        return view.facts.n_private * second_moment(prepared.z_public)
    moment = dp_pca.second_moment(view, prepared.transform)
    noise = settings.noise_multiplier or 0.0
    released = dp_pca.release_moment(moment, noise, streams, ledger).numpy()
    values, vectors = np.linalg.eigh((released + released.T) / 2)
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)


METHODS.register(
    Method(
        name="dp_fc",
        title="DP-FC",
        source="Mehta et al. 2022",
        idea="Noisy steps divided by the features' covariance: far where rows hardly vary and"
        " little can go wrong.",
        public_use=PublicUse.UNLABELLED,
        settings=DpFcSettings,
        cost=cost,
        fit=fit,
        version=4,
        is_exact=True,
        presets={
            "paper": {
                "covariance": "private",
                "ridge": 100.0,
                "learning_rate": 0.2,
                "l2_clip_norm": 1.0,
            }
        },
    )
)
