"""Noisy gradient descent guided by labelled public rows: public data decide clip norm, reference and step, noise protects the rest.

A guide looks at the public rows before each step (how far to clip, what to subtract first) and moves the weights after it.
What it sees is public rows, released sums and the weights made from them: everything that it does is post-processing.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Protocol

import numpy as np
import torch

from pillar_core.arrays import Array
from pillar_core.engine.device import training_device
from pillar_core.engine.gradient import UNIT, clipped_residuals, cross_entropy_residuals, row_sum, squared_lengths, squared_residuals
from pillar_core.grouping import grouped
from pillar_core.ledger import Ledger
from pillar_core.mechanisms import GaussianMechanism, sampled
from pillar_core.rng import Streams
from pillar_core.threads import threads_for

CHUNK_FLOATS, CHUNK_FLOATS_DEVICE = 1 << 19, 1 << 27
SMALLEST_CLIP = 1e-6


@dataclasses.dataclass(frozen=True)
class MixedPlan:
    """How one head is trained; all of it public. batch_size None or ≥ n_private means all rows in every step."""

    steps: int
    noise_multiplier: float
    n_private: int
    batch_size: int | None = None

    @property
    def sampling_probability(self) -> float:
        """q = batch_size / n_private, at most 1."""
        return 1.0 if self.batch_size is None else min(1.0, self.batch_size / self.n_private)


@dataclasses.dataclass(frozen=True)
class MixedHead:
    """A plan with its streams, ledger and starting weights (k, C)."""

    plan: MixedPlan
    streams: Streams
    ledger: Ledger
    initial: Array


@dataclasses.dataclass(frozen=True)
class Look:
    """What public rows say before a step. clip: (H,) above 0; reference: (H, C, k) subtracted from every row's gradient, or None.

    public_sum: (H, C, k) the public rows' summed gradient.
    """

    clip: torch.Tensor
    public_sum: torch.Tensor
    reference: torch.Tensor | None = None


class Guide(Protocol):
    """What tells one learner of this family from another; `heads` are positions among the heads it was made for."""

    def look(self, step: int, state: torch.Tensor, heads: Sequence[int]) -> Look:
        """Before step 0, 1, … from the weights `state` (H, C, k)."""
        ...

    def move(self, step: int, state: torch.Tensor, released: torch.Tensor, look: Look, heads: Sequence[int]) -> torch.Tensor:
        """New weights from the released sums (H, C, k)."""
        ...


def train_mixed(z: Array, y: Array, heads: Sequence[MixedHead], guide: Guide) -> list[Array]:
    """(k, C) float32 weights of every head, in order. z: (n, k) float32 private rows; y: (n,) int64.

    Heads that share steps, sampling and (where sampled) seed are trained in one batched step.

    Guarantee: per step and head one Gaussian release of a sum of row-wise terms of norm at most the clip norm, which the
    guide takes from public rows and earlier releases; on a Poisson sample where the plan samples.
    """
    rows, labels = torch.from_numpy(z).to(training_device()), torch.from_numpy(y).to(training_device())
    squared_rows = squared_lengths(rows)
    results: dict[int, Array] = {}
    samples = (None if head.plan.sampling_probability == 1 else head.streams.identity for head in heads)
    plans = ((head.plan.steps, head.plan.sampling_probability) for head in heads)
    for positions in grouped(zip(plans, samples, strict=True)):
        state = _train_group(rows, squared_rows, labels, [heads[p] for p in positions], positions, guide)
        results.update((position, np.ascontiguousarray(state[h].cpu().numpy().T)) for h, position in enumerate(positions))
    return [results[position] for position in range(len(heads))]


def public_gradients(
    z: torch.Tensor, squared_rows: torch.Tensor, labels: torch.Tensor, state: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(norms (H, m), summed gradient (H, C, k), residuals (H, C, m)) of public rows z (m, k) at weights (H, C, k)."""
    heads, classes, k = state.shape
    residuals = cross_entropy_residuals((state.reshape(heads * classes, k) @ z.T).view(heads, classes, -1), labels)
    norms = (residuals.square().sum(1) * squared_rows).sqrt_()
    return norms, (residuals.view(heads * classes, -1) @ z).view(heads, classes, k), residuals


def clipped_difference_sum(
    z: torch.Tensor,
    squared_rows: torch.Tensor,
    labels: torch.Tensor,
    weights: torch.Tensor,
    clip: torch.Tensor,
    reference: torch.Tensor | None,
) -> torch.Tensor:
    """Σ_i clip(g_i − reference) for every head, (H, C, k) float64; without a reference the plain clipped sum.

    ‖r ⊗ z − G‖² = ‖r‖²‖z‖² − 2 rᵀGz + ‖G‖²: one more matrix product, no per-row gradient. With s = ‖r‖²‖z‖² + ‖G‖², float32
    sums of k products and of C classes lose at most (k + C)·UNIT·s of 2 rᵀGz (Cauchy–Schwarz), C·UNIT·s of ‖r‖², and single
    roundings a few: that is added, so no row exceeds its clip norm. A row whose norm is not finite contributes 0.
    """
    heads, classes, k = weights.shape
    residuals = cross_entropy_residuals((weights.reshape(heads * classes, k) @ z.T).view(heads, classes, -1), labels)
    squared_norms = squared_residuals(residuals, 1) * squared_rows
    if reference is not None:
        inner = (reference.reshape(heads * classes, k) @ z.T).view(heads, classes, -1)
        size = squared_norms + reference.square().sum((1, 2), dtype=torch.float64).float()[:, None]
        guard = (k + 2 * classes + 16) * UNIT
        squared_norms = (size - 2 * (residuals * inner).sum(1)).clamp_(min=0.0) + guard * size
    residuals, factors = clipped_residuals(residuals, squared_norms, clip)
    total = row_sum(residuals.view(heads * classes, -1), z).view(heads, classes, k)
    return total if reference is None else total - factors.sum(1, dtype=torch.float64)[:, None, None] * reference


def _train_group(
    z: torch.Tensor, squared_rows: torch.Tensor, labels: torch.Tensor, heads: list[MixedHead], positions: list[int], guide: Guide
) -> torch.Tensor:
    plan, ledgers = heads[0].plan, [head.ledger for head in heads]
    sampling = heads[0].streams.secret("sampling")
    noise = [head.streams.secret("noise", device=str(z.device)) for head in heads]
    state = torch.stack([torch.from_numpy(np.ascontiguousarray(head.initial.T)) for head in heads]).to(z.device)
    with threads_for(2 * plan.sampling_probability * z.numel() * len(heads) * state.shape[1]):
        for step in range(plan.steps):
            look = guide.look(step, state, positions)
            clips = [max(value, SMALLEST_CLIP) for value in look.clip.tolist()]  # the ledger records them: read back once a step
            look = dataclasses.replace(look, clip=torch.tensor(clips, dtype=torch.float32, device=z.device))
            with sampled(plan.sampling_probability, len(z), sampling, ledgers) as indices:
                total = _batch_sum(z, squared_rows, labels, indices, state, look, plan)
                released = torch.stack(
                    [
                        GaussianMechanism(head.plan.noise_multiplier, clips[h], noise[h], head.ledger).release(total[h])
                        for h, head in enumerate(heads)
                    ]
                ).float()
            state = guide.move(step, state, released, look, positions)
    return state


def _batch_sum(
    z: torch.Tensor, squared_rows: torch.Tensor, labels: torch.Tensor, indices: Array, state: torch.Tensor, look: Look, plan: MixedPlan
) -> torch.Tensor:
    total = torch.zeros_like(state, dtype=torch.float64)
    if plan.sampling_probability < 1:
        picked = torch.from_numpy(indices).to(z.device)
        z, squared_rows, labels = z.index_select(0, picked), squared_rows[picked], labels[picked]
    floats = CHUNK_FLOATS if z.device.type == "cpu" else CHUNK_FLOATS_DEVICE
    chunk = max(256, floats // (state.shape[0] * state.shape[1]))
    for start in range(0, len(z), chunk):
        part = slice(start, start + chunk)
        total += clipped_difference_sum(z[part], squared_rows[part], labels[part], state, look.clip, look.reference)
    return total
