"""The name of a backbone: `<family>:<model>?<option>=<value>&…`, or a plain word.

Options that every family of networks knows: `weights` (a local file), `input_size`, `mean`, `std`,
`interpolation`, `crop` (how images are prepared), `precision` and `storage`. Any other option is an
argument of the model itself, such as `pad_type=same` of timm. A sign that the syntax needs (& % ?)
is written as in a web address, such as %26.
"""

import dataclasses
from collections.abc import Container, Mapping
from pathlib import Path
from types import MappingProxyType
from urllib.parse import quote, unquote

from pillar_core.errors import SettingError
from pillar_core.params import Param

PREPARING = ("input_size", "mean", "std", "interpolation", "crop")
INPUT_SIZE = Param(
    "input_size",
    int,
    224,
    "Side of the images that the backbone gets.",
    low=8,
    high=4096,
    unit="pixels",
)
CROP = Param(
    "crop", float, 0.875, "Share of a large image's shorter side that is kept.", low=0.25, high=1
)
INTERPOLATION = Param(
    "interpolation",
    str,
    "bicubic",
    "How images are resized.",
    choices=("bilinear", "bicubic", "nearest"),
)
PRECISION = Param(
    "precision",
    str,
    "auto",
    "Mixed precision (auto: on CUDA alone) or float32.",
    choices=("auto", "mixed", "float32"),
)
STORAGE = Param(
    "storage", str, "float32", "How features are kept in the cache.", choices=("float32", "float16")
)


@dataclasses.dataclass(frozen=True)
class Address:
    """The parts of a name. `options` are those that change the features, as written; `weights` is
    apart: its content counts."""

    family: str
    model: str
    options: Mapping[str, str] = dataclasses.field(default_factory=lambda: MappingProxyType({}))
    weights: str | None = None

    @property
    def base(self) -> str:
        """The name without its options."""
        return f"{self.family}:{self.model}" if self.family else self.model

    @property
    def canonical(self) -> str:
        """The name without its weights, options in alphabetical order: equal for equal recipes."""
        return with_options(self.base, self.options)

    @property
    def precision(self) -> str:
        """auto, mixed or float32."""
        return str(PRECISION.check(self.options.get("precision", PRECISION.default)))

    @property
    def storage(self) -> str:
        """float32 or float16."""
        return str(STORAGE.check(self.options.get("storage", STORAGE.default)))

    @property
    def arguments(self) -> dict[str, bool | int | float | str]:
        """The options that are the model's own arguments, as values."""
        return {
            name: literal(text)
            for name, text in self.options.items()
            if name not in ("weights", *PREPARING, "precision", "storage")
        }


def address(name: str) -> Address:
    """The parts of a backbone's name. Raises SettingError: an option without a value, or given
    twice."""
    base, _, query = name.partition("?")
    family, colon, model = base.partition(":")
    options: dict[str, str] = {}
    for part in filter(None, query.split("&")):
        option, equals, text = part.partition("=")
        if not equals or not option or not text or option in options:
            raise SettingError(
                "options of a backbone are written NAME=VALUE, each once, with & between; got"
                f" {part!r} in {name!r}."
            )
        options[option] = unquote(text)
    weights = options.pop("weights", None)
    return Address(
        family if colon else "",
        unquote(model) if colon else base,
        MappingProxyType(dict(sorted(options.items()))),
        weights,
    )


def is_plain(name: str, *, models: Container[str], arguments: Container[str] = ()) -> bool:
    """Whether a name says a listed model (of any tag), options that prepare images and these
    arguments, and no file.

    Raises SettingError: options that cannot be read.
    """
    spot = address(name)
    return (
        spot.weights is None
        and spot.model.split(".")[0] in models
        and all(argument in arguments for argument in spot.arguments)
    )


def with_options(
    base: str, options: Mapping[str, str | int | float], *, weights: str | Path | None = None
) -> str:
    """`base` with options in alphabetical order, the weights last."""
    pairs = [f"{name}={quote(str(value), safe=_SAFE)}" for name, value in sorted(options.items())]
    if weights is not None:
        pairs.append(f"weights={quote(str(weights), safe=_SAFE)}")
    return f"{base}?{'&'.join(pairs)}" if pairs else base


_SAFE = "/,:+-_.@()[]= "


def literal(text: str) -> bool | int | float | str:
    """Text as the number or truth that it says, else as it is."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
