"""Random allocation: in each pass every row enters one of t noisy steps, drawn by itself; both ends of ε, add/remove only.

The likelihood ratio of a pass is the mean of t independent lognormals of mean 1, and δ(ε) is the mean of a convex function of it in
either direction: spreading a lognormal over grid points at the same mean raises δ(ε), merging cells lowers it. docs/accounting.md
has the proof, for steps that depend on all before them and for composed passes. The scheme is that of Feldman & Shenfeld (2025, 2026).
"""

import dataclasses
import functools
import math

import numpy as np
from scipy.special import ndtri

from pillar_core.accounting.loss import AtomPair, GaussianPair, atoms
from pillar_core.arrays import Array

POINTS = 1000
"""Grid points of a law: half of them within six standard deviations of its mean, half on a geometric scale to its ends."""
TAIL = 1e-14
"""Mass of one lognormal beyond either end of its grid; above, the likelihood counts as infinite loss."""
MASS_ERROR = 1e-11
"""Relative error of one lognormal's masses, roundings of the sums included."""
LOSSES = (1e-3, 8.0)
"""Losses of a row (clip norm / noise) whose lognormal float64 holds to that accuracy."""


def is_covered(loss: float) -> bool:
    """Whether amplification is computed for it; elsewhere the bound of a full release a pass stands."""
    return LOSSES[0] <= loss <= LOSSES[1]


@dataclasses.dataclass(frozen=True, eq=False)
class _Law:
    """Atoms at `values` >= 0 with `masses`; `lost` is what the cut took from the mean."""

    values: Array
    masses: Array
    lost: float = 0.0


@functools.lru_cache(maxsize=64)
def pairs(loss: float, steps: int, *, is_upper: bool) -> tuple[AtomPair, AtomPair]:
    """The pairs (removal, addition) of one pass over `steps` steps, worse or better for privacy than the true ones.

    loss: one row's largest norm over the noise's standard deviation, the clip norm's 1/σ.

    Guarantee: one row added or removed, n public, each row's step drawn by itself and secret; the other rows' steps are arbitrary.
    """
    law = _mean(_lognormal(loss, is_upper=is_upper), steps, is_upper=is_upper)
    p, q = law.values / steps * law.masses, law.masses
    removal = atoms(p, q)
    return dataclasses.replace(removal, infinite=removal.infinite + law.lost), atoms(q, p)


def _lognormal(loss: float, *, is_upper: bool) -> _Law:
    """e^Z with Z ~ N(−loss²/2, loss²): the ratio of one step, were it the row's own."""
    reach = -float(ndtri(TAIL))
    low, high = (math.exp(sign * loss * reach - loss * loss / 2) for sign in (-1, 1))
    walls = _grid(1.0, min(math.sqrt(math.expm1(loss * loss)), 5.0), low, high)
    p, q = GaussianPair(loss).masses(np.log(walls))
    if not is_upper:
        return _Law(p / q, q)
    law = _spread(np.append(p[:-1] / q[:-1], walls[-1]), q, np.append(0.0, walls))
    return dataclasses.replace(law, lost=float(p[-1] - q[-1] * walls[-1]))


def _mean(one: _Law, count: int, *, is_upper: bool) -> _Law:
    """The sum of `count` independent copies, by doubling."""
    power, total = one, None
    while count:
        if count & 1:
            total = power if total is None else _sum(total, power, is_upper=is_upper)
        count >>= 1
        power = _sum(power, power, is_upper=is_upper) if count else power
    return one if total is None else dataclasses.replace(total, lost=one.lost)


def _sum(first: _Law, second: _Law, *, is_upper: bool) -> _Law:
    """The law of the sum on a grid of its own: all terms are positive, so that masses keep their relative accuracy."""
    values = np.add.outer(first.values, second.values).ravel()
    masses = np.multiply.outer(first.masses, second.masses).ravel()
    values, masses = values[masses > 0], masses[masses > 0]
    mean = float(values @ masses)
    walls = _grid(mean, math.sqrt(float((values - mean) ** 2 @ masses)), float(values[values > 0].min()), float(values.max()))
    if is_upper:
        return _spread(values, masses, np.append(0.0, walls))
    cell = np.searchsorted(walls, values, side="right")
    total, moment = (np.bincount(cell, weights) for weights in (masses, masses * values))
    return _Law(moment[total > 0] / total[total > 0], total[total > 0])


def _spread(values: Array, masses: Array, walls: Array) -> _Law:
    """Each mass on the two walls around its value, at the same mean."""
    cell = np.clip(np.searchsorted(walls, values, side="right") - 1, 0, len(walls) - 2)
    up = np.clip((values - walls[cell]) / (walls[cell + 1] - walls[cell]), 0.0, 1.0)
    total = np.bincount(cell, masses * (1 - up), len(walls)) + np.bincount(cell + 1, masses * up, len(walls))
    return _Law(walls[total > 0], total[total > 0])


def _grid(mean: float, deviation: float, low: float, high: float) -> Array:
    bulk = np.linspace(max(mean - 6 * deviation, low), min(mean + 6 * deviation, high), POINTS // 2)
    return np.unique(np.concatenate([bulk, np.geomspace(low, high, POINTS // 2)]))
