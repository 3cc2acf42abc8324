"""The analytic Gaussian mechanism: exact for any composition of full Gaussian releases, and for nothing else."""

from pillar_core.accounting.accountant import Accountant
from pillar_core.accounting.elementary import ElementaryEvents
from pillar_core.accounting.gaussian_dp import RELATIVE_ERROR, epsilon_of_mu
from pillar_core.types import EpsilonBounds


def _bounds(events: ElementaryEvents, delta: float) -> EpsilonBounds:
    upper = epsilon_of_mu(events.gaussian_mu, delta)
    return EpsilonBounds(upper * (1 - 3 * RELATIVE_ERROR), upper * (1 - RELATIVE_ERROR), upper)


def _refusal(events: ElementaryEvents) -> str:
    if events.unsupported or not all(release.is_full_gaussian for release in events.releases):
        return "it is exact for Gaussian releases of all rows only, and this run has another kind of release"
    return ""


ANALYTIC_GAUSSIAN = Accountant(
    name="analytic_gaussian",
    title="Analytic Gaussian",
    source="Balle & Wang 2018; composition by Dong, Roth & Su 2022",
    is_exact=True,
    bounds=_bounds,
    refusal=_refusal,
)
