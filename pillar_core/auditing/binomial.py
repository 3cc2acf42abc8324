"""Binomial tails as tables, by the incomplete beta function."""

import numpy as np
from scipy.special import betainc

from pillar_core.arrays import Array


def survival(trials: int, chances: Array) -> Array:
    """(len(chances), trials + 2) float64: P(successes ≥ j) for j in 0 … trials + 1. chances: (m,) in [0, 1]."""
    count = np.arange(1, trials + 1)
    inner = betainc(count[None, :], trials - count[None, :] + 1, np.asarray(chances, dtype=np.float64)[:, None])
    return np.concatenate([np.ones((len(inner), 1)), inner, np.zeros((len(inner), 1))], axis=1)


def mass(trials: int, chances: Array) -> Array:
    """(len(chances), trials + 1) float64: P(successes = j) for j in 0 … trials."""
    difference: Array = -np.diff(survival(trials, chances), axis=1)
    return difference
