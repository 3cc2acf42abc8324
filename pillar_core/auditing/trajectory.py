"""What a run's releases say about one row, recomputed from the released trajectory: individual
privacy and canary scores.

Full-batch descent on a linear softmax head is a deterministic function of its releases, so each
step's weights, and from them each row's clipped gradient, can be had again in closed form. `head`
axes hold many trials at once.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from pillar_core.arrays import Array
from pillar_core.deferred import torch
from pillar_core.engine import HeadPlan
from pillar_core.engine.gradient import clipped_sum, cross_entropy_residuals, squared_lengths
from pillar_core.errors import UnsupportedError
from pillar_core.ledger import Call

Aggregate = Callable[["torch.Tensor"], "torch.Tensor"]
"""From weights (H, C, k + bias) to the sum that a step would release without noise, in the same
shape."""


@dataclasses.dataclass(frozen=True)
class HeadRows:
    """Rows in the space of the head. z: (n, k) float32; y: (n,) int64."""

    z: torch.Tensor
    y: torch.Tensor

    @classmethod
    def of(cls, z: Array, y: Array) -> HeadRows:
        """From arrays."""
        return cls(
            torch.from_numpy(np.ascontiguousarray(z, dtype=np.float32)),
            torch.from_numpy(np.asarray(y, dtype=np.int64)),
        )

    def wide(self, *, bias: bool) -> torch.Tensor:
        """(n, k + bias) rows, with a one behind each where the head has intercepts."""
        return torch.nn.functional.pad(self.z, (0, bias), value=1.0)


class ReleaseTape:
    """A tape at the ledger's gate that keeps what was released and how, and before its noise, in
    order, and lets everything happen."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.released: list[Any] = []
        self.calls: list[Call] = []

    def release(self, call: Call, value: Any, draw: Callable[[], Any]) -> Any:
        """The draw, remembered."""
        self.values.append(value)
        released = draw()
        self.released.append(released)
        self.calls.append(call)
        return released

    def sample(self, probability: float, n_rows: int, draw: Callable[[], Array]) -> Array:
        """The sample as drawn."""
        return draw()


def states(released: torch.Tensor, plan: HeadPlan) -> list[torch.Tensor]:
    """Weights (H, C, k + bias) before each step and after the last, from the releases (T, H, C, k +
    bias).

    Raises UnsupportedError: a run on Poisson samples, whose losses do not add up along a
    trajectory.
    """
    if plan.sampling_probability < 1:
        raise UnsupportedError(
            "individual privacy and canary scores need full batches: set batch_size to none."
        )
    visited = [torch.zeros_like(released[0], dtype=torch.float32)]
    velocity = torch.zeros_like(visited[0])
    for step in released.float():
        velocity = (
            plan.momentum * velocity + step / plan.n_private + plan.weight_decay * visited[-1]
        )
        visited.append(visited[-1] - plan.learning_rate * velocity)
    return visited


def gradient_norms(rows: HeadRows, state: torch.Tensor, plan: HeadPlan) -> torch.Tensor:
    """(H, n) float32 norms of the rows' gradients, weights and bias together, before any
    clipping."""
    lengths = torch.linalg.vector_norm(rows.wide(bias=plan.bias), dim=1)
    norms: torch.Tensor = _residuals(rows, state, plan).square().sum(1).sqrt() * lengths
    return norms


def individual_mu(released: torch.Tensor, rows: HeadRows, plan: HeadPlan) -> Array:
    """(n,) float64 μ_i = √Σ_t min(‖g_i,t‖, C)² / (σC) of each row along one released trajectory (T,
    C, k + bias).

    Individual privacy is no guarantee: the trajectory depends on the data, plain composition does
    not cover it, and the numbers themselves are computed from private rows and must not be
    released. After Golatkar et al., AdaMix, Proposition 14.
    """
    if plan.noise_multiplier == 0:
        return np.full(len(rows.y), np.inf)
    squares = np.zeros(len(rows.y))
    for state in states(released[:, None], plan)[:-1]:
        clipped = gradient_norms(rows, state, plan)[0].clamp(max=plan.l2_clip_norm)
        squares += clipped.double().square().numpy()
    return np.asarray(np.sqrt(squares) / (plan.noise_multiplier * plan.l2_clip_norm))


def kept_norms(
    rows: HeadRows, state: torch.Tensor, *, clip: float, basis: torch.Tensor | None
) -> torch.Tensor:
    """(n,) float64 norms ‖clip(g_i)U‖ of what a step keeps of each row's gradient r ⊗ z of a head
    without bias.

    state: (C, k) weights before the step; basis: (k, m) orthonormal directions that the step
    projects on, None for all.
    """
    residuals = (
        cross_entropy_residuals((state @ rows.z.T)[None], rows.y)[0].double().square().sum(0).sqrt()
    )
    lengths = torch.linalg.vector_norm(rows.z.double(), dim=1)
    projected = (
        lengths if basis is None else torch.linalg.vector_norm((rows.z @ basis).double(), dim=1)
    )
    norms = residuals * lengths
    released: torch.Tensor = residuals * projected * (clip / norms.clamp(min=1e-30)).clamp(max=1.0)
    return released


def canary_scores(
    released: torch.Tensor, canary: HeadRows, plan: HeadPlan, *, without: Aggregate
) -> Array:
    """(H,) float64: each run's releases, less what all other rows gave, projected on the canary's
    clipped gradient.

    released: (T, H, C, k + bias). `without` is the sum over all other rows at given weights: the
    attacker of differential privacy knows them. In units of the claimed noise: about N(0, 1)
    without the canary, N(μ_i, 1) with it.
    """
    projections = torch.zeros(released.shape[1], dtype=torch.float64)
    squares = torch.zeros_like(projections)
    for state, step in zip(states(released, plan)[:-1], released, strict=True):
        direction = clipped_gradient(canary, state, plan).double()
        left_over = step.double() - without(state).double()
        projections += (left_over * direction).sum((1, 2))
        squares += direction.square().sum((1, 2))
    scale = (plan.noise_multiplier * plan.l2_clip_norm) * squares.sqrt().clamp(min=1e-12)
    return np.asarray((projections / scale).numpy())


def clipped_gradient(rows: HeadRows, state: torch.Tensor, plan: HeadPlan) -> torch.Tensor:
    """Σ clip(g_i) over `rows` for every head, in the shape of `state` (H, C, k + bias), by the
    engine's own kernel.

    The precision is the engine's: what a real step would release.
    """
    clip = torch.full((state.shape[0],), plan.l2_clip_norm)
    squares = squared_lengths(rows.z) + plan.bias
    return clipped_sum(rows.wide(bias=plan.bias), squares, rows.y, state, clip)


def clipped_rows(rows: HeadRows, state: torch.Tensor, plan: HeadPlan) -> torch.Tensor:
    """(n, C·(k + bias)) float64 clipped gradients of single rows at one head's weights (C, k +
    bias): for few rows."""
    residuals = _residuals(rows, state[None], plan)[0].double()
    z = rows.wide(bias=plan.bias).double()
    gradients = (residuals.T[:, :, None] * z[:, None, :]).flatten(1)
    norms = torch.linalg.vector_norm(gradients, dim=1, keepdim=True)
    clipped: torch.Tensor = gradients * (plan.l2_clip_norm / norms.clamp(min=1e-30)).clamp(max=1.0)
    return clipped


def plain_gradient(rows: HeadRows, state: torch.Tensor, plan: HeadPlan) -> torch.Tensor:
    """Σ g_i over `rows` without any clipping, in the shape of `state`."""
    residuals = _residuals(rows, state, plan)
    return summed_gradients(residuals, rows.wide(bias=plan.bias))


def summed_gradients(residuals: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
    """(H, C, k) sums over rows z (n, k) of residual ⊗ row, from residuals (H, C, n)."""
    total: torch.Tensor = (residuals.reshape(-1, len(z)) @ z).view(*residuals.shape[:2], -1)
    return total


def logits_of(state: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
    """(H, C, n) logits of rows z (n, k) under heads (H, C, k)."""
    logits: torch.Tensor = (state.reshape(-1, z.shape[1]) @ z.T).view(*state.shape[:2], -1)
    return logits


def _residuals(rows: HeadRows, state: torch.Tensor, plan: HeadPlan) -> torch.Tensor:
    return cross_entropy_residuals(logits_of(state, rows.wide(bias=plan.bias)), rows.y)
