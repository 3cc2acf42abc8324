"""The interval of a mean over seeds."""

import math
from collections.abc import Sequence

import numpy as np

from pillar_core.errors import DataError

LEVEL = 0.95


def interval(values: Sequence[float]) -> tuple[float, float, float]:
    """(mean, low, high): the mean and its two-sided 95 % Student interval over independent seeds.

    One value says nothing about its spread: low and high are then −inf and inf.

    Raises:
        DataError: no values, or values that are not finite.
    """
    from scipy.special import stdtrit

    numbers = np.asarray(values, dtype=np.float64)
    if not numbers.size or not np.isfinite(numbers).all():
        raise DataError(f"an interval needs at least one value, all finite; got {numbers.tolist()}.")
    mean = float(numbers.mean())
    if numbers.size == 1:
        return mean, -math.inf, math.inf
    half = float(stdtrit(numbers.size - 1, (1 + LEVEL) / 2)) * float(numbers.std(ddof=1)) / math.sqrt(numbers.size)
    return mean, mean - half, mean + half
