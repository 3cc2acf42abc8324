"""Principal angles between subspaces, and the projection metric made of them.

Source: gsd, Definition 3 (Ham & Lee 2008; Edelman et al. 1998): d = (Σ sin²θ)^½ = (k − ‖V₁ᵀV₂‖²_F)^½ in [0, √k]; the paper's
tables are d/√k in [0, 1], here "normalised".
"""

import math

import numpy as np

from pillar_core.arrays import Array
from pillar_core.errors import DataError

SAME = 1e-12
"""Squared cosines this close to 1 count as 1: float64 bases of one subspace differ by about 1e-15, and sin² would show it."""


def cosines(first: Array, second: Array) -> Array:
    """(k,) float64 cosines of the principal angles, largest first, in [0, 1]. Arguments: (p, k) orthonormal bases.

    Raises:
        DataError: the bases have different shapes.
    """
    if first.shape != second.shape:
        raise DataError(f"two subspaces are compared in one space and dimension; got bases of shapes {first.shape} and {second.shape}.")
    product = np.asarray(first, dtype=np.float64).T @ np.asarray(second, dtype=np.float64)
    values: Array = np.clip(np.linalg.svd(product, compute_uv=False), 0.0, 1.0)
    values[values**2 > 1 - SAME] = 1.0
    return values


def projection_distance(first: Array, second: Array, *, normalised: bool = True) -> float:
    """The projection metric of two (p, k) orthonormal bases: in [0, 1], or in [0, √k] where not normalised. Equal spaces give 0."""
    values = cosines(first, second)
    sines = math.fsum(1.0 - value * value for value in values)
    return math.sqrt(sines / len(values) if normalised else sines)


def random_distance(k: int, dimension: int) -> float:
    """The normalised distance that two independent uniform k-subspaces of R^dimension show: √(1 − k/dimension) in root mean square."""
    return math.sqrt(max(0.0, 1.0 - k / dimension))
