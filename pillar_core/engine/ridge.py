"""Ridge regression in closed form: students of noisy votes with a penalty chosen by the data, and many small teachers at once."""

import numpy as np

from pillar_core.arrays import Array

PENALTIES = np.logspace(-4, 4, 41)
"""Tried by `cross_validated_ridge`, in units of the mean squared singular value."""

RANK_TOLERANCE = 1e-6


def cross_validated_ridge(z: Array, targets: Array) -> tuple[Array, Array]:
    """(weights (k, C), bias (C,)) float32 of the ridge regression with the least generalised cross-validation score.

    min Σ‖Wᵀz + b − t‖² + λ‖W‖², b free; GCV(λ) = Σ residual² / (m − 1 − tr H_λ)² (Golub, Heath & Wahba 1979).
    z: (m, k), targets: (m, C). With one row, or rows that are all equal, the weights are 0.
    """
    rows, wanted = np.asarray(z, dtype=np.float64), np.asarray(targets, dtype=np.float64)
    middle, level = rows.mean(axis=0), wanted.mean(axis=0)
    left, values, right = np.linalg.svd(rows - middle, full_matrices=False)
    squares = values**2
    if len(rows) < 2 or not squares.max(initial=0.0) > 0:
        return np.zeros((rows.shape[1], wanted.shape[1]), dtype=np.float32), level.astype(np.float32)
    coordinates = left.T @ (wanted - level)
    outside = float(((wanted - level) ** 2).sum() - (coordinates**2).sum())
    shrinkage = squares / (squares + (PENALTIES * squares.mean())[:, None])
    misfit = ((1.0 - shrinkage) ** 2) @ (coordinates**2).sum(axis=1) + max(outside, 0.0)
    freedom = np.maximum(len(rows) - 1.0 - shrinkage.sum(axis=1), 1e-9)
    best = int(np.argmin(misfit / freedom**2))
    scale = np.divide(shrinkage[best], values, out=np.zeros_like(values), where=values > 0)
    weights = right.T @ (scale[:, None] * coordinates)
    return weights.astype(np.float32), (level - middle @ weights).astype(np.float32)


def shrunk_regression(z: Array, targets: Array, *, noise_std: float) -> tuple[Array, Array]:
    """(weights (k, C), bias (C,)) float32 of least squares whose coordinates are shrunk by their known share of noise.

    In the rows' singular directions, targets (m, C) have coordinates with noise variance noise_std² each; direction j is
    kept by max(0, 1 − noise_std²/mean_c coordinate_jc²) (James & Stein 1961). z: (m, k).
    """
    rows, wanted = np.asarray(z, dtype=np.float64), np.asarray(targets, dtype=np.float64)
    middle, level = rows.mean(axis=0), wanted.mean(axis=0)
    left, values, right = np.linalg.svd(rows - middle, full_matrices=False)
    coordinates = left.T @ (wanted - level)
    power = (coordinates**2).mean(axis=1)
    shrinkage = np.maximum(0.0, 1.0 - np.divide(noise_std**2, power, out=np.full_like(power, np.inf), where=power > 0))
    shrinkage[values <= RANK_TOLERANCE * values.max(initial=0.0)] = 0.0
    scale = np.divide(shrinkage, values, out=np.zeros_like(values), where=shrinkage > 0)
    weights = right.T @ (scale[:, None] * coordinates)
    return weights.astype(np.float32), (level - middle @ weights).astype(np.float32)


def grouped_ridge(z: Array, y: Array, group: Array, *, n_groups: int, n_classes: int, penalty: float) -> tuple[Array, Array]:
    """(weights (G, k, C), bias (G, C)) float64: for each group of rows, ridge regression of one-hot labels, the bias free.

    z: (n, k) float32; y, group: (n,) int64; penalty: on ‖W‖². An empty group has zero weights.
    """
    k = z.shape[1]
    order = np.argsort(group, kind="stable")
    stops = np.cumsum(np.bincount(group, minlength=n_groups))
    grams, cross = np.empty((n_groups, k, k)), np.zeros((n_groups, k, n_classes))
    middles, levels = np.zeros((n_groups, k)), np.zeros((n_groups, n_classes))
    for one in range(n_groups):
        members = order[(stops[one - 1] if one else 0) : stops[one]]
        rows, targets = z[members].astype(np.float64), np.eye(n_classes)[y[members]]
        if len(members):
            middles[one], levels[one] = rows.mean(axis=0), targets.mean(axis=0)
        rows -= middles[one]
        grams[one] = rows.T @ rows + penalty * np.eye(k)
        cross[one] = rows.T @ (targets - levels[one])
    weights: Array = np.linalg.solve(grams, cross)
    return weights, levels - np.einsum("gk,gkc->gc", middles, weights)
