"""Σ p_j · e^{−θy}(1 − e^{−y}) over lattice points y above 0: what is left of δ(ε) once a law is tilted by θ.

Two ways with one meaning. After many steps only a few dozen Fourier coefficients are alive, and against each the sum is
a geometric series. After few steps thousands are, and running sums over the lattice are cheaper.
"""

import dataclasses
import math

import numpy as np
from scipy import fft

from pillar_core.arrays import Array

UNIT = 2.0**-53


@dataclasses.dataclass(frozen=True)
class Spectrum:
    """Coefficients of a folded law at the frequencies where they are alive, mirror halves added in, with error bounds.

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

    def at(self, first: int, gap: float, terms: int) -> tuple[float, float]:
        """The sum over `terms` lattice points from `first` on, the first at y = gap; and a bound of its error."""
        size, frequency = self.spectrum.size, self.spectrum.frequency
        turn = 2j * math.pi / size
        begin = np.exp(turn * (frequency * first % size))
        end = turn * (frequency * terms % size)
        slow, fast = (
            math.exp(-rate * gap) * np.expm1(end - rate * self.h * terms) / np.expm1(turn * frequency - rate * self.h)
            for rate in (self.theta, self.theta + 1)
        )
        series = begin * (slow - fast)
        value = float((self.spectrum.coefficient * series).real.sum()) / size
        rounding = 16 * UNIT * float((np.abs(self.spectrum.coefficient) * (np.abs(slow) + np.abs(fast))).sum()) / size
        error = float((self.spectrum.error * np.abs(series)).sum()) / size
        return value, error + rounding + self.spectrum.dropped * float(np.abs(series[0]))


class LatticeTail:
    """The sums from every lattice point of the window on, by recursion from its top; all terms positive."""

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
        """The sum over `terms` lattice points from `first` on, the first at y = gap; and a bound of its error."""
        if terms <= 0:
            return 0.0, 0.0
        here = first - self._start
        fast = math.exp(-(self._theta + 1) * gap)
        value = fast * float(self._difference[here]) + (math.exp(-self._theta * gap) - fast) * float(self._slow[here])
        # an error of each point counts as the kernel does; the recursions round once a point
        slow_sum, fast_sum = (-math.exp(-rate * gap) / math.expm1(-rate * self._h) for rate in (self._theta, self._theta + 1))
        return value, self._error * (slow_sum - fast_sum) + abs(value) * 8 * UNIT * min(terms, slow_sum)


def _recursion(values: Array, factor: float) -> Array:
    """out[j] = values[j] + factor · out[j + 1]."""
    from scipy import signal  # takes longer to import than most ε take to compute

    out: Array = signal.lfilter([1.0], [1.0, -factor], values[::-1])[::-1]
    return out
