"""Certified ends of ε for one direction of a composition: lattice and window chosen, laws moved up
or merged, roots taken.

docs/accounting.md has the argument that every error lands on the safe side.

The saddle is the tilt θ at which the composed loss has its mass near ε(δ), from a few hundred
cells: no bound; a poor one costs accuracy that `composition` measures and reports.
"""

import dataclasses
import math
from collections.abc import Callable, Sequence

import numpy as np

from pillar_core.accounting.composition import REACHES, SHARES, Composition, compose, infinite_mass
from pillar_core.accounting.lattice import Cells, Law, cells, merge, pad_grid, slip, spread
from pillar_core.accounting.loss import Pair
from pillar_core.arrays import Array

POINTS = 400


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

    def saddle_near(self, epsilon: float, before: Saddle) -> Saddle:
        """Where an answer lies; at a smaller tilt than `before` where it is none."""
        return (
            self.saddle_at(epsilon)
            if 0 < epsilon < math.inf
            else self.saddle_with_tilt(before.theta / 8)
        )

    def saddle_with_tilt(self, theta: float) -> Saddle:
        """The composed loss at tilt θ."""
        _, mean, variance = self._log_moment(np.array([theta]))
        return Saddle(theta, float(mean[0]), math.sqrt(max(float(variance[0]), 1e-300)))

    def window(self, saddle: Saddle, depth: float) -> tuple[float, float]:
        """(low, high) with about e^−depth of the tilted mass beyond either."""
        rates = np.concatenate([np.array(REACHES) / saddle.spread, np.array(SHARES) * saddle.theta])
        shifts = np.concatenate([-rates, rates])
        growth = (
            self._log_moment(saddle.theta + shifts)[0]
            - self._log_moment(np.array([saddle.theta]))[0]
        )
        edges = (growth + depth) / shifts
        low, high = float(edges[: len(rates)].max()), float(edges[len(rates) :].min())
        return min(low, saddle.centre - saddle.spread), max(high, saddle.centre + saddle.spread)

    def _crossing(self, excess: Callable[[Array], Array]) -> Saddle:
        """Where `excess`, falling at first, crosses 0; past it, at tilts that see only the largest
        loss, it may rise again."""
        spread = math.sqrt(max(float(self._log_moment(np.zeros(1))[2][0]), 1e-300))
        thetas = np.geomspace(1e-4 / spread, 1e4 / spread, 33)
        for _ in range(2):
            below = excess(thetas) <= 0
            first = int(np.argmax(below)) if below.any() else int(np.argmin(excess(thetas)))
            thetas = np.geomspace(thetas[max(first - 1, 0)], thetas[max(first, 1)], 17)
        return self.saddle_with_tilt(float(thetas[8]))

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
    p, q = pair.masses(pad_grid(grid, 1e-9 * (1 + float(np.abs(grid).max()))))
    inside = (p > 0) & (q > 0)
    inside[0] = inside[-1] = False
    return np.log(p[inside]), np.log(p[inside]) - np.log(q[inside])


Direction = Sequence[tuple[Pair, int]]


@dataclasses.dataclass(frozen=True)
class Grid:
    """One attempt's lattice.

    error: what it may add to ε, relatively, by a second-order estimate. step: how far one merged
    loss may move, relative to ε over the root of the number of releases. points: loss intervals of
    a release.
    """

    error: float
    step: float
    points: int


REFINEMENTS = (Grid(1e-4, math.inf, 4096), Grid(1e-5, 1e-3, 16384), Grid(1e-6, 2e-4, 16384))
SMALLEST_SIZE, LARGEST_SIZE = 2**10, 2**20
TAIL_SHARE = 1e-8
"""Share of δ that all cut-off tails together may hold."""
LEAST_DEPTH, DEPTH = 20.0, 16.0
"""The window leaves at most about e^−20 of the tilted mass outside, and e^−16 of what decides δ."""
LOWER_SHARE = 1e-3
"""Share of δ that the lower end gives up for the drift of merged outcomes."""
ROOT_TOLERANCE = 1e-9


@dataclasses.dataclass(frozen=True)
class Window:
    """A tilt and a lattice of `size` steps h that starts near `low`."""

    theta: float
    h: float
    low: float
    high: float
    size: int

    def cells(self, direction: Direction, points: int, tail: float) -> list[Cells]:
        return [cells(pair, count, h=self.h, points=points, tail=tail) for pair, count in direction]

    def compose(self, laws: Sequence[Law]) -> Composition:
        offset = self.h * math.fsum(law.count * law.offset for law in laws)
        return compose(
            laws,
            h=self.h,
            theta=self.theta,
            start=math.floor((self.low - offset) / self.h),
            size=self.size,
        )


def direction_bounds(
    direction: Direction, delta: float, *, known: float
) -> tuple[float, float, float]:
    """(lower, estimate, upper) of ε for one direction, again on a better lattice while the two ends
    lie apart.

    A direction whose upper end is at most the `known` one of another direction decides nothing: its
    lower end stays 0.
    """
    rest = delta - infinite_mass((pair.infinite, count) for pair, count in direction)
    if not rest > 0:
        return 0.0, math.inf, math.inf
    steps = sum(count for _, count in direction)
    lower = 0.0
    estimate = math.inf
    upper = math.fsum(count * pair.range[1] for pair, count in direction)
    tail = min(TAIL_SHARE * rest / steps, 1e-9)
    moments = Moments(direction, tail)
    if upper <= known or moments.is_empty:
        return lower, upper, upper
    saddle, depth = moments.saddle(rest), LEAST_DEPTH
    for grid in REFINEMENTS:
        window = window_for(moments, saddle, depth, grid, steps)
        if window is None:
            break
        parts = window.cells(direction, grid.points, tail)
        spreads = window.compose([spread(part, window.h) for part in parts])
        upper = min(upper, end_of(spreads, saddle.centre, delta))
        if upper <= known:
            break
        certified, merged = lower_ends(
            window, [merge(part, window.h) for part in parts], saddle.centre, delta
        )
        lower, estimate = max(lower, certified), merged
        if (
            upper - lower <= 4e-3 * upper
        ):  # relative distance of the two ends that needs no finer lattice
            break
        depth = max(LEAST_DEPTH, spreads.depth(min(upper, window.high), rest) + DEPTH)
        saddle = moments.saddle_near(merged, saddle)
    return lower, min(max((2 * estimate + upper) / 3, lower), upper), upper


def upper_composition(direction: Direction, delta: float) -> tuple[Composition, float] | None:
    """The upper law composed around ε(δ), good for all δ within a few factors of e, and that ε;
    None where δ is spent."""
    rest = delta - infinite_mass((pair.infinite, count) for pair, count in direction)
    steps = sum(count for _, count in direction)
    tail = min(TAIL_SHARE * rest / steps, 1e-9)
    moments = Moments(direction, tail) if rest > 0 else None
    if moments is None or moments.is_empty:
        return None
    saddle, depth = moments.saddle(rest), LEAST_DEPTH
    while True:
        window = window_for(moments, saddle, depth, REFINEMENTS[0], steps)
        if window is None:
            return None
        composed = _spread_composition(direction, window, tail)
        upper = end_of(composed, saddle.centre, delta)
        needed = composed.depth(min(upper, window.high), rest) + DEPTH
        if needed <= depth + 1 or depth > LEAST_DEPTH:
            return composed, upper
        saddle, depth = moments.saddle_near(upper, saddle), needed


def delta_at_zero(direction: Direction) -> float:
    """An upper bound, tight for runs of moderate ε, of δ at ε = 0: the total variation of the
    composed pair."""
    steps = sum(count for _, count in direction)
    tail = 1e-13 / steps
    moments = Moments(direction, tail)
    if moments.is_empty:
        return 1.0
    window = window_for(moments, moments.saddle_at(0.0), LEAST_DEPTH, REFINEMENTS[0], steps)
    if window is None:
        return 1.0
    composed = _spread_composition(direction, window, tail)
    if composed.start * composed.h + composed.offset > 0:
        return 1.0
    return min(1.0, composed.infinite + math.exp(min(composed.log_delta(0.0, is_upper=True), 0.0)))


def _spread_composition(direction: Direction, window: Window, tail: float) -> Composition:
    parts = window.cells(direction, REFINEMENTS[0].points, tail)
    return window.compose([spread(part, window.h) for part in parts])


def window_for(
    moments: Moments, saddle: Saddle, depth: float, grid: Grid, steps: int
) -> Window | None:
    """The lattice: fine enough for the error wanted (a spread over h adds T(1 + θ)h²/12 to ε), wide
    enough for the tilted mass.

    None where losses are so large that no step can be told from 0 in float64; the bounds without
    sampling then stand.
    """
    low, high = moments.window(saddle, depth)
    scale = max(saddle.centre, 0.02 * saddle.spread)
    second_order = math.sqrt(12 * grid.error * scale / (steps * (1 + saddle.theta)))
    h = min(second_order, 0.25 / (1 + saddle.theta), grid.step * scale / math.sqrt(steps))
    # moving losses onto the lattice widens their sum by up to a step each, mostly by the root of
    # their number
    margin = (2 + min(steps, 4 * math.sqrt(steps))) * h
    low, high = low - margin, high + margin
    if not (h > 0 and high > low and math.isfinite((high - low) / h)):
        return None
    size = min(max(2 ** math.ceil(math.log2((high - low) / h)), SMALLEST_SIZE), LARGEST_SIZE)
    if max(-low, high) * size >= 2**52 * (high - low):
        return None
    return Window(saddle.theta, (high - low) / size, low, high, size)


def end_of(composed: Composition, start: float, delta: float, *, is_upper: bool = True) -> float:
    """ε at which the composition's δ falls to `delta`, never too small; is_upper: False for a lower
    end, never too large."""
    rest = delta - composed.infinite
    if not rest > 0:
        return math.inf
    target = math.log(rest)
    return _root(
        lambda epsilon: composed.log_delta(epsilon, is_upper=is_upper) - target,
        composed,
        start,
        is_upper=is_upper,
    )


def lower_ends(
    window: Window, laws: Sequence[Law], start: float, delta: float
) -> tuple[float, float]:
    """The certified lower end, and where δ would be met if what merging moved averaged out exactly.

    Merging moves each loss by a bounded independent error of mean 0; but for a share of δ, they sum
    to at least −slip.
    """
    composed = window.compose(laws)
    certified, merged = (
        end_of(composed, start, (1 + share) * delta, is_upper=False) for share in (LOWER_SHARE, 0.0)
    )
    return max(0.0, certified - slip(laws, math.log(LOWER_SHARE * delta))), max(0.0, merged)


def _root(
    excess: Callable[[float], float], composed: Composition, start: float, *, is_upper: bool
) -> float:
    """Where the falling `excess` crosses 0, at its safe end: at most 0 there for an upper end, at
    least 0 for a lower one.

    An upper end of inf, or a lower one of −inf, says that the window does not hold the crossing.
    """
    edge = composed.start * composed.h + composed.offset
    low, high = (max(edge, 0.0) if is_upper else edge), edge + composed.size * composed.h
    if is_upper and low == 0 and not excess(0.0) > 0:
        return 0.0
    above, below = math.inf, -math.inf
    x = last_x = min(max(start, low), high)
    last, slope = math.nan, -composed.theta
    for _ in range(60):
        value = excess(x)
        if value > 0:
            low, above = x, value
        else:
            high, below = x, value
        tolerance = ROOT_TOLERANCE * max(abs(x), composed.h)
        if math.isfinite(below) and high - low <= tolerance:
            break
        if (
            x != last_x
            and math.isfinite(value)
            and math.isfinite(last)
            and (value - last) / (x - last_x) < 0
        ):
            slope = (value - last) / (x - last_x)
        last_x, last = x, value
        root = x - value / slope
        root += tolerance / 3 if high - root > tolerance / 2 else -tolerance / 3
        x = root if low < root < high else (low + high) / 2
    if is_upper:
        return high if math.isfinite(below) else math.inf
    return low if math.isfinite(above) else -math.inf
