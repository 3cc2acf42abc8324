"""Noisy gradient descent on linear softmax heads: one head, or a grid of heads that share rows, batched in one step."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import torch

from pillar_core.arrays import Array
from pillar_core.engine.device import training_device
from pillar_core.engine.gradient import clipped_sum, squared_lengths
from pillar_core.grouping import grouped
from pillar_core.ledger import Ledger
from pillar_core.mechanisms import GaussianMechanism, sampled
from pillar_core.rng import Streams
from pillar_core.threads import threads_for

CHUNK_FLOATS, CHUNK_FLOATS_DEVICE = 1 << 19, 1 << 27
"""Logits of one chunk of rows stay within a core's second-level cache; on a GPU within half a gigabyte."""


@dataclasses.dataclass(frozen=True)
class HeadPlan:
    """How one head is trained; all of it public. batch_size None or ≥ n_private means full batch.

    The clipped sum is divided by the public constant q · n_private, never by the realised batch.
    """

    steps: int
    learning_rate: float
    noise_multiplier: float
    l2_clip_norm: float
    n_private: int
    batch_size: int | None = None
    momentum: float = 0.0
    bias: bool = True
    weight_decay: float = 0.0

    @property
    def sampling_probability(self) -> float:
        """q = batch_size / n_private, at most 1."""
        return 1.0 if self.batch_size is None else min(1.0, self.batch_size / self.n_private)


@dataclasses.dataclass(frozen=True)
class Head:
    """A plan with the streams it draws from and the ledger it charges; `initial` is ((k, C), (C,)) or None for zeros."""

    plan: HeadPlan
    streams: Streams
    ledger: Ledger
    initial: tuple[Array, Array] | None = None


def train_heads(z: Array, y: Array, heads: Sequence[Head], *, n_classes: int) -> list[tuple[Array, Array]]:
    """(weights (k, C), bias (C,)) float32 of every head, in order. z: (n, k) float32 private rows; y: (n,) int64.

    Heads that share steps, sampling and seed see the same batches (their streams are the same) and are trained in one
    batched step; each draws its own noise and charges its own ledger, exactly as if trained alone.

    Rows, weights and noise stay on the device that `engine.device` names until the last step.

    Guarantee: per step and head one Gaussian release of a sum of rows clipped to l2_clip_norm, on a Poisson sample.
    """
    where = training_device()
    rows = torch.from_numpy(z).to(where)
    squared_rows = squared_lengths(rows)
    labels = torch.from_numpy(y).to(where)
    results: dict[int, tuple[Array, Array]] = {}
    samples = (None if head.plan.sampling_probability == 1 else head.streams.identity for head in heads)
    plans = ((head.plan.steps, head.plan.sampling_probability, head.plan.bias) for head in heads)
    for positions in grouped(zip(plans, samples, strict=True)):
        state = trained_state(rows, squared_rows, labels, [heads[position] for position in positions], n_classes).cpu()
        k = z.shape[1]
        weights = state[..., :k].numpy()
        bias = state[..., k].numpy() if state.shape[2] > k else np.zeros((len(positions), n_classes), dtype=np.float32)
        results.update((position, (np.ascontiguousarray(weights[h].T), bias[h].copy())) for h, position in enumerate(positions))
    return [results[position] for position in range(len(heads))]


def trained_state(z: torch.Tensor, squared_rows: torch.Tensor, labels: torch.Tensor, heads: list[Head], n_classes: int) -> torch.Tensor:
    """(H, C, k) float32 weights, the bias column behind them where there is one, of heads that share steps and samples, on z's device."""
    plans = [head.plan for head in heads]
    first, ledgers = plans[0], [head.ledger for head in heads]
    sampling = heads[0].streams.secret("sampling")
    where = z.device
    noise = [head.streams.secret("noise", device=str(where)) for head in heads]
    mechanisms = [
        GaussianMechanism(h.plan.noise_multiplier, h.plan.l2_clip_norm, own, h.ledger) for h, own in zip(heads, noise, strict=True)
    ]
    rates, divisors, momenta, decays = (
        torch.tensor(values, dtype=torch.float32, device=where)[:, None, None]
        for values in (
            [plan.learning_rate for plan in plans],
            [plan.sampling_probability * plan.n_private for plan in plans],
            [plan.momentum for plan in plans],
            [plan.weight_decay for plan in plans],
        )
    )
    clip = torch.tensor([plan.l2_clip_norm for plan in plans], dtype=torch.float32, device=where)
    state = _initial(heads, z.shape[1], n_classes, first.bias).to(where)
    velocity = torch.zeros_like(state)
    k = z.shape[1]
    expected_rows = first.sampling_probability * len(z)
    with threads_for(2 * expected_rows * k * len(heads) * n_classes):
        for _ in range(first.steps):
            with sampled(first.sampling_probability, len(z), sampling, ledgers) as indices:
                total = _batch_sum(z, squared_rows, labels, indices, state, clip, first)
                released = torch.stack([mechanism.release(part) for mechanism, part in zip(mechanisms, total, strict=True)]).float()
            velocity = momenta * velocity + released / divisors + decays * state
            state = state - rates * velocity
    return state


def _batch_sum(
    z: torch.Tensor,
    squared_rows: torch.Tensor,
    labels: torch.Tensor,
    indices: Array,
    state: torch.Tensor,
    clip: torch.Tensor,
    plan: HeadPlan,
) -> torch.Tensor:
    """Σ clip(g_i) over the batch, in the shape of `state`: (H, C, k) weights, then the bias column where there is one."""
    k = z.shape[1]
    weights, bias = state[..., :k], state[..., k] if plan.bias else None
    floats = CHUNK_FLOATS if z.device.type == "cpu" else CHUNK_FLOATS_DEVICE
    chunk = max(256, floats // (state.shape[0] * state.shape[1]))
    if plan.sampling_probability < 1:
        picked = torch.from_numpy(indices).to(z.device)
        z, squared_rows, labels = (rows.index_select(0, picked) for rows in (z, squared_rows, labels))
    total = torch.zeros_like(state, dtype=torch.float64)
    for start in range(0, len(z), chunk):
        part = slice(start, start + chunk)
        weight_sum, bias_sum = clipped_sum(z[part], squared_rows[part], labels[part], weights, bias, clip)
        total[..., :k] += weight_sum
        if plan.bias:
            total[..., k] += bias_sum
    return total


def _initial(heads: Sequence[Head], k: int, n_classes: int, bias: bool) -> torch.Tensor:
    """(H, C, k + bias) float32 starting weights, the bias in the last column."""
    state = torch.zeros((len(heads), n_classes, k + bias))
    for h, head in enumerate(heads):
        if head.initial is not None:
            state[h, :, :k] = torch.from_numpy(head.initial[0].T)
            if bias:
                state[h, :, k] = torch.from_numpy(head.initial[1])
    return state
