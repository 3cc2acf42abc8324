"""Loss distributions of other libraries: `dp_accounting`'s (connect-the-dots, pessimistic), for
each event it has a form for, and `prv_accountant`'s random variables, whose bounds are rigorous
under add/remove, for its own direction.

The latter composes the pair (sampled, not sampled) only, the larger of the two directions in every
case we compared. Its grid does not hold losses of a few large steps (ten pure releases of ε = 8
came out as ε = 0): pure releases are refused, and so is an answer below what is certified from
below.
"""

import importlib.util
import math
from typing import Any

from pillar_core.accounting.accountant import ACCOUNTANTS, Accountant, unsupported_names
from pillar_core.accounting.elementary import REPLACE_ONE, ElementaryEvents, ElementaryRelease, Kind
from pillar_core.errors import UnsupportedError
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
    """The loss distribution of one release; the library's own replace-one factor of 2 is taken out
    where ours is in."""
    from dp_accounting import pld, privacy_accountant

    match release.kind:
        case Kind.GAUSSIAN:
            relation = privacy_accountant.NeighboringRelation
            is_replaced = events.relation is REPLACE_ONE and not release.is_full_gaussian
            return pld.privacy_loss_distribution.from_gaussian_mechanism(
                standard_deviation=1 / release.loss,
                sampling_prob=release.sampling_probability,
                value_discretization_interval=interval,
                neighboring_relation=(
                    relation.REPLACE_ONE if is_replaced else relation.ADD_OR_REMOVE_ONE
                ),
            )
        case Kind.LAPLACE:
            return pld.privacy_loss_distribution.from_laplace_mechanism(
                parameter=1 / release.loss,
                sampling_prob=release.sampling_probability,
                value_discretization_interval=interval,
            )
    return pld.privacy_loss_distribution.from_privacy_parameters(
        pld.common.DifferentialPrivacyParameters(release.loss, release.delta),
        value_discretization_interval=interval,
    )


def _interval(events: ElementaryEvents) -> float:
    """The library's default grid, finer where one step's loss is so small that the default would
    round most of it up."""
    spreads = [
        r.sampling_probability * math.sqrt(math.expm1(min(r.loss * r.loss, 50.0)))
        for r in events.releases
        if r.count > 1
    ]
    return max(SMALLEST_INTERVAL, min(DEFAULT_INTERVAL, min(spreads, default=1.0) / 8))


def _refusal(events: ElementaryEvents) -> str:
    if events.unsupported:
        return f"no loss distribution here for {unsupported_names(events)}"
    for release in events.releases:
        if release.sampling_probability < 1 and release.kind in (Kind.PURE, Kind.EXPONENTIAL):
            return (
                f"dp-accounting has no loss distribution for a Poisson-sampled {release.kind.value}"
            )
        if (
            release.sampling_probability < 1
            and release.kind is Kind.LAPLACE
            and events.relation is REPLACE_ONE
        ):
            return (
                "dp-accounting has no loss distribution for Poisson-sampled Laplace noise under"
                " replace-one"
            )
    if importlib.util.find_spec("dp_accounting") is None:
        return f"it needs {how_to_get(ImportError(name='dp_accounting'))}"
    return ""


PLD = Accountant(
    "pld",
    "Privacy loss distribution (dp-accounting)",
    "Doroshenko, Ghazi, Kamath, Kumar & Manurangsi 2022",
    bounds=_bounds,
    refusal=_refusal,
)


RELATIVE_EPS_ERROR = 0.005
LARGEST_GRID = 2**22
"""Grid points in extended precision: beyond it, the error in ε grows instead of memory and
minutes."""


def _prv_bounds(events: ElementaryEvents, delta: float) -> EpsilonBounds:
    from prv_accountant import PRVAccountant

    delta_error = delta / 1000
    counts = [release.count for release in events.releases]
    rough = ACCOUNTANTS["rdp"].epsilon_of(events, delta=delta).upper
    width = 2 * (1.2 * rough + 4)
    stretch = math.sqrt(sum(counts) / 2 * math.log(12 / delta_error))
    eps_error = max(RELATIVE_EPS_ERROR * rough, width / LARGEST_GRID * stretch, 1e-9)
    for _ in range(3):
        try:
            accountant = PRVAccountant(
                prvs=[_variable(release) for release in events.releases],
                max_self_compositions=counts,
                eps_error=eps_error,
                delta_error=delta_error,
            )
            lower, estimate, upper = accountant.compute_epsilon(delta, counts)
        except (RuntimeError, ValueError) as error:
            raise UnsupportedError(f"prv-accountant could not compute ε here: {error}") from error
        finer = max(RELATIVE_EPS_ERROR * estimate, width / LARGEST_GRID * stretch)
        if upper <= 1.01 * estimate or finer > 0.7 * eps_error:
            break
        eps_error = finer
    least = ACCOUNTANTS["pillar"].epsilon_of(events, delta=delta).lower
    if not max(0.0, upper) >= least:
        raise UnsupportedError(
            f"prv-accountant's grid is too coarse here: it says ε ≤ {upper:.4g}, and ε is at least"
            f" {least:.4g}"
        )
    return EpsilonBounds(max(0.0, lower), max(0.0, estimate), max(0.0, upper))


def _variable(release: ElementaryRelease) -> Any:
    from prv_accountant import (
        GaussianMechanism,
        LaplaceMechanism,
        PoissonSubsampledGaussianMechanism,
    )

    match release.kind:
        case Kind.GAUSSIAN if release.is_full_gaussian:
            return GaussianMechanism(1 / release.loss)
        case Kind.GAUSSIAN:
            return PoissonSubsampledGaussianMechanism(
                release.sampling_probability, 1 / release.loss
            )
    return LaplaceMechanism(release.loss)


def _prv_refusal(events: ElementaryEvents) -> str:
    if events.unsupported:
        return f"prv-accountant has no random variable for {unsupported_names(events)}"
    if events.relation is REPLACE_ONE:
        return "prv-accountant's random variables are for add/remove neighbours"
    for release in events.releases:
        if release.kind not in (Kind.GAUSSIAN, Kind.LAPLACE):
            return f"prv-accountant's grid loses much of what is lost by an {release.kind.value}"
        if release.sampling_probability < 1 and release.kind is not Kind.GAUSSIAN:
            return (
                f"prv-accountant has no random variable for a Poisson-sampled {release.kind.value}"
            )
    return ""


PRV = Accountant(
    "prv",
    "Privacy random variables (prv-accountant)",
    "Gopi, Lee & Wutschitz 2021",
    bounds=_prv_bounds,
    refusal=_prv_refusal,
    version=2,
)
