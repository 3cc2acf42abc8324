"""Noisy gradient descent on linear softmax heads: one head, or a grid of heads that share rows,
batched in one step.

The engine draws batches, clips, adds noise and charges ledgers. What is done with the noisy sums is
a `Step`, which sees the private rows through them alone: `heavy_ball` unless a learner brings its
own.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from pillar_core.arrays import Array
from pillar_core.deferred import torch
from pillar_core.engine import exact
from pillar_core.engine.classifier import noise_left
from pillar_core.engine.device import training_device
from pillar_core.engine.gradient import (
    SUM_ROWS_DEVICE,
    WideRows,
    clipped_sum,
    squared_lengths,
)
from pillar_core.engine.mixed import clipped_difference_sum, preconditioned_sum
from pillar_core.grouping import grouped, slices
from pillar_core.ledger import Ledger
from pillar_core.mechanisms import Batches, GaussianMechanism
from pillar_core.rng import Stream, Streams
from pillar_core.splits.transform import LateRows
from pillar_core.threads import threads_for

CHUNK_FLOATS, CHUNK_FLOATS_DEVICE = 1 << 19, 1 << 27
"""Logits of one chunk of rows stay within a core's second-level cache; on a GPU within half a
gigabyte."""

LEAST_WIDE, MOST_WIDE = 1 << 20, 5 << 19
"""Numbers of rows that are widened at a time for both products, 8 to 20 MB of them."""
SMALLEST_CLIP = 1e-6
"""A step's clip norms are taken for at least this when noise is scaled."""


@dataclasses.dataclass(frozen=True)
class HeadPlan:
    """How one head is trained; all of it public. batch_size None or ≥ n_private means full batch.

    is_allocated: each row enters one random step of every pass over the rows, not a Poisson sample.

    The clipped sum is divided by the public constant q · n_private, never by the realised batch.
    learning_rate, momentum and weight_decay are what `heavy_ball` reads; l2_clip_norm holds where a
    step names no other.
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
    is_allocated: bool = False

    @property
    def steps_of_pass(self) -> int:
        """Steps among which a pass of random allocation spreads the rows, n_private / batch_size
        rounded; 1 otherwise."""
        return (
            max(1, round(self.n_private / self.batch_size))
            if self.is_allocated and self.batch_size
            else 1
        )

    @property
    def sampling_probability(self) -> float:
        """q = batch_size / n_private, at most 1; with random allocation 1 / steps_of_pass."""
        if self.is_allocated:
            return 1 / self.steps_of_pass
        return 1.0 if self.batch_size is None else min(1.0, self.batch_size / self.n_private)

    @property
    def expected_rows(self) -> float:
        """q · n_private: what a noisy sum is divided by, whatever the batch's real size."""
        return self.sampling_probability * self.n_private

    @property
    def noise_std(self) -> float:
        """Of a weight after `heavy_ball`, as `noise_left` means it."""
        of_step = self.learning_rate * self.noise_multiplier * self.l2_clip_norm
        return noise_left(np.full(self.steps, of_step / self.expected_rows), self.momentum)


@dataclasses.dataclass(frozen=True)
class Head:
    """A plan with the streams it draws from and the ledger it charges; `initial` is ((k, C), (C,))
    or None for zeros."""

    plan: HeadPlan
    streams: Streams
    ledger: Ledger
    initial: tuple[Array, Array] | None = None


@dataclasses.dataclass(frozen=True)
class Clipping:
    """How rows are clipped in one noisy sum, from public rows and earlier noisy sums alone.

    norms: (H,) clip norms above 0, None for those of the plans. Before the clip, reference (H, C,
    k) is taken off every row's gradient, or the gradient is multiplied, entry by entry, by scaling
    (H, C, k); both for heads without a bias.
    """

    norms: torch.Tensor | None = None
    reference: torch.Tensor | None = None
    scaling: torch.Tensor | None = None


PLAIN = Clipping()


class NoisySum(Protocol):
    """All that a step learns about the private rows: the sum of their clipped gradients at some
    weights, both (H, C, k), with noise.

    Every call is one release, on a batch of its own, and charged.
    """

    def __call__(self, state: torch.Tensor, clipping: Clipping = PLAIN, /) -> torch.Tensor: ...


Step = Callable[[int, "torch.Tensor", NoisySum], "torch.Tensor"]
"""New weights (H, C, k), the bias column behind them where there is one, from the step's number 0,
1, … and those before it."""
Optimiser = Callable[[Sequence[int], "torch.Tensor"], Step]
"""The step of heads that are trained together, given their positions and their starting weights."""


def heavy_ball(
    plans: Sequence[HeadPlan], like: torch.Tensor
) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
    """(weights, noisy sum) → new weights: descent on the mean gradient plus weight_decay · weights,
    with momentum."""
    rates, momenta, decays = (
        per_head([getattr(plan, name) for plan in plans], like)
        for name in ("learning_rate", "momentum", "weight_decay")
    )
    divisors = per_head([plan.expected_rows for plan in plans], like)
    velocity = torch.zeros_like(like)
    has_momentum, has_decay = (
        any(getattr(plan, name) for plan in plans) for name in ("momentum", "weight_decay")
    )

    def descend(state: torch.Tensor, noisy: torch.Tensor) -> torch.Tensor:
        nonlocal velocity
        mean = noisy / divisors
        velocity = velocity.mul_(momenta).add_(mean) if has_momentum else mean
        if has_decay:
            velocity += decays * state
        return torch.sub(state, torch.mul(rates, velocity, out=mean), out=mean)

    return descend


def per_head(values: Sequence[float], like: torch.Tensor) -> torch.Tensor:
    """(H, 1, 1) float32 of one number a head, on the device of `like`."""
    return torch.tensor(values, dtype=torch.float32, device=like.device)[:, None, None]


def train_heads(
    z: Array | LateRows,
    y: Array,
    heads: Sequence[Head],
    *,
    n_classes: int,
    optimiser: Optimiser | None = None,
) -> list[tuple[Array, Array]]:
    """(weights (k, C), bias (C,)) float32 of every head, in order. z: (n, k) float32 private rows,
    of which a release alone needs none whole; y: (n,) int64.

    Heads that share steps, sampling and seed see the same batches (their streams are the same) and
    are trained in one batched step; each draws its own noise and charges its own ledger, exactly as
    if trained alone. optimiser: `heavy_ball` on the heads' plans unless given.

    Rows, weights and noise stay on the device that `engine.device` names until the last step. A
    release (seed None) sums whole numbers and adds exact noise (`engine.exact`), but for sums with
    a reference.

    Guarantee: per noisy sum and head one Gaussian release of a sum of rows clipped to l2_clip_norm,
    on a Poisson sample or one step of a pass of random allocation.
    """
    where = training_device()
    labels = torch.from_numpy(y).to(where)
    results: dict[int, tuple[Array, Array]] = {}
    is_release = [head.streams.seed is None for head in heads]
    samples = (
        None if head.plan.sampling_probability == 1 else head.streams.identity for head in heads
    )
    plans = (
        (head.plan.steps, head.plan.sampling_probability, head.plan.is_allocated, head.plan.bias)
        for head in heads
    )
    groups = grouped(zip(plans, samples, is_release, strict=True))
    rows: torch.Tensor | LateRows = (
        z
        if isinstance(z, LateRows) and len(groups) == 1
        else torch.from_numpy(np.asarray(z)).to(where)
    )
    for positions in groups:
        start = None if optimiser is None else functools.partial(optimiser, positions)
        state = trained_state(
            rows,
            labels,
            [heads[position] for position in positions],
            n_classes,
            start=start,
        ).cpu()
        k = z.shape[1]
        weights = state[..., :k].numpy()
        bias = (
            state[..., k].numpy()
            if state.shape[2] > k
            else np.zeros((len(positions), n_classes), dtype=np.float32)
        )
        results.update(
            (position, (np.ascontiguousarray(weights[h].T), bias[h].copy()))
            for h, position in enumerate(positions)
        )
    return [results[position] for position in range(len(heads))]


def trained_state(
    z: torch.Tensor | LateRows,
    labels: torch.Tensor,
    heads: list[Head],
    n_classes: int,
    *,
    start: Callable[[torch.Tensor], Step] | None = None,
) -> torch.Tensor:
    """(H, C, k) float32 weights, the bias column behind them where there is one, of heads that
    share steps and samples, on the labels' device."""
    device, width = labels.device, z.shape[1]
    plans = [head.plan for head in heads]
    first, ledgers = plans[0], [head.ledger for head in heads]
    sampling = heads[0].streams.sampling()
    noise = [head.streams.normals("noise", device=str(device)) for head in heads]
    fixed = torch.tensor([plan.l2_clip_norm for plan in plans], dtype=torch.float32, device=device)
    batches = Batches(first.sampling_probability, first.steps_of_pass, len(z), sampling, ledgers)
    mechanisms = _mechanisms(heads, noise, [plan.l2_clip_norm for plan in plans])

    state = _initial(heads, width, n_classes, first.bias).to(device)

    @functools.cache
    def whole() -> torch.Tensor:
        return torch.from_numpy(z.whole).to(device) if isinstance(z, LateRows) else z

    @functools.cache
    def rows() -> tuple[torch.Tensor | WideRows, int]:  # and how many at a time
        if first.sampling_probability == 1 and not first.bias:
            return whole(), rows_at_once(state)  # its parts stay in a core's cache
        most = wide_rows_at_once(state)
        return WideRows(whole(), bias=first.bias, most=most), most

    @functools.cache
    def squared_rows() -> torch.Tensor:  # whole numbers need none
        return squared_lengths(whole()) + first.bias

    @functools.cache
    def integers() -> exact.IntegerRows:
        given = z if isinstance(z, LateRows) else z.cpu().numpy()
        rows = exact.integer_rows(given, bias=first.bias)
        return exact.IntegerRows(rows.units.to(device), rows.scale.to(device), rows.most)

    def noisy_sum(state: torch.Tensor, clipping: Clipping = PLAIN, /) -> torch.Tensor:
        norms = fixed if clipping.norms is None else clipping.norms
        used = (
            mechanisms
            if clipping.norms is None
            else _mechanisms(heads, noise, [max(norm, SMALLEST_CLIP) for norm in norms.tolist()])
        )
        is_exact = used[0].is_exact and clipping.reference is None
        with batches.next() as indices:
            picked = (
                None if first.sampling_probability == 1 else torch.from_numpy(indices).to(device)
            )
            if is_exact:
                clips, units = (
                    [mechanism.l2_clip_norm for mechanism in used],
                    integers().sensitivity,
                )
                sums = exact.clipped_sum(
                    integers(), labels, state, clips, picked, scaling=clipping.scaling
                )
                units *= exact.SCALE_UNITS if clipping.scaling is not None else 1
                return torch.stack(
                    [
                        mechanism.release_integers(part, units)
                        for mechanism, part in zip(used, sums, strict=True)
                    ]
                ).float()
            total: torch.Tensor | None = None
            source, most = rows()
            for part in slices(len(indices), most):
                places = part if picked is None else picked[part]
                batch = source[places], squared_rows()[places], labels[places]
                total = _with_clipped(total, *batch, state, norms, clipping)
            noisy = torch.empty_like(state)
            sums = torch.zeros_like(state, dtype=torch.float64) if total is None else total
            for head, (mechanism, part) in enumerate(zip(used, sums, strict=True)):
                noisy[head] = mechanism.release(part)
            return noisy

    descend = heavy_ball(plans, state)
    step: Step = (
        (lambda number, state, noisy_sum: descend(state, noisy_sum(state)))
        if start is None
        else start(state)
    )
    work = (
        2 * first.expected_rows * width * len(heads) * n_classes
    )  # of nominal rows: how public sums round is public
    with torch.inference_mode(), threads_for(work):
        for number in range(first.steps):
            state = step(number, state, noisy_sum)
    return state


def _mechanisms(
    heads: Sequence[Head], noise: Sequence[Stream], norms: Sequence[float]
) -> list[GaussianMechanism]:
    return [
        GaussianMechanism(h.plan.noise_multiplier, norm, rng, h.ledger)
        for h, rng, norm in zip(heads, noise, norms, strict=True)
    ]


def rows_at_once(state: torch.Tensor) -> int:
    """How many rows have their logits at a time for heads `state` (H, C, k)."""
    floats = CHUNK_FLOATS if state.device.type == "cpu" else CHUNK_FLOATS_DEVICE
    return max(256, floats // (state.shape[0] * state.shape[1]))


def wide_rows_at_once(state: torch.Tensor) -> int:
    """How many rows are widened at a time for both products with heads `state` (H, C, k): more for
    many heads, which each part reads and adds to."""
    wide = max(LEAST_WIDE, min(MOST_WIDE, 12 * state.numel())) // max(state.shape[2], 1)
    most = max(32, wide) if state.device.type == "cpu" else SUM_ROWS_DEVICE
    return min(rows_at_once(state), most)


def _with_clipped(
    total: torch.Tensor | None,
    z: torch.Tensor,
    squared_rows: torch.Tensor,
    labels: torch.Tensor,
    state: torch.Tensor,
    norms: torch.Tensor,
    clipping: Clipping,
) -> torch.Tensor:
    """`total` (H, C, k) with Σ clip(g_i) over wide rows z, added in place; None for 0."""
    if clipping.scaling is not None:
        by_head = zip(state, clipping.scaling, norms.tolist(), strict=True)
        more = torch.stack(
            [
                preconditioned_sum(z, labels, weights, root, l2_clip_norm=norm)
                for weights, root, norm in by_head
            ]
        )
    elif clipping.reference is not None:
        more = clipped_difference_sum(z, squared_rows, labels, state, norms, clipping.reference)
    else:
        return clipped_sum(z, squared_rows, labels, state, norms, total)
    return more if total is None else total.add_(more)


def _initial(heads: Sequence[Head], k: int, n_classes: int, bias: bool) -> torch.Tensor:
    """(H, C, k + bias) float32 starting weights, the bias in the last column."""
    state = torch.zeros((len(heads), n_classes, k + bias))
    for h, head in enumerate(heads):
        if head.initial is not None:
            state[h, :, :k] = torch.from_numpy(head.initial[0].T)
            if bias:
                state[h, :, k] = torch.from_numpy(head.initial[1])
    return state
