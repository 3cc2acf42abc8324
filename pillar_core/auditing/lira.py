"""LiRA: a row's likelihood under models that saw it against models that did not (Carlini et al. 2022).

Confidences are logit-scaled (`shadows.confidences`), where they are close to normal; this file only compares them.
"""

import numpy as np

from pillar_core.arrays import Array
from pillar_core.errors import DataError

SMALLEST_STD = 1e-6
FEWEST_FOR_OWN_SPREAD = 32
"""With fewer shadow models on a side, one spread is shared by all rows, as in the paper's section VI-B."""


def online(target: Array, shadows: Array, included: Array) -> Array:
    """(n,) log-likelihood ratios, higher for likelier members.

    target: (n,) confidences of the attacked model; shadows: (H, n) those of the shadow models; included: (H, n) bool,
    whether the model was trained on the row.

    Raises:
        DataError: a row that no shadow model saw, or that all saw.
    """
    inside, outside = _moments(shadows, included), _moments(shadows, ~included)
    return _log_density(target, *inside) - _log_density(target, *outside)


def offline(target: Array, shadows: Array, included: Array) -> Array:
    """(n,) one-sided scores from models that never saw the row: how far above them the attacked model is, in deviations."""
    mean, std = _moments(shadows, ~included)
    score: Array = (target - mean) / std
    return score


def _moments(shadows: Array, chosen: Array) -> tuple[Array, Array]:
    counts = chosen.sum(axis=0)
    if not (counts >= 1).all():
        raise DataError("every row needs a shadow model with it and one without; train more shadow models.")
    mean = np.where(chosen, shadows, 0.0).sum(axis=0) / counts
    squares = np.where(chosen, (shadows - mean) ** 2, 0.0)
    if counts.min() >= FEWEST_FOR_OWN_SPREAD:
        variance = squares.sum(axis=0) / (counts - 1)
    else:
        variance = np.full(len(mean), squares.sum() / max(counts.sum() - len(mean), 1))
    return mean, np.maximum(np.sqrt(variance), SMALLEST_STD)


def _log_density(values: Array, mean: Array, std: Array) -> Array:
    density: Array = -0.5 * ((values - mean) / std) ** 2 - np.log(std)
    return density
