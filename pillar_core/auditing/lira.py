"""LiRA: a row's likelihood under models that saw it against models that did not (Carlini et al.
2022); shadow heads to compare, and what all their steps say of each row.

Confidences are logit-scaled (`confidences`), where they are close to normal. Shadow heads are many
noisy linear heads, each on its own subset of one pool of rows, trained in one batched call.
"""

from __future__ import annotations

import numpy as np

from pillar_core.arrays import Array
from pillar_core.auditing.trajectory import HeadRows, logits_of, summed_gradients
from pillar_core.deferred import torch
from pillar_core.engine import HeadPlan
from pillar_core.engine.gradient import clip_factors, cross_entropy_residuals
from pillar_core.errors import DataError
from pillar_core.ledger import Ledger
from pillar_core.mechanisms import GaussianMechanism
from pillar_core.rng import Stream
from pillar_core.threads import threads_for

SMALLEST_STD = 1e-6


def online(target: Array, shadows: Array, included: Array) -> Array:
    """(n,) log-likelihood ratios, higher for likelier members.

    target: (n,) confidences of the attacked model; shadows: (H, n) those of the shadow models;
    included: (H, n) bool, whether the model was trained on the row.
    Raises DataError: a row that no shadow model saw, or that all saw.
    """
    inside, outside = _moments(shadows, included), _moments(shadows, ~included)
    return _log_density(target, *inside) - _log_density(target, *outside)


def offline(target: Array, shadows: Array, included: Array) -> Array:
    """(n,) one-sided scores from models that never saw the row: how far above them the attacked
    model is, in deviations."""
    mean, std = _moments(shadows, ~included)
    score: Array = (target - mean) / std
    return score


def pooled(target: Array, shadows: Array, included: Array) -> Array:
    """(n,) scores as `online`'s, for few shadow models: what a row's presence adds, and the spread,
    are read from rows as hard as it.

    Both are running means over the rows in order of confidence, so that of the row itself one mean
    is left to estimate, from all models. The likelihood ratio is that of two normals with this
    spread. Raises DataError: a row that no shadow model saw, or that all saw.
    """
    inside, outside = (_mean(shadows, chosen) for chosen in (included, ~included))
    residuals = np.where(included, shadows - inside, shadows - outside)
    variance = (residuals**2).sum(axis=0) / max(len(shadows) - 2, 1)
    middle = (inside + outside) / 2
    for _ in range(2):
        shift, spread = (
            _among_neighbours(values, middle) for values in (inside - outside, variance)
        )
        middle = (shadows - np.maximum(shift, 0.0) * (included - 0.5)).mean(axis=0)
    score: Array = (target - middle) * np.maximum(shift, 0.0) / np.maximum(spread, SMALLEST_STD**2)
    return score


def _among_neighbours(values: Array, order: Array) -> Array:
    """The mean of `values` over the tenth of the rows around each in `order`."""
    places = np.argsort(order, kind="stable")
    window = np.ones(max(len(values) // 10, 1))
    sums, counts = (
        np.convolve(part, window, mode="same") for part in (values[places], np.ones(len(values)))
    )
    smooth = np.empty(len(values))
    smooth[places] = sums / counts
    return smooth


def _mean(shadows: Array, chosen: Array) -> Array:
    counts = chosen.sum(axis=0)
    if not (counts >= 1).all():
        raise DataError(
            "every row needs a shadow model with it and one without; train more shadow models."
        )
    mean: Array = np.where(chosen, shadows, 0.0).sum(axis=0) / counts
    return mean


def _moments(shadows: Array, chosen: Array) -> tuple[Array, Array]:
    counts, mean = chosen.sum(axis=0), _mean(shadows, chosen)
    squares = np.where(chosen, (shadows - mean) ** 2, 0.0)
    if (
        counts.min() >= 32
        # with fewer shadow models on a side, one spread is shared by all rows, as in the paper's
        # section VI-B
    ):
        variance = squares.sum(axis=0) / (counts - 1)
    else:
        variance = np.full(len(mean), squares.sum() / max(counts.sum() - len(mean), 1))
    return mean, np.maximum(np.sqrt(variance), SMALLEST_STD)


def _log_density(values: Array, mean: Array, std: Array) -> Array:
    density: Array = -0.5 * ((values - mean) / std) ** 2 - np.log(std)
    return density


def train_shadows(
    rows: HeadRows, included: Array, plan: HeadPlan, *, n_classes: int, stream: Stream
) -> tuple[torch.Tensor, Array]:
    """Heads by full-batch noisy descent, head h on the rows where `included`[h] is True, and what
    all their steps say of each row.

    included: (H, n) bool. All heads take the same steps; each has its own noise, drawn by the
    library's mechanism. Returns (H, C, k + bias) float32 weights and (H, n) log-likelihood ratios
    of all releases with the row and without it, to whom all other rows are known. No attack on the
    same releases finds more rows at as many false alarms (Neyman & Pearson). About a row with
    individual μ they are normal, N(±μ²/2, μ²).
    """
    mask = torch.from_numpy(np.ascontiguousarray(included))
    z = rows.wide(bias=plan.bias)
    squared = torch.linalg.vector_norm(z, dim=1).square()
    clip = torch.full((len(mask),), plan.l2_clip_norm)
    mechanism = GaussianMechanism(
        plan.noise_multiplier, plan.l2_clip_norm, stream, Ledger(), label="shadow heads"
    )
    state = torch.zeros((len(mask), n_classes, z.shape[1]))
    velocity, ratios = torch.zeros_like(state), torch.zeros(mask.shape)
    noise_std = plan.l2_clip_norm * max(plan.noise_multiplier, SMALLEST_STD)
    with threads_for(2.0 * state.numel() * len(z)):
        for _ in range(plan.steps):
            residuals = cross_entropy_residuals(logits_of(state, z), rows.y)
            squares = residuals.square().sum(1).mul_(squared).clamp_(min=1e-20)
            factors = clip_factors(squares, clip)
            residuals *= factors[:, None]
            total = summed_gradients(residuals * mask[:, None], z)
            released = mechanism.release(total)
            # the release less all other rows is noise, and the row where it is a member
            along = (residuals * logits_of(released - total, z)).sum(1)
            ratios += (along + (mask.float() - 0.5) * squares * factors**2) / noise_std**2
            velocity = (
                plan.momentum * velocity + released / plan.n_private + plan.weight_decay * state
            )
            state = state - plan.learning_rate * velocity
    return state, ratios.double().numpy()


def confidences(state: torch.Tensor, rows: HeadRows, *, bias: bool) -> Array:
    """(H, n) float64 log p_y − log(1 − p_y) of every row under every head."""
    logits = logits_of(state, rows.wide(bias=bias))
    index = rows.y.expand(len(state), 1, -1)
    labelled = logits.gather(1, index)[:, 0]
    rest: torch.Tensor = torch.logsumexp(logits.scatter(1, index, -torch.inf), dim=1)
    return (labelled - rest).double().numpy()


def halves(count: int, n_rows: int, stream: Stream) -> Array:
    """(count, n_rows) bool: for every two heads, random halves of the pool that are each other's
    complement."""
    order = np.argsort(stream.random(((count + 1) // 2, n_rows)), axis=1)
    first = order < n_rows // 2
    return np.stack([first, ~first], axis=1).reshape(-1, n_rows)[:count]
