"""Noisy SGD as it was printed: n² steps on one uniformly drawn row each, known by its theorem
alone.

Guarantee: with noise of variance 32L²n²·log(n/δ)·log(1/δ)/ε² on n·∇ℓ in each of n² steps, (ε, δ)-DP
when one row is replaced (Bassily, Smith & Thakurta 2014, Theorem 2.1); a row that is absent has
gradient 0, so adding or removing one is a special case. The draw is of size one from n slots, n
public: it is no Poisson sample and is not charged as one. An upper bound, far from tight.
"""

import dataclasses
import math
from collections.abc import Callable

import numpy as np

from pillar_core.arrays import Array
from pillar_core.errors import SettingError
from pillar_core.events import PureEvent
from pillar_core.ledger import Call, DpEvent, Ledger, gaussian
from pillar_core.rng import Stream

Slope = Callable[[float], float]
BLOCK = 4096


def printed_event(noise_multiplier: float, *, n_private: int, delta: float) -> DpEvent:
    """The (ε, δ) of one run whose noise has standard deviation noise_multiplier · L · n.

    Without noise, or with so little that ε would be above 2√(2·log(2/δ)), a release in clear.
    Raises SettingError for noise_multiplier below 0, or delta outside (0, 1).
    """
    if not noise_multiplier >= 0 or not 0 < delta < 1:
        raise SettingError(
            f"noise_multiplier must be at least 0 and delta in (0, 1); got {noise_multiplier!r},"
            f" {delta!r}."
        )
    if noise_multiplier == 0:
        return gaussian(0.0)
    epsilon = math.sqrt(32 * math.log(n_private / delta) * math.log(1 / delta)) / noise_multiplier
    if epsilon > 2 * math.sqrt(2 * math.log(2 / delta)):
        return gaussian(0.0)  # the theorem's proof adds up small steps and does not reach there
    return PureEvent(epsilon, epsilon, delta)


@dataclasses.dataclass(frozen=True)
class PrintedNoisySgd:
    """Runs n² − 1 noisy projected steps on one halfspace in the unit ball, charged once."""

    noise_multiplier: float
    n_private: int
    delta: float
    noise: Stream
    draws: Stream
    ledger: Ledger
    label: str = "noisy SGD as printed"

    def run(self, z: Array, signs: Array, slope: Slope, lipschitz: float) -> Array:
        """(k,) float64 last iterate. z: (n, k) rows, here clipped to norm 1; signs: (n,) in {−1,
        1}; slope: ℓ'/L of a margin."""
        event = printed_event(self.noise_multiplier, n_private=self.n_private, delta=self.delta)
        std = self.noise_multiplier * lipschitz * self.n_private
        call = Call(
            "printed_noisy_sgd",
            (z.shape[1],),
            std,
            lipschitz * self.n_private,
            lipschitz,
            detail=(self.n_private**2,),
        )
        z = z / np.maximum(np.linalg.norm(z, axis=1, keepdims=True), 1.0)
        largest = (
            self.n_private * lipschitz * (signs @ z)
        )  # the sum of what slots would add at the steepest slope: moved by one row
        return self.ledger.release(
            event,
            call,
            largest,
            lambda: self._descend(z, signs, slope, lipschitz, std),
            label=self.label,
        )

    def _descend(self, z: Array, signs: Array, slope: Slope, lipschitz: float, std: float) -> Array:
        n, k = self.n_private, z.shape[1]
        start = self.noise.standard_normal(k)
        w = start / max(float(np.linalg.norm(start)), 1.0)
        size = (n * lipschitz) ** 2 + k * std**2
        steps = n * n - 1
        for first in range(1, steps + 1, BLOCK):
            count = min(BLOCK, steps + 1 - first)
            noise = std * self.noise.standard_normal((count, k))
            slots = np.minimum((self.draws.random(count) * n).astype(np.int64), n - 1)
            for offset, slot in enumerate(slots):
                gradient = noise[offset]
                if slot < len(z):
                    gradient = (
                        gradient
                        + n
                        * lipschitz
                        * slope(float(signs[slot] * (z[slot] @ w)))
                        * signs[slot]
                        * z[slot]
                    )
                w = w - gradient / math.sqrt((first + offset) * size)
                w = w / max(float(np.linalg.norm(w)), 1.0)
        return w
