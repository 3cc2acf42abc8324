"""Checks at the top of public functions: an error names the argument, what is allowed and what was
given."""

import dataclasses
import functools
import inspect
import numbers
import sys
import types
import typing
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from pillar_core.arrays import Array
from pillar_core.errors import DataError, SettingError, shown
from pillar_core.params import Param, plain_number

T = typing.TypeVar("T")
_UNFIT = object()
_WORDS: dict[Any, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    type(None): "none",
    np.ndarray: "an array",
    Callable: "a function",
    Mapping: "a mapping from names",
    Sequence: "a list",
    Collection: "a list",
    tuple: "a list",
}


def within(**pairs: tuple[object, Param]) -> None:
    """Checks that each value, or each item of several, lies in its range; None passes.

    Raises SettingError for a value outside its range, NaN or of another type.
    """
    for name, (value, limit) in pairs.items():
        for item in (
            value if isinstance(value, Iterable) and not isinstance(value, str) else (value,)
        ):
            if item is not None:
                dataclasses.replace(limit, name=name).check(item)


def one_of(allowed: Collection[str], **words: object) -> None:
    """Checks that each word is an allowed one. Raises SettingError where it is another."""
    for name, word in words.items():
        if not isinstance(word, str) or word not in allowed:
            raise SettingError(f"{name} must be one of {', '.join(allowed)}; got {shown(word)}.")


def of(kind: Any, **values: object) -> None:
    """Checks that each value is of this type or union; NaN and bool are no numbers, and a whole
    float is an int.

    Raises SettingError for a value of another type.
    """
    for name, value in values.items():
        if _as_kind(value, kind) is _UNFIT or (isinstance(value, float) and np.isnan(value)):
            raise SettingError(f"{name} must be {_words(kind)}; got {shown(value)}.")


def arrays(axes: str, **values: object) -> tuple[Array, ...]:
    """The values as arrays of numbers, none NaN, none empty; `axes` has a name for each axis, as in
    "n d, n": one name is one length.

    Raises DataError for arrays of another shape or without such numbers.
    """
    results, sizes = [], dict[str, int]()
    for (name, value), wanted in zip(values.items(), axes.split(", "), strict=True):
        try:
            array = np.asarray(value)
            is_number = array.dtype.kind in "biuf" and not (
                array.dtype.kind == "f" and np.isnan(array).any()
            )
        except ValueError:  # a ragged list
            is_number = False
        if not is_number:
            raise DataError(f"{name} must be an array of numbers without NaN; got {shown(value)}.")
        names = wanted.split()
        lengths = [
            int(axis) if axis.isdigit() else sizes.setdefault(axis, size)
            for axis, size in zip(names, array.shape, strict=False)
        ]
        if len(names) != array.ndim or lengths != list(array.shape) or not array.size:
            known = "".join(f", {axis} = {size}" for axis, size in sizes.items())
            raise DataError(
                f"{name} must have the axes ({', '.join(names)}){known}; got {shown(array)}."
            )
        results.append(array)
    return tuple(results)


def guarded_names(package: str) -> list[str]:
    """The `__all__` of a package: all names that it imported, without modules; each of its
    functions is `guarded` from now on."""
    names = {
        name: item
        for name, item in vars(sys.modules[package]).items()
        if name[0] != "_" and not inspect.ismodule(item)
    }
    vars(sys.modules[package]).update(
        {name: guarded(item, package, name) for name, item in names.items()}
    )
    return sorted(names)


def guarded(item: T, module: str, name: str) -> T:
    """A function that first compares each argument with its annotation, under the name that
    `module` has for it; another item as it is.

    What can be meant is taken: one text for several, a list of named sets (or one) for a mapping, a
    list for a tuple. Ranges are the function's own to check. The function raises SettingError for
    an argument of another kind, one that lacks and one that it does not know.
    """
    if not inspect.isfunction(item) or hasattr(item, "__wrapped__"):
        return item
    kinds = functools.cache(lambda: _kinds(item))

    @functools.wraps(item)
    def checked(*arguments: Any, **named: Any) -> Any:
        signature, hints = kinds()
        try:
            given = signature.bind(*arguments, **named)
        except TypeError as cause:
            places = [
                key
                for key, parameter in signature.parameters.items()
                if parameter.kind is parameter.POSITIONAL_OR_KEYWORD
            ]
            by_name = [f"{key}=" for key in hints if key not in places]
            raise SettingError(
                f"{name} takes ({', '.join([*places, *by_name])}): {cause}."
            ) from cause
        for key, hint in hints.items():
            if key in given.arguments:
                value = _as_kind(given.arguments[key], hint)
                if value is _UNFIT:
                    raise SettingError(
                        f"{key} must be {_words(hint)}; got {shown(given.arguments[key])}."
                    )
                given.arguments[key] = value
        return item(*given.args, **given.kwargs)

    checked.__module__, checked.__qualname__ = module, name  # where pickle finds it
    return typing.cast(T, checked)


def _kinds(function: Any) -> tuple[inspect.Signature, dict[str, Any]]:
    """The signature of a function, and the kind of each parameter that has a name of its own."""
    signature = inspect.signature(function)
    several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    hints = {
        name: parameter.annotation
        for name, parameter in signature.parameters.items()
        if parameter.kind not in several
    }
    return signature, {
        name: eval(hint, function.__globals__) if isinstance(hint, str) else hint
        for name, hint in hints.items()
    }


def _as_kind(value: Any, kind: Any) -> Any:
    """The value as an annotation has it, `_UNFIT` where it is of another kind. An annotation that
    names no type takes everything."""
    origin: Any = typing.get_origin(kind) or kind
    parts = typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        found = _UNFIT
        for part in parts:
            option = _as_kind(value, part)
            if (
                option is value
            ):  # a kind that fits as it is goes before one that the value can be made
                return value
            found = option if found is _UNFIT else found
        return found
    if not isinstance(origin, type) or origin in (Any, inspect.Parameter.empty):
        return (
            _UNFIT
            if origin is typing.Literal and not (isinstance(value, str) and value in parts)
            else value
        )
    if origin in (Mapping, dict):
        return _as_mapping(value, parts)
    if origin in (Sequence, Collection, Iterable, list, tuple):
        return _as_several(value, origin, parts)
    if origin in (int, float):
        fits = _is_number(value, origin)
    elif origin is np.ndarray:
        fits = hasattr(value, "__len__") and not isinstance(value, str | bytes | Mapping)
    elif origin is Callable or getattr(origin, "_is_protocol", False):
        fits = callable(value) or "__call__" not in dir(origin)
    else:  # a text may name a member of an enumeration, which its function reads
        fits = isinstance(value, (origin, np.bool_) if origin is bool else origin) or (
            issubclass(origin, str) and isinstance(value, str)
        )
    return value if fits else _UNFIT


def _is_number(value: Any, kind: type) -> bool:
    value = plain_number(value)
    if (
        not isinstance(value, numbers.Real)
        or isinstance(value, bool)
        or (isinstance(value, int) and abs(value) > sys.float_info.max)
    ):
        return False
    return kind is float or value != value or value % 1 == 0  # NaN is out of every range


def _as_mapping(value: Any, parts: tuple[Any, ...]) -> Any:
    """A mapping, or one of items that have names, where it is a list of them or one."""
    if not isinstance(value, Mapping):
        items = value if isinstance(value, list | tuple) else [value]
        names = [getattr(item, "name", None) for item in items]
        if not items or not all(isinstance(name, str) for name in names):
            return _UNFIT
        unique = [
            name if names.count(name) == 1 else f"{name} {place}"
            for place, name in enumerate(names, 1)
        ]
        value = dict(zip(unique, items, strict=True))
    fits = all(
        _as_kind(item, part) is not _UNFIT
        for pair in value.items()
        for item, part in zip(pair, parts, strict=False)
    )
    return value if fits else _UNFIT


def _as_several(value: Any, origin: type, parts: tuple[Any, ...]) -> Any:
    """A sequence, tuple or other collection, each item of its kind."""
    each = parts[0] if parts else Any
    if isinstance(value, np.ndarray) and value.ndim and origin is not tuple:
        return value  # its items are its function's to check
    if isinstance(value, str | bytes):
        return (value,) if each is str and isinstance(value, str) else _UNFIT
    try:
        items = value if isinstance(value, list | tuple) else tuple(value)
    except TypeError:
        return _UNFIT
    kinds = parts if origin is tuple and ... not in parts else (each,) * len(items)
    if len(kinds) != len(items) or any(
        _as_kind(item, part) is _UNFIT for item, part in zip(items, kinds, strict=True)
    ):
        return _UNFIT
    return tuple(items) if origin is tuple else value if isinstance(value, Sequence) else items


def _words(kind: Any) -> str:
    """A kind in words, with what it is and how to get one where its class says so (`how`)."""
    origin: Any = typing.get_origin(kind) or kind
    parts = typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(map(_words, parts))
    if origin is typing.Literal:
        return f"one of {', '.join(map(str, parts))}"
    words: str = _WORDS[origin] if origin in _WORDS else getattr(origin, "__name__", str(origin))
    if words in ("a list", "a mapping from names") and parts and parts[-1] is not Any:
        words += (
            f" {'of' if words == 'a list' else 'to'}"
            f" {_words(parts[0 if words == 'a list' else -1])}"
        )
    return words + (f" ({origin.how})" if hasattr(origin, "how") else "")
