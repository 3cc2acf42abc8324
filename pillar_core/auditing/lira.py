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


def pooled(target: Array, shadows: Array, included: Array) -> Array:
    """(n,) scores as `online`'s, for few shadow models: what a row's presence adds, and the spread, are read from rows as hard as it.

    Both are running means over the rows in order of confidence, so that of the row itself one mean is left to estimate, from all models.
    The likelihood ratio is that of two normals with this spread.

    Raises:
        DataError: a row that no shadow model saw, or that all saw.
    """
    inside, outside = (_mean(shadows, chosen) for chosen in (included, ~included))
    residuals = np.where(included, shadows - inside, shadows - outside)
    variance = (residuals**2).sum(axis=0) / max(len(shadows) - 2, 1)
    middle = (inside + outside) / 2
    for _ in range(2):
        shift, spread = (_among_neighbours(values, middle) for values in (inside - outside, variance))
        middle = (shadows - np.maximum(shift, 0.0) * (included - 0.5)).mean(axis=0)
    score: Array = (target - middle) * np.maximum(shift, 0.0) / np.maximum(spread, SMALLEST_STD**2)
    return score


def _among_neighbours(values: Array, order: Array) -> Array:
    """The mean of `values` over the tenth of the rows around each in `order`."""
    places = np.argsort(order, kind="stable")
    window = np.ones(max(len(values) // 10, 1))
    sums, counts = (np.convolve(part, window, mode="same") for part in (values[places], np.ones(len(values))))
    smooth = np.empty(len(values))
    smooth[places] = sums / counts
    return smooth


def _mean(shadows: Array, chosen: Array) -> Array:
    counts = chosen.sum(axis=0)
    if not (counts >= 1).all():
        raise DataError("every row needs a shadow model with it and one without; train more shadow models.")
    mean: Array = np.where(chosen, shadows, 0.0).sum(axis=0) / counts
    return mean


def _moments(shadows: Array, chosen: Array) -> tuple[Array, Array]:
    counts, mean = chosen.sum(axis=0), _mean(shadows, chosen)
    squares = np.where(chosen, (shadows - mean) ** 2, 0.0)
    if counts.min() >= FEWEST_FOR_OWN_SPREAD:
        variance = squares.sum(axis=0) / (counts - 1)
    else:
        variance = np.full(len(mean), squares.sum() / max(counts.sum() - len(mean), 1))
    return mean, np.maximum(np.sqrt(variance), SMALLEST_STD)


def _log_density(values: Array, mean: Array, std: Array) -> Array:
    density: Array = -0.5 * ((values - mean) / std) ** 2 - np.log(std)
    return density
