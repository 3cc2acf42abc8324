"""Exact draws from 64-bit words: a Gaussian rounded to whole numbers, coins of exp(−x), choices by
them, Poisson samples.

Guarantee: `rounded_gaussian` has the law of round(X), X ~ N(0, σ²). A sum S of whole numbers plus
such noise is round(S + X), which is post-processing of the ideal Gaussian release, so every bound
for that one holds as it is. The leading bits of a uniform decide X up to an interval; where it
meets a half-integer, further bits are drawn and whole numbers of any length decide. The float64
filter before that trusts scipy's ndtri to 2⁻⁴⁷ of 1 + |x|; its authors measured 2⁻⁵⁰.
docs/accounting.md has the proof. The time of a draw depends on the noise and is not protected.
"""

import functools
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from pillar_core.arrays import Array
from pillar_core.errors import SettingError

Words = Callable[[int], Array]
"""(count,) uint64, independent and uniform."""

BITS = 63
"""Of the first prefix of P(|X| ≥ x): a word has one more, the sign."""
ERROR = 2.0**-47
LARGEST_STD = 2.0**48
"""Float64 holds the whole numbers up to sixteen times as far, and the halves between them."""
GUARD = 64
"""Bits by which a tail is finer than the uniform that is compared with it."""


def rounded_gaussian(std: float, shape: tuple[int, ...], words: Words) -> Array:
    """(shape) int64: round(X) of independent X ~ N(0, std²). Raises SettingError for std outside
    (0, 2⁴⁸]."""
    from scipy.special import ndtri

    if not 0 < std <= LARGEST_STD:
        raise SettingError(
            f"exact noise needs a standard deviation in (0, 2⁴⁸] grid units; got {std!r}."
        )
    drawn = words(math.prod(shape))
    prefix = drawn & np.uint64(2**BITS - 1)
    tail = prefix.astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        size = -ndtri(tail * 2.0 ** -(BITS + 1))
        error = std * (
            ERROR * (1.0 + size) + 2.0 / tail
        )  # d size / d log P(|X| ≥ x) is at most √(π/2)
        size *= std
        nearest = np.rint(size)
        is_open = ~(np.abs(size - nearest) + error < 0.5)
    whole = np.where(is_open, 0.0, nearest).astype(np.int64)
    for position in np.flatnonzero(is_open):
        guess = int(nearest[position]) if prefix[position] else 0
        whole[position] = decide(int(prefix[position]), BITS, Fraction(std), guess, words)
    return np.asarray(np.where(drawn >> np.uint64(BITS), -whole, whole)).reshape(shape)


def decide(prefix: int, bits: int, std: Fraction, guess: int, words: Words) -> int:
    """round(x) of the x ≥ 0 whose P(|X| ≥ x) has these first binary digits, and then those of
    further words; X ~ N(0, std²)."""

    def is_surely_above(j: int) -> bool:
        return prefix + 1 << GUARD <= tail_ends(j, bits + GUARD, std)[0]

    def may_be_above(j: int) -> bool:
        return prefix << GUARD < tail_ends(j, bits + GUARD, std)[1]

    while not prefix or (outcome := _first_failing(is_surely_above, guess)) != _first_failing(
        may_be_above, guess
    ):
        prefix, bits = prefix << 64 | int(words(1)[0]), bits + 64
    return outcome


def _first_failing(holds: Callable[[int], bool], guess: int) -> int:
    """A j ≥ 0 at which `holds` fails though it holds at j − 1, or 0 where it fails there; searched
    around the guess."""
    stride = 1
    if holds(guess):
        low = guess + 1
        while holds(low + stride - 1):
            low, stride = low + stride, 2 * stride
        high = low + stride - 1
    else:
        high = guess
        while high and not holds(max(high - stride, 0)):
            high, stride = max(high - stride, 0), 2 * stride
        low = max(high - stride, 0) + 1 if high else 0
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if holds(middle) else (low, middle)
    return low


@functools.lru_cache(maxsize=64)
def tail_ends(j: int, bits: int, std: Fraction) -> tuple[int, int]:
    """Whole numbers around 2^bits · P(|X| ≥ j + 1/2), X ~ N(0, std²).

    P = 1 − √(2/π)·t·Σ (−1)^i s^i/(i!(2i + 1)), s = t²/2, in fixed point; each operation is rounded
    down and up by itself.
    """
    t = Fraction(2 * j + 1, 2) / std
    s = t * t / 2
    if s > bits:  # P ≤ e^−s < 2^−bits
        return 0, 1
    fine = 64 * math.ceil((bits + 3 * s + 32) / 64)
    power = (s.numerator << fine) // s.denominator
    low = high = least = most = 1 << fine
    i, least_terms = 0, math.ceil(s)
    while i < least_terms or high > 1:
        i += 1
        low, high = low * power // (i << fine), -(-high * (power + 1) // (i << fine))
        smaller, larger = low // (2 * i + 1), -(-high // (2 * i + 1))
        least, most = (
            (least - larger, most - smaller) if i % 2 else (least + smaller, most + larger)
        )
    root, scale = _root_two_over_pi(fine), t.denominator << 2 * fine - bits
    inside = (
        max(least - high, 0) * t.numerator * root // scale
    )  # what is left of an alternating, falling series is below `high`
    return (
        max((1 << bits) + (-(most + high) * t.numerator * (root + 2) // scale), 0),
        (1 << bits) - inside,
    )


@functools.cache
def _root_two_over_pi(bits: int) -> int:
    """A whole number at most 2 below 2^bits · √(2/π), and never above it; π after Machin."""

    def arctan(n: int) -> int:
        term, total, i = (1 << bits + 64) // n, 0, 0
        while term:
            total, term, i = total + (-1) ** i * (term // (2 * i + 1)), term // n**2, i + 1
        return total

    pi = (
        16 * arctan(5) - 4 * arctan(239) + (1 << 40)
    )  # each of a few hundred terms is off by less than 1, so that this is above π
    return math.isqrt((2 << 3 * bits + 64) // pi)


def poisson_sample(probability: float, n_rows: int, words: Words) -> Array:
    """Sorted indices (m,) int64: each row by a word below ⌊2⁶⁴·probability⌋, so never with more
    than `probability`."""
    least = int(Fraction(probability) * 2**64)
    return np.arange(n_rows) if least == 2**64 else np.flatnonzero(words(n_rows) < np.uint64(least))


def uniform_below(end: int, count: int, words: Words) -> Array:
    """(count,) int64 in 0, …, end − 1, independent and each as likely: words from the largest
    multiple of `end` on are drawn again."""
    drawn, most = words(count), 2**64 // end * end - 1
    while most < 2**64 - 1 and (again := drawn > np.uint64(most)).any():
        drawn[again] = words(int(again.sum()))
    return np.asarray(drawn % np.uint64(end), dtype=np.int64)


def softmax_choice(scores: Array, rate: int, words: Words) -> int:
    """Position i with probability ∝ exp(scoresᵢ·rate/2⁶⁴): one is proposed uniformly, and taken by
    a coin. scores: (m,) int64."""
    tilts = (scores.max() - scores.astype(object)) * rate
    while True:
        proposed = uniform_below(len(scores), len(scores), words)
        accepted = proposed[coins(tilts[proposed], words)]
        if len(accepted):
            return int(accepted[0])


def coins(tilts: Array, words: Words) -> Array:
    """(m,) bool, independent, each true with probability exp(−tilt/2⁶⁴). tilts: (m,) Python's whole
    numbers from 0 on (object)."""
    halves = np.minimum(tilts >> 63, 2**62).astype(
        np.int64
    )  # nobody waits until 2⁶² coins of exp(−1/2) in a row were true
    heads = _runs_are_even((tilts & 2**63 - 1).astype(np.uint64), words)
    while len(left := np.flatnonzero(heads & (halves > 0))):
        halves[left] -= 1
        heads[left] = _runs_are_even(np.full(len(left), 2**63, dtype=np.uint64), words)
    return heads


def _runs_are_even(tops: Array, words: Words) -> Array:
    """(m,) bool, each true with probability exp(−x), x = top/2⁶⁴ (von Neumann 1951; Canonne, Kamath
    & Steinke 2020, Algorithm 1).

    Coins of x/1, x/2, x/3 … are thrown until one fails: k succeed with probability x^k/k!, so an
    even number does with Σ (−x)^k/k!.
    """
    even, going, turn = np.ones(len(tops), dtype=bool), np.arange(len(tops)), 1
    while len(going):
        going = going[
            (words(len(going)) < tops[going]) & (uniform_below(turn, len(going), words) == 0)
        ]
        even[going] = turn % 2 == 0
        turn += 1
    return even
