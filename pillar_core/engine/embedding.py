"""Gradient embedding of linear heads: each row's gradient split on a basis of anchor gradients, both parts clipped and summed.

A row's gradient is r ⊗ z and a basis vector a combination Σ_l A_lj r_l ⊗ z_l of m anchors, so the embedding of a row is
c = Aᵀ[(r_l·r)(z_l·z)]_l and its residual has squared norm ‖r‖²‖z‖² − ‖c‖²: an n × m product, never n × (d·C). That difference must not be
below the true one, and A has entries up to 1e3 times those of a well-conditioned basis: all of it is float64. (In float32 a row that lies
almost wholly in the basis left with twice the clip norm.)
"""

from __future__ import annotations

import dataclasses

from pillar_core.deferred import torch
from pillar_core.engine.gradient import clip_factors, row_sum, squared_residuals
from pillar_core.engine.mixed import head_residuals

CHUNK_ROWS = 2048
RESIDUAL_MARGIN = 1e-6
"""Added to a residual's squared norm, as a share of the gradient's, before clipping: the rows' squared norms are float32 (6e-8), an
embedding is off by 1e-9 of the gradient's norm, V is orthonormal to 1e-7 or so."""


@dataclasses.dataclass(frozen=True)
class AnchorBasis:
    """V = Σ_l A_l r_l ⊗ z_l. residuals: (C, m); z: (m, d); float32; coefficients A: (m, k) float64."""

    residuals: torch.Tensor
    z: torch.Tensor
    coefficients: torch.Tensor

    def expand(self, embedding: torch.Tensor) -> torch.Tensor:
        """(C, d) Σ_j V_j e_j for an embedding (k,), float64."""
        return (self.residuals.double() * (self.coefficients @ embedding)) @ self.z.double()


def embedded_sums(
    z: torch.Tensor,
    squared_rows: torch.Tensor,
    products: torch.Tensor,
    labels: torch.Tensor,
    weights: torch.Tensor,
    basis: AnchorBasis,
    *,
    embedding_clip: float,
    residual_clip: float,
) -> tuple[torch.Tensor, torch.Tensor]:
    """(Σ clip(c_i), Σ clip(g_i − V c_i)): (k,) and (C, d) float64; the residual is that of the unclipped embedding.

    z: (n, d) float32; squared_rows: (n,) its rows' squared norms; products: (n, m) float64, z · basis.zᵀ; labels: (n,) int64;
    weights: (C, d). A row with a norm that is not finite adds 0.
    """
    clips = torch.tensor([embedding_clip, residual_clip], dtype=torch.float64, device=z.device)
    embedding = torch.zeros(basis.coefficients.shape[1], dtype=torch.float64, device=z.device)
    unclipped, total = torch.zeros_like(embedding), torch.zeros_like(weights, dtype=torch.float64)
    for start in range(0, len(z), CHUNK_ROWS):
        part = slice(start, start + CHUNK_ROWS)
        residuals = head_residuals(z[part], labels[part], weights)
        wide = residuals.double()
        rows = ((wide.T @ basis.residuals.double()).mul_(products[part])) @ basis.coefficients
        squared_norms = squared_residuals(wide, 0) * squared_rows[part]
        inner, outer = part_factors(rows, squared_norms, clips)
        finite = (inner > 0) & (outer > 0)
        rows, wide = torch.where(finite[:, None], rows, 0.0), torch.where(finite, wide, 0.0)
        inner, outer = (torch.where(finite, factors, 0.0) for factors in (inner, outer))
        embedding += inner @ rows
        unclipped += outer @ rows
        total += row_sum(wide * outer, z[part])
    return embedding, total - basis.expand(unclipped)


def part_factors(rows: torch.Tensor, squared_norms: torch.Tensor, clips: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Clip factors (n,) of embeddings and of residuals, float64. rows: (n, k) embeddings; squared_norms: (n,) of gradients; clips: (2,)."""
    inside = rows.square().sum(1)
    outside = (squared_norms - inside).clamp_(min=0) + RESIDUAL_MARGIN * squared_norms
    inner, outer = clip_factors(torch.stack([inside, outside]), clips, terms=rows.shape[1])
    return inner, outer
