"""Rényi differential privacy: curves of our own (or of Opacus), composed by addition, converted at
the best order.

Orders reach far enough for ε = 0.01, where the usual list (up to 63) stops short. dp-accounting's
curves agree; its series at fractional orders below 2 stops early and says too much.
"""

import dataclasses
import functools
import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import gammaln, logsumexp

from pillar_core.accounting.accountant import Accountant, unsupported_names
from pillar_core.accounting.elementary import (
    REPLACE_ONE,
    ElementaryEvents,
    ElementaryRelease,
    Kind,
    read,
)
from pillar_core.arrays import Array
from pillar_core.events import DpEvent, RepeatAndSelectDpEvent, SampledWithoutReplacementDpEvent
from pillar_core.numerics import halve
from pillar_core.types import EpsilonBounds, NeighboringRelation


def _orders(largest: int) -> tuple[float, ...]:
    """Closer where the best order mostly lies; a whole order costs its size, so the large ones are
    few."""
    high = (
        *(round(64 * 1.25**step) for step in range(12)),
        *(round(1024 * 1.6**step) for step in range(5)),
    )
    return (
        *(1 + step / 10 for step in range(1, 100)),
        *map(float, range(11, 64)),
        *(float(order) for order in high if order <= largest),
    )


ORDERS = _orders(10_000)
FEW_WHOLE = 63
"""The largest order of sampling without replacement, which costs the square of the order."""
FEW = ORDERS.index(FEW_WHOLE) + 1
OPACUS_ORDERS = _orders(1024)
"""Its binomial coefficients overflow a float beyond order 1029."""
USUAL_ORDERS = (*(1 + step / 10 for step in range(1, 100)), *range(12, 64))
"""Those of Opacus 1.6 and fastDP; TensorFlow Privacy's differ by a few."""

ROUNDING = 1e-13
"""Above the error of our sums, for each order."""
LEAST_NOISE = 0.05
"""Below, Opacus's fractional orders need not end, and ours would need a long grid."""


def usual_epsilon(
    noise_multiplier: float, *, sampling_probability: float, steps: int, delta: float
) -> float:
    """ε of Poisson samples under add/remove as libraries count it: Opacus's own curve, at their
    short list of orders."""
    if noise_multiplier == 0:
        return math.inf
    orders = np.asarray(USUAL_ORDERS)
    if noise_multiplier < LEAST_NOISE:
        return _smallest_epsilon(
            steps * _sampled_gaussian(1 / noise_multiplier, sampling_probability, orders),
            orders,
            delta,
        )
    curve = steps * _opacus_curve(sampling_probability, noise_multiplier, USUAL_ORDERS)
    epsilons = (
        curve - (math.log(delta) + np.log(orders)) / (orders - 1) + np.log1p(-1 / orders)
    )  # Balle et al. 2020, Theorem 21
    return max(0.0, float(np.nanmin(epsilons)))


def _smallest_epsilon(curve: Array, orders: Array, delta: float) -> float:
    """ε at δ: the conversion of Canonne, Kamath & Steinke 2020, Proposition 12; 0 where the total
    variation alone gives it."""
    epsilons = curve + np.log1p(-1 / orders) - np.log(delta * orders) / (orders - 1)
    return max(0.0, float(np.min(np.where(delta**2 + np.expm1(-curve) > 0, 0.0, epsilons))))


def _smallest_delta(curve: Array, orders: Array, epsilon: Array) -> Array:
    """δ at each of `epsilon` (n,), by the same conversions."""
    with np.errstate(divide="ignore"):
        variation = np.log1p(-np.exp(-curve)) / 2
    logs = np.minimum(
        variation,
        (orders - 1) * (curve - epsilon[:, None] + np.log1p(-1 / orders)) - np.log(orders),
    )
    return np.asarray(np.minimum(1.0, np.exp(logs.min(axis=1))))


def _epsilon(
    curve: Array, orders: Sequence[float], events: ElementaryEvents, delta: float
) -> EpsilonBounds:
    """Each (ε, δᵢ) release hands over its δᵢ; the rest of δ goes to the curve."""
    rest = delta - math.fsum(release.count * release.delta for release in events.releases)
    upper = (
        _smallest_epsilon(np.maximum(curve, 0.0), np.asarray(orders), rest)
        if rest > 0
        else math.inf
    )
    return EpsilonBounds(0.0, upper, upper)


def _bounds(events: ElementaryEvents, delta: float) -> EpsilonBounds:
    curve = curve_of(events)
    return _epsilon(curve, ORDERS[: len(curve)], events, delta)


def curve_of(events: ElementaryEvents) -> Array:
    """RDP of everything at ORDERS, or at the first FEW of them."""
    curves = [
        release.count * _curve(dataclasses.replace(release, count=1)) for release in events.releases
    ]
    for event, count in events.unsupported:
        match event:
            case RepeatAndSelectDpEvent():
                curves.append(count * _best_of(curve_of(read(event.event, events.relation)), event))
            case SampledWithoutReplacementDpEvent():
                mu = read(
                    event.event, events.relation
                ).gaussian_mu  # twice the norm of a row, over the noise
                curves.append(
                    count * _fixed_size(mu, event.sample_size / event.source_dataset_size)
                )
    few = min(map(len, curves), default=len(ORDERS))
    return np.asarray(np.sum([np.zeros(few), *(curve[:few] for curve in curves)], axis=0))


@functools.lru_cache(maxsize=512)
def _curve(release: ElementaryRelease) -> Array:
    """RDP of one release at ORDERS."""
    orders = np.asarray(ORDERS)
    match release.kind:
        case Kind.GAUSSIAN:
            return _sampled_gaussian(release.loss, release.sampling_probability, orders)
        case Kind.LAPLACE:  # Mironov 2017, Proposition 6
            shares = (orders - 1) * np.expm1(release.loss * (1 - 2 * orders)) / (2 * orders - 1)
            return np.asarray(release.loss + np.log1p(shares) / (orders - 1))
        case Kind.PURE:
            return _pure_curve(release.loss, orders)
    # bounded range: ε²/8-zCDP (Cesar & Rogers 2021, Lemma 3.2); our ε bounds the spread over
    # candidates
    return np.asarray(np.minimum(_pure_curve(release.loss, orders), orders * (release.loss**2 / 8)))


def _pure_curve(epsilon: float, orders: Array) -> Array:
    """RDP of randomised response, the worst ε-DP release (Mironov 2017, Proposition 5)."""
    high, low = -np.logaddexp(0.0, -epsilon), -np.logaddexp(0.0, epsilon)
    curve = np.logaddexp(orders * high + (1 - orders) * low, orders * low + (1 - orders) * high) / (
        orders - 1
    )
    return np.asarray(
        np.minimum(np.maximum(curve, 0.0), np.minimum(epsilon, orders * epsilon**2 / 2))
    )


def _sampled_gaussian(loss: float, probability: float, orders: Array) -> Array:
    """RDP of a Gaussian sum over a Poisson sample, row added or removed (Mironov, Talwar & Zhang
    2019, sections 3.2 and 3.3)."""
    if probability == 1:
        return orders * (loss**2 / 2)
    curve = np.empty(len(orders))
    for place in np.flatnonzero(orders == np.floor(orders)):
        counts = np.arange(orders[place] + 1)
        chances = (
            _log_choose(orders[place], counts)
            + counts * math.log(probability)
            + (orders[place] - counts) * math.log1p(-probability)
        )
        curve[place] = logsumexp(chances + counts * (counts - 1) * (loss**2 / 2))
    between = orders != np.floor(orders)
    curve[between] = _log_means(
        lambda log: np.logaddexp(math.log1p(-probability), math.log(probability) + log),
        orders[between],
        loss,
    )
    return np.asarray((curve + orders * ROUNDING) / (orders - 1))


def _fixed_size(loss: float, probability: float) -> Array:
    """RDP at the first FEW of ORDERS of a Gaussian sum over a batch of fixed size, row replaced;
    its sum moves by `loss` deviations.

    Wang, Balle & Kasiviswanathan 2019, Theorem 27; between whole orders by their Corollary 10.
    """
    powers, integers = np.arange(2, FEW_WHOLE + 1), np.arange(1, FEW_WHOLE + 1)
    even = _log_means(
        lambda log: np.maximum(log, 0) + np.log(-np.expm1(-np.abs(log))),
        np.arange(2, FEW_WHOLE + 2, 2),
        loss,
    )
    moments = math.log(4) + (even[powers // 2 - 1] + even[(powers + 1) // 2 - 1]) / 2
    terms = powers * math.log(probability) + np.minimum(
        moments, math.log(2) + powers * (powers - 1) * (loss**2 / 2)
    )
    logs = np.logaddexp(0, logsumexp(_log_choose(integers[:, None], powers) + terms, axis=1))
    orders = np.asarray(ORDERS[:FEW])
    return np.asarray(np.interp(orders, integers, logs) / (orders - 1))


def rate_of(mean_trials: float, shape: float) -> float:
    """−log γ, from above, of the truncated negative binomial law of that mean and finite shape; inf
    for Poisson's."""
    if shape == math.inf:
        return math.inf

    def mean(rate: float) -> float:
        return math.expm1(rate) * (-shape / math.expm1(-shape * rate) if shape else 1 / rate)

    return halve(
        lambda rate: mean(rate) < mean_trials, 0.0, 2 * math.log(mean_trials) + 1e-12, tolerance=0.0
    )[1]


def _best_of(curve: Array, event: RepeatAndSelectDpEvent) -> Array:
    """RDP of the best of a random number of runs, each with `curve` (Papernot & Steinke 2022,
    Theorems 2 and 6)."""
    orders = np.asarray(ORDERS[: len(curve)])
    repeated = curve + math.log(event.mean) / (orders - 1)
    if event.shape == math.inf:
        return np.asarray(
            repeated + event.mean * _smallest_delta(curve, orders, np.log1p(1 / (orders - 1)))
        )

    rate = rate_of(event.mean, event.shape)
    repeated += (1 + event.shape) * np.min((1 - 1 / orders) * curve + rate / orders)
    return np.minimum.accumulate(repeated[::-1])[::-1]  # a curve rises with its order


def _log_means(log_of: Callable[[Array], Array], powers: Array, loss: float) -> Array:
    """log E f(L)ᵖ at each of `powers`, f given by its logarithm; L: likelihood ratio of N(1,
    1/loss²) to N(0, 1/loss²), under the latter.

    A sum over an even grid, whose error is e⁻³⁹ or less, since f(L)ᵖ has no singularity within
    π/loss² of the real line.
    """
    if loss * LEAST_NOISE > 1:
        return np.full(len(powers), math.inf)
    noise = 1 / loss
    step = noise * min(0.1, noise / 2)
    x = np.arange(-20 * noise, powers.max() + 20 * noise, step)
    with np.errstate(divide="ignore"):
        logs = log_of((x - 0.5) * loss**2)
    return np.asarray(
        logsumexp(
            np.multiply.outer(powers, logs)
            - (x * loss) ** 2 / 2
            + math.log(step * loss / math.sqrt(2 * math.pi)),
            axis=1,
        )
    )


def _log_choose(n: Array, k: Array) -> Array:
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))


def _refusal(events: ElementaryEvents) -> str:
    of_releases = (_sampled_refusal(release, events) for release in events.releases)
    of_others = (_unsupported_refusal(event, events.relation) for event, _ in events.unsupported)
    return next(filter(None, itertools.chain(of_releases, of_others)), "")


def _unsupported_refusal(event: DpEvent, relation: NeighboringRelation) -> str:
    match event:
        case RepeatAndSelectDpEvent():
            inner = read(event.event, relation)
            if inner.is_non_private or any(release.delta > 0 for release in inner.releases):
                return (
                    "a selection among runs needs runs with a Rényi curve: no release without"
                    " noise, no δ of its own"
                )
            return _refusal(inner)
        case SampledWithoutReplacementDpEvent() if relation is REPLACE_ONE:
            inner = read(event.event, relation)
            if inner.releases and inner.is_full_gaussian:
                return ""
            return "sampling without replacement has a Rényi curve for Gaussian releases only"
    return f"no Rényi curve under {relation} for {type(event).__name__}"


def _sampled_refusal(release: ElementaryRelease, events: ElementaryEvents) -> str:
    if release.sampling_probability == 1:
        return ""
    if release.kind is not Kind.GAUSSIAN:
        return f"no Rényi curve for a Poisson-sampled {release.kind.value}"
    if events.relation is REPLACE_ONE:
        return (
            "no Rényi curve for Poisson sampling under replace-one, where both rows enter the sum"
        )
    return ""


def _opacus_bounds(events: ElementaryEvents, delta: float) -> EpsilonBounds:
    curve = np.zeros(len(OPACUS_ORDERS))
    for release in events.releases:
        curve = curve + release.count * _opacus_curve(
            release.sampling_probability, 1 / release.loss, OPACUS_ORDERS
        )
    return _epsilon(curve, OPACUS_ORDERS, events, delta)


@functools.lru_cache(maxsize=512)
def _opacus_curve(q: float, noise_multiplier: float, orders: tuple[float, ...]) -> Array:
    from opacus.accountants.analysis.rdp import compute_rdp

    return np.asarray(
        compute_rdp(q=q, noise_multiplier=noise_multiplier, steps=1, orders=list(orders))
    )


def _opacus_refusal(events: ElementaryEvents) -> str:
    if events.unsupported:
        return f"Opacus has no Rényi curve for {unsupported_names(events)}"
    if any(release.kind is not Kind.GAUSSIAN for release in events.releases):
        return "Opacus has Rényi curves for Gaussian releases only"
    return next(
        (reason for release in events.releases if (reason := _sampled_refusal(release, events))), ""
    )


RDP = Accountant(
    "rdp",
    "Rényi DP",
    "Mironov 2017; Mironov, Talwar & Zhang 2019; conversion of Canonne, Kamath & Steinke 2020",
    bounds=_bounds,
    refusal=_refusal,
)
OPACUS_RDP = Accountant(
    "opacus_rdp",
    "Rényi DP (Opacus)",
    "Mironov, Talwar & Zhang 2019, by Opacus",
    bounds=_opacus_bounds,
    refusal=_opacus_refusal,
)
