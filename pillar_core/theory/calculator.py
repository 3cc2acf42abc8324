"""What a calculator is: a theorem's formulas with their source, the ranges it states, and numbers
in printed and corrected form."""

import dataclasses
import enum
import functools
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pillar_core import params
from pillar_core.arrays import Json
from pillar_core.errors import SettingError
from pillar_core.params import Param
from pillar_core.registry import Registry, toml_tables

INF = math.inf
INPUTS = Path(__file__).with_name("inputs.toml")
Inputs = Any
"""A theorem's inputs by symbol."""


class Form(enum.StrEnum):
    """Where a formula stands."""

    PRINTED = "as printed"
    CORRECTED = "corrected"
    DERIVED = "derived here"


PRINTED, CORRECTED, DERIVED = Form


@dataclasses.dataclass(frozen=True)
class Value:
    """One number that a theorem gives. value may be math.inf (no amount of data will do); it is
    never NaN.

    latex: the formula. is_rate: constants and logarithms are unknown, so only its growth means
    anything.
    """

    name: str
    form: Form
    value: float
    latex: str
    unit: str = ""
    is_rate: bool = False
    note: str = ""

    def __post_init__(self) -> None:
        if isinstance(self.value, float) and math.isnan(self.value):
            raise SettingError(f"{self.name} is not defined for these inputs.")


Values = tuple[Value, ...]
count = functools.partial(Value, unit="rows")
"""A number of rows."""
rate = functools.partial(Value, unit="rows", is_rate=True)
"""A number of rows up to constants and logarithms."""


@dataclasses.dataclass(frozen=True)
class Range:
    """A range that a theorem states for one quantity, and the value at hand. Ends are excluded
    where `open` says so."""

    name: str
    value: float
    low: float = -INF
    high: float = INF
    low_open: bool = True
    high_open: bool = True
    form: Form = Form.PRINTED

    @property
    def holds(self) -> bool:
        """Whether the value lies inside; NaN does not."""
        above = self.value > self.low if self.low_open else self.value >= self.low
        below = self.value < self.high if self.high_open else self.value <= self.high
        return above and below

    @property
    def words(self) -> str:
        """“ε in (0, 0.158): 0.1”."""
        left = f"{'(' if self.low_open else '['}{self.low:.4g}" if self.low > -INF else "(−∞"
        right = f"{self.high:.4g}{')' if self.high_open else ']'}" if self.high < INF else "∞)"
        return f"{self.name} in {left}, {right}: {self.value:.4g}"


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What a calculator answers: numbers, and every stated range with the value at hand."""

    values: tuple[Value, ...]
    ranges: tuple[Range, ...]

    @property
    def violations(self) -> tuple[str, ...]:
        """The stated ranges that the inputs break, in words: outside them the theorem promises
        nothing."""
        return tuple(item.words for item in self.ranges if not item.holds)

    def value(self, name: str, form: Form = Form.PRINTED) -> float:
        """The number called `name` in one form. Raises SettingError: there is none."""
        for item in self.values:
            if item.name == name and item.form == form:
                return item.value
        known = ", ".join(f"{item.name} ({item.form})" for item in self.values)
        raise SettingError(f"there is no value {name!r} {form}; known: {known}.")


@dataclasses.dataclass(frozen=True)
class Calculator:
    """One theorem or lemma. `settings` is a dataclass of Params: the domain on which its formulas
    can be evaluated at all.

    says: what it claims, in one sentence for people. corrections: what is wrong in print, and why.
    has_rates: `rates` draws it against each input.
    """

    name: str
    title: str
    source: str
    says: str
    settings: type[Any]
    compute: Callable[[Any], tuple[Value, ...]]
    ranges: Callable[[Any], tuple[Range, ...]]
    corrections: tuple[str, ...] = ()
    has_rates: bool = False

    def __call__(self, **inputs: Json) -> Outcome:
        """The theorem's numbers at these inputs; inputs left out take their defaults.

        Raises SettingError: an unknown input, or one for which the formulas cannot be evaluated.
        """
        known = params.params_of(self.settings)
        unknown = [name for name in inputs if name not in known]
        if unknown:
            raise SettingError(
                f"{self.name} has no input {', '.join(unknown)}; its inputs are {', '.join(known)}."
            )
        settings = params.check_settings(self.settings(**inputs))
        try:
            return Outcome(self.compute(settings), self.ranges(settings))
        except ArithmeticError as error:
            raise SettingError(
                f"{self.name}: these inputs are too extreme for its formulas ({error})."
            ) from error


CALCULATORS: Registry[Calculator] = Registry("calculator", home="pillar_core.theory")


def inputs_of(symbols: str, own: Mapping[str, Json]) -> dict[str, Param]:
    """Inputs by symbol, which spaces part: as inputs.toml has them, with what a theorem says of its
    own."""
    shared = toml_tables(INPUTS)
    return {
        symbol: params.param_from(symbol, {**shared[symbol], **own.get(symbol, {})})
        for symbol in symbols.split()
    }


def register(
    name: str,
    compute: Callable[[Inputs], Values],
    ranges: Callable[[Inputs], tuple[Range, ...]],
    *,
    inputs: str,
    title: str,
    source: str,
    says: str,
    corrections: tuple[str, ...] = (),
    has_rates: bool = False,
    **own: Json,
) -> None:
    """Register a theorem. inputs: their symbols; own: what differs from inputs.toml, by symbol."""
    fields = [
        (symbol, param.kind, params.setting(param))
        for symbol, param in inputs_of(inputs, own).items()
    ]
    settings = dataclasses.make_dataclass(name, fields, frozen=True)
    CALCULATORS.register(
        Calculator(name, title, source, says, settings, compute, ranges, corrections, has_rates)
    )


def ratio(numerator: float, denominator: float) -> float:
    """numerator/denominator for numerator > 0; ∞ where the denominator is not above 0: no amount of
    data will do."""
    return numerator / denominator if denominator > 0 else INF
