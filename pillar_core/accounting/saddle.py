"""Where the answer lies: the tilt θ at which the composed loss has its mass near ε(δ), from a few hundred cells.

Nothing here is a bound; a poor tilt or window costs accuracy that `composition` measures and reports.
"""

import dataclasses
import math
from collections.abc import Callable, Sequence

import numpy as np

from pillar_core.accounting.loss import Pair
from pillar_core.arrays import Array

POINTS = 400
REACHES, SHARES = np.array([0.7, 1.4, 2.5, 4.0, 6.0, 9.0]), np.array([0.3, 0.6, 0.9])


@dataclasses.dataclass(frozen=True)
class Saddle:
    """A tilt, with the centre and standard deviation of the tilted composed loss."""

    theta: float
    centre: float
    spread: float


class Moments:
    """Log moment generating functions of the composed loss under P, from coarse cells."""

    def __init__(self, direction: Sequence[tuple[Pair, int]], tail: float) -> None:
        self._parts = [(*_coarse(pair, tail), count) for pair, count in direction]
        self.is_empty = any(len(losses) == 0 for _, losses, _ in self._parts)

    def saddle(self, delta: float) -> Saddle:
        """Where δ ≈ e^{K(θ) − θε} / (θ(1 + θ)√(2πK″)) at ε = K′(θ)."""

        def excess(thetas: Array) -> Array:
            value, mean, variance = self._log_moment(thetas)
            # near an atom the tilted law is narrower than the kernel e^{−θy} that weighs it
            spread = 0.5 * np.log(2 * math.pi * np.maximum(variance, thetas**-2))
            estimate: Array = value - thetas * mean - np.log(thetas) - np.log1p(thetas) - spread
            return estimate - math.log(delta)

        return self._crossing(excess)

    def saddle_at(self, epsilon: float) -> Saddle:
        """Where the tilted composed loss has mean ε."""
        return self._crossing(lambda thetas: epsilon - self._log_moment(thetas)[1])

    def tilted(self, theta: float) -> Saddle:
        """The composed loss at tilt θ."""
        _, mean, variance = self._log_moment(np.array([theta]))
        return Saddle(theta, float(mean[0]), math.sqrt(max(float(variance[0]), 1e-300)))

    def window(self, saddle: Saddle, depth: float) -> tuple[float, float]:
        """(low, high) with about e^−depth of the tilted mass beyond either."""
        rates = np.concatenate([REACHES / saddle.spread, SHARES * saddle.theta])
        shifts = np.concatenate([-rates, rates])
        growth = self._log_moment(saddle.theta + shifts)[0] - self._log_moment(np.array([saddle.theta]))[0]
        edges = (growth + depth) / shifts
        low, high = float(edges[: len(rates)].max()), float(edges[len(rates) :].min())
        return min(low, saddle.centre - saddle.spread), max(high, saddle.centre + saddle.spread)

    def _crossing(self, excess: Callable[[Array], Array]) -> Saddle:
        """Where `excess`, falling at first, crosses 0; past it, at tilts that see only the largest loss, it may rise again."""
        spread = math.sqrt(max(float(self._log_moment(np.zeros(1))[2][0]), 1e-300))
        thetas = np.geomspace(1e-4 / spread, 1e4 / spread, 33)
        for _ in range(2):
            below = excess(thetas) <= 0
            first = int(np.argmax(below)) if below.any() else int(np.argmin(excess(thetas)))
            thetas = np.geomspace(thetas[max(first - 1, 0)], thetas[max(first, 1)], 17)
        return self.tilted(float(thetas[8]))

    def _log_moment(self, thetas: Array) -> tuple[Array, Array, Array]:
        """(t,) values of K, K′ and K″ of the composition at each θ."""
        value, mean, variance = np.zeros(len(thetas)), np.zeros(len(thetas)), np.zeros(len(thetas))
        for log_p, losses, count in self._parts:
            weight = log_p + np.multiply.outer(thetas, losses)
            top = weight.max(axis=1)
            weight = np.exp(weight - top[:, None])
            total = weight.sum(axis=1)
            first = weight @ losses / total
            value += count * (top + np.log(total))
            mean += count * first
            variance += count * np.maximum(weight @ losses**2 / total - first**2, 0.0)
        return value, mean, variance


def _coarse(pair: Pair, tail: float) -> tuple[Array, Array]:
    """log P masses and losses of a few hundred cells of `pair`."""
    grid = pair.grid(POINTS, tail)
    # an atom at either end stays inside, whatever its place is rounded to
    pad = 1e-9 * (1 + float(np.abs(grid).max()))
    edges = np.concatenate([[grid[0] - pad], grid, [grid[-1] + pad]])
    edges = edges[np.concatenate([[True], np.diff(edges) > 0])]
    p, q = pair.masses(edges)
    inside = (p > 0) & (q > 0)
    inside[0] = inside[-1] = False
    return np.log(p[inside]), np.log(p[inside]) - np.log(q[inside])
