"""The best of a random number of full Gaussian runs, from their trade-off curve instead of their
Rényi curve.

docs/accounting.md has the proof. It holds for any law of the number of runs whose generating
function G has a rising derivative; ours are truncated negative binomial and Poisson.
"""

import functools
import math
from itertools import pairwise

import numpy as np
from scipy.special import ndtr

from pillar_core.accounting.accountant import Accountant
from pillar_core.accounting.elementary import ElementaryEvents, read
from pillar_core.accounting.gaussian_dp import deltas_of
from pillar_core.accounting.rdp import RDP, rate_of
from pillar_core.arrays import Array
from pillar_core.events import RepeatAndSelectDpEvent
from pillar_core.numerics import halve
from pillar_core.types import EpsilonBounds

CELLS = 2**14
"""Of the share of runs below the winner; a finer grid lowers ε by half a percent at most."""
REACH = 9.0
"""Standard deviations that the cells cover; all beyond is one cell at either end."""
ROUNDING = 1e-9
"""Above the relative error of the sums, and what ε is solved to."""


def _bounds(events: ElementaryEvents, delta: float) -> EpsilonBounds:
    ((event, _),) = events.unsupported
    mu = read(event.event, events.relation).gaussian_mu
    gains, losses = _lines(mu, event.mean, event.shape)

    def exceeds(epsilon: float) -> bool:
        total = float(gains @ deltas_of(epsilon + losses, mu))
        return not total * (1 + ROUNDING) <= delta

    upper = RDP.bounds(events, delta).upper
    if math.isfinite(upper) and not exceeds(upper):
        upper = halve(exceeds, 0.0, upper, tolerance=ROUNDING * upper)[1]
    return EpsilonBounds(0.0, upper, upper)


@functools.lru_cache(maxsize=64)
def _lines(mu: float, mean: float, shape: float) -> tuple[Array, Array]:
    """(gains, losses), each (m,) float64: the choice is (ε, Σ gains·δ(ε + losses))-DP, δ(·) of one
    run.

    They are the sides of the concave majorant of (G′(v), G′(u)) through the origin, where u is the
    share of runs below the winner with a row and v the least it can be without.
    """
    rate = rate_of(mean, shape)

    def density(above: Array) -> Array:
        """G′(1 − above)."""
        if shape == math.inf:
            return np.asarray(mean * np.exp(-mean * above))
        return np.asarray(mean * (1 + math.expm1(rate) * above) ** (-1 - shape))

    walls = np.linspace(-REACH, REACH + mu, CELLS)
    # each cell has u at its upper and v at its lower end: G′ rises, so both err to the safe side
    with_row = density(np.append(ndtr(-walls), 0.0))
    without = density(np.append(1.0, ndtr(mu - walls)))
    corners = [(0.0, 0.0)]
    for x, y in zip(without.tolist(), with_row.tolist(), strict=True):
        while len(corners) > 1 and _is_below(corners[-2], corners[-1], (x, y)):
            corners.pop()
        corners.append((x, y))
    sides = np.array([(x - w, y - z) for (w, z), (x, y) in pairwise(corners) if y > z])
    return sides[:, 1], np.log(sides[:, 0] / sides[:, 1])


def _is_below(
    first: tuple[float, float], middle: tuple[float, float], last: tuple[float, float]
) -> bool:
    """Whether the middle point lies on or below the line between the others."""
    return (last[1] - middle[1]) * (middle[0] - first[0]) >= (middle[1] - first[1]) * (
        last[0] - middle[0]
    )


def _refusal(events: ElementaryEvents) -> str:
    if not events.releases and len(events.unsupported) == 1:
        event, count = events.unsupported[0]
        if isinstance(event, RepeatAndSelectDpEvent) and count == 1:
            inner = read(event.event, events.relation)
            if inner.releases and inner.is_full_gaussian and not inner.is_non_private:
                return ""
    return "it is for one choice among full Gaussian runs, with no release besides"


SELECTION = Accountant(
    "selection",
    "Choice among runs (ours)",
    "f-DP bound of ours; the law of the number of runs by Papernot & Steinke 2022",
    bounds=_bounds,
    refusal=_refusal,
)
