"""One pass of projected stochastic gradient descent over public rows, one row a step, as theorems take it."""

import numpy as np

from pillar_core.arrays import Array


def one_pass(z: Array, y: Array, order: Array, *, n_classes: int, strong_convexity: float, radius: float) -> Array:
    """(k, C) float32 last iterate from zero with steps 2/(c(t + 1)), each projected on ‖W‖ ≤ radius.

    z: (m, k) float32; y: (m,) int64; order: (m,) the rows' order; strong_convexity: c > 0 of the population risk.
    """
    rows = z.astype(np.float64)
    weights = np.zeros((n_classes, z.shape[1]))
    for t, row in enumerate(order, start=1):
        logits = weights @ rows[row]
        residual = np.exp(logits - logits.max())
        residual /= residual.sum()
        residual[y[row]] -= 1.0
        weights -= 2.0 / (strong_convexity * (t + 1)) * np.outer(residual, rows[row])
        weights *= min(1.0, radius / max(float(np.linalg.norm(weights)), 1e-300))
    return np.ascontiguousarray(weights.T.astype(np.float32))
