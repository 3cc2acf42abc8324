"""Gaussian differential privacy with the central limit theorem for sampled steps: an approximation, never a bound.

It under-reports where steps are few or the sampling probability is small (2.21 against 3.26 at q = 0.02, σ = 0.8,
T = 200, δ = 1e-5). Full Gaussian releases enter exactly.
"""

import math

from pillar_core.accounting.accountant import Accountant
from pillar_core.accounting.elementary import REPLACE_ONE, ElementaryEvents, Kind
from pillar_core.accounting.gaussian_dp import epsilon_of_mu
from pillar_core.types import EpsilonBounds

LARGEST_LOSS = 26.0
"""exp(loss²) overflows a float beyond this; the approximation has no meaning there anyway."""


def _bounds(events: ElementaryEvents, delta: float) -> EpsilonBounds:
    squares = [events.gaussian_mu**2]
    for release in events.releases:
        if release.sampling_probability < 1:
            # μ² = q²·T·(e^{1/σ²} − 1): Bu et al. 2020, Theorem 5, as Opacus' GDP accountant has it
            spread = math.expm1(min(release.loss, LARGEST_LOSS) ** 2)
            squares.append(release.sampling_probability**2 * release.count * spread)
    estimate = epsilon_of_mu(math.sqrt(math.fsum(squares)), delta)
    return EpsilonBounds(estimate, estimate, estimate, is_bound=False)


def _refusal(events: ElementaryEvents) -> str:
    if events.unsupported or any(release.kind is not Kind.GAUSSIAN for release in events.releases):
        return "the central limit formula is for Gaussian releases"
    if events.relation is REPLACE_ONE and any(release.sampling_probability < 1 for release in events.releases):
        return "its formula for Poisson sampling is for add/remove neighbours"
    return ""


GDP = Accountant(
    name="gdp",
    title="Gaussian DP (central limit: not a bound)",
    source="Bu, Dong, Long & Su 2020",
    is_bound=False,
    bounds=_bounds,
    refusal=_refusal,
)
