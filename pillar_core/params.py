"""Parameters: each is declared once, and its check, widget, command-line option, documentation and
sweep axis come from it."""

import dataclasses
import functools
import math
import sys
import tomllib
from collections.abc import Mapping
from typing import Any, TypedDict, TypeVar, Unpack, get_args, get_type_hints

from pillar_core.arrays import Json
from pillar_core.errors import SettingError, shown

Scalar = bool | int | float | str | None
S = TypeVar("S")


@dataclasses.dataclass(frozen=True)
class Param:
    """One setting: its type, default, closed or open range, unit and help.

    `kind` is bool, int, float or str. `none_means` says what None stands for, where None is
    allowed. `label` is what a page writes beside its widget.
    `low` and `high` are inclusive unless `low_open` / `high_open`. NaN never passes.
    """

    name: str
    kind: type
    default: Scalar
    help: str
    low: float = -math.inf
    high: float = math.inf
    low_open: bool = False
    high_open: bool = False
    unit: str = ""
    log: bool = False
    choices: tuple[str, ...] = ()
    none_means: str = ""
    label: str = ""

    def check(self, value: object) -> Scalar:
        """`value` as this parameter's type. Raises SettingError for a wrong type or a value outside
        the range."""
        if value is None and self.none_means:
            return None
        converted = self._convert(value)
        if isinstance(converted, str):
            if self.choices and converted not in self.choices:
                raise self._refusal(value)
        elif not isinstance(converted, bool) and not self._inside(converted):
            raise self._refusal(value)
        return converted

    def number(self, value: object) -> float:
        """`value` as `check` returns it, of a parameter that is a number and never None."""
        checked = self.check(value)
        return float(checked) if isinstance(checked, int | float) else math.nan

    @property
    def range(self) -> str:
        """The allowed values in words, for messages, help texts and documentation."""
        if self.choices:
            allowed = "one of " + ", ".join(self.choices)
        elif self.kind is bool:
            allowed = "true or false"
        elif self.kind is str:
            allowed = "text"
        else:
            left = (
                f"{'(' if self.low_open else '['}{self.low:g}" if self.low > -math.inf else "(-inf"
            )
            right = (
                f"{self.high:g}{')' if self.high_open else ']'}" if self.high < math.inf else "inf)"
            )
            allowed = f"{'a whole number' if self.kind is int else 'a number'} in {left}, {right}"
        return f"{allowed}, or none ({self.none_means})" if self.none_means else allowed

    def _convert(self, value: object) -> bool | int | float | str:
        value = plain_number(value)
        if self.kind is bool and isinstance(value, bool):
            return value
        if self.kind is str and isinstance(value, str):
            return value
        if (
            self.kind in (int, float)
            and isinstance(value, int | float)
            and not isinstance(value, bool)
        ):
            if isinstance(value, int) and abs(value) > sys.float_info.max:
                raise self._refusal(value)
            if self.kind is float:
                return float(value)
            if math.isfinite(value) and value == int(value):
                return int(value)
        raise self._refusal(value)

    def _inside(self, value: int | float) -> bool:
        above = value > self.low if self.low_open else value >= self.low
        below = value < self.high if self.high_open else value <= self.high
        return above and below

    def _refusal(self, value: object) -> SettingError:
        return SettingError(f"{self.name} must be {self.range}; got {shown(value)}.")


class Limits(TypedDict, total=False):
    """What a declaration may say of a parameter besides its default and its help, as in `Param`."""

    low: float
    high: float
    low_open: bool
    high_open: bool
    unit: str
    log: bool
    choices: tuple[str, ...]
    none_means: str
    label: str


def param_from(name: str, fields: Mapping[str, Json]) -> Param:
    """The parameter that a table of a TOML file declares, its `range` in the notation of intervals;
    its kind is that of its default."""
    kind = (
        {"bool": bool, "int": int, "float": float, "str": str}[fields["kind"]]
        if "kind" in fields
        else type(fields["default"])
    )
    words: dict[str, Json] = {
        word: tuple(value) if isinstance(value, list) else value for word, value in fields.items()
    }
    ends = _ends(words.pop("range", "(-inf, inf)"))
    return Param(**{"name": name, "default": None, **ends, **words, "kind": kind})


def _ends(text: str) -> dict[str, Json]:
    """The fields of a range such as "(0, 1]". An end at infinity is open in words alone."""
    low, high = tomllib.loads(f"ends = [{text[1:-1]}]")["ends"]
    return {
        "low": low,
        "high": high,
        "low_open": text[0] == "(" and low > -math.inf,
        "high_open": text[-1] == ")" and high < math.inf,
    }


def setting(param: Param, **changes: Any) -> Any:
    """A dataclass field that carries `param`, with `changes` (default, help …) for this one
    owner."""
    changed = dataclasses.replace(param, **changes) if changes else param
    return dataclasses.field(default=changed.default, metadata={"param": changed})


def declare(default: Scalar, help: str, **limits: Unpack[Limits]) -> Any:
    """A dataclass field that carries a parameter of its own: the field's name and annotation are
    the parameter's name and kind."""
    return dataclasses.field(
        default=default, metadata={"param": Param("", object, default, help, **limits)}
    )


def params_of(settings: Any) -> dict[str, Param]:
    """The parameters of a settings dataclass (class or instance), by field name, in order."""
    return dict(_params_of(settings if isinstance(settings, type) else type(settings)))


@functools.cache
def _params_of(settings: type) -> dict[str, Param]:
    declared: dict[str, Param] = {
        field.name: field.metadata["param"] for field in dataclasses.fields(settings)
    }
    if all(param.name for param in declared.values()):
        return declared
    hints = get_type_hints(settings)
    return {
        name: param
        if param.name
        else dataclasses.replace(param, name=name, kind=(*get_args(hints[name]), hints[name])[0])
        for name, param in declared.items()
    }


def plain_number(value: Any) -> Any:
    """A number of numpy or torch as Python's own; anything else as it is."""
    return value.item() if getattr(value, "size", None) == 1 and hasattr(value, "item") else value


def check_settings(settings: S) -> S:
    """`settings` with every field checked against its parameter and converted to its type.

    Raises SettingError, naming the first field that is out of range.
    """
    return replace_settings(
        settings,
        **{
            name: param.check(getattr(settings, name))
            for name, param in params_of(settings).items()
        },
    )


def replace_settings(settings: S, **values: Any) -> S:
    """`settings` of any class with other values in these fields."""
    return dataclasses.replace(settings, **values)  # type: ignore[type-var]


EPSILON = Param(
    "epsilon",
    float,
    None,
    "Privacy budget: smaller protects more.",
    low=0,
    low_open=True,
    log=True,
    none_means="set the noise instead",
)
DELTA = Param(
    "delta",
    float,
    1e-05,
    "Slack of the ε guarantee, added to the chance of any outcome; far below 1/n.",
    low=0,
    low_open=True,
    high=1,
    high_open=True,
    log=True,
)
SEED = Param(
    "seed",
    int,
    0,
    "Names the random streams of an experiment; none draws from the operating system.",
    low=0,
    high=2**63 - 1,
    none_means="release",
)
NOISE_MULTIPLIER = Param(
    "noise_multiplier",
    float,
    None,
    "Noise standard deviation divided by the clip norm.",
    low=0,
    high=1e12,
    log=True,
    none_means="solved from the budget",
)
NOISE_SCALE = Param(
    "noise_scale",
    float,
    None,
    "Scale of the choice's noise in rows: ε = 1/scale under add/remove.",
    low=0,
    log=True,
    none_means="solved from the budget",
)
SHARE = Param("share", float, 0.0, "A share of a whole.", low=0, high=1)
CHANCE = Param(
    "chance",
    float,
    0.5,
    "A chance of neither 0 nor 1.",
    low=0,
    low_open=True,
    high=1,
    high_open=True,
)
COUNT = Param("count", int, 1, "How many.", low=1)
K = Param(
    "k",
    int,
    None,
    "Dimension of the projection.",
    low=1,
    unit="components",
    log=True,
    none_means="rule from the budget and n",
)
STEPS = Param(
    "steps",
    int,
    None,
    "Noisy gradient steps.",
    low=1,
    high=10_000_000,
    unit="steps",
    log=True,
    none_means="rule from the budget",
)
BATCH_SIZE = Param(
    "batch_size",
    int,
    None,
    "Expected rows in a batch.",
    low=1,
    unit="rows",
    log=True,
    none_means="all rows, every step",
)
SAMPLING = Param(
    "sampling",
    str,
    "poisson",
    "How batches are drawn: each row by its own coin in every step, or in one random step of"
    " each pass over the rows, where a pass begun counts whole, and under replace-one as one"
    " step on all rows.",
    choices=("poisson", "random_allocation"),
)
LEARNING_RATE = Param(
    "learning_rate",
    float,
    None,
    "Step size on the mean gradient.",
    low=0,
    low_open=True,
    log=True,
    none_means="rule from the noise and n",
)
L2_CLIP_NORM = Param(
    "l2_clip_norm",
    float,
    1.0,
    "Largest L2 norm of one row's gradient (weights and bias together).",
    low=1e-6,
    high=1e6,
    log=True,
)
MOMENTUM = Param(
    "momentum",
    float,
    0.0,
    "Heavy-ball momentum on the noised gradient.",
    low=0,
    high=1,
    high_open=True,
)
BIAS = Param(
    "bias",
    bool,
    True,
    "Learn an intercept per class; clipped and noised with the weights, so it takes its share"
    " of the clip norm.",
)
STANDARDISE = Param(
    "standardise",
    bool,
    None,
    "Divide each feature by its standard deviation over public rows.",
    none_means="on where columns of public rows have units of their own",
)
CENTRE = Param(
    "centre",
    bool,
    None,
    "Subtract the mean of the public rows.",
    none_means="on where there are public rows",
)
NORMALISE = Param("normalise", bool, True, "Scale every row to unit L2 norm, after the projection.")
