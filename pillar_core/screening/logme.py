"""LogME (You et al., ICML 2021): the log evidence of the private labels under a linear model on features of the public rows.

The public rows give the features: the leading directions of their pixels (centred, uncorrelated), without any label. Private
rows are expressed in them, and for each private label the evidence of a Gaussian linear model y ~ N(Fw, β⁻¹), w ~ N(0, α⁻¹) is
maximised over α and β by fixed-point steps (MacKay 1992). Higher is better; here its negative, so that small is close.

LEEP (Nguyen et al. 2020): how well a classifier of the public labels predicts the private ones, label by label.

A ridge classifier on pixels learns the public labels z; on private rows its softmax θ(z|x) and their labels y give P(y|z); the
score is the mean log of Σ_z P(y|z) θ(z|x). Higher is better; here its negative, so that small is close as everywhere.
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
    pairs = zip(along.T, targets.T, strict=True)
    return float(np.mean([best_evidence(singular**2, squares, target.sum(), len(features)) for squares, target in pairs]))


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
        is_steady = abs(new_alpha / new_beta - alpha / beta) <= TOLERANCE * alpha / beta
        alpha, beta = new_alpha, new_beta
        if is_steady:
            break
    shrunk = alpha + beta * values
    weight = float((beta**2 * values * along / shrunk**2).sum())
    residual = float((alpha**2 * along / shrunk**2).sum()) + outside
    determinant = float(np.log(shrunk).sum())
    total = d * math.log(alpha) + n * math.log(beta) - beta * residual - alpha * weight - determinant - n * math.log(2 * math.pi)
    return total / (2 * n)


RIDGE = 1e-2
SHARPNESS = 4.0
"""Softmax inverse temperature of ±1 ridge scores."""


def negative_leep(x_public: Array, y_public: Array, x_private: Array, y_private: Array) -> float:
    """In [0, log C]: 0 where public predictions decide the private label. x: (n, d) float; y: (n,) codes."""
    x_public, y_public, x_private, y_private = checks.arrays(
        "n d, n, m d, m", x_public=x_public, y_public=y_public, x_private=x_private, y_private=y_private
    )
    shares = label_shares(x_public, y_public, x_private)
    labels, codes = np.unique(y_private, return_inverse=True)
    joint = np.stack([shares[codes == label].sum(axis=0) for label in range(len(labels))]) / len(shares)
    conditional = joint / np.maximum(joint.sum(axis=0), 1e-300)
    likelihood = (shares * conditional[codes]).sum(axis=1)
    return float(-np.log(np.maximum(likelihood, 1e-300)).mean())


def label_shares(x: Array, y: Array, x_new: Array) -> Array:
    """(n, Z) softmax of a ridge classifier trained on (x, y), on other rows."""
    mean, scale = x.mean(axis=0), np.maximum(x.std(axis=0), 1e-3)
    design = np.concatenate([(x - mean) / scale, np.ones((len(x), 1))], axis=1)
    labels = np.unique(y)
    targets = 2.0 * (y[:, None] == labels) - 1.0
    penalty = RIDGE * len(x) * np.eye(design.shape[1])
    weights = np.linalg.solve(design.T @ design + penalty, design.T @ targets)
    scores = SHARPNESS * (np.concatenate([(x_new - mean) / scale, np.ones((len(x_new), 1))], axis=1) @ weights)
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))
