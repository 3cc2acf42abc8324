"""The top-k directions of a few anchor gradients, as combinations of them.

With G (m, p) the anchors and G Gᵀ = U Λ Uᵀ, the columns of V = Gᵀ A, A = U_k Λ_k^(−1/2), are orthonormal and span the top k
right singular directions of G. For a linear head g_i = r_i ⊗ z_i, so (G Gᵀ)_ij = (r_i·r_j)(z_i·z_j): p never appears.
"""

import numpy as np

from pillar_core.arrays import Array
from pillar_core.deferred import torch

RANK_TOLERANCE = 1e-6
"""Directions whose eigenvalue is below this fraction of the largest are dropped: float32 gradients do not resolve them."""


def rank_one_gram(residuals: "torch.Tensor", row_products: Array) -> Array:
    """(m, m) float64 inner products of the gradients r_i ⊗ z_i. residuals: (C, m); row_products: (m, m) float64 z_i·z_j."""
    wide = residuals.double().numpy()
    return np.asarray((wide.T @ wide) * row_products)


def anchor_coefficients(gram: Array, k: int) -> Array:
    """A (m, k) float64 with V = Gᵀ A orthonormal, most important first; columns past the rank are 0.

    gram: (m, m) float64, the anchors' inner products; k at most m.
    """
    from scipy.linalg import eigh

    m = len(gram)
    values, vectors = eigh(gram, subset_by_index=[m - k, m - 1], check_finite=False)
    values, vectors = values[::-1], vectors[:, ::-1]
    keep = values > RANK_TOLERANCE * max(float(values[0]), np.finfo(np.float64).tiny)
    scale = np.divide(1.0, np.sqrt(np.maximum(values, 0.0)), out=np.zeros_like(values), where=keep)
    return np.asarray(vectors * scale)
