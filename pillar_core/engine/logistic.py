"""Penalised logistic regression on public rows: where the learners with labelled public data start from.

It sees public rows and released weights alone, so it costs nothing and its optimiser may be any.
"""

import numpy as np

from pillar_core.arrays import Array
from pillar_core.deferred import torch
from pillar_core.engine.gradient import cross_entropy_residuals
from pillar_core.threads import threads_for

CHUNK_ROWS = 1024
GRADIENT_TOLERANCE = 1e-8
"""Tight, so that the answer does not hang on the last digits of what it starts from."""
WIDE, FEW = 8192, 30
"""Features beyond which few rows, so many a class, are worked on in the space that they span: more are found slower than the head."""


def public_head(z: Array, y: Array, *, n_classes: int, weight_decay: float, steps: int = 200, towards: Array | None = None) -> Array:
    """(k, C) float32 weights W that minimise mean cross-entropy + weight_decay/2 · ‖W − towards‖², by L-BFGS in float64.

    z: (m, k) float32 public rows; y: (m,) int64; weight_decay at least 0; steps: most iterations; towards: (k, C) or None
    for the origin, where the search starts.
    """
    from scipy.optimize import minimize

    if len(z) < FEW * n_classes and WIDE < z.shape[1] > len(z):  # no step leaves the span of the rows
        span = np.linalg.qr(z.T.astype(np.float64))[0].astype(np.float32)
        inside = None if towards is None else span.T @ towards
        head = public_head(z @ span, y, n_classes=n_classes, weight_decay=weight_decay, steps=steps, towards=inside)
        return span @ head if towards is None else towards + span @ (head - inside)
    rows, labels = torch.from_numpy(z), torch.from_numpy(y)
    shape = (n_classes, z.shape[1])
    centre = torch.zeros(shape, dtype=torch.float64) if towards is None else torch.from_numpy(towards.T.astype(np.float64))

    def loss(flat: Array) -> tuple[float, Array]:
        away = torch.from_numpy(flat).view(shape) - centre
        value, gradient = _mean_loss(rows, labels, torch.from_numpy(flat).view(shape))
        gradient += weight_decay * away
        return value + 0.5 * weight_decay * float(away.square().sum()), gradient.view(-1).numpy()

    start = centre.contiguous().view(-1).numpy()
    with threads_for(2.0 * rows.numel() * n_classes):
        optimum = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": steps, "gtol": GRADIENT_TOLERANCE, "ftol": 0.0})
    return np.ascontiguousarray(optimum.x.reshape(shape).T.astype(np.float32))


def descended_head(z: Array, y: Array, *, n_classes: int, learning_rate: float, steps: int, weight_decay: float = 0.0) -> Array:
    """(k, C) float32 weights after full-batch gradient descent from zero on the mean cross-entropy of public rows z (m, k)."""
    rows, labels = torch.from_numpy(z), torch.from_numpy(y)
    weights = torch.zeros((n_classes, z.shape[1]))
    with threads_for(2.0 * rows.numel() * n_classes):
        for _ in range(steps):
            residuals = cross_entropy_residuals((weights @ rows.T)[None], labels)[0]
            weights = weights - learning_rate * (residuals @ rows / len(rows) + weight_decay * weights)
    return np.ascontiguousarray(weights.numpy().T)


def _mean_loss(rows: "torch.Tensor", labels: "torch.Tensor", weights: "torch.Tensor") -> "tuple[float, torch.Tensor]":
    """Mean cross-entropy and its gradient (C, k) in float64; rows (m, k) are widened chunk by chunk."""
    total, gradient = 0.0, torch.zeros_like(weights)
    for part, part_labels in zip(torch.split(rows, CHUNK_ROWS), torch.split(labels, CHUNK_ROWS), strict=True):
        wide = part.double()
        logits = weights @ wide.T
        total -= float(torch.log_softmax(logits, dim=0).gather(0, part_labels[None]).sum())
        gradient += cross_entropy_residuals(logits[None], part_labels)[0] @ wide
    return total / len(rows), gradient / len(rows)
