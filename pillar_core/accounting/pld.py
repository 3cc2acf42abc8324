"""Privacy loss distributions of `dp_accounting` (connect-the-dots, pessimistic), for each event it has a form for."""

import importlib.util
import math
from typing import Any

from pillar_core.accounting.accountant import Accountant, unsupported_names
from pillar_core.accounting.elementary import REPLACE_ONE, ElementaryEvents, ElementaryRelease, Kind
from pillar_core.extras import how_to_get
from pillar_core.types import EpsilonBounds

DEFAULT_INTERVAL = 1e-4
SMALLEST_INTERVAL = 2e-6


def _bounds(events: ElementaryEvents, delta: float) -> EpsilonBounds:
    from dp_accounting import pld

    interval = _interval(events)
    total = pld.privacy_loss_distribution.identity(value_discretization_interval=interval)
    for release in events.releases:
        total = total.compose(_distribution(release, events, interval).self_compose(release.count))
    upper = float(total.get_epsilon_for_delta(delta))
    return EpsilonBounds(0.0, upper, upper)


def _distribution(release: ElementaryRelease, events: ElementaryEvents, interval: float) -> Any:
    """The loss distribution of one release; the library's own replace-one factor of 2 is taken out where ours is in."""
    from dp_accounting import pld, privacy_accountant

    match release.kind:
        case Kind.GAUSSIAN:
            relation = privacy_accountant.NeighboringRelation
            is_replaced = events.relation is REPLACE_ONE and not release.is_full_gaussian
            return pld.privacy_loss_distribution.from_gaussian_mechanism(
                standard_deviation=1 / release.loss,
                sampling_prob=release.sampling_probability,
                value_discretization_interval=interval,
                neighboring_relation=relation.REPLACE_ONE if is_replaced else relation.ADD_OR_REMOVE_ONE,
            )
        case Kind.LAPLACE:
            return pld.privacy_loss_distribution.from_laplace_mechanism(
                parameter=1 / release.loss, sampling_prob=release.sampling_probability, value_discretization_interval=interval
            )
    return pld.privacy_loss_distribution.from_privacy_parameters(
        pld.common.DifferentialPrivacyParameters(release.loss, release.delta), value_discretization_interval=interval
    )


def _interval(events: ElementaryEvents) -> float:
    """The library's default grid, finer where one step's loss is so small that the default would round most of it up."""
    spreads = [r.sampling_probability * math.sqrt(math.expm1(min(r.loss * r.loss, 50.0))) for r in events.releases if r.count > 1]
    return max(SMALLEST_INTERVAL, min(DEFAULT_INTERVAL, min(spreads, default=1.0) / 8))


def _refusal(events: ElementaryEvents) -> str:
    if events.unsupported:
        return f"no loss distribution here for {unsupported_names(events)}"
    for release in events.releases:
        if release.sampling_probability < 1 and release.kind in (Kind.PURE, Kind.EXPONENTIAL):
            return f"dp-accounting has no loss distribution for a Poisson-sampled {release.kind.value}"
        if release.sampling_probability < 1 and release.kind is Kind.LAPLACE and events.relation is REPLACE_ONE:
            return "dp-accounting has no loss distribution for Poisson-sampled Laplace noise under replace-one"
    if importlib.util.find_spec("dp_accounting") is None:
        return f"it needs {how_to_get(ImportError(name='dp_accounting'))}"
    return ""


PLD = Accountant(
    name="pld",
    title="Privacy loss distribution (dp-accounting)",
    source="Doroshenko, Ghazi, Kamath, Kumar & Manurangsi 2022",
    bounds=_bounds,
    refusal=_refusal,
)
