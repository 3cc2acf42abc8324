"""δ(ε) of a composition on a lattice, by one Fourier transform a release, exponentially tilted to
where the answer lies.

The composed law is weighed by e^{θS}, so that the losses near ε carry its mass: rounding errors are
then relative to δ, and 1e-12 is as exact as 1e-2. Every error is bounded, not estimated
(docs/accounting.md).

The tail, Σ p_j · e^{−θy}(1 − e^{−y}) over lattice points y above 0, is what is left of δ(ε) once a
law is tilted by θ. After many steps only a few dozen Fourier coefficients are alive, and against
each the sum is a geometric series. After few steps thousands are, and running sums over the lattice
are cheaper.
"""

import dataclasses
import functools
import math
from collections.abc import Iterable, Sequence

import numpy as np
from scipy import fft

from pillar_core.accounting.lattice import Law
from pillar_core.arrays import Array

UNIT = 2.0**-53


@dataclasses.dataclass(frozen=True)
class Spectrum:
    """Coefficients of a folded law at the frequencies where they are alive, mirror halves added in,
    with error bounds.

    `dropped` bounds the modulus of each of the others.
    """

    size: int
    frequency: Array
    coefficient: Array
    error: Array
    dropped: float


@dataclasses.dataclass(frozen=True)
class FourierTail:
    """The sum against each living coefficient."""

    spectrum: Spectrum
    h: float
    theta: float

    @functools.cached_property
    def _divisors(self) -> tuple[tuple[float, Array], ...]:
        turns = 2j * math.pi / self.spectrum.size * self.spectrum.frequency
        return tuple(
            (rate, np.expm1(turns - rate * self.h)) for rate in (self.theta, self.theta + 1)
        )

    def at(self, first: int, gap: float, terms: int) -> tuple[float, float]:
        """The sum over `terms` lattice points from `first` on, the first at y = gap; and a bound of
        its error."""
        size, frequency = self.spectrum.size, self.spectrum.frequency
        turn = 2j * math.pi / size
        begin = np.exp(turn * (frequency * first % size))
        end = turn * (frequency * terms % size)
        slow, fast = (
            math.exp(-rate * gap) * np.expm1(end - rate * self.h * terms) / divisor
            for rate, divisor in self._divisors
        )
        series = begin * (slow - fast)
        value = float((self.spectrum.coefficient * series).real.sum()) / size
        rounding = (
            16
            * UNIT
            * float((np.abs(self.spectrum.coefficient) * (np.abs(slow) + np.abs(fast))).sum())
            / size
        )
        error = float((self.spectrum.error * np.abs(series)).sum()) / size
        return value, error + rounding + self.spectrum.dropped * float(np.abs(series[0]))


class LatticeTail:
    """The sums from every lattice point of the window on, by recursion from its top; all terms
    positive."""

    def __init__(self, spectrum: Spectrum, *, h: float, theta: float, start: int) -> None:
        self._h, self._theta, self._start = h, theta, start
        size = spectrum.size
        half = np.zeros(size // 2 + 1, complex)
        mirrored = np.where((spectrum.frequency > 0) & (spectrum.frequency < size // 2), 0.5, 1.0)
        half[spectrum.frequency] = spectrum.coefficient * mirrored
        mass = np.roll(fft.irfft(half, size), -(start % size))
        rounding = 8 * UNIT * math.log2(size) * float(np.abs(spectrum.coefficient).sum())
        self._error = (float(spectrum.error.sum()) + rounding) / size + spectrum.dropped
        slow, fast = math.exp(-theta * h), math.exp(-(theta + 1) * h)
        self._slow = _recursion(mass, slow)
        self._difference = _recursion((slow - fast) * np.append(self._slow[1:], 0.0), fast)

    def at(self, first: int, gap: float, terms: int) -> tuple[float, float]:
        """The sum over `terms` lattice points from `first` on, the first at y = gap; and a bound of
        its error."""
        if terms <= 0:
            return 0.0, 0.0
        place = first - self._start
        fast = math.exp(-(self._theta + 1) * gap)
        value = fast * float(self._difference[place]) + (
            math.exp(-self._theta * gap) - fast
        ) * float(self._slow[place])
        # an error of each point counts as the kernel does; the recursions round once a point
        slow_sum, fast_sum = (
            -math.exp(-rate * gap) / math.expm1(-rate * self._h)
            for rate in (self._theta, self._theta + 1)
        )
        return value, self._error * (slow_sum - fast_sum) + abs(value) * 8 * UNIT * min(
            terms, slow_sum
        )


def _recursion(values: Array, factor: float) -> Array:
    """out[j] = values[j] + factor · out[j + 1]."""
    from scipy import signal  # takes longer to import than most ε take to compute

    return np.asarray(signal.lfilter([1.0], [1.0, -factor], values[::-1])[::-1])


ROUNDING = 1e-11
"""Relative error of one release's masses and absolute error of its losses, with room: interval
masses, logarithms, walls."""
REACHES = (0.7, 1.4, 2.5, 4.0, 6.0, 9.0)
SHARES = (0.3, 0.6, 0.9)
"""Trial rates of the Chernoff bounds: in standard deviations, and in shares of θ (which undo the
tilt)."""
MANY = 2048


@dataclasses.dataclass(frozen=True)
class Composition:
    """The composed law on lattice points start … start + size − 1, tilted by θ.

    `above` and `below` bound the tilted mass beyond the window, which folding has moved inside.
    `infinite` is the mass of an infinite loss, `offset` what the composed loss has beyond its
    lattice point.
    """

    h: float
    theta: float
    start: int
    size: int
    offset: float
    infinite: float
    log_moment: float
    steps: int
    tail: FourierTail | LatticeTail
    above: float
    below: float

    def depth(self, epsilon: float, delta: float) -> float:
        """−log of the share that δ is of the tilted law's scale: what must hold outside the window
        is small beside it."""
        return (
            self.log_moment
            - self.theta * (epsilon - self.offset)
            - math.log(delta)
            - math.log1p(self.theta)
        )

    def log_delta(self, epsilon: float, *, is_upper: bool) -> float:
        """log of the finite losses' share of δ(ε), each error on the side asked for; −inf for 0. ε
        inside the window."""
        first = max(math.ceil((epsilon - self.offset) / self.h), self.start)
        value, error = self.tail.at(
            first, first * self.h + self.offset - epsilon, max(self.start + self.size - first, 0)
        )
        if is_upper:
            end = (self.start + self.size) * self.h + self.offset
            value += error + self.above * math.exp(-self.theta * max(0.0, end - epsilon))
        else:
            value -= error + (self.above + self.below) / (1 + self.theta)
        if not value > 0:
            return -math.inf
        slack = ROUNDING * self.steps * (1 + self.theta)
        return (
            self.log_moment
            - self.theta * (epsilon - self.offset)
            + math.log(value)
            + (slack if is_upper else -slack)
        )


def compose(laws: Sequence[Law], *, h: float, theta: float, start: int, size: int) -> Composition:
    """The composition of all laws on the lattice h·ℤ, tilted by `theta` > 0 and folded onto `size`
    (even) points."""
    log_tilted, log_moment = _tilt(laws, h * theta)
    spectrum = _transform(laws, log_tilted, size)
    below, above = _outside(laws, log_tilted, start, size, h * theta)
    return Composition(
        h=h,
        theta=theta,
        start=start,
        size=size,
        offset=h * math.fsum(law.count * law.offset for law in laws),
        infinite=infinite_mass((law.infinite, law.count) for law in laws),
        log_moment=log_moment,
        steps=sum(law.count for law in laws),
        tail=(
            FourierTail(spectrum, h, theta)
            if len(spectrum.frequency) <= MANY
            else LatticeTail(spectrum, h=h, theta=theta, start=start)
        ),
        above=above,
        below=below,
    )


def infinite_mass(parts: Iterable[tuple[float, int]]) -> float:
    """1 − Π (1 − mass)^count."""
    total = 0.0
    for mass, count in parts:
        if mass >= 1 and count:
            return 1.0
        total += count * math.log1p(-mass)
    return -math.expm1(total)


def _tilt(laws: Sequence[Law], rate: float) -> tuple[list[Array], float]:
    """Logs of each law's masses times e^{rate · index}, normalised, and the log of all
    normalisers."""
    log_tilted, log_moment = [], 0.0
    for law in laws:
        weight = np.log(law.mass) + rate * law.index
        total = _log_sum(weight)
        log_moment += law.count * total
        log_tilted.append(weight - total)
    return log_tilted, log_moment


def _log_sum(weight: Array) -> float:
    top = float(weight.max())
    return top + math.log(float(np.exp(weight - top).sum()))


def _transform(laws: Sequence[Law], log_tilted: Sequence[Array], size: int) -> Spectrum:
    """The product of the laws' transforms, each to the power of its count.

    A coefficient of the transform is a sum of `size` products in a tree of depth log₂(size), so its
    error is at most about that many roundings of the absolute sum, which is 1 (Higham 2002, section
    24.1).
    """
    rounding = 8 * UNIT * math.log2(size)
    transforms = [
        fft.rfft(np.bincount(law.index % size, np.exp(weight), size))
        for law, weight in zip(laws, log_tilted, strict=True)
    ]
    alive = np.ones(size // 2 + 1, bool)
    dropped = 0.0
    for law, transform in zip(laws, transforms, strict=True):
        cut = math.exp(
            -40.0 / law.count
        )  # coefficients below e^−40 are dropped, and all of them counted as error
        alive &= transform.real**2 + transform.imag**2 > cut * cut
        dropped = max(dropped, math.exp(law.count * math.log(cut + rounding)))
    frequency = np.flatnonzero(alive)
    log_value: Array = np.zeros(len(frequency), complex)
    log_largest: Array = np.zeros(len(frequency))
    for law, transform in zip(laws, transforms, strict=True):
        logs = np.log(transform[frequency])
        log_value += law.count * logs
        log_largest += law.count * (
            np.log(np.exp(logs.real) + rounding) + 8 * UNIT * (1 + np.abs(logs))
        )
    twice = np.where((frequency > 0) & (frequency < size // 2), 2.0, 1.0)
    error = twice * np.exp(log_largest) * -np.expm1(np.minimum(log_value.real - log_largest, 0.0))
    return Spectrum(size, frequency, twice * np.exp(log_value), error, dropped)


def _outside(
    laws: Sequence[Law], log_tilted: Sequence[Array], start: int, size: int, tilt: float
) -> tuple[float, float]:
    """Bounds of the tilted mass below and above the window: none where the law does not reach, else
    Chernoff's."""
    centre = variance = 0.0
    for law, weight in zip(laws, log_tilted, strict=True):
        mass = np.exp(weight)
        mean = float(mass @ law.index)
        centre += law.count * mean
        variance += law.count * float(mass @ (law.index - mean) ** 2)
    scale = math.sqrt(max(variance, 1.0))
    best = [0.0, 0.0]
    for side, sign, edge in ((0, -1.0, start), (1, 1.0, start + size)):
        for rate in (
            *(sign * reach / scale for reach in REACHES),
            *(sign * share * tilt for share in SHARES),
        ):
            growth = math.fsum(
                law.count * _log_sum(weight + rate * law.index)
                for law, weight in zip(laws, log_tilted, strict=True)
            )
            best[side] = min(best[side], growth - rate * edge)
    within_below = sum(law.count * int(law.index[0]) for law in laws) >= start
    within_above = sum(law.count * int(law.index[-1]) for law in laws) < start + size
    return 0.0 if within_below else math.exp(best[0]), 0.0 if within_above else math.exp(best[1])
