"""The subspace in which released gradients are kept: the public gradient's own directions first, then public features'."""

from pillar_core.deferred import torch

RANK_TOLERANCE = 1e-5


def gradient_subspace(public_sum: "torch.Tensor", directions: "torch.Tensor", k: int) -> "torch.Tensor":
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
