"""LogME (You et al., ICML 2021): the log evidence of the private labels under a linear model on features of the public rows.

The public rows give the features: the leading directions of their pixels (centred, uncorrelated), without any label. Private
rows are expressed in them, and for each private label the evidence of a Gaussian linear model y ~ N(Fw, β⁻¹), w ~ N(0, α⁻¹) is
maximised over α and β by fixed-point steps (MacKay 1992). Higher is better; here its negative, so that small is close.
"""

import math

import numpy as np

from pillar_core import checks
from pillar_core.arrays import Array

DIRECTIONS = 32
"""Leading public directions that serve as features."""
STEPS = 50
TOLERANCE = 1e-4
SMALLEST = 1e-12


def negative_logme(x_public: Array, x_private: Array, y_private: Array) -> float:
    """The negative mean evidence a row and a label. x: (n, d) float; y_private: (n,) codes."""
    x_public, x_private, y_private = checks.arrays("m d, n d, n", x_public=x_public, x_private=x_private, y_private=y_private)
    mean = x_public.mean(axis=0)
    count = min(DIRECTIONS, *x_public.shape)
    directions = np.linalg.svd(x_public - mean, full_matrices=False)[2][:count].T
    return -evidence((x_private - mean) @ directions, y_private)


def evidence(features: Array, labels: Array) -> float:
    """LogME of features (n, d) and labels (n,): the largest log evidence a row, mean over one-versus-rest targets."""
    left, singular, _ = np.linalg.svd(np.asarray(features, dtype=np.float64), full_matrices=False)
    targets = (np.asarray(labels)[:, None] == np.unique(labels)).astype(np.float64)
    along = np.square(left.T @ targets)
    found = [best_evidence(singular**2, one, target.sum(), len(features)) for one, target in zip(along.T, targets.T, strict=True)]
    return float(np.mean(found))


def best_evidence(values: Array, along: Array, square: float, n: int) -> float:
    """Of one target y: ½(d ln α + n ln β − β‖Fm − y‖² − α‖m‖² − ln det(αI + βFᵀF) − n ln 2π)/n at the best α, β.

    values: (d,) eigenvalues of FᵀF above 0; along: (d,) squares of y along the matching left singular vectors; square: yᵀy; n: rows.
    """
    d, outside = len(values), max(square - float(along.sum()), 0.0)
    alpha = beta = 1.0
    for _ in range(STEPS):
        shrunk = alpha + beta * values
        effective = float((beta * values / shrunk).sum())
        weight = float((beta**2 * values * along / shrunk**2).sum())
        residual = float((alpha**2 * along / shrunk**2).sum()) + outside
        new_alpha = effective / max(weight, SMALLEST)
        new_beta = (n - effective) / max(residual, SMALLEST)
        done = abs(new_alpha / new_beta - alpha / beta) <= TOLERANCE * alpha / beta
        alpha, beta = new_alpha, new_beta
        if done:
            break
    shrunk = alpha + beta * values
    weight = float((beta**2 * values * along / shrunk**2).sum())
    residual = float((alpha**2 * along / shrunk**2).sum()) + outside
    determinant = float(np.log(shrunk).sum())
    total = d * math.log(alpha) + n * math.log(beta) - beta * residual - alpha * weight - determinant - n * math.log(2 * math.pi)
    return total / (2 * n)
