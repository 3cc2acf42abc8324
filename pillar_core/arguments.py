"""What comes in through the public face is checked here, against the annotations: types, ranges, NaN, axes of arrays.

`guard(__name__)` at the end of a public package puts the check before every function of its `__all__` and behind every dataclass's
constructor, a newcomer's too; signatures stay. An annotation says more by `Annotated`: a range (`DELTA`), the axes of an array
(`Axes("n d")`), words for what is expected, or another error than SettingError. What fits is passed on as it is, but for whole floats
where an int is asked for.
"""

import collections.abc
import dataclasses
import enum
import functools
import inspect
import sys
import types
import typing
from collections.abc import Callable
from typing import Any

import numpy as np

from pillar_core.arrays import Axes
from pillar_core.errors import DataError, PillarError, SettingError, shown
from pillar_core.params import Param

LARGEST = 2**63 - 1
"""Of whole numbers that have no range of their own."""
SEVERAL = (collections.abc.Sequence, collections.abc.Iterable, collections.abc.Collection, tuple, list, frozenset)
MAPPINGS = (collections.abc.Mapping, dict)


_GUARDS: set[Callable[..., Any]] = set()


class _Unfit(Exception):
    """A value that is not of its annotation."""


class _Event(type):
    def __instancecheck__(cls, value: Any) -> bool:
        return any(kind.__name__ == "DpEvent" and kind.__module__.startswith("dp_accounting.") for kind in type(value).__mro__)


class DpEvent(metaclass=_Event):
    """Stands for the class that annotations name in a text: reading them imports no accountant."""


def guard(package: str) -> list[str]:
    """The names that this package makes public: its own `__all__`, or what it imported, modules and this aside.

    From now on they check their arguments: functions before, dataclasses behind their constructor.
    """
    module = sys.modules[package]
    found = {name for name, item in vars(module).items() if not name.startswith("_") and not inspect.ismodule(item)}
    names: list[str] = vars(module).get("__all__") or sorted(found - {"annotations", "guard"})
    for name in names:
        item = getattr(module, name)
        setattr(module, name, guarded(item))
        if inspect.isclass(item) and dataclasses.is_dataclass(item):
            _guard_fields(item)
    return names


def guarded(item: Any) -> Any:
    """`item` itself, or where it is a function, the function that checks its arguments first."""
    is_open = inspect.isfunction(item) and item not in _GUARDS and bool(inspect.signature(item).parameters)
    return _guarded(item) if is_open else item


def check_fields(instance: Any) -> None:
    """Every field of a dataclass fits its annotation.

    Raises:
        SettingError, DataError: naming the first field that does not fit.
    """
    owner: Any = type(instance)
    hints, sizes = _hints(owner), dict[str, int]()
    for name in instance.__dataclass_fields__:
        value = getattr(instance, name)
        fit = fitting(name, value, hints[name], sizes)
        if fit is not value:
            object.__setattr__(instance, name, fit)


def fitting(name: str, value: Any, hint: Any, sizes: dict[str, int] | None = None) -> Any:
    """`value` as the argument `name` of type `hint`. sizes: of the named axes of the arguments before it.

    Raises:
        SettingError: of another type, or outside the range. DataError: an array that cannot be used.
    """
    if type(value) is hint and hint in (str, bool):
        return value
    try:
        fit = _fit(name, value, hint)
    except _Unfit:
        notes = _notes(hint)
        refusal = next((note for note in notes if isinstance(note, type) and issubclass(note, PillarError)), SettingError)
        expected = next((note for note in notes if isinstance(note, str)), _words(hint))
        raise refusal(f"{name} must be {expected}; got {shown(value)}.") from None
    if isinstance(fit, np.ndarray):
        for axes in (note for note in _notes(hint) if isinstance(note, Axes)):
            _hold(name, fit, axes, {} if sizes is None else sizes)
    return fit


def _notes(hint: Any) -> tuple[Any, ...]:
    """What `Annotated` says of a type, or of one of a union."""
    return tuple(note for part in (hint, *typing.get_args(hint)) for note in getattr(part, "__metadata__", ()))


@functools.cache
def _guard_fields(kind: Any) -> None:
    construct = kind.__init__

    @functools.wraps(construct)
    def checked(self: Any, *args: Any, **kwargs: Any) -> None:
        construct(self, *args, **kwargs)
        check_fields(self)

    kind.__init__ = checked


@functools.cache
def _guarded(function: Callable[..., Any]) -> Callable[..., Any]:
    signature = inspect.signature(function)
    named = {name for name, parameter in signature.parameters.items() if parameter.kind is not parameter.VAR_KEYWORD}

    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        bound, hints, sizes = signature.bind(*args, **kwargs), _hints(function), dict[str, int]()
        for name in [name for name in bound.arguments if name in named]:
            bound.arguments[name] = fitting(name, bound.arguments[name], hints.get(name, Any), sizes)
        try:
            return function(*bound.args, **bound.kwargs)
        except (KeyError, AttributeError) as error:
            if not isinstance(error, PillarError) and _is_of_a_frame(error):
                raise DataError(f"{function.__name__} needs a column or row that the table lacks: {error!s:.200}.") from error
            raise

    _GUARDS.add(checked)
    return checked


def _is_of_a_frame(error: KeyError | AttributeError) -> bool:
    """Whether a data frame, one of its rows or parts was asked for what it does not have."""
    if isinstance(error, AttributeError):
        return type(error.obj).__name__ in ("DataFrame", "Pandas")  # a frame, and a row as `itertuples` names it
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and str(trace.tb_frame.f_globals["__name__"]).startswith("pandas.")


@functools.cache
def _hints(owner: Any) -> dict[str, Any]:
    return typing.get_type_hints(owner, localns={"dp_event": types.SimpleNamespace(DpEvent=DpEvent)}, include_extras=True)


def _fit(name: str, value: Any, hint: Any) -> Any:
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return _within(name, _fit(name, value, parts[0]), parts[1]) if value is not None else _fit(name, value, parts[0])
    if origin in (typing.Union, types.UnionType):
        return _first_fit(name, value, parts)
    if origin is typing.Literal:
        return _checked(value, isinstance(value, str) and value in parts)
    if origin in SEVERAL:
        return _several(name, value, origin, parts)
    if origin in MAPPINGS:
        _checked(value, isinstance(value, collections.abc.Mapping))
        for key, item in value.items():
            _fit(name, key, parts[0])
            _fit(name, item, parts[1])
        return value
    if getattr(hint, "_is_protocol", False):
        return _checked(value, all(hasattr(value, member) for member in _members(hint)))
    if origin is collections.abc.Callable:
        return _checked(value, callable(value))
    if origin is np.ndarray:
        return _array(name, value)
    return _plain(value, origin or hint)


def _plain(value: Any, kind: Any) -> Any:
    """A value of a class; bool is no number, NaN neither, and 3.0 is a whole number."""
    if kind is int:
        if isinstance(value, float | np.floating) and value.is_integer() and abs(float(value)) <= LARGEST:
            return int(value)
        return _checked(value, isinstance(value, int | np.integer) and not isinstance(value, bool) and abs(int(value)) <= LARGEST)
    if kind is float:
        if isinstance(value, float | np.floating):
            return _checked(value, not np.isnan(value))
        return _checked(
            value, isinstance(value, int | np.integer) and not isinstance(value, bool) and abs(int(value)) <= sys.float_info.max
        )
    if kind is bool:
        return _checked(value, isinstance(value, bool | np.bool_))
    if isinstance(kind, type) and issubclass(kind, enum.Enum) and isinstance(value, str):
        _checked(value, value in kind._value2member_map_)
        return kind(value)
    return _checked(value, kind is Any or isinstance(value, kind))


def _first_fit(name: str, value: Any, hints: tuple[Any, ...]) -> Any:
    for hint in hints:
        try:
            return _fit(name, value, hint)
        except _Unfit:
            continue
    raise _Unfit


def _several(name: str, value: Any, origin: Any, parts: tuple[Any, ...]) -> Any:
    is_text_or_map = isinstance(value, str | bytes) or (
        isinstance(value, collections.abc.Mapping) and origin is not collections.abc.Iterable
    )
    is_open = not is_text_or_map and isinstance(value, collections.abc.Iterable)
    if not is_open or (isinstance(value, np.ndarray) and value.ndim != 1):
        raise _Unfit
    items = tuple(value)
    is_fixed = origin is tuple and parts[-1] is not Ellipsis
    _checked(value, not is_fixed or len(items) == len(parts))
    fitted = tuple(_fit(name, item, parts[place] if is_fixed else parts[0]) for place, item in enumerate(items))
    return fitted if origin is tuple or any(new is not old for new, old in zip(fitted, items, strict=True)) else value


def _array(name: str, value: Any) -> Any:
    """An array of numbers, none of them NaN; a list of numbers is taken as one."""
    try:
        array = np.asarray(value) if isinstance(value, list | tuple) else value
    except ValueError:  # a ragged list
        raise _Unfit from None
    _checked(value, isinstance(array, np.ndarray) and array.dtype.kind in "biuf")
    if array.dtype.kind == "f" and np.isnan(array).any():
        raise DataError(f"{name} must hold no NaN; got {shown(value)}.")
    return array


def _within(name: str, value: Any, limit: Any) -> Any:
    if isinstance(limit, Param):
        for item in (value,) if isinstance(value, int | float | np.number | str) else value:
            dataclasses.replace(limit, name=name).check(item)
    return value


def _hold(name: str, array: Any, axes: Axes, sizes: dict[str, int]) -> None:
    """Refuses an array of other axes, with an empty one, or with one that is not as long as its namesake."""
    wanted = axes.names.split()
    if axes.is_whole and array.dtype.kind not in "iu":
        raise DataError(f"{name} must hold whole numbers; got {shown(array)}.")
    if len(wanted) != array.ndim:
        raise DataError(f"{name} must have the axes ({', '.join(wanted)}); got {shown(array)}.")
    for place, (axis, size) in enumerate(zip(wanted, array.shape, strict=True)):
        known = int(axis) if axis.isdigit() else sizes.setdefault(axis, size)
        if size != known or (size == 0 and not (axes.may_be_empty and place == 0)):
            raise DataError(
                f"{name} must have the axes ({', '.join(wanted)}), {axis} {f'= {known}' if known else '> 0'}; got {shown(array)}."
            )


@functools.cache
def _members(protocol: Any) -> tuple[str, ...]:
    """What an object has that follows a protocol."""
    members = {name: item for name, item in vars(protocol).items() if name == "__call__" or not name.startswith("_")}
    return (*members, *(name for name in getattr(protocol, "__annotations__", {}) if name not in members))


def _checked(value: Any, fits: bool) -> Any:
    if not fits:
        raise _Unfit
    return value


_WORDS = {
    Any: "anything",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "text",
    type(None): "none",
    np.ndarray: "an array of numbers",
}


def _words(hint: Any) -> str:
    """What is expected, for a message."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return next((limit.range for limit in parts[1:] if isinstance(limit, Param)), _words(parts[0]))
    if origin in (typing.Union, types.UnionType):
        return " or ".join(map(_words, parts))
    if origin is typing.Literal:
        return f"one of {', '.join(map(str, parts))}"
    if origin in SEVERAL:
        return f"several, each {_words(parts[0])}"
    if origin in MAPPINGS:
        return f"a mapping from {_words(parts[0])} to {_words(parts[1])}"
    if origin is collections.abc.Callable:
        return "a function"
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return f"one of {', '.join(str(member.value) for member in hint)}"
    kind = origin or hint
    return _WORDS.get(kind, f"a {getattr(kind, '__name__', kind)}")
