"""Checks at the top of public functions: an error names the argument, what is allowed and what was given."""

import dataclasses
import inspect
import sys
import types
import typing
from collections.abc import Collection, Iterable

import numpy as np

from pillar_core.arrays import Array
from pillar_core.errors import DataError, SettingError, shown
from pillar_core.params import Param


def within(**pairs: tuple[object, Param]) -> None:
    """Checks that each value, or each item of several, lies in its range; None passes.

    Raises SettingError for a value outside its range, NaN or of another type.
    """
    for name, (value, limit) in pairs.items():
        for item in value if isinstance(value, Iterable) and not isinstance(value, str) else (value,):
            if item is not None:
                dataclasses.replace(limit, name=name).check(item)


def one_of(allowed: Collection[str], **words: object) -> None:
    """Checks that each word is an allowed one. Raises SettingError where it is another."""
    for name, word in words.items():
        if not isinstance(word, str) or word not in allowed:
            raise SettingError(f"{name} must be one of {', '.join(allowed)}; got {shown(word)}.")


def of(kind: type | types.UnionType, **values: object) -> None:
    """Checks that each value is of this type or union; NaN and bool are no numbers, and a whole float is an int.

    Raises SettingError for a value of another type.
    """
    kinds: tuple[type, ...] = typing.get_args(kind) or (typing.cast(type, kind),)
    words = " or ".join("none" if part is type(None) else part.__name__ for part in kinds)
    for name, value in values.items():
        fits = isinstance(value, kinds) or (isinstance(value, int) and float in kinds) or (isinstance(value, float) and value % 1 == 0)
        if not fits or (isinstance(value, float) and np.isnan(value)) or (isinstance(value, bool) and bool not in kinds):
            raise SettingError(f"{name} must be {words}; got {shown(value)}.")


def arrays(axes: str, **values: object) -> tuple[Array, ...]:
    """The values as arrays of numbers, none NaN, none empty; `axes` has a name for each axis, as in "n d, n": one name is one length.

    Raises DataError for arrays of another shape or without such numbers.
    """
    results, sizes = [], dict[str, int]()
    for (name, value), wanted in zip(values.items(), axes.split(", "), strict=True):
        try:
            array = np.asarray(value)
            is_number = array.dtype.kind in "biuf" and not (array.dtype.kind == "f" and np.isnan(array).any())
        except ValueError:  # a ragged list
            is_number = False
        if not is_number:
            raise DataError(f"{name} must be an array of numbers without NaN; got {shown(value)}.")
        names = wanted.split()
        lengths = [int(axis) if axis.isdigit() else sizes.setdefault(axis, size) for axis, size in zip(names, array.shape, strict=False)]
        if len(names) != array.ndim or lengths != list(array.shape) or not array.size:
            known = "".join(f", {axis} = {size}" for axis, size in sizes.items())
            raise DataError(f"{name} must have the axes ({', '.join(names)}){known}; got {shown(array)}.")
        results.append(array)
    return tuple(results)


def public_names(package: str) -> list[str]:
    """The `__all__` of a package: all names that it imported, without modules."""
    return sorted(name for name, item in vars(sys.modules[package]).items() if name[0] != "_" and not inspect.ismodule(item))
