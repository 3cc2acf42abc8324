"""Privacy loss of one release: the law of L = log dP/dQ under P and Q, for each dominating pair (P,
Q) and direction.

Each pair gives the masses of an increasing list of loss intervals under both laws, accurate in the
tails, because the composition needs relative, not absolute, precision. Sources: Zhu, Dong & Wang
2022 (Theorem 11: Poisson sampling of a dominating pair, removal and addition); docs/accounting.md
for the replace-one pairs.
"""

import abc
import dataclasses
import math

import numpy as np
from scipy.special import expit, gammaln, ndtr, ndtri

from pillar_core.accounting.elementary import REPLACE_ONE, ElementaryRelease, Kind
from pillar_core.arrays import Array
from pillar_core.types import NeighboringRelation

NEWTON_STEPS = 60
"""At most: a convex function met from the right needs five or six."""


class Pair(abc.ABC):
    """A dominating pair. `infinite` is P's mass where Q has none; `range` holds every finite
    loss."""

    infinite: float = 0.0

    @property
    def range(self) -> tuple[float, float]:
        return -math.inf, math.inf

    @abc.abstractmethod
    def grid(self, n: int, tail: float) -> Array:
        """(n,) increasing losses, all but about `tail` of P outside on either side; denser where P
        changes."""

    @abc.abstractmethod
    def masses(self, edges: Array) -> tuple[Array, Array]:
        """(m + 1,) masses of (−inf, e₁), [e₁, e₂) … [e_m, inf) under P and under Q, from edges
        (m,)."""


@dataclasses.dataclass(frozen=True)
class GaussianPair(Pair):
    """N(μ²/2, μ²) against N(−μ²/2, μ²): one Gaussian release of sensitivity μ standard
    deviations."""

    mu: float

    def grid(self, n: int, tail: float) -> Array:
        reach = -float(ndtri(tail))
        return self.mu * (np.linspace(-reach - self.mu, reach, n) + self.mu / 2)

    def masses(self, edges: Array) -> tuple[Array, Array]:
        z = edges / self.mu
        return _normal(z - self.mu / 2), _normal(z + self.mu / 2)


@dataclasses.dataclass(frozen=True)
class LaplacePair(Pair):
    """Laplace noise at distance `epsilon` scales: atoms at ±ε and a density between."""

    epsilon: float

    @property
    def range(self) -> tuple[float, float]:
        return -self.epsilon, self.epsilon

    def grid(self, n: int, tail: float) -> Array:
        return np.linspace(-self.epsilon, self.epsilon, n)

    def masses(self, edges: Array) -> tuple[Array, Array]:
        walls = np.concatenate([[-np.inf], edges, [np.inf]])
        left, right = (
            np.clip(side, -self.epsilon, self.epsilon) for side in (walls[:-1], walls[1:])
        )
        top = (walls[:-1] <= self.epsilon) & (self.epsilon < walls[1:])
        bottom = (walls[:-1] <= -self.epsilon) & (-self.epsilon < walls[1:])
        share = -np.expm1((left - right) / 2) / 2
        small = math.exp(-self.epsilon) / 2
        p = np.exp((right - self.epsilon) / 2) * share + 0.5 * top + small * bottom
        q = np.exp((-left - self.epsilon) / 2) * share + small * top + 0.5 * bottom
        return p, q


@dataclasses.dataclass(frozen=True)
class AtomPair(Pair):
    """Finitely many outcomes with masses `p` and `q`, in order of their loss."""

    p: tuple[float, ...]
    q: tuple[float, ...]
    infinite: float = 0.0

    @property
    def losses(self) -> Array:
        losses: Array = np.log(np.asarray(self.p)) - np.log(np.asarray(self.q))
        return losses

    @property
    def range(self) -> tuple[float, float]:
        return (float(self.losses[0]), float(self.losses[-1])) if self.p else (0.0, 0.0)

    def grid(self, n: int, tail: float) -> Array:
        return self.losses

    def masses(self, edges: Array) -> tuple[Array, Array]:
        bins = np.searchsorted(edges, self.losses, side="right")
        size = len(edges) + 1
        return np.bincount(bins, self.p, size), np.bincount(bins, self.q, size)


@dataclasses.dataclass(frozen=True)
class RemovalPair(Pair):
    """((1−q)·Q + q·P, Q): the base pair on a Poisson sample, the row present against absent."""

    base: Pair
    probability: float

    @property
    def range(self) -> tuple[float, float]:
        low, high = _sampled_loss(np.array(self.base.range), self.probability)
        return float(low), float(high)

    def grid(self, n: int, tail: float) -> Array:
        return _sampled_loss(self.base.grid(n, tail), self.probability)

    def masses(self, edges: Array) -> tuple[Array, Array]:
        p, q = self.base.masses(_base_loss(edges, self.probability))
        return (1 - self.probability) * q + self.probability * p, q


@dataclasses.dataclass(frozen=True)
class PersonPair(Pair):
    """ΣBin(m, q)(k)·N(kμ, 1) against N(0, 1): up to m = `rows` rows of one person, each on the
    Poisson sample by its own coin."""

    mu: float
    probability: float
    rows: int = 1

    @property
    def range(self) -> tuple[float, float]:
        return float(self._log_weights[0]), math.inf

    def grid(self, n: int, tail: float) -> Array:
        reach = -float(ndtri(tail))
        return self._loss(np.linspace(-reach, self.rows * self.mu + reach, n))[0]

    def masses(self, edges: Array) -> tuple[Array, Array]:
        z = self._position(edges)
        by_count = np.array([_normal(z - k * self.mu) for k in range(self.rows + 1)])
        return np.exp(self._log_weights) @ by_count, by_count[0]

    @property
    def _log_weights(self) -> Array:
        m, k = self.rows, np.arange(self.rows + 1)
        ways: Array = gammaln(m + 1) - gammaln(k + 1) - gammaln(m - k + 1)
        weights: Array = (
            ways + k * math.log(self.probability) + (m - k) * math.log1p(-self.probability)
        )
        return weights

    def _present(self, z: Array) -> tuple[Array, Array]:
        """log Σ_{k>=1} Bin(k)·e^{kμz − k²μ²/2} and its slope in z: convex and increasing."""
        k = np.arange(1, self.rows + 1)
        terms = (self._log_weights[1:] - (k * self.mu) ** 2 / 2)[:, None] + np.multiply.outer(
            k * self.mu, z
        )
        top = terms.max(axis=0)
        shares = np.exp(terms - top)
        total = shares.sum(axis=0)
        return top + np.log(total), (k * self.mu) @ shares / total

    def _loss(self, z: Array) -> tuple[Array, Array]:
        """The loss at z, and its slope."""
        present, slope = self._present(z)
        ratio: Array = np.logaddexp(self._log_weights[0], present)
        return ratio, slope * np.exp(present - ratio)

    def _position(self, loss: Array) -> Array:
        """z where the loss is reached, by Newton's method from the right; −inf at and below the
        least loss."""
        least, k = self._log_weights[0], np.arange(1, self.rows + 1)[:, None]
        z = np.full(len(loss), -np.inf)
        inside = loss > least
        target = loss[inside] + np.log(-np.expm1(least - loss[inside]))
        at: Array = ((target - self._log_weights[1:, None]) / (k * self.mu) + k * self.mu / 2).min(
            axis=0
        )
        for _ in range(NEWTON_STEPS):
            value, slope = self._present(at)
            step = (value - target) / slope
            at = at - step
            if not (step > 1e-15 * (1 + np.abs(at))).any():
                break
        z[inside] = at
        return z


@dataclasses.dataclass(frozen=True)
class OpposedPair(PersonPair):
    """ΣBin(m, q)(k)·N(kμ, 1) against ΣBin(m, q)(k)·N(−kμ, 1): the same under replace-one, the worst
    two persons, or two rows (m = 1)."""

    @property
    def range(self) -> tuple[float, float]:
        return -math.inf, math.inf

    def grid(self, n: int, tail: float) -> Array:
        reach = self.rows * self.mu - float(ndtri(tail))
        return self._loss(np.linspace(-reach, reach, n))[0]

    def masses(self, edges: Array) -> tuple[Array, Array]:
        z, shifts = np.maximum.accumulate(self._position(edges)), self.mu * np.arange(self.rows + 1)
        weights = np.exp(self._log_weights)
        return weights @ np.array([_normal(z - shift) for shift in shifts]), weights @ np.array(
            [_normal(z + shift) for shift in shifts]
        )

    def _loss(self, z: Array) -> tuple[Array, Array]:
        (up, up_slope), (down, down_slope) = super()._loss(z), super()._loss(-z)
        return up - down, up_slope + down_slope

    def _position(self, loss: Array) -> Array:
        """z where the loss is reached, by Newton's method from where one law alone reaches it; by
        halves where that leaves the bracket."""
        target = np.abs(loss)
        low, high = np.zeros(len(loss)), np.maximum(super()._position(target), 0.0)
        at = high
        for _ in range(NEWTON_STEPS):
            value, slope = self._loss(at)
            low, high = np.where(value < target, at, low), np.where(value < target, high, at)
            if not (np.abs(value - target) > 1e-14 * (1 + target)).any():
                break
            step = (value - target) / np.maximum(slope, 1e-300)
            at = np.where((at - step >= low) & (at - step <= high), at - step, (low + high) / 2)
        return np.sign(loss) * at


@dataclasses.dataclass(frozen=True)
class SwappedPair(Pair):
    """(Q, P) of a pair without infinite losses: the other direction."""

    base: Pair

    @property
    def range(self) -> tuple[float, float]:
        low, high = self.base.range
        return -high, -low

    def grid(self, n: int, tail: float) -> Array:
        return -self.base.grid(n, tail)[::-1]

    def masses(self, edges: Array) -> tuple[Array, Array]:
        p, q = self.base.masses(-edges[::-1])
        return q[::-1], p[::-1]


@dataclasses.dataclass(frozen=True)
class CoinPair(Pair):
    """The base pair with probability q, nothing otherwise, and the coin told: sampling under
    replace-one, any release.

    H_α((1−q)A + qB ‖ (1−q)A + qC) ≤ (1−q)·H_α(A ‖ A) + q·H_α(B ‖ C) by joint convexity.
    """

    base: LaplacePair
    probability: float

    @property
    def range(self) -> tuple[float, float]:
        return self.base.range

    def grid(self, n: int, tail: float) -> Array:
        return self.base.grid(n, tail)

    def masses(self, edges: Array) -> tuple[Array, Array]:
        p, q = self.base.masses(edges)
        idle = np.zeros(len(edges) + 1)
        idle[np.searchsorted(edges, 0.0, side="right")] = 1 - self.probability
        return idle + self.probability * p, idle + self.probability * q


def release_pairs(release: ElementaryRelease, relation: NeighboringRelation) -> tuple[Pair, Pair]:
    """(removal, addition): equal for symmetric pairs."""
    loss, q, is_replaced = release.loss, release.sampling_probability, relation is REPLACE_ONE
    whole: Pair
    replaced: Pair
    match release.kind:
        case Kind.GAUSSIAN:
            whole, replaced = GaussianPair(loss), OpposedPair(loss, q)
        case Kind.LAPLACE:
            whole, replaced = LaplacePair(loss), CoinPair(LaplacePair(loss), q)
        case _:
            return _randomised_response(loss, release.delta, q, revealed=is_replaced)
    if q < 1 and not is_replaced:
        return RemovalPair(whole, q), SwappedPair(RemovalPair(whole, q))
    return (replaced if q < 1 else whole,) * 2


def _randomised_response(
    epsilon: float, delta: float, probability: float, *, revealed: bool
) -> tuple[Pair, Pair]:
    """The worst (ε, δ)-DP release (Kairouz, Oh & Viswanath 2015), on a Poisson sample or,
    `revealed`, after a told coin.

    Outcomes by (P, Q): (0, δ), ((1−δ)s, (1−δ)e^ε s), ((1−δ)e^ε s, (1−δ)s), (δ, 0) with s = 1/(1 +
    e^ε).
    """
    low, high = (1 - delta) * float(expit(-epsilon)), (1 - delta) * float(expit(epsilon))
    p, q = np.array([0.0, low, high, delta]), np.array([delta, high, low, 0.0])
    if revealed and probability < 1:
        idle = np.array([1 - probability])
        p, q = np.concatenate([idle, probability * p]), np.concatenate([idle, probability * q])
    elif probability < 1:
        p = (1 - probability) * q + probability * p
    return atoms(p, q), atoms(q, p)


def atoms(p: Array, q: Array) -> AtomPair:
    """The pair of masses under both laws; where Q has none, the loss is infinite."""
    shared = (p > 0) & (q > 0)
    order = np.argsort(np.log(p[shared]) - np.log(q[shared]), kind="stable")
    return AtomPair(
        tuple(p[shared][order].tolist()), tuple(q[shared][order].tolist()), float(p[q == 0].sum())
    )


def _sampled_loss(base: Array, probability: float) -> Array:
    """log(1 − q + q·e^ℓ), accurate near 0 and without overflow."""
    small = np.log1p(probability * np.expm1(np.minimum(base, 1.0)))
    large = np.logaddexp(math.log1p(-probability), math.log(probability) + np.maximum(base, 1.0))
    return np.where(base < 1, small, large)


def _base_loss(loss: Array, probability: float) -> Array:
    """The inverse: log(1 + (e^L − 1)/q); −inf at and below log(1 − q)."""
    small = np.maximum(np.expm1(np.minimum(loss, 1.0)) / probability, -1.0)
    large = np.maximum(loss, 1.0)
    with np.errstate(divide="ignore"):
        return np.where(
            loss < 1,
            np.log1p(small),
            large + np.log1p(-(1 - probability) * np.exp(-large)) - math.log(probability),
        )


def _normal(z: Array) -> Array:
    """(m + 1,) masses of the standard normal between the walls −inf, z₁ … z_m, inf, from the nearer
    tail each."""
    tail = np.concatenate([[0.0], ndtr(-np.abs(z)), [0.0]])
    side = np.concatenate([[-1.0], np.sign(z), [1.0]])
    left, right = tail[:-1], tail[1:]
    straddling = (side[:-1] < 0) & (side[1:] >= 0)
    masses: Array = np.where(straddling, 1 - left - right, np.abs(right - left))
    return masses
