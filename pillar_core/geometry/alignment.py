"""ξ_k: how much of a separator the first k directions miss. One product gives every k.

Source: PILLAR, Definition 3: ξ_k = 1 − ‖A_kA_kᵀw*‖₂/‖w*‖₂, w* of unit norm without its intercept; ‖AAᵀw‖ = ‖Aᵀw‖.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from pillar_core import checks
from pillar_core.arrays import Array
from pillar_core.geometry.bases import Basis
from pillar_core.geometry.separators import Separators
from pillar_core.params import K


def xi_of(weights: Array, vectors: Array) -> Array:
    """(P, r) ξ_1 … ξ_r of each of (P, d) weights in the prefixes of (d, r) orthonormal directions; in [0, 1], falling in k.

    A zero weight vector has ξ = 1.
    """
    weights, vectors = checks.arrays("pairs d, d r", weights=weights, vectors=vectors)
    held = np.cumsum(np.square(weights.astype(np.float64) @ vectors.astype(np.float64)), axis=1)
    total = np.square(weights.astype(np.float64)).sum(axis=1, keepdims=True)
    share = np.divide(held, total, out=np.zeros_like(held), where=total > 0)
    return np.asarray(1.0 - np.sqrt(np.clip(share, 0.0, 1.0)))


def xi_table(separators: Separators, basis: Basis, ks: Sequence[int], *, classes: Sequence[str]) -> pd.DataFrame:
    """Columns k, class_a, class_b, xi: one row per pair and k (each at most the basis' rank)."""
    checks.within(ks=(ks, K))
    values = xi_of(separators.weights, basis.vectors)
    names = separators.names(classes)
    columns = [(k, a, b, values[place, k - 1]) for k in ks for place, (a, b) in enumerate(names)]
    return pd.DataFrame(columns, columns=["k", "class_a", "class_b", "xi"])


def averaged(table: pd.DataFrame) -> pd.DataFrame:
    """Mean and extremes over pairs of an ξ table: columns k, mean, low, high, pairs."""
    grouped = table.groupby("k")["xi"].agg(mean="mean", low="min", high="max", pairs="size")
    return grouped.reset_index()
