"""The attack on low bits: which of two sums did a release start from? Noise in floating point
tells; exact noise does not.

Box and Muller's normals come in pairs of radius r = √(−2 log u), u an odd multiple of 2⁻⁵³. Take
the right sum off a release: exp(−r²/2) lies near such a multiple again, where u is small. Take off
a wrong one: it lies anywhere. So who knows all rows but one learns whether that one took part,
whatever ε says of real numbers. Ideas: Mironov 2012; for normals, arXiv 2112.05307 (we read its
abstract).
"""

import dataclasses

import numpy as np

from pillar_core import rng
from pillar_core.arrays import Array
from pillar_core.deferred import stats, torch
from pillar_core.engine import exact
from pillar_core.ledger import Ledger
from pillar_core.mechanisms import GaussianMechanism

N_ROWS, N_FEATURES, N_CLASSES = 40, 200, 10
TRIALS = 200
NOISE_MULTIPLIER = 50.0
LARGEST_UNIFORM = 2.0**-5
"""Pairs with a smaller u are read: the rounding of others is as large as the grid that they are
held against."""


@dataclasses.dataclass(frozen=True)
class LowBits:
    """How many of `trials` fair coins, row in or out, the attack called right; `bound` is the most
    that real-valued noise allows."""

    trials: int
    correct: int
    bound: float


class KnownWords(rng.SystemStream):
    """The operating system's stream with words of a seed: the same arithmetic, and a page that
    shows the same twice."""

    def __init__(self, seed: int | None, purpose: str) -> None:
        self._generator = rng.stream(seed, purpose)

    def words(self, count: int) -> Array:
        return self._generator.integers(0, 2**64, count, dtype=np.uint64)


def attack_low_bits(*, is_exact: bool, seed: int | None = 0, trials: int = TRIALS) -> LowBits:
    """The attack on `trials` releases of class sums, exact or in float64, of which a coin each
    decides whether the last row is in."""
    generator = rng.stream(seed, "rows and coins of low bits")
    z = generator.standard_normal((N_ROWS, N_FEATURES))
    z = (z / np.linalg.norm(z, axis=1, keepdims=True)).astype(np.float32)
    whole = [
        exact.class_sums(z[:n], np.arange(n) % N_CLASSES, n_classes=N_CLASSES)
        for n in (N_ROWS - 1, N_ROWS)
    ]
    sums = [total.double() / exact.SUM_UNITS for total in whole]
    mechanism = GaussianMechanism(
        NOISE_MULTIPLIER,
        1.0,
        KnownWords(seed, "noise of low bits"),
        Ledger(),
        label="attacked sums",
    )
    coins = generator.integers(0, 2, trials)
    correct = 0
    for coin in coins:
        released = (
            mechanism.release_integers(whole[coin], exact.SUM_UNITS)
            if is_exact
            else mechanism.release(sums[coin])
        )
        distances = [distance_from_grid((released - total) / NOISE_MULTIPLIER) for total in sums]
        correct += int(int(np.argmin(distances)) == coin)
    return LowBits(trials, correct, float(stats.norm.cdf(0.5 / NOISE_MULTIPLIER)))


def distance_from_grid(noise: "torch.Tensor") -> float:
    """Mean distance, 0 to 1/2, of the far pairs' u from odd multiples of 2⁻⁵³; noise: a release
    less a sum, in standard deviations."""
    first, second = np.split(noise.numpy().ravel(), 2)
    u = np.exp(-(first**2 + second**2) / 2)
    places = u[u < LARGEST_UNIFORM] * 2.0**52 - 0.5
    return float(np.abs(places - np.rint(places)).mean()) if len(places) else 0.25
