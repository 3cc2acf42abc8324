"""Gradients of labelled public rows, and clipped sums of how far private rows' gradients lie from a public one."""

from __future__ import annotations

from pillar_core.deferred import torch
from pillar_core.engine.gradient import (
    UNIT,
    bounded_logits,
    clipped_residuals,
    cross_entropy_residuals,
    exact_products,
    row_sum,
    squared_residuals,
)


def public_gradients(
    z: torch.Tensor, squared_rows: torch.Tensor, labels: torch.Tensor, state: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(norms (H, m), summed gradient (H, C, k), residuals (H, C, m)) of public rows z (m, k) at weights (H, C, k)."""
    heads, classes, k = state.shape
    residuals = cross_entropy_residuals((state.reshape(heads * classes, k) @ z.T).view(heads, classes, -1), labels)
    norms = (residuals.square().sum(1) * squared_rows).sqrt_()
    return norms, (residuals.view(heads * classes, -1) @ z).view(heads, classes, k), residuals


def clipped_difference_sum(
    z: torch.Tensor, squared_rows: torch.Tensor, labels: torch.Tensor, weights: torch.Tensor, clip: torch.Tensor, reference: torch.Tensor
) -> torch.Tensor:
    """Σ_i clip(g_i − reference) for every head, (H, C, k) float64.

    ‖r ⊗ z − G‖² = ‖r‖²‖z‖² − 2 rᵀGz + ‖G‖²: one more matrix product, no per-example gradient. With s = ‖r‖²‖z‖² + ‖G‖², float32
    sums of k products and of C classes lose at most (k + C)·UNIT·s of 2 rᵀGz (Cauchy–Schwarz), C·UNIT·s of ‖r‖², and single
    roundings a few: that is added, so no row exceeds its clip norm. A row whose norm is not finite contributes 0.
    """
    heads, classes, k = weights.shape
    logits = bounded_logits(z, squared_rows, weights)
    residuals = cross_entropy_residuals(logits, labels)
    inner = exact_products(reference.reshape(heads * classes, k), z).float().view(heads, classes, -1)
    size = squared_residuals(residuals, 1) * squared_rows + reference.square().sum((1, 2), dtype=torch.float64).float()[:, None]
    squared_norms = (size - 2 * (residuals * inner).sum(1)).clamp_(min=0.0) + (k + 2 * classes + 16) * UNIT * size
    residuals, factors = clipped_residuals(residuals, squared_norms, clip)
    total = row_sum(residuals.view(heads * classes, -1), z).view(heads, classes, k)
    return total - factors.sum(1, dtype=torch.float64)[:, None, None] * reference


RANK_TOLERANCE = 1e-5


def gradient_subspace(public_sum: torch.Tensor, directions: torch.Tensor, k: int) -> torch.Tensor:
    """(d, k') float32 orthonormal basis, k' = k (fewer only where less is spanned).

    public_sum: (C, d) summed public gradient, whose rows add up to zero, so that it has at most C − 1 right singular
    vectors; those come first, the rest is completed from `directions` (d, r), r ≥ k.
    """
    gradient, (classes, d) = public_sum.double(), public_sum.shape
    values, vectors = torch.linalg.eigh(gradient @ gradient.T if classes <= d else gradient.T @ gradient)
    last = len(values) - 1
    top = torch.arange(last, last - min(k, classes - 1, d), -1, device=public_sum.device)
    keep = top[values[top] > RANK_TOLERANCE**2 * values[-1].clamp(min=1e-300)]
    basis = gradient.T @ vectors[:, keep] / values[keep].sqrt() if classes <= d else vectors[:, keep]
    missing = k - basis.shape[1]
    if missing:
        basis = torch.cat([basis, directions[:, :missing].double()], dim=1)
    orthonormal: torch.Tensor = torch.linalg.qr(basis)[0].float()
    return orthonormal
