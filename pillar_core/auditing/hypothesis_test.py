"""Hypothesis test of a claimed trade-off curve over many trials: how often an attack is right in
the world with a canary and without.

H₀: every attack misses at least f(α) of the worlds with the canary when it is wrong in a share α of
those without. With a threshold fixed beforehand both counts are binomial, and the p-value below is
exact: no normal approximation.
"""

import bisect
import dataclasses
import functools
import math

import numpy as np
from scipy.special import betainc, ndtr

from pillar_core import checks
from pillar_core.accounting import TradeOff, epsilon_of_mu
from pillar_core.arrays import Array
from pillar_core.errors import DataError, SettingError
from pillar_core.numerics import halve
from pillar_core.params import CHANCE, COUNT, NOISE_MULTIPLIER

GRID = np.concatenate(
    [
        [0.0],
        ndtr(np.linspace(-5.0, -2.0, 20)),
        ndtr(np.linspace(-1.98, 1.98, 199)),
        ndtr(np.linspace(2.0, 5.0, 20)),
        [1.0],
    ]
)
"""False-positive rates at which the worst case is sought; between two of them the p-value is
bounded, not interpolated."""

LARGEST_MU = 16.0


@dataclasses.dataclass(frozen=True)
class Counts:
    """What an attack with a fixed threshold said: alarms in `trials` runs each, with the canary and
    without."""

    hits: int
    false_alarms: int
    trials: int

    def __post_init__(self) -> None:
        if not (
            0 <= self.hits <= self.trials
            and 0 <= self.false_alarms <= self.trials
            and self.trials >= 1
        ):
            raise SettingError(
                f"counts must lie between 0 and trials, which is at least 1; got {self}."
            )


def counts_of(scores_with: Array, scores_without: Array, *, threshold: float) -> Counts:
    """Scores above a threshold that was fixed before they were drawn. Raises DataError: NaN scores,
    or worlds of unequal number."""
    inside, outside = (
        np.asarray(scores_with, dtype=np.float64),
        np.asarray(scores_without, dtype=np.float64),
    )
    if len(inside) != len(outside) or np.isnan(inside).any() or np.isnan(outside).any():
        raise DataError(
            "an audit needs as many scores with the canary as without, none of them NaN."
        )
    return Counts(int((inside > threshold).sum()), int((outside > threshold).sum()), len(inside))


def p_value(counts: Counts, curve: TradeOff) -> float:
    """The largest probability, under any attack that `curve` allows, of hits − false alarms as
    large as seen.

    Guarantee: exact test; rejecting a true claim where this is at most α happens with probability
    at most α.
    """
    excess = counts.hits - counts.false_alarms
    pmf, survival = _tables(counts.trials, curve)
    places = np.arange(counts.trials + 1) + excess
    # survival[:, j] = P(hits >= j), for j in 0 … trials + 1
    reached = survival[:, np.clip(places, 0, counts.trials + 1)]
    return float(min(1.0, (pmf * reached).sum(axis=1).max()))


def mu_lower_bound(counts: Counts, *, significance: float = 0.05) -> float:
    """The largest μ whose Gaussian trade-off curve is rejected at `significance`, to 0.01 from
    below; 0 where none is."""
    return halve(
        lambda mu: p_value(counts, TradeOff("gaussian", mu=mu)) <= significance,
        0.0,
        8.0,
        tolerance=0.01,
    )[0]


def epsilon_lower_bound(counts: Counts, *, delta: float, significance: float = 0.05) -> float:
    """`mu_lower_bound` as ε at δ: what these trials prove, for Gaussian runs."""
    return epsilon_of_mu(mu_lower_bound(counts, significance=significance), delta)


def power(claimed: TradeOff, *, true_mu: float, trials: int, significance: float) -> float:
    """The probability to reject `claimed` when the truth is μ = `true_mu` and the attack is ideal,
    threshold in the middle."""
    checks.within(
        true_mu=(true_mu, NOISE_MULTIPLIER),
        trials=(trials, COUNT),
        significance=(significance, CHANCE),
    )
    least = rejecting_excess(claimed, trials=trials, significance=significance)
    chance, false_chance = ndtr([true_mu / 2]), ndtr([-true_mu / 2])
    needed = np.clip(np.arange(trials + 1) + least, 0, trials + 1)
    return float((mass(trials, false_chance)[0] * survival(trials, chance)[0][needed]).sum())


@functools.lru_cache(maxsize=64)
def rejecting_excess(claimed: TradeOff, *, trials: int, significance: float) -> int:
    """The smallest hits − false alarms that rejects; trials + 1 where nothing can."""
    excesses = range(trials + 1)
    return bisect.bisect_left(
        excesses,
        True,
        key=lambda excess: p_value(Counts(excess, 0, trials), claimed) <= significance,
    )


def noticed_epsilon(
    claimed: TradeOff, *, trials: int, significance: float, delta: float, wanted: float = 0.9
) -> float:
    """The smallest true ε of a Gaussian run that would be noticed with probability `wanted`; inf
    where none would."""
    checks.within(wanted=(wanted, CHANCE))

    def is_missed(mu: float) -> bool:
        return power(claimed, true_mu=mu, trials=trials, significance=significance) < wanted

    return (
        math.inf
        if is_missed(LARGEST_MU)
        else epsilon_of_mu(halve(is_missed, 0.0, LARGEST_MU, tolerance=0.005)[1], delta)
    )


@functools.lru_cache(maxsize=16)
def _tables(trials: int, curve: TradeOff) -> tuple[Array, Array]:
    """For each cell of GRID: the law of false alarms at its low end and P(hits ≥ j) at its high
    end: a bound inside it.

    Fewer false alarms and more hits both raise the excess, so the ends dominate every rate in the
    cell.
    """
    largest = np.clip(1.0 - curve.miss_rate(GRID[1:]), 0.0, 1.0)
    return mass(trials, GRID[:-1]), survival(trials, largest)


def survival(trials: int, chances: Array) -> Array:
    """(len(chances), trials + 2) float64: P(successes ≥ j) for j in 0 … trials + 1. chances: (m,)
    in [0, 1]."""
    count = np.arange(1, trials + 1)
    inner = betainc(
        count[None, :], trials - count[None, :] + 1, np.asarray(chances, dtype=np.float64)[:, None]
    )
    return np.concatenate([np.ones((len(inner), 1)), inner, np.zeros((len(inner), 1))], axis=1)


def mass(trials: int, chances: Array) -> Array:
    """(len(chances), trials + 1) float64: P(successes = j) for j in 0 … trials."""
    return np.asarray(-np.diff(survival(trials, chances), axis=1))
