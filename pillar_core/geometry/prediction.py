"""Predicted accuracy against k: what the projection loses, and what the noise adds, in closed form
from class moments.

The model. In the basis, class c is Gaussian with mean m_c and a shared diagonal variance w. A
budget of Gaussian-DP parameter μ over N private rows shows the sum of a class's rows with the same
noise for every class, so the mean of class a, which has a share s_a of the rows, with noise of
variance ν_a² = R_k²/(μNs_a)² per coordinate: small classes drown first. R_k² is the mean square
norm of a row in k directions (rows are scaled to unit norm). For C classes, a linear rule with
weights g = 1/(w + 0.3·(C/ηT)·R_k²) on noisy mean differences, where ηT = min(μN, 160·C) is the
default learner's path length, tells class a from class c with the standardised gap

    t_ac = ½·ΣgΔ² / √(Σg²Δ²(w + ν_a²) + 2ν_a²·Σg²w + ν_a⁴·Σg²),   Δ = m_a − m_c,

and a row of class a is right when all gaps, correlated by ½ because they share a's scores, are
positive. With ν_a = 0 what remains is what the projection (and the linear rule) loses. The 0.3 was
fitted to measured curves of two real feature sets (10 classes each) and checked on two others;
docs/explore.md has the errors. A model, not a bound.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
from scipy.special import ndtr

from pillar_core import checks
from pillar_core.accounting import mu_of
from pillar_core.arrays import Array
from pillar_core.deferred import pandas as pd
from pillar_core.errors import SettingError
from pillar_core.geometry.margins import Coordinates
from pillar_core.params import SHARE

SHRINKAGE = 0.3
LONGEST_PATH_PER_CLASS = 160.0
"""The default rule of the descent learners caps steps × rate here, per class."""
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(15)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


@dataclasses.dataclass(frozen=True, eq=False)
class ClassMoments:
    """means: (C, r), within: (r,) pooled variance, second: (r,) mean square of rows, shares: (C,);
    all float64.

    As secret as the rows that they were computed from: without noise, so a non-private diagnostic
    for private rows.
    """

    means: Array
    within: Array
    second: Array
    shares: Array

    @property
    def largest_k(self) -> int:
        """Number of directions."""
        return len(self.within)


def class_moments(rows: Coordinates) -> ClassMoments:
    """The moments of classes that have rows."""
    present = np.unique(rows.y)
    means = np.stack([rows.z[rows.y == label].mean(axis=0, dtype=np.float64) for label in present])
    counts = np.array([(rows.y == label).sum() for label in present], dtype=np.float64)
    second = np.einsum("ij,ij->j", rows.z, rows.z, dtype=np.float64) / len(rows.z)
    shares = counts / counts.sum()
    within = np.maximum(
        second - shares @ np.square(means), 1e-12 * max(float(second.max()), 1e-300)
    )
    return ClassMoments(means, within, second, shares)


def predicted(
    moments: ClassMoments,
    ks: Sequence[int],
    epsilons: Sequence[float],
    *,
    n_private: int,
    delta: float = 1e-5,
) -> pd.DataFrame:
    """Columns epsilon, k, accuracy, lost_to_projection, lost_to_noise, in [0, 1]; the three add up
    to 1 in every row.

    epsilon may be math.inf. `lost_to_noise` is never negative.
    Raises SettingError: a k outside 1 … largest_k, an ε not above 0, n_private below 1.
    """
    if not n_private >= 1:
        raise SettingError(f"n_private must be at least 1; got {n_private!r}.")
    for k in ks:
        if not 1 <= k <= moments.largest_k:
            raise SettingError(
                f"k must be in [1, {moments.largest_k}], the rank of the basis; got {k!r}."
            )
    lines = []
    for epsilon in epsilons:
        if not epsilon > 0:
            raise SettingError(f"epsilon must be above 0; got {epsilon!r}.")
        mu_n = math.inf if math.isinf(epsilon) else mu_of(epsilon, delta) * n_private
        for k in ks:
            clean = _accuracy(moments, k, mu_n, with_noise=False)
            accuracy = (
                clean
                if math.isinf(mu_n)
                else min(_accuracy(moments, k, mu_n, with_noise=True), clean)
            )
            lines.append((float(epsilon), int(k), accuracy, 1 - clean, clean - accuracy))
    return pd.DataFrame(
        lines, columns=["epsilon", "k", "accuracy", "lost_to_projection", "lost_to_noise"]
    )


def best_k(table: pd.DataFrame, *, within: float = 0.01) -> pd.DataFrame:
    """The best k for each ε of a table with columns epsilon, k, accuracy (predicted, or measured
    runs): the smallest of equals.

    Columns epsilon, k, accuracy, low, high: from `low` to `high` lie the k around the best whose
    mean is at most `within` below it. On measured test accuracy this is a choice on test rows: a
    non-private diagnostic.
    """
    checks.within(within=(within, SHARE))
    runs = table.astype({"epsilon": float, "k": int}).groupby(["epsilon", "k"])["accuracy"]
    lines = []
    for epsilon, by_k in runs.agg(lambda values: sum(values) / len(values)).groupby("epsilon"):
        ks, means = by_k.index.get_level_values("k").tolist(), by_k.tolist()
        first = last = top = means.index(max(means))
        while first > 0 and means[first - 1] >= means[top] - within:
            first -= 1
        while last < len(ks) - 1 and means[last + 1] >= means[top] - within:
            last += 1
        lines.append((epsilon, ks[top], means[top], ks[first], ks[last]))
    return pd.DataFrame(lines, columns=["epsilon", "k", "accuracy", "low", "high"])


def _accuracy(moments: ClassMoments, k: int, mu_n: float, *, with_noise: bool) -> float:
    means, within = moments.means[:, :k], moments.within[:k]
    classes, radius = len(means), float(moments.second[:k].sum())
    path_length = min(mu_n, LONGEST_PATH_PER_CLASS * classes)
    noise = (radius / (mu_n * moments.shares) ** 2 if with_noise else np.zeros(classes))[:, None]
    weight = 1.0 / (within + SHRINKAGE * classes / path_length * radius)
    signal = 0.5 * _distances(means, weight)
    spread = _distances(means, weight**2 * within) + noise * _distances(means, weight**2)
    variance = spread + 2 * noise * float(weight**2 @ within) + noise**2 * float(weight @ weight)
    gap = np.divide(signal, np.sqrt(variance), out=np.zeros_like(signal), where=variance > 0)
    right = np.zeros(classes)
    for node, share in zip(NODES, WEIGHTS, strict=True):
        beats = ndtr(math.sqrt(2) * (gap + math.sqrt(0.5) * node))
        np.fill_diagonal(beats, 1.0)
        right += share * beats.prod(axis=1)
    return float(np.clip(moments.shares @ right, 0.0, 1.0))


def _distances(means: Array, weight: Array) -> Array:
    """(C, C) squared distances of class means, each coordinate weighted; by products, which take C²
    numbers in place of C²·k."""
    weighted = means * weight
    squares = np.einsum("ij,ij->i", weighted, means)
    return np.asarray(
        np.maximum(squares[:, None] + squares[None, :] - 2.0 * weighted @ means.T, 0.0)
    )
