"""The subspace in which released gradients are kept: the public gradient's own directions first, then public features'."""

from pillar_core.deferred import torch

RANK_TOLERANCE = 1e-5


def gradient_subspace(public_sum: "torch.Tensor", directions: "torch.Tensor", k: int) -> "torch.Tensor":
    """(d, k') float32 orthonormal basis, k' = k (fewer only where less is spanned).

    public_sum: (C, d) summed public gradient, whose rows add up to zero, so that it has at most C − 1 right singular
    vectors; those come first, the rest is completed from `directions` (d, r), r ≥ k.
    """
    classes = public_sum.shape[0]
    gradient = public_sum.double()
    values, left = torch.linalg.eigh(gradient @ gradient.T)
    n_top = min(k, classes - 1)
    top = torch.arange(classes - 1, classes - 1 - n_top, -1, device=public_sum.device)
    keep = top[values[top] > RANK_TOLERANCE**2 * values[-1].clamp(min=1e-300)]
    basis = gradient.T @ left[:, keep] / values[keep].sqrt()
    missing = k - basis.shape[1]
    if missing:
        basis = torch.cat([basis, directions[:, :missing].double()], dim=1)
    orthonormal: torch.Tensor = torch.linalg.qr(basis)[0].float()
    return orthonormal
