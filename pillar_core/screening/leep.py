"""LEEP (Nguyen et al. 2020): how well a classifier of the public labels predicts the private ones, label by label.

A ridge classifier on pixels learns the public labels z; on private rows its softmax θ(z|x) and their labels y give P(y|z); the
score is the mean log of Σ_z P(y|z) θ(z|x). Higher is better; here its negative, so that small is close as everywhere.
"""

import numpy as np

from pillar_core import checks
from pillar_core.arrays import Array

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
