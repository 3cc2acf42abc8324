"""A privacy loss moved onto the lattice h·ℤ: upwards by a spread (worse for privacy), or together
by a merge (better).

With r = dP/dQ under Q, the hockey-stick divergence is a convex function's mean, so a
mean-preserving spread of r raises every δ(ε) and a merge of outcomes, post-processing, lowers it;
both survive composition (docs/accounting.md).
"""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from pillar_core.accounting.loss import Pair
from pillar_core.arrays import Array


@dataclasses.dataclass(frozen=True)
class Law:
    """Masses under P of the losses (index + offset)·h, `count` times composed, and the mass of an
    infinite loss.

    `errors` is what a merged outcome's true loss has beyond its written one, with mean 0 over P;
    None where nothing moved but by a spread.
    """

    index: Array
    mass: Array
    count: int
    infinite: float
    offset: float = 0.0
    errors: Array | None = None


@dataclasses.dataclass(frozen=True)
class Cells:
    """Loss intervals between lattice walls, their masses under both laws, and P's mass below and
    above them all.

    `vanished` is P's mass in cells where Q's underflows, `infinite` the mass where Q has none by
    nature.
    """

    walls: Array
    p: Array
    q: Array
    below: float
    above: float
    vanished: float
    infinite: float
    count: int


def pad_grid(grid: Array, pad: float) -> Array:
    """The different places of an increasing grid, and one more beyond each end, `pad` away."""
    walls = np.concatenate([[grid[0] - pad], grid, [grid[-1] + pad]])
    return np.asarray(walls[np.concatenate([[True], np.diff(walls) > 0])])


def cells(pair: Pair, count: int, *, h: float, points: int, tail: float) -> Cells:
    """The occupied cells of `pair`: single lattice steps where the loss is dense, wider in sparse
    tails."""
    walls = pad_grid(np.floor(pair.grid(points, tail) / h).astype(np.int64), 1)
    p, q = pair.masses(walls * h)
    inner, outer = p[1:-1], q[1:-1]
    vanished = float(inner[outer <= 0].sum())
    return Cells(
        walls,
        np.where(outer > 0, inner, 0.0),
        outer,
        float(p[0]),
        float(p[-1]),
        vanished,
        pair.infinite,
        count,
    )


def spread(binned: Cells, h: float) -> Law:
    """The upper law: each cell's mass goes to its two walls with r's mean kept; what lies above all
    becomes infinite."""
    left, right = binned.walls[:-1], binned.walls[1:]
    width = (right - left) * h
    occupied = binned.p > 0
    ratio = np.log(np.where(occupied, binned.p, 1.0)) - np.log(np.where(occupied, binned.q, 1.0))
    up = binned.p * np.expm1(-np.clip(ratio - left * h, 0.0, width)) / np.expm1(-width)
    mass = np.zeros(len(binned.walls))
    mass[:-1] += binned.p - up
    mass[1:] += up
    mass[0] += binned.below
    occupied_walls = mass > 0
    return Law(
        binned.walls[occupied_walls],
        mass[occupied_walls],
        binned.count,
        binned.infinite + binned.vanished + binned.above,
    )


def merge(binned: Cells, h: float) -> Law:
    """The lower law: each cell is one outcome, written at its half step; what lies outside all
    cells is dropped."""
    occupied = binned.p > 0
    p = binned.p[occupied]
    losses = np.log(p) - np.log(binned.q[occupied])
    index = np.floor(losses / h).astype(np.int64)
    errors = losses - (index + 0.5) * h
    mean = float(p @ errors) / float(p.sum())
    return Law(index, p, binned.count, binned.infinite, 0.5 + mean / h, errors - mean)


def slip(laws: Sequence[Law], log_chance: float) -> float:
    """How far the composed errors of merged laws may fall below 0, but with probability
    e^{log_chance} (Chernoff)."""
    variance = math.fsum(
        law.count * float(law.mass @ law.errors**2) for law in laws if law.errors is not None
    )
    if variance == 0:
        return 0.0
    best = math.fsum(
        law.count * float(np.abs(law.errors).max()) for law in laws if law.errors is not None
    )
    for rate in math.sqrt(-2 * log_chance / variance) * np.geomspace(0.02, 2.0, 15):
        growth = 0.0
        for law in laws:
            if law.errors is not None:
                exponent = -rate * law.errors
                top = max(float(exponent.max()), 0.0)
                # dropped mass counts as an error of 0
                idle = max(0.0, 1.0 - float(law.mass.sum()))
                growth += law.count * (
                    top + math.log(float(law.mass @ np.exp(exponent - top)) + idle * math.exp(-top))
                )
        best = min(best, (growth - log_chance) / float(rate))
    return best
