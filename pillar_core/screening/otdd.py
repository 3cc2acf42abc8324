"""OTDD (Alvarez-Melis & Fusi 2020): optimal transport between labelled sets, with a distance between labels inside the cost.

Cost of a pair of rows: ½‖x − x′‖² + ½·BW²(label, label′), the squared Bures–Wasserstein distance of the labels' Gaussians
(covariances with n − 1). Up to `EXACT_ROWS` the transport is solved exactly (network simplex); above, with entropy (Cuturi
2013) that is lowered until the cost of the plan lies within `GAP` of the median cost above a lower bound: the dual value of the
plan's own potentials, one side replaced by its c-transform. Published values from a fixed, large entropy miss this by far. Both by POT.
"""

from typing import Annotated, Any

import numpy as np

from pillar_core.arrays import Array, Axes, Labels, Rows
from pillar_core.errors import DataError
from pillar_core.extras import needed

EXACT_ROWS = 500
"""Rows of each set up to which transport is exact: the time grows with their cube."""
ROWS = 4000
"""Rows of each set at most: the costs of all pairs are held in memory."""
GAP = 0.01
ENTROPIES = (0.02, 0.01, 0.005, 0.0025, 0.00125)
"""Strengths of the entropy that are tried in turn, as shares of the median cost."""
STEPS = 5000


def otdd(x: Rows, y: Labels, x_other: Annotated[Array, Axes("m d")], y_other: Annotated[Array, Axes("m")]) -> float:
    """The squared OTDD of (n, d) rows with labels (n,) and (n′, d) other rows; at least 0.

    Raises:
        DataError: a transport that does not come within `GAP` of its lower bound. MissingDependencyError: no POT.
    """
    cost = costs(x[:ROWS], y[:ROWS], x_other[:ROWS], y_other[:ROWS])
    return transported(cost) if max(cost.shape) <= EXACT_ROWS else converged(cost)[0]


def costs(x: Array, y: Array, x_other: Array, y_other: Array) -> Array:
    """(n, n′) float64 costs of the pairs of rows."""
    labels, other_labels = np.unique(y), np.unique(y_other)
    between = np.array([[bures_wasserstein(x[y == a], x_other[y_other == b]) for b in other_labels] for a in labels], dtype=np.float64)
    left, right = x.astype(np.float64), x_other.astype(np.float64)
    squares = (left**2).sum(1)[:, None] + (right**2).sum(1)[None] - 2 * left @ right.T
    return np.asarray(np.maximum(squares, 0.0) / 2 + between[np.searchsorted(labels, y)][:, np.searchsorted(other_labels, y_other)] / 2)


def transported(cost: Array) -> float:
    """The least mean cost of transport between rows of equal weight, exactly."""
    first, second = _weights(cost)
    return float(_pot().emd2(first, second, cost, numItermax=1_000_000))


def converged(cost: Array) -> tuple[float, float]:
    """(cost of an entropic plan, lower bound of the least cost), at most `GAP` of the median cost apart.

    Raises:
        DataError: not even at the smallest entropy.
    """
    first, second = _weights(cost)
    scale = float(np.median(cost))
    if not scale > 0:
        value = transported(cost)
        return value, value
    value, lower = np.inf, 0.0
    for share in ENTROPIES:
        strength = share * scale
        plan, log = _pot().sinkhorn(first, second, cost, strength, numItermax=STEPS, stopThr=1e-7, log=True, warn=False)
        with np.errstate(divide="ignore"):
            potential = strength * np.log(log["u"])
        if not np.isfinite(potential).all():
            break
        value = float((plan * cost).sum())
        opposite = (cost - potential[:, None]).min(axis=0)
        lower = max(lower, float((cost - opposite).min(axis=1) @ first + opposite @ second))
        if value - lower <= GAP * scale:
            return value, lower
    raise DataError(
        f"the entropic transport did not converge: cost {value:.4g}, lower bound {lower:.4g}. Lower n_examples to {EXACT_ROWS}: exact then."
    )


def bures_wasserstein(rows: Rows, others: Annotated[Array, Axes("m d")]) -> float:
    """‖m − m′‖² + tr(S + S′ − 2(S^½ S′ S^½)^½) of the rows' Gaussians; a class of one row has no spread.

    tr (S^½ S′ S^½)^½ is the sum of the singular values of X X′ᵀ for centred rows X, X′ scaled by 1/√(n − 1): no root is taken.
    """
    a, b = _scaled(rows), _scaled(others)
    shift = float(((rows.mean(0) - others.mean(0)) ** 2).sum())
    coupled = float(np.linalg.svd(a @ b.T, compute_uv=False).sum())
    return max(0.0, shift + float((a**2).sum()) + float((b**2).sum()) - 2 * coupled)


def _scaled(rows: Array) -> Array:
    centred = rows.astype(np.float64) - rows.mean(0, dtype=np.float64)
    return np.asarray(centred / np.sqrt(max(1, len(rows) - 1)))


def _weights(cost: Array) -> tuple[Array, Array]:
    """Equal weights of the rows of either side."""
    first, second = (np.full(size, 1.0 / size) for size in cost.shape)
    return first, second


def _pot() -> Any:
    with needed("otdd"):
        import ot
    return ot
