"""What visitors of a demo may name: the library's own sets and what needs no file, program or
address."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from pillar_core import mode
from pillar_core.data import cards
from pillar_core.data.cards import DATASETS

_SIZES: Mapping[str, float] = {"n": 50_000, "n_test": 0, "d": 1_024}
"""Sizes of generated sets, and what they count as where they are not said."""
_PLAIN = re.compile(r"[^/\\:?*$%<>|\0]*")
SHIFTED = re.compile(r"([^~]*)(~\d{1,9}(\.\d{1,9})?)?")
"""A data set's name, and by how much a drawn one is shifted."""
_NAMES = ("dataset", "data", "private", "public", "backbone", "network", "weights")


def is_offered(name: str, value: object) -> bool:
    """Whether the asker may choose `value` for a setting."""
    return bool(offered_values(name, (value,)))


def offered_values(name: str, values: Iterable[Any]) -> tuple[Any, ...]:
    """Those of `values` that the asker may choose for a setting: a visitor sets that come with the
    library, and names without arguments."""
    if name not in _NAMES or not mode.binds():
        return tuple(values)
    if name in ("dataset", "data", "private", "public"):
        return tuple(
            value
            for value in values
            if value is None or all(map(_comes_with_library, str(value).split("+")))
        )
    return tuple(value for value in values if value is None or _PLAIN.fullmatch(str(value)))


def _comes_with_library(part: str) -> bool:
    """Whether a name says a set that needs no file, shifted or not, or a part of the private
    rows."""
    match = SHIFTED.fullmatch(part)
    return match is not None and (
        match[1] in ("part", "own_half")
        or (match[1] in tuple(DATASETS) and not DATASETS[match[1]].needs_files)
    )


def names_here(kind: str = "") -> list[str]:
    """Names of the data sets (of one kind) whose rows are on this machine, of which the asker may
    choose."""
    return [
        name
        for name in offered_values("data", cards.local_names())
        if kind in ("", DATASETS[name].kind)
    ]


def refuse_names(value: object, name: str = "") -> None:
    """Refuses, in a specification however deep, every name that a visitor may not choose. Raises
    UnsupportedError: there is one."""
    if not mode.binds():
        return
    if isinstance(value, Mapping):
        if name == "dataset_settings" and value:
            sizes = {**_SIZES, **value}
            are_numbers = all(isinstance(sizes[size], int | float) for size in _SIZES)
            if not (
                are_numbers
                and (abs(sizes["n"]) + abs(sizes["n_test"])) * abs(sizes["d"])
                <= mode.limit("numbers")
            ):
                mode.refuse("numbers")
        for key, item in value.items():
            refuse_names(item, str(key))
    elif isinstance(value, list | tuple):
        for item in value:
            refuse_names(item, name)
    elif isinstance(value, str) and not (_PLAIN.fullmatch(value) and is_offered(name, value)):
        mode.refuse("name")
