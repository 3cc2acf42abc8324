"""Parameters: each is declared once, and its check, widget, command-line option, documentation and
sweep axis come from it."""

import dataclasses
import math
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

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
        if getattr(value, "size", None) == 1 and hasattr(value, "item"):
            value = value.item()
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


def params_of(settings: Any) -> dict[str, Param]:
    """The parameters of a settings dataclass (class or instance), by field name, in order."""
    return {field.name: field.metadata["param"] for field in dataclasses.fields(settings)}


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


_SHARED = {
    name: param_from(name, fields)
    for name, fields in tomllib.loads(
        Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    ).items()
}
EPSILON = _SHARED["epsilon"]
DELTA = _SHARED["delta"]
SEED = _SHARED["seed"]
NOISE_MULTIPLIER = _SHARED["noise_multiplier"]
SHARE = _SHARED["share"]
CHANCE = _SHARED["chance"]
COUNT = _SHARED["count"]
K = _SHARED["k"]
STEPS = _SHARED["steps"]
BATCH_SIZE = _SHARED["batch_size"]
SAMPLING = _SHARED["sampling"]
LEARNING_RATE = _SHARED["learning_rate"]
L2_CLIP_NORM = _SHARED["l2_clip_norm"]
MOMENTUM = _SHARED["momentum"]
BIAS = _SHARED["bias"]
STANDARDISE = _SHARED["standardise"]
CENTRE = _SHARED["centre"]
NORMALISE = _SHARED["normalise"]
