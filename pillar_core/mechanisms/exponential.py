"""The exponential mechanism: one candidate, likelier the higher its score, drawn exactly.

Guarantee: with R = `score_range` at least the spread, over candidates, of what one row contributes
to the scores, choosing candidate c with probability ∝ exp(ε·score_c/R) is pure ε-DP when one row is
added or removed (public size) and 2ε-DP when one is replaced (McSherry & Talwar 2007, Theorem 6,
for a range in place of a sensitivity). R must be a bound that holds for every row there could be,
never a maximum over the data. Scores and R are whole numbers, and the draw is exact for a rate of
at most ε/R, a multiple of 2⁻⁶⁴; docs/accounting.md has the proof.
"""

import dataclasses
import math
from fractions import Fraction

import numpy as np

from pillar_core.arrays import Array
from pillar_core.errors import SettingError
from pillar_core.events import ExponentialMechanismEvent
from pillar_core.ledger import Call, DpEvent, Ledger, gaussian
from pillar_core.mechanisms.exact import softmax_choice
from pillar_core.rng import Stream, exact_words, words_of

REPLACE_ONE_FACTOR = 2.0
"""A replaced row takes its contribution away and brings another: the spread of the difference is at
most 2R."""


def exponential(epsilon: float) -> DpEvent:
    """The event of a choice that is ε-DP under add/remove and 2ε-DP under replace-one; ∞ is a
    choice without noise.

    Raises SettingError for `epsilon` not above 0.
    """
    if not epsilon > 0:
        raise SettingError(f"epsilon of an exponential mechanism must be above 0; got {epsilon!r}.")
    if math.isinf(epsilon):
        return gaussian(0.0)
    return ExponentialMechanismEvent(float(epsilon), float(REPLACE_ONE_FACTOR * epsilon))


def epsilon_of(noise_scale: float) -> float:
    """ε of a choice with this scale of noise, ∞ without any."""
    return 1 / noise_scale if noise_scale else math.inf


@dataclasses.dataclass(frozen=True)
class ExponentialMechanism:
    """Chooses among candidates at `epsilon` (add/remove) for whole scores whose one-row
    contributions spread by at most `score_range`."""

    epsilon: float
    score_range: int
    stream: Stream
    ledger: Ledger
    label: str = "choice"

    def __post_init__(self) -> None:
        if not self.epsilon > 0 or not self.score_range >= 1 or self.score_range % 1:
            raise SettingError(
                "epsilon must be above 0 and score_range a whole number above 0; got"
                f" {self.epsilon}, {self.score_range}."
            )

    def choose(self, scores: Array) -> int:
        """The chosen position. scores: (m,) int64, sums over rows of bounded contributions; higher
        is better."""
        return int(self.choose_each(scores))

    def choose_each(self, scores: Array) -> Array:
        """(C,) positions, one in each row of scores (C, m): one choice of a tuple, likelier the
        higher its scores' sum; one of (m,) for m.

        A tuple's probability is the product over rows, so rows are drawn by themselves;
        `score_range` bounds the sum over rows of how far one data row spreads them, which is its
        spread in one row where it enters one row alone.
        """
        if scores.dtype != np.int64:
            raise SettingError(f"scores of an exact choice must be int64; got {scores.dtype}.")
        scale = math.nextafter(
            self.score_range / self.epsilon, math.inf
        )  # never below the true R/ε
        law = "exact" if exact_words(self.stream) else "fast"
        call = Call(
            "exponential", scores.shape, scale, self.score_range, self.score_range, noise_law=law
        )
        return self.ledger.release(
            exponential(self.epsilon),
            call,
            scores,
            lambda: self._draw(scores, scale),
            label=self.label,
        )

    def _draw(self, scores: Array, scale: float) -> Array:
        """One position in each row of scores, with the softmax of score/scale; the rate is rounded
        down."""
        if math.isinf(self.epsilon):
            return np.asarray(np.argmax(scores, axis=-1))
        words, rate = words_of(self.stream), int(2**64 / Fraction(scale))
        return np.array(
            [softmax_choice(row, rate, words) for row in scores.reshape(-1, scores.shape[-1])]
        ).reshape(scores.shape[:-1])
