"""One-shot PILLAR: one noisy release of class sums in the public eigenbasis; the whole classifier
is computed from it.

u_i = unit(diag(λ_j^−g) A_kᵀ (x_i − m)) with public mean, eigenvalues and directions; S = Σ_i (u_i,
c₀) e_{y_i}ᵀ + noise. From S, without further cost: noisy class counts, class means, how much of
each coordinate's spread is signal (by moments), and a Gaussian classifier whose means are shrunk by
that share and whose variances carry what the noise leaves uncertain. No steps, no step size, no
clip norm.

Guarantee: adding or removing one row moves S by ‖(u, c₀)‖ ≤ Δ = √(1 + c₀²); replacing one by max(2,
√(2(1 + c₀²))): the first within a class, where c₀ cancels, the second across two classes. unit(0) =
0. Public size. One Gaussian release, exact. Source: ours, after PILLAR (Pinto et al.) and empirical
   Bayes shrinkage (James & Stein 1961; Efron & Morris 1973).
Cost: one projection and one sum over the rows; the eigendecomposition of the public rows is shared
with PILLAR.
"""

import dataclasses
import math
from collections.abc import Iterator
from functools import cached_property

import numpy as np

from pillar_core import ledger as events
from pillar_core import params
from pillar_core.arrays import Array
from pillar_core.deferred import torch
from pillar_core.engine import LinearClassifier, exact
from pillar_core.engine.gradient import SUM_ROWS, within_unit_ball
from pillar_core.grouping import slices
from pillar_core.ledger import DpEvent, Ledger
from pillar_core.mechanisms import GaussianMechanism
from pillar_core.methods.method import METHODS, Method, Plan, Run, group_runs
from pillar_core.methods.parts import rules
from pillar_core.rng import Stream
from pillar_core.splits import Prepared, Transform, View
from pillar_core.splits.transform import unit_rows
from pillar_core.types import PublicFacts, PublicUse, TrainResult

SMALLEST_WITHIN_SHARE = 0.5
"""The within-class variance of a coordinate is kept above this share of its public variance: 0.05 …
1 were measured on four real sets (docs/methods/pillar_one_shot.md); real classes are not Gaussian,
and trusting their tight spread hurts."""
SMALLEST_VARIANCE = 1e-12
K_FACTOR = 0.75
"""k = ¾(μN)^(2/3): somewhat above descent's k, because shrinkage drops what a coordinate does not
say."""


@dataclasses.dataclass(frozen=True)
class OneShotSettings:
    """What one release needs: a dimension, a power of the eigenvalues, and the weight of the class
    counts."""

    k: int | None = params.setting(params.K)
    whitening: float = params.declare(
        0.25,
        "Power g of the eigenvalues that coordinates are divided by: 0 keeps their scale, 0.5"
        " whitens.",
        low=0,
        high=0.5,
    )
    count_weight: float = params.declare(
        0.2,
        "Constant feature c₀ that buys noisy class counts with a share of the release; 0 takes"
        " every class as N/C.",
        low=0,
        high=10,
    )
    standardise: bool | None = params.setting(params.STANDARDISE)
    centre: bool | None = params.setting(params.CENTRE)
    noise_multiplier: float | None = params.setting(params.NOISE_MULTIPLIER)


def sensitivity(count_weight: float) -> float:
    """Δ under add/remove: the largest norm of (u, c₀)."""
    return math.sqrt(1.0 + count_weight**2)


def replace_one_factor(count_weight: float) -> float:
    """The sensitivity under replace-one in units of that under add/remove."""
    return max(2.0, math.sqrt(2.0) * sensitivity(count_weight)) / sensitivity(count_weight)


def cost(settings: OneShotSettings, facts: PublicFacts) -> DpEvent:
    """One Gaussian release."""
    return events.gaussian(
        _noise(settings), replace_one_factor=replace_one_factor(settings.count_weight)
    )


def project(settings: OneShotSettings, view: View) -> Prepared:
    """Private and public rows in k public directions, scaled by λ^−g, then of unit norm."""
    basis = view.basis(standardise=settings.standardise, centre=settings.centre)
    prepared = view.prepare(
        standardise=settings.standardise, centre=settings.centre, normalise=False, k=settings.k
    )
    scale = basis.eigenvalues[: settings.k] ** -settings.whitening
    projection = basis.vectors[:, : settings.k] * scale
    transform = Transform(
        prepared.transform.mean, prepared.transform.scale, projection, normalise=True
    )
    return Prepared(
        unit_rows(prepared.z, scale), transform, lambda: unit_rows(prepared.z_public, scale)
    )


def class_sums(z: Array, y: Array, *, n_classes: int, count_weight: float) -> "torch.Tensor":
    """(C, k + 1) float64 sums over each class's rows of (u, c₀), without the last column where c₀ =
    0."""
    sums = torch.zeros((n_classes, z.shape[1]), dtype=torch.float64)
    rows, labels = torch.from_numpy(z), torch.from_numpy(y)
    for part in slices(len(rows), SUM_ROWS):
        sums.index_add_(0, labels[part], within_unit_ball(rows[part]))
    if count_weight == 0:
        return sums
    counts = torch.from_numpy(np.bincount(y, minlength=n_classes)).double()
    return torch.cat([sums, (count_weight * counts)[:, None]], dim=1)


@dataclasses.dataclass(frozen=True, eq=False)
class Sums:
    """The class sums of unit rows z (n, k) with labels y, made once each way: in floating point,
    and in whole numbers for releases."""

    z: Array
    y: Array
    n_classes: int
    count_weight: float = 0.0

    @cached_property
    def _fast(self) -> "torch.Tensor":
        return class_sums(self.z, self.y, n_classes=self.n_classes, count_weight=self.count_weight)

    @cached_property
    def _exact(self) -> "torch.Tensor":
        return exact.class_sums(
            self.z, self.y, n_classes=self.n_classes, count_weight=self.count_weight
        )

    def release(self, mechanism: GaussianMechanism) -> "torch.Tensor":
        """(C, k + 1) float64 noisy sums, as `class_sums`."""
        return (
            mechanism.release_integers(self._exact, exact.SUM_UNITS)
            if mechanism.is_exact
            else mechanism.release(self._fast)
        )


def class_counts(noisy: Array | None, *, std: float, n_private: int, n_classes: int) -> Array:
    """(C,) float64 class counts: noisy ones set to add up to N and shrunk towards N/C by their own
    share of noise.

    noisy: (C,) counts with noise of standard deviation `std`, or None: N/C is assumed.
    """
    even = n_private / n_classes
    if noisy is None:
        return np.full(n_classes, even)
    apart = noisy - noisy.mean()
    spread = float((apart**2).sum()) / (n_classes - 1)
    share = max(0.0, 1.0 - std**2 / spread) if spread > 0 else 0.0
    return np.asarray(
        np.maximum(even + share * apart, 0.05 * even)
    )  # noisy class counts are kept above this share of N/C


def classifier_of(
    sums: Array, counts: Array, *, std: float, z_public: Array
) -> tuple[Array, Array]:
    """(weights (k, C), bias (C,)) float32 of the predictive Gaussian classifier.

    sums: (C, k) noisy class sums with noise of standard deviation `std`; counts: (C,); z_public:
    (m, k) public rows, whose variance in a direction counts as their mean one at least, for few
    rows show too little of it in the last directions. With equal counts the moments are τ² =
    C/(C−1)·mean_c M² − ν²; else classes count by n_c², their precision.
    """
    share_of_class = counts / counts.sum()
    noise = (std / counts) ** 2
    centre = (sums.sum(axis=0) / counts.sum())[:, None]
    means = (sums / counts[:, None]).T - centre
    variances = z_public.var(axis=0, dtype=np.float64)
    public_variance = np.maximum(variances, max(variances.mean(), SMALLEST_VARIANCE))
    between = _between(means, noise, share_of_class)
    keep = between[:, None] / np.maximum(between[:, None] + noise, SMALLEST_VARIANCE)
    spread = between * (1.0 - (share_of_class**2).sum())
    within = np.maximum(public_variance - spread, SMALLEST_WITHIN_SHARE * public_variance)
    variance = within[:, None] + keep * noise
    shrunk = keep * means
    weights = shrunk / variance
    bias = (
        np.log(share_of_class)
        - 0.5 * (shrunk * weights + np.log(variance)).sum(axis=0)
        - (centre * weights).sum(axis=0)
    )
    return weights.astype(np.float32), bias.astype(np.float32)


def _between(means: Array, noise: Array, share_of_class: Array) -> Array:
    """(k,) τ² ≥ 0: the variance of class means over classes, unbiased before it is cut at 0.

    means: (k, C) noisy means less their count-weighted mean M̄ = Σ p_c M_c, noise (C,) their noise
    variances. With independent means of variance τ² + ν_c², E[(M_c − M̄)²] = (τ² + ν_c²)(1 − 2p_c)
    + Σ_b p_b²(τ² + ν_b²).
    """
    p = share_of_class
    precision = p**2 / (p**2).sum()
    expected_noise = noise * (1.0 - 2.0 * p) + (p**2 * noise).sum()
    expected_signal = float(precision @ (1.0 - 2.0 * p)) + (p**2).sum()
    return np.asarray(np.maximum(0.0, (means**2 - expected_noise) @ precision / expected_signal))


@group_runs("k", "whitening", "count_weight", "standardise", "centre")
def fit_many(view: View, runs: list[Run[OneShotSettings]]) -> Iterator[TrainResult]:
    """Every run releases the same sums with its own noise; runs that agree on the projection share
    it."""
    first = runs[0][0]
    prepared = project(first, view)
    release = Sums(prepared.z, view.y, view.facts.n_classes, first.count_weight).release
    for settings, streams, ledger in runs:
        released = release(mechanism(settings, streams.secret("noise"), ledger)).double().numpy()
        yield TrainResult(head(settings, released, prepared, view.facts))


def mechanism(settings: OneShotSettings, stream: Stream, ledger: Ledger) -> GaussianMechanism:
    """What releases the class sums."""
    weight = settings.count_weight
    return GaussianMechanism(
        _noise(settings),
        sensitivity(weight),
        stream,
        ledger,
        replace_one_factor(weight),
        label="class sums",
    )


def head(
    settings: OneShotSettings, released: Array, prepared: Prepared, facts: PublicFacts
) -> LinearClassifier:
    """The classifier from released sums (C, width + 1), of whose `width` directions it reads the
    first `settings.k`."""
    width, weight, std = (
        prepared.z.shape[1],
        settings.count_weight,
        _noise(settings) * sensitivity(settings.count_weight),
    )
    k = width if settings.k is None else min(settings.k, width)
    noisy = released[:, width] / weight if weight > 0 else None
    counts = class_counts(
        noisy,
        std=std / weight if weight > 0 else 0.0,
        n_private=facts.n_private,
        n_classes=facts.n_classes,
    )
    weights, bias = classifier_of(
        released[:, :k], counts, std=std, z_public=prepared.z_public[:, :k]
    )
    return LinearClassifier(prepared.transform, np.pad(weights, ((0, width - k), (0, 0))), bias)


def resolve_hyperparameters(settings: OneShotSettings, facts: PublicFacts) -> Plan[OneShotSettings]:
    """Fills `k` from the noise."""
    noise = _noise(settings)
    reach = facts.n_private / noise if noise > 0 else math.inf
    return rules.resolve_k(settings, facts, reach, factor=K_FACTOR)


def _noise(settings: OneShotSettings) -> float:
    return settings.noise_multiplier or 0.0


METHODS.register(
    Method(
        name="pillar_one_shot",
        title="PILLAR, one shot",
        source="ours, after Pinto, Hu, Yang & Sanyal, PILLAR",
        idea="One noisy release of class sums in the public eigenbasis; shrinkage turns it into a"
        " classifier, with nothing to tune.",
        public_use=PublicUse.UNLABELLED,
        settings=OneShotSettings,
        cost=cost,
        public_statistics=rules.public_statistics,
        fit_many=fit_many,
        resolve_hyperparameters=resolve_hyperparameters,
        version=3,
        is_exact=True,
        assumptions=("with count_weight = 0 every class is taken to have N/C rows",),
        presets={"paper": {"whitening": 0.25, "count_weight": 0.0, "k": 40}},
    )
)
