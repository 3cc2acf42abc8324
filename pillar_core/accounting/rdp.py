"""Rényi differential privacy: curves of `dp_accounting` (or of Opacus), composed by addition, converted at the best order.

Orders reach far enough for ε = 0.01, where the usual list (up to 63) stops short. The library's Gaussian event ignores
the replace-one factor, so its curves are asked for at the noise that the factor leaves.
"""

import dataclasses
import functools
import itertools
import math

import numpy as np

from pillar_core.accounting.accountant import Accountant, unsupported_names
from pillar_core.accounting.elementary import REPLACE_ONE, ElementaryEvents, ElementaryRelease, Kind, read
from pillar_core.arrays import Array
from pillar_core.deferred import dp_event, privacy_accountant, rdp
from pillar_core.ledger import DpEvent
from pillar_core.types import EpsilonBounds, NeighboringRelation


def _orders(largest: int) -> tuple[float, ...]:
    """Closer where the best order mostly lies; a whole order costs its size, so the large ones are few."""
    high = (*(round(64 * 1.25**step) for step in range(12)), *(round(1024 * 1.6**step) for step in range(5)))
    return (*(1 + step / 10 for step in range(1, 100)), *map(float, range(11, 64)), *(float(order) for order in high if order <= largest))


ORDERS = _orders(10_000)
LOW_ORDERS = slice(0, ORDERS.index(64.0))
OPACUS_ORDERS = _orders(1024)
"""Its binomial coefficients overflow a float beyond order 1029."""
USUAL_ORDERS = (*(1 + step / 10 for step in range(1, 100)), *range(12, 64))
"""Those of Opacus 1.6 and fastDP; TensorFlow Privacy's differ by a few."""


LEAST_NOISE = 0.05
"""Below, Opacus's fractional orders need not end."""


def usual_epsilon(noise_multiplier: float, *, sampling_probability: float, steps: int, delta: float) -> float:
    """ε of Poisson samples under add/remove as libraries count it: Opacus's own curve, at their short list of orders."""
    if noise_multiplier == 0:
        return math.inf
    orders = np.asarray(USUAL_ORDERS)
    if noise_multiplier < LEAST_NOISE:
        event = dp_event.GaussianDpEvent(noise_multiplier)
        sampled = event if sampling_probability == 1 else dp_event.PoissonSampledDpEvent(sampling_probability, event)
        return float(rdp.RdpAccountant(USUAL_ORDERS).compose(sampled, steps).get_epsilon(delta))
    from opacus.accountants.analysis.rdp import compute_rdp

    curve = compute_rdp(q=sampling_probability, noise_multiplier=noise_multiplier, steps=steps, orders=list(USUAL_ORDERS))
    epsilons = curve - (math.log(delta) + np.log(orders)) / (orders - 1) + np.log1p(-1 / orders)  # Balle et al. 2020, Theorem 21
    return max(0.0, float(np.nanmin(epsilons)))


def _epsilon(curve: Array, orders: tuple[float, ...], events: ElementaryEvents, delta: float) -> EpsilonBounds:
    """Each (ε, δᵢ) release hands over its δᵢ; the rest of δ goes to the curve."""
    rest = delta - math.fsum(release.count * release.delta for release in events.releases)
    upper = float(rdp.rdp_privacy_accountant.compute_epsilon(orders, np.maximum(curve, 0.0), rest)[0]) if rest > 0 else math.inf
    return EpsilonBounds(0.0, upper, upper)


def _bounds(events: ElementaryEvents, delta: float) -> EpsilonBounds:
    curve: Array = np.zeros(len(ORDERS))
    for release in events.releases:
        curve = curve + release.count * _curve(dataclasses.replace(release, count=1))
    if not events.unsupported:
        return _epsilon(curve, ORDERS, events, delta)
    neighbours, fixed_size = privacy_accountant.NeighboringRelation, dp_event.SampledWithoutReplacementDpEvent
    # without replacement, the library's curve costs the square of the order
    few = LOW_ORDERS if any(isinstance(event, fixed_size) for event, _ in events.unsupported) else slice(None)
    for event, count in events.unsupported:
        relation = neighbours.REPLACE_ONE if isinstance(event, fixed_size) else neighbours.ADD_OR_REMOVE_ONE
        curve[few] += rdp.RdpAccountant(ORDERS[few], relation).compose(_library_form(event, events.relation), count).rdp
    return _epsilon(curve[few], ORDERS[few], events, delta)


@functools.lru_cache(maxsize=512)
def _curve(release: ElementaryRelease) -> Array:
    """RDP of one release at ORDERS."""
    orders = np.asarray(ORDERS)
    match release.kind:
        case Kind.GAUSSIAN if release.is_full_gaussian:
            return orders * (release.loss**2 / 2)
        case Kind.PURE:
            return _pure_curve(release.loss, orders)
        case Kind.EXPONENTIAL:
            # bounded range: ε²/8-zCDP (Cesar & Rogers 2021, Lemma 3.2); our ε bounds the spread over candidates
            return np.minimum(_pure_curve(release.loss, orders), orders * (release.loss**2 / 8))
    return np.asarray(rdp.RdpAccountant(ORDERS).compose(_library_event(release)).rdp)


def _pure_curve(epsilon: float, orders: Array) -> Array:
    """RDP of randomised response, the worst ε-DP release (Mironov 2017, Proposition 5)."""
    high, low = -np.logaddexp(0.0, -epsilon), -np.logaddexp(0.0, epsilon)
    curve = np.logaddexp(orders * high + (1 - orders) * low, orders * low + (1 - orders) * high) / (orders - 1)
    return np.asarray(np.minimum(np.maximum(curve, 0.0), np.minimum(epsilon, orders * epsilon**2 / 2)))


def _library_event(release: ElementaryRelease) -> DpEvent:
    noise = 1 / release.loss if release.loss > 0 else math.inf
    match release.kind:
        case Kind.GAUSSIAN if release.is_full_gaussian:
            return dp_event.GaussianDpEvent(noise)
        case Kind.GAUSSIAN:
            return dp_event.PoissonSampledDpEvent(release.sampling_probability, dp_event.GaussianDpEvent(noise))
        case Kind.LAPLACE:
            return dp_event.LaplaceDpEvent(noise)
        case Kind.EXPONENTIAL:
            return dp_event.ZCDpEvent(release.loss**2 / 8)
    return dp_event.ZCDpEvent(release.loss**2 / 2)


def _library_form(event: DpEvent, relation: NeighboringRelation) -> DpEvent:
    """A library event that means the same to its accountant, our releases and factors inside it included."""
    match event:
        case dp_event.RepeatAndSelectDpEvent():
            inner = read(event.event, relation)
            parts: list[DpEvent] = [dp_event.SelfComposedDpEvent(_library_event(part), part.count) for part in inner.releases]
            parts += [dp_event.SelfComposedDpEvent(_library_form(part, relation), count) for part, count in inner.unsupported]
            return dp_event.RepeatAndSelectDpEvent(dp_event.ComposedDpEvent(parts), event.mean, event.shape)
        case dp_event.SampledWithoutReplacementDpEvent():
            # the library ignores that replacing a row moves a sum by twice its norm
            noise = 1 / read(event.event, relation).gaussian_mu
            return dp_event.SampledWithoutReplacementDpEvent(event.source_dataset_size, event.sample_size, dp_event.GaussianDpEvent(noise))
    return event


def _refusal(events: ElementaryEvents) -> str:
    of_releases = (_sampled_refusal(release, events) for release in events.releases)
    of_others = (_unsupported_refusal(event, events.relation) for event, _ in events.unsupported)
    return next(filter(None, itertools.chain(of_releases, of_others)), "")


def _unsupported_refusal(event: DpEvent, relation: NeighboringRelation) -> str:
    match event:
        case dp_event.RepeatAndSelectDpEvent():
            inner = read(event.event, relation)
            if inner.is_non_private or any(release.delta > 0 for release in inner.releases):
                return "a selection among runs needs runs with a Rényi curve: no release without noise, no δ of its own"
            return _refusal(inner)
        case dp_event.SampledWithoutReplacementDpEvent() if relation is REPLACE_ONE:
            inner = read(event.event, relation)
            only_gaussian = inner.releases and not inner.unsupported and all(release.is_full_gaussian for release in inner.releases)
            return "" if only_gaussian else "sampling without replacement has a Rényi curve for Gaussian releases only"
    if relation is REPLACE_ONE or not rdp.RdpAccountant(ORDERS).supports(event):
        return f"no Rényi curve under {relation} for {type(event).__name__}"
    return ""


def _sampled_refusal(release: ElementaryRelease, events: ElementaryEvents) -> str:
    if release.sampling_probability == 1:
        return ""
    if release.kind is not Kind.GAUSSIAN:
        return f"no Rényi curve for a Poisson-sampled {release.kind.value}"
    if events.relation is REPLACE_ONE:
        return "dp-accounting has no Rényi curve for Poisson sampling under replace-one, where both rows enter the sum"
    return ""


def _opacus_bounds(events: ElementaryEvents, delta: float) -> EpsilonBounds:
    curve = np.zeros(len(OPACUS_ORDERS))
    for release in events.releases:
        curve = curve + release.count * _opacus_curve(dataclasses.replace(release, count=1))
    return _epsilon(curve, OPACUS_ORDERS, events, delta)


@functools.lru_cache(maxsize=512)
def _opacus_curve(release: ElementaryRelease) -> Array:
    from opacus.accountants.analysis.rdp import compute_rdp

    return np.asarray(compute_rdp(q=release.sampling_probability, noise_multiplier=1 / release.loss, steps=1, orders=list(OPACUS_ORDERS)))


def _opacus_refusal(events: ElementaryEvents) -> str:
    if events.unsupported:
        return f"Opacus has no Rényi curve for {unsupported_names(events)}"
    if any(release.kind is not Kind.GAUSSIAN for release in events.releases):
        return "Opacus has Rényi curves for Gaussian releases only"
    return next((reason for release in events.releases if (reason := _sampled_refusal(release, events))), "")


RDP = Accountant(
    name="rdp",
    title="Rényi DP (dp-accounting)",
    source="Mironov 2017; Mironov, Talwar & Zhang 2019; conversion of Canonne, Kamath & Steinke 2020",
    bounds=_bounds,
    refusal=_refusal,
)
OPACUS_RDP = Accountant(
    name="opacus_rdp",
    title="Rényi DP (Opacus)",
    source="Mironov, Talwar & Zhang 2019, by Opacus",
    bounds=_opacus_bounds,
    refusal=_opacus_refusal,
)
