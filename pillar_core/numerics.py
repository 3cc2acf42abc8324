"""Safe-side bisection, log-spaced grids and the interval of a share, in float64; and numbers as
people write them."""

import bisect
import math
from collections.abc import Callable, Sequence

from pillar_core.errors import BudgetError, SettingError

LEVEL = 0.95
"""The confidence level of every interval."""


def smallest_passing(
    passes: Callable[[float], bool],
    *,
    start: float,
    low: float,
    high: float,
    relative_tolerance: float = 1e-4,
) -> float:
    """The smallest x in [low, high], to the relative tolerance, for which the monotone test
    `passes` holds.

    Always returns an x that was seen to pass: the safe end of the bracket. `start` > 0 is a guess
    near the answer. Raises BudgetError where `high` itself does not pass.
    """
    if passes(low):
        return low
    factor, failing, passing = 1.02, low, math.nan
    x = min(max(start, low * 1.0000001, 1e-12), high)
    while math.isnan(passing):
        if passes(x):
            passing = x
        elif x >= high:
            raise BudgetError(f"no value up to {high:g} meets the budget")
        else:
            failing = x
            x, factor = min(x * factor, high), factor**2
    factor = 1.02
    while failing == low and passing > low * (1 + relative_tolerance):
        x = max(passing / factor, low)
        if x == low or not passes(x):
            failing = x
            break
        passing, factor = x, factor**2
    while passing - failing > relative_tolerance * passing:
        middle = math.sqrt(passing * failing) if failing > 0 else passing / 2
        if passes(middle):
            passing = middle
        else:
            failing = middle
    return passing


def halve(
    is_below: Callable[[float], bool], low: float, high: float, *, tolerance: float
) -> tuple[float, float]:
    """The ends of the bracket around the place up to which `is_below` holds, halved to `tolerance`
    or one rounding."""
    while high - low > tolerance and low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if is_below(middle) else (low, middle)
    return low, high


def geometric_grid(low: float, high: float, count: int) -> list[float]:
    """`count` values from `low` to `high`, both above 0, evenly spaced in their logarithm."""
    step = math.log(high / low) / (count - 1)
    return [low * math.exp(step * place) for place in range(count - 1)] + [float(high)]


def half_width(deviation: float, count: int) -> float:
    """Half of Student's two-sided 95 % interval of a mean of `count` independent values with this
    deviation; NaN below two."""
    from scipy.special import stdtrit

    return (
        float(stdtrit(count - 1, 0.5 + LEVEL / 2)) * float(deviation) / math.sqrt(count)
        if count > 1
        else math.nan
    )


def reach_of_normal() -> float:
    """How many standard deviations to either side hold 95 % of a normal law."""
    from scipy.special import ndtri

    return float(ndtri(0.5 + LEVEL / 2))


def wilson(share: float, count: int) -> tuple[float, float]:
    """The 95 % interval of a share of `count` independent trials (Wilson 1927); (0, 1) with no
    trials.

    Raises SettingError for a share outside [0, 1].
    """
    if not 0 <= share <= 1:
        raise SettingError(f"share must be in [0, 1]; got {share!r}.")
    if not count > 0:
        return 0.0, 1.0
    z = reach_of_normal()
    centre = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = (
        z
        * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
        / (1 + z * z / count)
    )
    return max(0.0, min(share, centre - half)), min(1.0, max(share, centre + half))


def superscript(number: int) -> str:
    """`number` as an exponent: “⁻⁵”."""
    return str(number).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def opened(words: str) -> str:
    """Words as a sentence begins: a capital first, but for a Greek sign of a formula.

    >>> opened("the noise"), opened("ε = 1")
    ('The noise', 'ε = 1')
    """
    return words if words[:1] in "αβγδεμξσ" else words[:1].upper() + words[1:]


def number_words(value: float, digits: int = 6) -> str:
    """`value` in at most so many significant digits, as sentences have it: “0.001”, “10⁻⁵”, “2.5 ×
    10⁻⁷”, “∞”."""
    mantissa, _, power = f"{value:.{digits}g}".replace("inf", "∞").partition("e")
    return f"{mantissa} × 10{superscript(int(power))}".removeprefix("1 × ") if power else mantissa


def signed(value: float) -> str:
    """A difference with one decimal, its sign before it: “+1.2”, “−0.4”, “+0.0”."""
    return f"{value:+z.1f}".replace("-", "−")


def round_up(value: float, digits: int = 4) -> str:
    """`value` in so many significant digits, rounded up, so that the text is never below it."""
    if not 0 < value < math.inf:
        return f"{value:g}"
    place = digits - 1 - math.floor(math.log10(value))
    rounded = round(value, place)
    return number_words(rounded if rounded >= value else rounded + 10.0**-place, digits)


def place_among(values: Sequence[float], value: float) -> float | None:
    """Where a value lies among rising ones above 0, on a logarithmic scale: i at the i-th, between
    two in proportion; None outside."""
    if value in values:
        return float(values.index(value))
    above = bisect.bisect(values, value)
    if not 0 < above < len(values) or math.isinf(values[above]):
        return None
    low, high = math.log(values[above - 1]), math.log(values[above])
    return above - 1 + (math.log(value) - low) / (high - low)
