"""What a calculator is: a theorem's formulas with their source, the ranges it states, and numbers in printed and corrected form."""

import dataclasses
import enum
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pillar_core import params
from pillar_core.errors import SettingError
from pillar_core.params import Param
from pillar_core.registry import Registry, facts

INF = math.inf
STATEMENTS = Path(__file__).with_name("statements.toml")
Numbers = Mapping[str, Mapping[str, float]]
"""By a value's name: the number as printed, corrected or derived."""


class Form(enum.StrEnum):
    """Where a formula stands."""

    PRINTED = "as printed"
    CORRECTED = "corrected"
    DERIVED = "derived here"


@dataclasses.dataclass(frozen=True)
class Value:
    """One number that a theorem gives. value may be math.inf (no amount of data will do); it is never NaN.

    latex: the formula. is_rate: constants and logarithms are unknown, so only its growth means anything.
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


@dataclasses.dataclass(frozen=True)
class Range:
    """A range that a theorem states for one quantity, and the value at hand. Ends are excluded where `open` says so."""

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
        """The stated ranges that the inputs break, in words: outside them the theorem promises nothing."""
        return tuple(item.words for item in self.ranges if not item.holds)

    def value(self, name: str, form: Form = Form.PRINTED) -> float:
        """The number called `name` in one form.

        Raises:
            SettingError: there is none.
        """
        for item in self.values:
            if item.name == name and item.form == form:
                return item.value
        known = ", ".join(f"{item.name} ({item.form})" for item in self.values)
        raise SettingError(f"there is no value {name!r} {form}; known: {known}.")


@dataclasses.dataclass(frozen=True)
class Calculator:
    """One theorem or lemma. `settings` is a dataclass of Params: the domain on which its formulas can be evaluated at all.

    says: what it claims, in one sentence for people. corrections: what is wrong in print, and why. eta_is_tail: its η is the share of
    energy outside k directions, which rows at hand tell. has_rates: `rates` draws it against each input.
    """

    name: str
    title: str
    source: str
    says: str
    settings: type[Any]
    compute: Callable[[Any], tuple[Value, ...]]
    ranges: Callable[[Any], tuple[Range, ...]]
    corrections: tuple[str, ...] = ()
    eta_is_tail: bool = False
    has_rates: bool = False

    def __call__(self, **inputs: Any) -> Outcome:
        """The theorem's numbers at these inputs; inputs left out take their defaults.

        Raises:
            SettingError: an unknown input, or one for which the formulas cannot be evaluated.
        """
        known = params.params_of(self.settings)
        unknown = [name for name in inputs if name not in known]
        if unknown:
            raise SettingError(f"{self.name} has no input {', '.join(unknown)}; its inputs are {', '.join(known)}.")
        settings = params.checked(self.settings(**inputs))
        return Outcome(self.compute(settings), self.ranges(settings))


CALCULATORS: Registry[Calculator] = Registry("calculator", home="pillar_core.theory")


def register(name: str, settings: type[Any], numbers: Callable[[Any], Numbers], *, ranges: Callable[[Any], tuple[Range, ...]]) -> None:
    """Makes a theorem known: `numbers(settings)` are the values whose formulas, with what else is said of it, are in statements.toml."""
    said = dict(facts(STATEMENTS)[name])
    formulas = said.pop("values")

    def compute(chosen: Any) -> tuple[Value, ...]:
        found = numbers(chosen)
        return tuple(Value(**{**one, "form": Form[one["form"].upper()], "value": found[one["name"]][one["form"]]}) for one in formulas)

    said["corrections"] = tuple(said.get("corrections", ()))
    CALCULATORS.register(Calculator(name, settings=settings, compute=compute, ranges=ranges, **said))


def ratio(numerator: float, denominator: float) -> float:
    """numerator/denominator for numerator > 0; ∞ where the denominator is not above 0: no amount of data will do."""
    return numerator / denominator if denominator > 0 else INF


ALPHA = Param("alpha", float, 0.1, "Largest error wanted, α.", low=0, low_open=True, high=1)
BETA = Param("beta", float, 0.1, "Chance β that the result fails.", low=0, low_open=True, high=1, high_open=True, log=True)
EPSILON = Param("epsilon", float, 0.1, "Privacy budget ε.", low=0, low_open=True, high=1e3, log=True)
GAMMA = Param("gamma", float, 0.1, "Margin γ of the rows, as a cosine.", low=-1, high=1)
XI = Param("xi", float, 0.3, "ξ_k: the share of the separator that k directions miss.", low=0, high=1)
GAP = Param("gap", float, 0.1, "Eigengap Δ_k = λ_k − λ_{k+1}, for rows in the unit ball.", low=0, high=1, log=True)
K = Param("k", int, 40, "Directions kept, k.", low=1, high=10**6, unit="directions", log=True)
D = Param("d", int, 1280, "Dimension d of the rows.", low=2, high=10**7, unit="features", log=True)
ETA = Param("eta", float, 0.001, "Total variation distance η between public and private rows.", low=0, high=1)
RADIUS = Param("radius", float, 1.0, "Largest distance R of a row from the public mean.", low=0, low_open=True, high=2)
RHO = Param("rho", float, 0.01, "Privacy parameter ρ = μ²/2 of the run.", low=0, low_open=True, high=1e4, log=True)
LIPSCHITZ = Param("lipschitz", float, 1.0, "Lipschitz constant L of one row's loss.", low=0, low_open=True, high=1e6, log=True)
LOSS = Param("loss", str, "hinge", "Loss: the scaled hinge, or cross-entropy.", choices=("hinge", "cross_entropy"))
