"""Noisy projected descent on halfspaces in the unit ball: one for two classes, one-versus-rest for
more, many heads at once.

A row of unit norm and target ±1 per problem has the gradient ℓ'(t⟨w, z⟩)·t·z in each; over all
problems together its norm is ‖(ℓ'_p)_p‖·‖z‖, so that one joint clip bounds what a row adds to all
of them.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Hashable, Sequence

import numpy as np

from pillar_core.arrays import Array
from pillar_core.deferred import torch
from pillar_core.engine.device import training_device
from pillar_core.engine.gradient import (
    clipped_residuals,
    exact_products,
    row_sum,
    squared_lengths,
    squared_residuals,
)
from pillar_core.engine.train import CHUNK_FLOATS, HeadPlan, per_head, rows_at_once
from pillar_core.grouping import grouped, slices
from pillar_core.ledger import Ledger
from pillar_core.mechanisms import GaussianMechanism, draw_batch
from pillar_core.rng import Stream
from pillar_core.threads import threads_for


@dataclasses.dataclass(frozen=True)
class Loss:
    """A loss of the margin m ∈ [−1, 1]. `slope` is ℓ'(m) / lipschitz; `spread` the range of values
    over the unit ball."""

    value: Callable[[torch.Tensor], torch.Tensor]
    slope: Callable[[torch.Tensor], torch.Tensor]
    lipschitz: float
    spread: float


def logistic() -> Loss:
    """log₂(1 + e^{−m}): between 0.452 and 1.895 on the unit ball, a range of 1/ln 2; (1/ln
    2)-Lipschitz."""
    scale = 1 / math.log(2)
    return Loss(
        lambda margins: scale * torch.nn.functional.softplus(-margins),
        lambda margins: -torch.sigmoid(-margins),
        scale,
        scale,
    )


def hinge(lipschitz: float) -> Loss:
    """max(0, 1 − L·m), L = `lipschitz`: at most 1 + L on the unit ball."""
    return Loss(
        lambda margins: (1 - lipschitz * margins).clamp(min=0.0),
        lambda margins: -(lipschitz * margins < 1).to(margins.dtype),
        lipschitz,
        1 + lipschitz,
    )


def ramp(margin: float) -> Loss:
    """min(2, max(0, 1 − m/margin)), the hinge that stops to rise at −margin (Collobert et al. 2006,
    s = −1)."""
    return Loss(
        lambda margins: (1 - margins / margin).clamp(min=0.0, max=2.0),
        lambda margins: -(margins.abs() < margin).to(margins.dtype),
        1 / margin,
        min(2.0, 1 + 1 / margin),
    )


@dataclasses.dataclass(frozen=True)
class HalfspaceHead:
    """A plan whose step t takes learning_rate/√t on the mean gradient in units of the loss's L, the
    streams that it draws from and the ledger that it charges. `group`: heads that share one Poisson
    sample."""

    plan: HeadPlan
    loss: Loss
    noise: Stream
    sampling: Stream
    ledger: Ledger
    group: Hashable


def problems(n_classes: int) -> int:
    """How many halfspaces tell C classes apart: 1 for two, C (one-versus-rest) for more."""
    return 1 if n_classes == 2 else n_classes


def targets(y: Array, n_classes: int) -> torch.Tensor:
    """(P, n) float32 in {−1, 1}: class 1 against 0, or each class against the rest. y: (n,)
    int64."""
    labels = torch.from_numpy(y)
    if n_classes == 2:
        return (2.0 * labels - 1.0)[None].float()
    return 2.0 * torch.nn.functional.one_hot(labels, n_classes).T.float().contiguous() - 1.0


def class_weights(halfspaces: Array) -> Array:
    """(k, C) weights of a linear classifier from halfspaces (P, k)."""
    both = np.stack([-halfspaces[0], halfspaces[0]]) if len(halfspaces) == 1 else halfspaces
    return np.ascontiguousarray(both.T.astype(np.float32))


def train_halfspaces(
    z: Array, y: Array, heads: Sequence[HalfspaceHead], *, n_classes: int
) -> list[torch.Tensor]:
    """(P, k) float32 weights in the unit ball of every head, in order. z: (n, k) float32 rows of
    norm at most 1; y: (n,) int64.

    Guarantee: per step and head one Gaussian release of a sum of rows' joint gradients clipped to
    l2_clip_norm (in units of the loss's Lipschitz constant), on a Poisson sample where the plan
    samples.
    """
    rows, signs = (
        torch.from_numpy(z).to(training_device()),
        targets(y, n_classes).to(training_device()),
    )
    results: dict[int, torch.Tensor] = {}
    samples = (None if head.plan.sampling_probability == 1 else head.group for head in heads)
    plans = ((head.plan.steps, head.plan.sampling_probability, id(head.loss)) for head in heads)
    for positions in grouped(zip(plans, samples, strict=True)):
        state = _train_group(rows, signs, [heads[p] for p in positions]).cpu()
        results.update(zip(positions, state, strict=True))
    return [results[position] for position in range(len(heads))]


def losses(z: Array, y: Array, weights: torch.Tensor, loss: Loss, *, n_classes: int) -> Array:
    """(M,) float64 Σ over rows of the mean loss over problems, of M candidates. weights: (M, P, k);
    z: (n, k); y: (n,)."""
    rows, signs = torch.from_numpy(z), targets(y, n_classes)
    flat = weights.reshape(-1, weights.shape[2])
    total = torch.zeros(len(weights), dtype=torch.float64)
    chunk = max(256, CHUNK_FLOATS // len(flat))
    for part in slices(len(rows), chunk):
        margins = (
            exact_products(flat, rows[part]).view(len(weights), weights.shape[1], -1)
            * signs[:, part]
        )
        total += loss.value(margins.clamp(-1.0, 1.0)).mean(1).sum(-1)
    return total.numpy()


def clipped_joint_sum(
    z: torch.Tensor,
    squared_rows: torch.Tensor,
    signs: torch.Tensor,
    weights: torch.Tensor,
    loss: Loss,
    clip: torch.Tensor,
) -> torch.Tensor:
    """Σ_i clip(joint gradient of row i) in units of L, (H, P, k) float64. signs: (P, n); weights:
    (H, P, k); clip: (H,).

    A slope may jump, and then the last bit of a margin decides all that a row adds: in float32 one
    row that left turned 3,000 equal ones.
    """
    heads, count, k = weights.shape
    margins = exact_products(weights.reshape(heads * count, k), z).view(heads, count, -1) * signs
    slopes = (loss.slope(margins) * signs).float()
    slopes, _ = clipped_residuals(slopes, squared_residuals(slopes, 1) * squared_rows, clip)
    return row_sum(slopes.view(heads * count, -1), z).view(heads, count, k)


def into_ball(weights: torch.Tensor) -> torch.Tensor:
    """Every halfspace (…, k) projected on the unit ball."""
    lengths: torch.Tensor = torch.linalg.vector_norm(weights, dim=-1, keepdim=True)
    return weights / lengths.clamp(min=1.0)


def _train_group(z: torch.Tensor, signs: torch.Tensor, heads: list[HalfspaceHead]) -> torch.Tensor:
    first, ledgers = heads[0].plan, [head.ledger for head in heads]
    squared_rows = squared_lengths(z)
    mechanisms = [
        GaussianMechanism(h.plan.noise_multiplier, h.plan.l2_clip_norm, h.noise, h.ledger)
        for h in heads
    ]
    rates = per_head([h.plan.learning_rate / h.plan.expected_rows for h in heads], z)
    clip = torch.tensor([h.plan.l2_clip_norm for h in heads], dtype=torch.float32, device=z.device)
    state = torch.zeros((len(heads), len(signs), z.shape[1]), device=z.device)
    with threads_for(2 * first.sampling_probability * z.numel() * len(heads) * len(signs)):
        for step in range(1, first.steps + 1):
            with draw_batch(
                first.sampling_probability, len(z), heads[0].sampling, ledgers
            ) as indices:
                rows = z, squared_rows, signs
                if first.sampling_probability < 1:
                    picked = torch.from_numpy(indices).to(z.device)
                    rows = z.index_select(0, picked), squared_rows[picked], signs[:, picked]
                total = _batch_sum(*rows, state, heads[0].loss, clip)
                released = torch.stack(
                    [mechanism.release(total[h]) for h, mechanism in enumerate(mechanisms)]
                ).float()
            state = into_ball(state - rates / math.sqrt(step) * released)
    return state


def _batch_sum(
    z: torch.Tensor,
    squared_rows: torch.Tensor,
    signs: torch.Tensor,
    state: torch.Tensor,
    loss: Loss,
    clip: torch.Tensor,
) -> torch.Tensor:
    total = torch.zeros_like(state, dtype=torch.float64)
    for part in slices(len(z), rows_at_once(state)):
        total += clipped_joint_sum(z[part], squared_rows[part], signs[:, part], state, loss, clip)
    return total
