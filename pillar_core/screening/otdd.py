"""OTDD (Alvarez-Melis & Fusi 2020): optimal transport between labelled sets, with a distance between labels inside the cost.

Cost of a pair of rows: ½‖x − x′‖² + ½·BW²(label, label′), the squared Bures–Wasserstein distance of the labels' Gaussians
(covariances with n − 1). Equal numbers of rows make it an assignment problem, solved exactly; nothing is regularised.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

Array = np.ndarray[Any, Any]
ROWS = 500
"""Rows of each set at most: the assignment takes their cube."""


def otdd(x: Array, y: Array, x_other: Array, y_other: Array) -> float:
    """The squared OTDD of (n, d) rows with labels (n,) and as many other rows, by exact assignment; at least 0."""
    n = min(len(x), len(x_other))
    labels, other_labels = np.unique(y[:n]), np.unique(y_other[:n])
    between = np.array(
        [[bures_wasserstein(x[:n][y[:n] == a], x_other[:n][y_other[:n] == b]) for b in other_labels] for a in labels], dtype=np.float64
    )
    left, right = x[:n].astype(np.float64), x_other[:n].astype(np.float64)
    squares = (left**2).sum(1)[:, None] + (right**2).sum(1)[None] - 2 * left @ right.T
    cost = np.maximum(squares, 0.0) / 2 + between[np.searchsorted(labels, y[:n])][:, np.searchsorted(other_labels, y_other[:n])] / 2
    rows, columns = linear_sum_assignment(cost)
    return float(cost[rows, columns].mean())


def bures_wasserstein(rows: Array, others: Array) -> float:
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
