"""The exponential mechanism: one candidate, likelier the higher its score, by Gumbel noise.

Guarantee: with R = `score_range` at least the spread, over candidates, of what one row contributes to the scores, choosing
candidate c with probability ∝ exp(ε·score_c/R) is pure ε-DP when one row is added or removed (public size) and 2ε-DP when
one is replaced (McSherry & Talwar 2007, Theorem 6, for a range in place of a sensitivity). R must be a bound that holds
for every row there could be, never a maximum over the data. Exact up to the resolution of float64 uniforms (2⁻⁵³).
"""

import dataclasses
import math

import numpy as np

from pillar_core.arrays import Array
from pillar_core.errors import SettingError
from pillar_core.events import ExponentialMechanismEvent
from pillar_core.ledger import Call, DpEvent, Ledger, gaussian
from pillar_core.rng import Stream

REPLACE_ONE_FACTOR = 2.0
"""A replaced row takes its contribution away and brings another: the spread of the difference is at most 2R."""
SMALLEST_UNIFORM = 2.0**-54
"""Seeded uniforms may be 0, whose logarithm is not finite."""


def exponential(epsilon: float) -> DpEvent:
    """The event of a choice that is ε-DP under add/remove and 2ε-DP under replace-one; ∞ is a choice without noise.

    Raises SettingError for `epsilon` not above 0.
    """
    if not epsilon > 0:
        raise SettingError(f"epsilon of an exponential mechanism must be above 0; got {epsilon!r}.")
    if math.isinf(epsilon):
        return gaussian(0.0)
    return ExponentialMechanismEvent(float(epsilon), float(REPLACE_ONE_FACTOR * epsilon))


@dataclasses.dataclass(frozen=True)
class ExponentialMechanism:
    """Chooses among candidates at `epsilon` (add/remove) for scores whose one-row contributions spread by at most `score_range`."""

    epsilon: float
    score_range: float
    stream: Stream
    ledger: Ledger
    label: str = "choice"

    def __post_init__(self) -> None:
        if not self.epsilon > 0 or not 0 < self.score_range < math.inf:
            raise SettingError(f"epsilon must be above 0 and score_range in (0, inf); got {self.epsilon}, {self.score_range}.")

    def choose(self, scores: Array) -> int:
        """The chosen position. scores: (m,) float64, finite, sums over rows of bounded contributions; higher is better."""
        return int(self.choose_each(scores))

    def choose_each(self, scores: Array) -> Array:
        """(C,) positions, one in each row of scores (C, m): one choice of a tuple, likelier the higher its scores' sum; one of (m,) for m.

        A tuple's probability is the product over rows, so rows are drawn by themselves; `score_range` bounds the sum over rows of how
        far one data row spreads them, which is its spread in one row where it enters one row alone.
        """
        scale = self.score_range / self.epsilon
        values = np.asarray(scores, dtype=np.float64)
        call = Call("exponential", values.shape, scale, self.score_range, self.score_range)
        return self.ledger.release(exponential(self.epsilon), call, values, lambda: self._draw(values, scale), label=self.label)

    def _draw(self, scores: Array, scale: float) -> Array:
        """argmax of score + scale · Gumbel: the softmax of score/scale without an exponential of a large number."""
        uniforms = np.maximum(self.stream.random(scores.shape), SMALLEST_UNIFORM)
        return np.asarray(np.argmax(scores - scale * np.log(-np.log(uniforms)) if scale > 0 else scores, axis=-1))
