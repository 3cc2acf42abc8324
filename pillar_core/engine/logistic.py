"""Heads of public rows and noisy votes: penalised logistic regression, which sees public rows and
released weights alone, so that it costs nothing; and ridge regression in closed form, for students
with a penalty chosen by the data and many small teachers at once.
"""

from collections.abc import Callable

import numpy as np

from pillar_core.arrays import Array
from pillar_core.deferred import torch
from pillar_core.engine.gradient import cross_entropy_residuals
from pillar_core.threads import threads_for

CHUNK_ROWS = 1024
GRADIENT_TOLERANCE = 1e-8
"""Tight, so that the answer does not hang on the last digits of what it starts from."""
WIDE, FEW = 8192, 30
"""Features beyond which few rows, so many a class, are worked on in the space that they span: more
are found slower than the head."""


def public_head(
    z: Array,
    y: Array,
    *,
    n_classes: int,
    weight_decay: float,
    steps: int = 200,
    towards: Array | None = None,
) -> Array:
    """(k, C) float32 weights W that minimise mean cross-entropy + weight_decay/2 · ‖W − towards‖²,
    by L-BFGS in float64.

    z: (m, k) float32 public rows; y: (m,) int64; weight_decay at least 0; steps: most iterations;
    towards: (k, C) or None for the origin, where the search starts.
    """
    from scipy.optimize import minimize

    if len(z) < FEW * n_classes and WIDE < z.shape[1] > len(
        z
    ):  # no step leaves the span of the rows
        span = np.linalg.qr(z.T.astype(np.float64))[0].astype(np.float32)
        inside = None if towards is None else span.T @ towards
        head = public_head(
            z @ span, y, n_classes=n_classes, weight_decay=weight_decay, steps=steps, towards=inside
        )
        return span @ head if towards is None else towards + span @ (head - inside)
    rows, labels = torch.from_numpy(z), torch.from_numpy(y)
    rows = (
        rows.double() if len(z) <= CHUNK_ROWS else rows
    )  # once, where one chunk holds all, and not at each look
    shape = (n_classes, z.shape[1])
    centre = (
        torch.zeros(shape, dtype=torch.float64)
        if towards is None
        else torch.from_numpy(towards.T.astype(np.float64))
    )

    def loss(flat: Array) -> tuple[float, Array]:
        weights = torch.from_numpy(flat).view(shape)
        away = weights - centre
        value, gradient = _mean_loss(rows, labels, weights)
        gradient += weight_decay * away
        return value + 0.5 * weight_decay * float(away.square().sum()), gradient.view(-1).numpy()

    start = centre.contiguous().view(-1).numpy()
    with threads_for(2.0 * rows.numel() * n_classes):
        optimum = minimize(
            loss,
            start,
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": steps, "gtol": GRADIENT_TOLERANCE, "ftol": 0.0},
        )
    return np.ascontiguousarray(optimum.x.reshape(shape).T.astype(np.float32))


def fitted_intercept(scores: Array, labels: Array, *, is_even: bool) -> Array:
    """(C,) float32 to add to a head's scores: `is_even`, so that each class of public rows counts
    alike, however many rows it has; else so that each row does.

    scores: (m, C) of labelled public rows; labels: (m,) int64. With a factor a of the scores, it
    minimises the mean cross-entropy at a·scores + b, over classes of their means where they are
    even, the penalty that of one more row at a = 1 and b = 0; b/a comes back.
    """
    from scipy.optimize import minimize
    from scipy.special import log_softmax

    centred = scores.astype(np.float64) - scores.mean(axis=1, dtype=np.float64, keepdims=True)
    spread = float(centred.std()) or 1.0
    centred /= spread
    sizes, places = np.bincount(labels, minlength=scores.shape[1]), np.arange(len(labels))
    weights = 1.0 / (
        np.count_nonzero(sizes) * sizes[labels] if is_even else len(labels) + 0 * labels
    )

    def loss(point: Array) -> tuple[float, Array]:
        scaled = np.exp(point[0]) * centred
        chances = log_softmax(scaled + point[1:], axis=1)
        value = 0.5 / len(labels) * float(point @ point) - float(weights @ chances[places, labels])
        residuals = np.exp(chances)
        residuals[places, labels] -= 1.0
        residuals *= weights[:, None]
        slope = np.r_[(residuals * scaled).sum(), residuals.sum(axis=0)]
        return value, slope + point / len(labels)

    start, most = np.zeros(1 + scores.shape[1]), {"maxiter": 50}
    point = minimize(loss, start, jac=True, method="L-BFGS-B", options=most).x
    return np.asarray(point[1:] / np.exp(point[0]) * spread, dtype=np.float32)


def descended_head(
    z: Array,
    y: Array,
    *,
    n_classes: int,
    learning_rate: float,
    steps: int,
    weight_decay: float = 0.0,
) -> Array:
    """(k, C) float32 weights after full-batch gradient descent from zero on the mean cross-entropy
    of public rows z (m, k)."""
    rows, labels = torch.from_numpy(z), torch.from_numpy(y)
    weights = torch.zeros((n_classes, z.shape[1]))
    with threads_for(2.0 * rows.numel() * n_classes):
        for _ in range(steps):
            residuals = cross_entropy_residuals((weights @ rows.T)[None], labels)[0]
            weights = weights - learning_rate * (
                residuals @ rows / len(rows) + weight_decay * weights
            )
    return np.ascontiguousarray(weights.numpy().T)


def _mean_loss(
    rows: "torch.Tensor", labels: "torch.Tensor", weights: "torch.Tensor"
) -> "tuple[float, torch.Tensor]":
    """Mean cross-entropy and its gradient (C, k) in float64; rows (m, k) are widened chunk by
    chunk."""
    total, gradient = 0.0, torch.zeros_like(weights)
    for part, part_labels in zip(
        torch.split(rows, CHUNK_ROWS), torch.split(labels, CHUNK_ROWS), strict=True
    ):
        wide = part.double()
        logits = weights @ wide.T
        total -= float(torch.log_softmax(logits, dim=0).gather(0, part_labels[None]).sum())
        gradient += cross_entropy_residuals(logits[None], part_labels)[0] @ wide
    return total / len(rows), gradient / len(rows)


PENALTIES = np.logspace(-4, 4, 41)
"""Tried by `cross_validated_ridge`, in units of the mean squared singular value."""

RANK_TOLERANCE = 1e-6


def cross_validated_ridge(z: Array, targets: Array) -> tuple[Array, Array]:
    """(weights (k, C), bias (C,)) float32 of the ridge regression with the least generalised
    cross-validation score.

    min Σ‖Wᵀz + b − t‖² + λ‖W‖², b free; GCV(λ) = Σ residual² / (m − 1 − tr H_λ)² (Golub, Heath &
    Wahba 1979). z: (m, k), targets: (m, C). With one row, or rows that are all equal, the weights
    are 0.
    """

    def shrinkage(values: Array, coordinates: Array, centred: Array) -> Array:
        squares = values**2
        if len(centred) < 2 or not squares.max(initial=0.0) > 0:
            return np.zeros_like(values)
        outside = float((centred**2).sum() - (coordinates**2).sum())
        shares = squares / (squares + (PENALTIES * squares.mean())[:, None])
        misfit = ((1.0 - shares) ** 2) @ (coordinates**2).sum(axis=1) + max(outside, 0.0)
        freedom = np.maximum(len(centred) - 1.0 - shares.sum(axis=1), 1e-9)
        return np.asarray(shares[np.argmin(misfit / freedom**2)])

    return _shrunk(z, targets, shrinkage)


def shrunk_regression(z: Array, targets: Array, *, noise_std: float) -> tuple[Array, Array]:
    """(weights (k, C), bias (C,)) float32 of least squares whose coordinates are shrunk by their
    known share of noise.

    In the rows' singular directions, targets (m, C) have coordinates with noise variance noise_std²
    each; direction j is kept by max(0, 1 − noise_std²/mean_c coordinate_jc²) (James & Stein 1961).
    z: (m, k).
    """

    def shrinkage(values: Array, coordinates: Array, _: Array) -> Array:
        power = (coordinates**2).mean(axis=1)
        noise = np.divide(noise_std**2, power, out=np.full_like(power, np.inf), where=power > 0)
        return np.where(
            values > RANK_TOLERANCE * values.max(initial=0.0), np.maximum(0.0, 1.0 - noise), 0.0
        )

    return _shrunk(z, targets, shrinkage)


def _shrunk(
    z: Array, targets: Array, shrinkage: Callable[[Array, Array, Array], Array]
) -> tuple[Array, Array]:
    """(weights, bias) of least squares whose coordinates in the rows' singular directions are
    multiplied by `shrinkage(singular values, coordinates, centred targets)`."""
    rows, wanted = np.asarray(z, dtype=np.float64), np.asarray(targets, dtype=np.float64)
    middle, level = rows.mean(axis=0), wanted.mean(axis=0)
    left, values, right = np.linalg.svd(rows - middle, full_matrices=False)
    coordinates = left.T @ (wanted - level)
    shares = shrinkage(values, coordinates, wanted - level)
    scale = np.divide(shares, values, out=np.zeros_like(values), where=values > 0)
    weights = right.T @ (scale[:, None] * coordinates)
    return weights.astype(np.float32), (level - middle @ weights).astype(np.float32)


def grouped_ridge(
    z: Array, y: Array, group: Array, *, n_groups: int, n_classes: int, penalty: float
) -> tuple[Array, Array]:
    """(weights (G, k, C), bias (G, C)) float64: for each group of rows, ridge regression of one-hot
    labels, the bias free.

    z: (n, k) float32; y, group: (n,) int64; penalty: on ‖W‖². An empty group has zero weights.

    A group's answer hangs on its own rows alone, to the last bit, where products of rows are exact
    (of whole multiples of one number): so are their sums then, and elimination takes single
    operations, of all groups at once. No pivots: the matrices are positive definite.
    """
    k = z.shape[1]
    order = np.argsort(group, kind="stable")
    stops = np.cumsum(np.bincount(group, minlength=n_groups))
    system = np.zeros((n_groups, k + 1, k + 1 + n_classes))
    for g in range(n_groups):
        members = order[(stops[g - 1] if g else 0) : stops[g]]
        rows = np.column_stack([z[members].astype(np.float64), np.ones(len(members))])
        system[g] = rows.T @ np.column_stack([rows, np.eye(n_classes)[y[members]]])
    system[:, :k, :k] += penalty * np.eye(k)
    system[:, k, k] = np.maximum(system[:, k, k], 1.0)
    for j in range(k + 1):
        system[:, j, j:] /= system[:, j, j].copy()[:, None]
        factors = system[:, :, j].copy()
        factors[:, j] = 0.0
        system[:, :, j:] -= factors[:, :, None] * system[:, j, None, j:]
    return system[:, :k, k + 1 :], system[:, k, k + 1 :]
