"""Gradients of labelled public rows, and clipped sums of private gradients that these change: less
a public one, or scaled entry by entry.

The squared norm of √D ∘ (r ⊗ z) is (r²)ᵀ D (z²): one matrix product for all rows. Its clipped sum
is √D ∘ Σ s_i r_i ⊗ z_i.
"""

from __future__ import annotations

from pillar_core.deferred import torch
from pillar_core.engine.gradient import (
    SMALLEST_NORMAL,
    UNIT,
    bounded_logits,
    clipped_residuals,
    cross_entropy_residuals,
    exact_products,
    row_sum,
    squared_lengths,
    squared_residuals,
)
from pillar_core.grouping import slices


def public_gradients(
    z: torch.Tensor, squared_rows: torch.Tensor, labels: torch.Tensor, state: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(norms (H, m), summed gradient (H, C, k), residuals (H, C, m)) of public rows z (m, k) at
    weights (H, C, k)."""
    heads, classes, k = state.shape
    residuals = cross_entropy_residuals(
        (state.reshape(heads * classes, k) @ z.T).view(heads, classes, -1), labels
    )
    norms = (residuals.square().sum(1) * squared_rows).sqrt_()
    return norms, (residuals.view(heads * classes, -1) @ z).view(heads, classes, k), residuals


def clipped_difference_sum(
    z: torch.Tensor,
    squared_rows: torch.Tensor,
    labels: torch.Tensor,
    weights: torch.Tensor,
    clip: torch.Tensor,
    reference: torch.Tensor,
) -> torch.Tensor:
    """Σ_i clip(g_i − reference) for every head, (H, C, k) float64.

    ‖r ⊗ z − G‖² = ‖r‖²‖z‖² − 2 rᵀGz + ‖G‖²: one more matrix product, no per-example gradient. With
    s = ‖r‖²‖z‖² + ‖G‖², float32 sums of k products and of C classes lose at most (k + C)·UNIT·s of
    2 rᵀGz (Cauchy–Schwarz), C·UNIT·s of ‖r‖², and single roundings a few: that is added, so no row
    exceeds its clip norm. A row whose norm is not finite contributes 0.
    """
    heads, classes, k = weights.shape
    logits = bounded_logits(z, squared_rows, weights)
    residuals = cross_entropy_residuals(logits, labels)
    inner = (
        exact_products(reference.reshape(heads * classes, k), z).float().view(heads, classes, -1)
    )
    size = (
        squared_residuals(residuals, 1) * squared_rows
        + reference.square().sum((1, 2), dtype=torch.float64).float()[:, None]
    )
    squared_norms = (size - 2 * (residuals * inner).sum(1)).clamp_(min=0.0) + (
        k + 2 * classes + 16
    ) * UNIT * size
    residuals, factors = clipped_residuals(residuals, squared_norms, clip)
    total = row_sum(residuals.view(heads * classes, -1), z).view(heads, classes, k)
    return total - factors.sum(1, dtype=torch.float64)[:, None, None] * reference


CHUNK_ROWS = 2048


def preconditioned_sum(
    z: torch.Tensor,
    labels: torch.Tensor,
    weights: torch.Tensor,
    root: torch.Tensor,
    *,
    l2_clip_norm: float,
) -> torch.Tensor:
    """(C, k) float64 sum over rows of √D ∘ gradient, each clipped to `l2_clip_norm` after the
    scaling.

    z: (n, k) float32; labels: (n,) int64; weights, root = √D: (C, k) float32. A row with a norm
    that is not finite adds 0.
    """
    total = torch.zeros_like(weights, dtype=torch.float64)
    squares = root.square()
    clip = torch.tensor([l2_clip_norm], dtype=torch.float32, device=z.device)
    for place in slices(len(z), CHUNK_ROWS):
        part = z[place].float()
        residuals = head_residuals(part, labels[place], weights)
        norms = preconditioned_norms(part, residuals, squares)
        clipped, _ = clipped_residuals(residuals[None], norms[None], clip, more_terms=z.shape[1])
        total += row_sum(clipped[0], part)
    return total * root


def preconditioned_norms(
    z: torch.Tensor, residuals: torch.Tensor, squares: torch.Tensor
) -> torch.Tensor:
    """(n,) squared norms Σ_cj r_c² D_cj z_j², not below them where squares underflow. residuals:
    (C, n); squares = D: (C, k)."""
    return (
        (residuals.square() + SMALLEST_NORMAL) * (squares @ (z.square() + SMALLEST_NORMAL).T)
    ).sum(0)


def head_residuals(z: torch.Tensor, labels: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """(C, n) softmax − onehot of one head without bias; rows longer than LONGEST_ROW count as that
    long."""
    return cross_entropy_residuals(bounded_logits(z, squared_lengths(z), weights[None]), labels)[0]


def gradient_second_moment(
    z: torch.Tensor, labels: torch.Tensor, weights: torch.Tensor, *, batch_size: int
) -> torch.Tensor:
    """(C, k) mean over minibatches (rows in order) of the squared mean gradient."""
    residuals = head_residuals(z, labels, weights)
    total = torch.zeros_like(weights)
    starts = range(0, len(z), batch_size)
    for start in starts:
        part = slice(start, start + batch_size)
        total += (residuals[:, part] @ z[part] / len(z[part])).square()
    return total / len(starts)


RANK_TOLERANCE = 1e-5


def gradient_subspace(public_sum: torch.Tensor, directions: torch.Tensor, k: int) -> torch.Tensor:
    """(d, k') float32 orthonormal basis, k' = k (fewer only where less is spanned).

    public_sum: (C, d) summed public gradient, whose rows add up to zero, so that it has at most C −
    1 right singular vectors; those come first, the rest is completed from `directions` (d, r), r ≥
    k.
    """
    gradient, (classes, d) = public_sum.double(), public_sum.shape
    values, vectors = torch.linalg.eigh(
        gradient @ gradient.T if classes <= d else gradient.T @ gradient
    )
    last = len(values) - 1
    top = torch.arange(last, last - min(k, classes - 1, d), -1, device=public_sum.device)
    keep = top[values[top] > RANK_TOLERANCE**2 * values[-1].clamp(min=1e-300)]
    basis = (
        gradient.T @ vectors[:, keep] / values[keep].sqrt() if classes <= d else vectors[:, keep]
    )
    missing = k - basis.shape[1]
    if missing:
        basis = torch.cat([basis, directions[:, :missing].double()], dim=1)
    orthonormal: torch.Tensor = torch.linalg.qr(basis)[0].float()
    return orthonormal
