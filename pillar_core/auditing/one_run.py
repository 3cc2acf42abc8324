"""Privacy audits from one training run with many canaries, each in or out by its own coin.

`guesses` of the m coins are called (the rest abstained), `correct` of them rightly. Both bounds
hold for any dependence between the canaries. They certify little at small ε: look at
`most_certifiable` before the result.
"""

import functools
import math
from collections.abc import Callable

import numpy as np
from scipy.special import ndtr, ndtri

from pillar_core import checks
from pillar_core.accounting import epsilon_of_mu, mu_of
from pillar_core.auditing import hypothesis_test
from pillar_core.errors import SettingError
from pillar_core.numerics import halve
from pillar_core.params import CHANCE

LARGEST_EPSILON = 100.0
LARGEST_MU = 40.0
SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
"""Of the coins that may be called."""


def p_value(epsilon: float, *, canaries: int, guesses: int, correct: int, delta: float) -> float:
    """How likely so many right guesses are under (ε, δ)-DP, at most (Steinke, Nasr & Jagielski
    2023, Theorem 5.2).

    Raises SettingError: counts or numbers that cannot be.
    """
    _check(canaries, guesses, correct)
    if not (epsilon >= 0 and 0 <= delta <= 1):
        raise SettingError(
            f"epsilon must be at least 0 and delta in [0, 1]; got {epsilon!r}, {delta!r}."
        )
    share = 1.0 / (1.0 + math.exp(-min(epsilon, 700.0)))
    reached = hypothesis_test.survival(guesses, np.array([share]))[0]
    tail = float(reached[correct])
    back = np.arange(1, correct + 1)
    more = (reached[correct - back] - tail) / back if correct else np.zeros(1)
    return float(min(1.0, tail + 2 * canaries * delta * max(0.0, float(more.max()))))


def epsilon_lower_bound(
    *, canaries: int, guesses: int, correct: int, delta: float, significance: float = 0.05
) -> float:
    """The largest ε that the guesses reject at `significance`, rounded down; 0 where they reject
    none."""
    checks.within(significance=(significance, CHANCE))

    def is_rejected(epsilon: float) -> bool:
        return (
            p_value(epsilon, canaries=canaries, guesses=guesses, correct=correct, delta=delta)
            <= significance
        )

    return _largest(is_rejected, LARGEST_EPSILON)


def mu_lower_bound(
    *, canaries: int, guesses: int, correct: int, significance: float = 0.05
) -> float:
    """The largest μ whose Gaussian trade-off curve the guesses reject (Mahloujifar, Melis &
    Chaudhuri 2024, Algorithm 3)."""
    _check(canaries, guesses, correct)
    checks.within(significance=(significance, CHANCE))
    return _largest(
        lambda mu: not _is_possible(mu, canaries, guesses, correct, significance), LARGEST_MU
    )


def epsilon_lower_bound_fdp(
    *, canaries: int, guesses: int, correct: int, delta: float, significance: float = 0.05
) -> float:
    """`mu_lower_bound` as ε at δ, for Gaussian runs: far tighter than the (ε, δ) bound, because it
    tests the whole curve."""
    return epsilon_of_mu(
        mu_lower_bound(
            canaries=canaries, guesses=guesses, correct=correct, significance=significance
        ),
        delta,
    )


def most_certifiable(
    epsilon: float, *, canaries: int, delta: float, significance: float = 0.05
) -> tuple[float, float]:
    """(ε by the (ε, δ) bound, ε by the f-DP bound) that an ideal attack on a Gaussian run of true
    `epsilon` would certify.

    The attack sees independent canaries and guesses those whose score lies furthest from the
    middle; the best share of guesses out of a few is taken, each at its expected count of right
    ones. So this is what to hope for, at most.
    """
    hoped = _hoped_for(epsilon, canaries, delta, significance)
    return max(plain for _, plain, _ in hoped), max(curve for _, _, curve in hoped)


@functools.cache
def least_visible(*, canaries: int, delta: float, significance: float = 0.05) -> float:
    """The ε from which on an ideal attack on one Gaussian run can be expected to certify anything,
    to within 0.05."""
    ideal = functools.partial(
        most_certifiable, canaries=canaries, delta=delta, significance=significance
    )
    return halve(lambda epsilon: max(ideal(epsilon)) <= 0, 0.05, LARGEST_EPSILON, tolerance=0.05)[1]


def best_guesses(epsilon: float, *, canaries: int, delta: float, significance: float = 0.05) -> int:
    """How many coins to call where an ideal attack on a Gaussian run of `epsilon` would certify
    most by the f-DP bound."""
    return max(
        _hoped_for(epsilon, canaries, delta, significance), key=lambda item: (item[2], item[0])
    )[0]


@functools.lru_cache(maxsize=64)
def _hoped_for(
    epsilon: float, canaries: int, delta: float, significance: float
) -> list[tuple[int, float, float]]:
    """(guesses, ε by the (ε, δ) bound, ε by the f-DP bound) for each share of guesses, at its
    expected count of right ones."""
    mu, bounds = mu_of(epsilon, delta), []
    for share in SHARES:
        guesses = max(1, round(share * canaries))
        counts = {
            "canaries": canaries,
            "guesses": guesses,
            "correct": math.floor(guesses * _right_share(mu, share)),
        }
        plain = epsilon_lower_bound(**counts, delta=delta, significance=significance)
        bounds.append(
            (
                guesses,
                plain,
                epsilon_lower_bound_fdp(**counts, delta=delta, significance=significance),
            )
        )
    return bounds


def _right_share(mu: float, share: float) -> float:
    """P(right | guessed) when a share of N(±μ/2, 1) scores with the largest magnitude is guessed by
    sign."""
    cut = halve(
        lambda place: ndtr(mu / 2 - place) + ndtr(-mu / 2 - place) > share,
        0.0,
        LARGEST_MU,
        tolerance=LARGEST_MU * 2**-60,
    )[0]
    right, wrong = float(ndtr(mu / 2 - cut)), float(ndtr(-mu / 2 - cut))
    return right / max(right + wrong, 1e-300)


def _is_possible(mu: float, canaries: int, guesses: int, correct: int, significance: float) -> bool:
    """Whether a μ-GDP run can reach so many right guesses with probability above `significance`:
    their recursion, k = 2."""
    cut = significance * guesses / canaries
    right, wrong = cut * correct / guesses, cut * (guesses - correct) / guesses
    for place in range(correct - 1, -1, -1):
        larger = max(wrong, float(ndtr(ndtri(right) - mu)))
        right, wrong = right + place / (guesses - place) * (larger - wrong), larger
        if right + wrong > guesses / canaries:
            return False
    return right + wrong <= guesses / canaries


def _largest(is_rejected: Callable[[float], bool], high: float) -> float:
    return high if is_rejected(high) else halve(is_rejected, 0.0, high, tolerance=1e-9)[0]


def _check(canaries: int, guesses: int, correct: int) -> None:
    if not 0 <= correct <= guesses <= canaries or not guesses >= 1:
        raise SettingError(
            f"need 0 <= correct <= guesses <= canaries and a guess; got {correct}, {guesses},"
            f" {canaries}."
        )
