"""Whether what releases added is independent standard normals in units of what was charged: tests
of law and dependence.

They find faults and prove nothing. `likeness` and `pairs` are exact for independent normals, the
counts' chi-square is asymptotic.
"""

import itertools
from collections.abc import Sequence

import numpy as np

from pillar_core.arrays import Array
from pillar_core.deferred import stats

BINS = 40
SAME = 1e-11
"""Noise that is read off float64 sums agrees to 1e-14 with itself."""
RELEASES, PLACES = 6, 40
"""The numbers of a run that are compared two by two: the first of its first releases."""


def p_values(runs: Sequence[Sequence[Array]] | Array, *, grid: float = 0.0) -> dict[str, float]:
    """A p-value for each way to be wrong. runs: the noise of each run's releases in order, shaped
    alike in all runs; rounded to `grid`.

    Noise that is used twice, between releases, numbers or runs, as it is or with its sign turned,
    has p = 0.
    """
    numbers = np.stack([np.concatenate([np.ravel(part) for part in run]) for run in runs]).astype(
        np.float64
    )
    few = np.stack(
        [np.concatenate([np.ravel(part)[:PLACES] for part in run[:RELEASES]]) for run in runs]
    ).astype(np.float64)
    p = {
        "law": law(numbers.ravel()),
        "variance": variance(numbers.ravel()),
        "largest": largest(numbers.ravel()),
        "used twice": used_twice(numbers.ravel(), max(SAME, grid / 2)),
        "pairs of runs": pairs(numbers),
        "pairs of numbers": pairs(few.T),
        "neighbouring numbers": likeness(numbers[:, 1:], numbers[:, :-1]),
        "neighbouring runs": likeness(numbers[1:], numbers[:-1]),
    }
    steps = [
        (first, second)
        for run in runs
        for first, second in itertools.pairwise(run)
        if first.shape == second.shape
    ]
    if steps:
        p["releases in a row"] = likeness(
            *(np.concatenate([np.ravel(pair[side]) for pair in steps]) for side in (0, 1))
        )
    return p


def law(noise: Array) -> float:
    """Chi-square of counts in BINS equally likely bins of the standard normal law. noise: (m,), at
    least ten a bin."""
    counts = np.histogram(stats.norm.cdf(noise), bins=BINS, range=(0.0, 1.0))[0]
    expected = len(noise) / BINS
    return float(stats.chi2.sf(((counts - expected) ** 2).sum() / expected, BINS - 1))


def variance(noise: Array) -> float:
    """Two-sided: Σ noise² of m standard normals is chi-square."""
    total = float((noise**2).sum())
    return min(
        1.0, 2 * float(min(stats.chi2.sf(total, len(noise)), stats.chi2.cdf(total, len(noise))))
    )


def largest(noise: Array) -> float:
    """Two-sided: the largest |noise| of m is at most t with probability (2Φ(t) − 1)^m: tails that
    are cut, or too heavy."""
    log_below = len(noise) * np.log1p(-2 * stats.norm.sf(np.abs(noise).max()))
    return min(1.0, 2 * float(min(np.exp(log_below), -np.expm1(log_below))))


def used_twice(noise: Array, same: float = SAME) -> float:
    """How many neighbours among the sorted |noise| lie within `same`: about Poisson, two
    half-normals agree to t with probability 2t/√π."""
    count = int((np.diff(np.sort(np.abs(noise))) < same).sum())
    return (
        float(stats.poisson.sf(count - 1, len(noise) ** 2 * same / np.sqrt(np.pi)))
        if count
        else 1.0
    )


def likeness(first: Array, second: Array) -> float:
    """The cosine of two independent normal vectors of m numbers has cos² ~ Beta(1/2, (m − 1)/2)."""
    a, b = np.ravel(first).astype(np.float64), np.ravel(second).astype(np.float64)
    return _tail(np.array((a @ b) ** 2 / max(float((a @ a) * (b @ b)), 1e-300)), len(a))


def pairs(rows: Array) -> float:
    """The least `likeness` of two of these rows (r, m), times the number of pairs."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    cosines = np.triu(
        (rows / np.maximum(lengths, 1e-300)) @ (rows / np.maximum(lengths, 1e-300)).T, 1
    )
    return min(
        1.0,
        len(rows) * (len(rows) - 1) / 2 * _tail(np.square(cosines).max(initial=0.0), rows.shape[1]),
    )


def _tail(square: Array, m: int) -> float:
    return float(stats.beta.sf(np.minimum(square, 1.0), 0.5, (m - 1) / 2)) if m > 1 else 1.0
