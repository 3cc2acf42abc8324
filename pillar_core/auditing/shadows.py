"""Shadow heads: many noisy linear heads, each on its own subset of one pool of rows, trained in one batched call."""

from __future__ import annotations

import numpy as np

from pillar_core.arrays import Array
from pillar_core.auditing.trajectory import HeadRows
from pillar_core.deferred import torch
from pillar_core.engine import HeadPlan
from pillar_core.engine.gradient import clip_factors, cross_entropy_residuals
from pillar_core.ledger import Ledger
from pillar_core.mechanisms import GaussianMechanism
from pillar_core.rng import Stream
from pillar_core.threads import threads_for


def train_shadows(rows: HeadRows, included: Array, plan: HeadPlan, *, n_classes: int, stream: Stream) -> torch.Tensor:
    """(H, C, k + bias) float32 heads by full-batch noisy descent, head h on the rows where `included`[h] is True.

    included: (H, n) bool. All heads take the same steps; each has its own noise, drawn by the library's mechanism.
    """
    mask = torch.from_numpy(np.ascontiguousarray(included))
    z = _with_bias(rows.z) if plan.bias else rows.z
    squared = torch.linalg.vector_norm(z, dim=1).square()
    clip = torch.full((len(mask),), plan.l2_clip_norm)
    mechanism = GaussianMechanism(plan.noise_multiplier, plan.l2_clip_norm, stream, Ledger(), label="shadow heads")
    state = torch.zeros((len(mask), n_classes, z.shape[1]))
    velocity = torch.zeros_like(state)
    with threads_for(2.0 * state.numel() * len(z)):
        for _ in range(plan.steps):
            residuals = cross_entropy_residuals(_logits(state, z), rows.y)
            factors = clip_factors(residuals.square().sum(1).mul_(squared).clamp_(min=1e-20), clip) * mask
            residuals *= factors[:, None]
            total = (residuals.view(-1, len(z)) @ z).view(state.shape)
            velocity = plan.momentum * velocity + mechanism.release(total) / plan.n_private + plan.weight_decay * state
            state = state - plan.learning_rate * velocity
    return state


def confidences(state: torch.Tensor, rows: HeadRows, *, bias: bool) -> Array:
    """(H, n) float64 log p_y − log(1 − p_y) of every row under every head."""
    logits = _logits(state, _with_bias(rows.z) if bias else rows.z)
    index = rows.y.expand(len(state), 1, -1)
    labelled = logits.gather(1, index)[:, 0]
    rest: torch.Tensor = torch.logsumexp(logits.scatter(1, index, -torch.inf), dim=1)
    return (labelled - rest).double().numpy()


def halves(count: int, n_rows: int, stream: Stream) -> Array:
    """(count, n_rows) bool: for every two heads, random halves of the pool that are each other's complement."""
    order = np.argsort(stream.random(((count + 1) // 2, n_rows)), axis=1)
    first = order < n_rows // 2
    return np.stack([first, ~first], axis=1).reshape(-1, n_rows)[:count]


def _logits(state: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
    heads, classes, width = state.shape
    return (state.reshape(heads * classes, width) @ z.T).view(heads, classes, -1)


def _with_bias(z: torch.Tensor) -> torch.Tensor:
    return torch.cat([z, torch.ones((len(z), 1))], dim=1)
