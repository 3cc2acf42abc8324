"""Two-sided geometric noise on counts, drawn exactly with whole numbers.

Guarantee: of a table in which a row is in one cell, one row added or removed changes one count by
one; with noise of P(X = x) ∝ exp(−r·|x|) on every cell it is r-DP, and 2r-DP when one row is
replaced (Ghosh, Roughgarden & Sundararajan 2012). δ = 0. No real number is rounded: r is a
fraction, and the draw is that of Canonne, Kamath & Steinke (2020), Algorithm 2.
"""

import dataclasses
import math

import numpy as np

from pillar_core.arrays import Array
from pillar_core.errors import SettingError
from pillar_core.events import PureEvent
from pillar_core.ledger import Call, Ledger
from pillar_core.mechanisms.exact import coins, uniform_below
from pillar_core.rng import Stream, exact_words, words_of

DENOMINATOR = 2**40
"""Of every rate r."""


@dataclasses.dataclass(frozen=True)
class GeometricMechanism:
    """Releases counts with noise of rate `numerator` / 2⁴⁰."""

    numerator: int
    stream: Stream
    ledger: Ledger
    label: str = "noisy counts"

    def __post_init__(self) -> None:
        if not self.numerator >= 1:
            raise SettingError(
                f"the rate of geometric noise must be at least 2⁻⁴⁰; got {self.numerator} · 2⁻⁴⁰."
            )

    @property
    def rate(self) -> float:
        """r, which is ε for one row added or removed."""
        return self.numerator / DENOMINATOR

    def release(self, counts: Array) -> Array:
        """`counts` (any shape, int64, each row in one cell) plus noise, after the charge."""
        law = "exact" if exact_words(self.stream) else "fast"
        call = Call("geometric", counts.shape, 1 / self.rate, 1.0, 1.0, noise_law=law)
        event = PureEvent(self.rate, 2 * self.rate)
        return self.ledger.release(
            event, call, counts, lambda: counts + self._noise(counts.shape), label=self.label
        )

    def _noise(self, shape: tuple[int, ...]) -> Array:
        words = words_of(self.stream)
        noise = np.zeros(math.prod(shape), dtype=np.int64)
        left = np.arange(len(noise))
        while len(left):
            part = uniform_below(DENOMINATOR, len(left), words)
            is_taken = coins(part.astype(object) * 2**64 // DENOMINATOR, words)
            going = np.flatnonzero(is_taken)
            while len(going):
                going = going[coins(np.full(len(going), 2**64, dtype=object), words)]
                part[going] += DENOMINATOR
            size = part // self.numerator
            is_negative = uniform_below(2, len(left), words) == 1
            is_taken &= (size > 0) | ~is_negative  # else zero would come twice as often
            noise[left[is_taken]] = np.where(is_negative, -size, size)[is_taken]
            left = left[~is_taken]
        return noise.reshape(shape)


def reach(rate: float, cells: int, miss: float) -> float:
    """What the sum of the noise of `cells` counts exceeds in size with at most probability `miss`.

    The smaller of Chernoff's bound and, for one count, the exact tail.
    """
    decay = math.exp(-rate)
    tilts = rate * np.linspace(0.001, 0.999, 999)
    moments = (
        2 * math.log1p(-decay) - np.log1p(-np.exp(tilts - rate)) - np.log1p(-np.exp(-tilts - rate))
    )
    bound = float(np.min((cells * moments + math.log(2 / miss)) / tilts))
    exact = max(0, math.ceil(math.log(2 / (miss * (1 + decay))) / rate) - 1)
    return float(min(math.floor(bound), exact)) if cells == 1 else math.floor(bound)
