"""Eigenvalues and what follows from them: shares of energy, tails and gaps, as one tidy table."""

import numpy as np
import pandas as pd

from pillar_core import checks
from pillar_core.arrays import Array
from pillar_core.errors import SettingError
from pillar_core.geometry.bases import Basis


def spectrum(basis: Basis) -> pd.DataFrame:
    """One row per direction: component, eigenvalue, share (of all energy), cumulative, tail Σ_{i>k} λ_i, gap Δ_k.

    Raises:
        SettingError: a basis without eigenvalues (random, dp_pca).
    """
    if basis.eigenvalues is None:
        raise SettingError(f"the basis {basis.kind} has no eigenvalues; choose public_pca, private_pca or identity.")
    return spectrum_of(basis.eigenvalues)


def spectrum_of(eigenvalues: Array) -> pd.DataFrame:
    """The same table from (r,) eigenvalues, falling and at least 0."""
    values = np.asarray(eigenvalues, dtype=np.float64)
    if values.ndim != 1 or not len(values) or not (values >= 0).all() or not values[0] > 0 or (np.diff(values) > 0).any():
        raise SettingError("eigenvalues must be at least 0 and falling, the first above 0.")
    total, running = values.sum(), np.cumsum(values)
    return pd.DataFrame(
        {
            "component": np.arange(1, len(values) + 1),
            "eigenvalue": values,
            "share": values / total,
            "cumulative": running / total,
            "tail": np.maximum(total - running, 0.0),
            "gap": values - np.append(values[1:], 0.0),
        }
    )


def projector_distance(a: Array, b: Array) -> float:
    """‖AAᵀ − BBᵀ‖_F of two (d, k) orthonormal bases, from cosines of their principal angles: √(2k − 2‖AᵀB‖²_F), at least 0."""
    a, b = checks.arrays("d k, d other", a=a, b=b)
    overlap = float(np.square(a.T.astype(np.float64) @ b.astype(np.float64)).sum())
    return float(np.sqrt(max(a.shape[1] + b.shape[1] - 2 * overlap, 0.0)))
