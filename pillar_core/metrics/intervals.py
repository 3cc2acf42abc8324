"""The interval of a mean over seeds."""

import math
from collections.abc import Sequence

import numpy as np

from pillar_core.errors import DataError
from pillar_core.numerics import half_width


def interval(values: Sequence[float]) -> tuple[float, float, float]:
    """(mean, low, high): the mean and its two-sided 95 % Student interval over independent seeds.

    One value says nothing about its spread: low and high are then −inf and inf.

    Raises:
        DataError: no values, or values that are not finite.
    """
    numbers = np.asarray(values, dtype=np.float64)
    if not numbers.size or not np.isfinite(numbers).all():
        raise DataError(f"an interval needs at least one value, all finite; got {numbers.tolist()}.")
    mean = float(numbers.mean())
    if numbers.size == 1:
        return mean, -math.inf, math.inf
    half = half_width(float(numbers.std(ddof=1)), numbers.size)
    return mean, mean - half, mean + half


def over_runs(values: Sequence[float], *, low: float = 0.0, high: float = 1.0) -> tuple[float, float, float]:
    """`interval` of the runs that have a value, its ends cut to [`low`, `high`]: for tables, NaN where too few runs say nothing."""
    known = [value for value in values if not math.isnan(value)]
    if not known:
        return math.nan, math.nan, math.nan
    mean, first, last = interval(known)
    return (mean, max(first, low), min(last, high)) if len(known) > 1 else (mean, math.nan, math.nan)
