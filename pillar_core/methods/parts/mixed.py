"""Settings, cost and training that the learners with labelled public rows share: they differ in
their step.

A private row enters clipped sums alone; public rows enter as they are. The step rule gives the
noise its scale: with μ = q·√T/σ and m public rows, the steps together have a path length of μN ·
μN/(μN + m) clip norms, at most 160·C, so that a weight gathers at most one unit of noise and the
less, the more the public rows know already (measured in research/default_settings.md).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Protocol, TypeVar

import numpy as np

from pillar_core import params
from pillar_core.arrays import Array
from pillar_core.deferred import torch
from pillar_core.engine import HeadPlan, per_head, training_device
from pillar_core.engine.gradient import squared_lengths
from pillar_core.engine.logistic import descended_head, public_head
from pillar_core.engine.mixed import public_gradients
from pillar_core.engine.train import SMALLEST_CLIP
from pillar_core.errors import DataError, SettingError
from pillar_core.fingerprint import fingerprint
from pillar_core.ledger import DpEvent
from pillar_core.methods.method import Plan
from pillar_core.methods.parts import descent, rules
from pillar_core.params import Param
from pillar_core.splits import Prepared, View
from pillar_core.types import PublicFacts

LEAST_PUBLIC_CLIP = 0.1
"""In units of the rows' length: few rows' own head fits them so well that a lower percentile says
nothing of private rows."""

RATE_RULE = "each step the rule of path length over steps and clip norm"

Rate = TypeVar("Rate", bound=rules.HasRate)


class HasPercentile(Protocol):
    """The percentile of the public rows' norms that is the clip norm."""

    @property
    def clip_percentile(self) -> float: ...


CLIP_PERCENTILE = Param(
    "clip_percentile",
    float,
    90.0,
    "Clip norm: this percentile of the public rows' gradient norms.",
    low=0,
    low_open=True,
    high=100,
)


INITIALISATION = Param(
    "initialisation",
    str,
    "public",
    "Where training starts: the head of the public rows, or zero.",
    choices=("public", "zero"),
)


@dataclasses.dataclass(frozen=True)
class PublicHeadSettings:
    """Settings of the head that labelled public rows alone decide."""

    public_weight_decay: float = params.declare(
        0.0001, "L2 penalty of the head of the public rows.", low=0, high=1000, log=True
    )
    public_steps: int = params.declare(
        200,
        "Most iterations for the head of the public rows.",
        low=1,
        high=100_000,
        unit="steps",
        log=True,
    )
    public_learning_rate: float | None = params.declare(
        None,
        "Step size of plain gradient descent on the public rows.",
        low=0,
        low_open=True,
        log=True,
        none_means="L-BFGS instead",
    )
    standardise: bool | None = params.setting(params.STANDARDISE)
    centre: bool | None = params.setting(params.CENTRE)
    normalise: bool = params.setting(params.NORMALISE)


@dataclasses.dataclass(frozen=True)
class MixedSettings(PublicHeadSettings):
    """And of noisy descent that starts from it."""

    steps: int | None = params.setting(params.STEPS)
    learning_rate: float | None = params.setting(params.LEARNING_RATE, none_means=RATE_RULE)
    initialisation: str = params.setting(INITIALISATION)
    noise_multiplier: float | None = params.setting(params.NOISE_MULTIPLIER)


SHARED = (
    *descent.PREPROCESSING,
    "public_weight_decay",
    "public_steps",
    "public_learning_rate",
    "initialisation",
)


@dataclasses.dataclass(frozen=True, eq=False)
class PublicRows:
    """The public rows as tensors. z: (m, k) float32; y: (m,) int64; squared: (m,) squared norms."""

    z: torch.Tensor
    y: torch.Tensor
    squared: torch.Tensor

    @classmethod
    def of(cls, group: descent.HeadGroup) -> PublicRows:
        """The public rows of a view that shows their labels."""
        z = torch.from_numpy(group.prepared.z_public).to(training_device())
        return cls(
            z, torch.from_numpy(labels_of(group.view)).to(training_device()), squared_lengths(z)
        )

    @property
    def count(self) -> int:
        """m."""
        return len(self.y)

    def gradients(self, state: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """`engine.mixed.public_gradients` at weights (H, C, k)."""
        return public_gradients(self.z, self.squared, self.y, state)

    def clip_norms(
        self, norms: torch.Tensor, settings: Sequence[HasPercentile], fixed: Sequence[float | None]
    ) -> torch.Tensor:
        """(H,) clip norms, at least SMALLEST_CLIP: those fixed, else each head's percentile of the
        public norms (H, m), at least LEAST_PUBLIC_CLIP."""
        least = LEAST_PUBLIC_CLIP * math.sqrt(float(self.squared.mean()))
        clips = [
            torch.quantile(row, head.clip_percentile / 100.0).clamp(min=least)
            if clip is None
            else row.new_tensor(clip)
            for row, head, clip in zip(norms, settings, fixed, strict=True)
        ]
        return torch.stack(clips).clamp(min=SMALLEST_CLIP)


def cost(settings: rules.HasBatch, facts: PublicFacts) -> DpEvent:
    """T Gaussian releases of the clipped sum, each over a batch where batch_size is set."""
    plan = plan_of(settings, facts)
    return descent.cost_of_steps(plan, plan.noise_multiplier)


def plan_of(settings: rules.HasBatch, facts: PublicFacts) -> HeadPlan:
    """The engine's plan for settings whose steps and noise are known; the learner's step names clip
    norms and rates itself."""
    steps, noise = (
        rules.require(settings.steps, "steps"),
        rules.require(settings.noise_multiplier, "noise_multiplier"),
    )
    allocated = descent.is_allocated(settings)
    return HeadPlan(
        steps,
        0.0,
        noise,
        1.0,
        facts.n_private,
        batch_size=settings.batch_size,
        bias=False,
        is_allocated=allocated,
    )


def resolve_hyperparameters(settings: Rate, facts: PublicFacts) -> Plan[Rate]:
    """Nothing to fill; says which rate the steps will take, where it is left to the rule."""
    if settings.learning_rate is not None:
        return Plan(settings)
    length = path_length(settings, facts)
    why = (
        f"learning_rate: {length:,.4g} / (steps × clip norm) on the mean gradient: min(μN ·"
        " μN/(μN + m), 160·C) over all steps."
    )
    return Plan(settings, (why,))


def path_length(settings: rules.HasBatch, facts: PublicFacts) -> float:
    """How many clip norms all steps together move by: min(μN · μN/(μN + m), 160·C)."""
    reach = rules.reach(settings, facts)
    length = reach if math.isinf(reach) or not reach else reach * reach / (reach + facts.n_public)
    return min(length, rules.LONGEST_PATH_PER_CLASS * facts.n_classes)


def noise_std(settings: rules.HasRate, facts: PublicFacts) -> float | None:
    """Of a weight, as `noise_left` means it, after steps by the rule of path length, which are as
    long at any clip norm; None for another rate."""
    if settings.learning_rate is not None:
        return None
    plan, length = plan_of(settings, facts), path_length(settings, facts)
    return length * plan.noise_multiplier / (plan.expected_rows * math.sqrt(plan.steps))


def mean_rates(
    settings: Sequence[rules.HasRate], facts: PublicFacts, clip: torch.Tensor
) -> torch.Tensor:
    """(H, 1, 1) step sizes on the mean gradient: those set, else the rule's at this step's clip
    norms (H,)."""
    rates = [
        (
            head.learning_rate
            if head.learning_rate is not None
            else path_length(head, facts) / (rules.require(head.steps, "steps") * float(clip[h]))
        )
        for h, head in enumerate(settings)
    ]
    return per_head(rates, clip)


def longest_public_rate(settings: rules.HasMoments, public: PublicRows, view: View) -> float:
    """The step size beyond which steps along the public rows' mean gradient, which nothing clips,
    overshoot: 4/λ.

    λ is the second moment of the prepared rows in their first direction; half of it bounds the
    loss's curvature. The rule's step grows without limit as the clip norm falls, that is where
    public rows are fitted well. Rows that are all equal have no gradient, once they are centred.
    """
    square = float(public.squared.mean())
    if square == 0:
        return math.inf
    values = view.basis(standardise=settings.standardise, centre=settings.centre).eigenvalues
    return float(4.0 * values.sum() / (values[0] * square))


def damping(settings: Sequence[rules.HasRate], rates: torch.Tensor, longest: float) -> torch.Tensor:
    """(H, 1, 1) factors at most 1 that keep steps `rates` (H, 1, 1) along the public rows' mean
    gradient at `longest` where a rule made them."""
    by_rule = torch.tensor([head.learning_rate is None for head in settings], device=rates.device)
    return torch.where(by_rule[:, None, None], (longest / rates).clamp(max=1.0), 1.0)


def public_start(settings: MixedSettings, group: descent.HeadGroup) -> Array:
    """(k, C) float32 starting weights: the head of the public rows, or zeros."""
    if settings.initialisation == "zero":
        return np.zeros(
            (group.prepared.z_public.shape[1], group.view.facts.n_classes), dtype=np.float32
        )
    return public_head_of(settings, group.view, group.prepared)


def public_head_of(settings: PublicHeadSettings, view: View, prepared: Prepared) -> Array:
    """(k, C) float32 head of the public rows, by L-BFGS or, where public_learning_rate is set, by
    plain descent.

    Raises SettingError for a public_learning_rate at which descent diverges.
    """
    z, y, classes = prepared.z_public, labels_of(view), view.facts.n_classes
    rate, decay, steps = (
        settings.public_learning_rate,
        settings.public_weight_decay,
        settings.public_steps,
    )
    if rate is None:
        key = "public head", fingerprint(z, y, classes, decay, steps)
        return view.memo.get(
            key, lambda: public_head(z, y, n_classes=classes, weight_decay=decay, steps=steps)
        ).copy()
    head = descended_head(
        z, y, n_classes=classes, learning_rate=rate, steps=steps, weight_decay=decay
    )
    if not np.isfinite(np.linalg.norm(head)):
        raise SettingError(
            "public_learning_rate must be so low that descent on the public rows stays finite; got"
            f" {rate:g}. Lower it, or leave it out."
        )
    return head


def labels_of(view: View) -> Array:
    """The public labels of a view made for a labelled method."""
    if view.y_public is None:
        raise DataError("this method needs labelled public rows and this view shows no labels.")
    return view.y_public
