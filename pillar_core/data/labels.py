"""Labels of any kind to codes 0 … C − 1, and what is wrong with those that cannot be mapped."""

import dataclasses
import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from pillar_core.arrays import Array
from pillar_core.data import room
from pillar_core.data.wording import join

MISSING = -1
LARGEST_WHOLE = 2.0**53


@dataclasses.dataclass(frozen=True)
class Plain:
    """Labels as one clean vector of numbers or words; `missing` marks rows without a label."""

    values: Array
    missing: Array


def is_text(name: str) -> bool:
    """Whether a name can be written to a file and sent to a browser: no half of a sign (a lone surrogate) is in it."""
    return not any("\ud800" <= sign <= "\udfff" for sign in name)


def plain(labels: Any, *, name: str) -> tuple[Plain | None, list[str]]:
    """Labels as a vector (n,) of int64 or str, and the problems that prevent it."""
    array = as_array(labels)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        return None, [f"{name} must be one label per row, shape (n,); got shape {array.shape}. For one-hot labels pass the column number."]
    if array.dtype.kind in "biu":
        return Plain(array.astype(np.int64), np.zeros(len(array), dtype=bool)), []
    if array.dtype.kind == "f":
        return _from_floats(array, name)
    if array.dtype.kind in "OUS":
        return _from_objects(array, name)
    return None, [f"{name} must hold whole numbers or words; got dtype {array.dtype}."]


def as_array(values: Any) -> Array:
    """`values` as numpy has them; ragged or too deep lists as one object, which is neither number nor word.

    Tensors leave their graph and device, sparse matrices become dense, frames of numbers and booleans are numbers with NaN in gaps.

    Raises DataError: a sparse matrix that takes more memory than there is.
    """
    if hasattr(values, "toarray") and hasattr(values, "nnz"):
        room.check_memory(f"A sparse matrix of shape {values.shape} takes", 4 * math.prod(values.shape))
        return np.asarray(values.astype(np.float32).toarray())
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        values = values.float() if str(values.dtype) == "torch.bfloat16" else values
    if hasattr(values, "select_dtypes") and values.select_dtypes(["number", "bool", "boolean"]).shape == values.shape:
        return np.asarray(values.to_numpy(dtype=np.float64, na_value=np.nan))
    try:
        return np.asarray(values)
    except ValueError:
        return np.empty(0, dtype=object)


def alike(names: Iterable[str]) -> tuple[tuple[str, ...], ...]:
    """Labels that differ in nothing but small or large letters and outer blanks, each group sorted."""
    groups: dict[str, set[str]] = {}
    for name in names:
        groups.setdefault(name.strip().casefold(), set()).add(name)
    return tuple(tuple(sorted(group)) for group in groups.values() if len(group) > 1)


def names_and_order(train: Plain, classes: tuple[str, ...] | None) -> tuple[tuple[str, ...], Array, list[str], list[str]]:
    """(class names, label values in the order of their codes, problems, notes); the values are what `codes` looks up."""
    present = np.unique(train.values[~train.missing])
    numeric = present.dtype.kind == "i"
    if classes is None:
        names = tuple(str(value) for value in present)
        identity = numeric and np.array_equal(present, np.arange(len(present)))
        mapping = ", ".join(f"{value} → {code}" for code, value in enumerate(names[:20])) + (" …" if len(names) > 20 else "")
        notes = [] if identity else [f"Labels were mapped in sorted order: {mapping}."]
        notes += [f"Labels that differ by case or blanks alone: {join(map(repr, group))}. Are they one class?" for group in alike(names)]
        return names, present, [], notes
    names = classes
    if len(set(names)) < len(names):
        return names, present, [f"classes must differ from each other; got {join(names)}."], []
    order = np.arange(len(names)) if numeric else np.array(names, dtype=str)
    problems = []
    unknown = [str(value) for value in present[~np.isin(present, order)]]
    if unknown:
        allowed = f"0 … {len(names) - 1} (one number per class)" if numeric else f"one of {join(names)}"
        problems.append(f"y_train must be {allowed}; got {join(unknown)}. Correct the labels or the list of classes.")
    values = set(present.tolist())
    absent = [name for name, value in zip(names, order, strict=True) if value not in values]
    return names, order, problems, [f"No train row has the class {join(absent)}."] if absent else []


def codes(labels: Plain, order: Array) -> Array:
    """(n,) int64 position of each label in `order`; `MISSING` where it is absent from it or has another type."""
    if labels.values.dtype.kind != order.dtype.kind or not len(order):
        return np.full(len(labels.values), MISSING, dtype=np.int64)
    by_value = np.argsort(order, kind="stable")
    place = np.minimum(np.searchsorted(order[by_value], labels.values), len(order) - 1)
    positions = by_value[place]
    return np.where((order[positions] == labels.values) & ~labels.missing, positions, MISSING).astype(np.int64)


def _from_floats(array: Array, name: str) -> tuple[Plain | None, list[str]]:
    missing = np.isnan(array)
    bad = ~missing & ((array != np.rint(array)) | (np.abs(array) > LARGEST_WHOLE))
    if bad.any():
        rows = join(np.flatnonzero(bad))
        return None, [
            f"{name} must hold whole numbers or words; rows {rows} hold others. A regression target is no class: cut it into bins."
        ]
    return Plain(np.where(missing, 0, array).astype(np.int64), missing), []


def decode_text(value: Any) -> Any:
    """The value, or the text that its bytes hold."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _from_objects(array: Array, name: str) -> tuple[Plain | None, list[str]]:
    values = [decode_text(value) for value in array.tolist()]
    missing = np.array([value is None or value == "" or (isinstance(value, float) and np.isnan(value)) for value in values], dtype=bool)
    present = [value for value, gap in zip(values, missing, strict=True) if not gap]
    if all(isinstance(value, str) for value in present):
        return Plain(np.array(["" if gap else value for value, gap in zip(values, missing, strict=True)], dtype=str), missing), []
    if all(isinstance(value, int | float | np.number) for value in present):
        small = [np.inf if isinstance(value, int) and abs(value) > LARGEST_WHOLE else value for value in values]
        return _from_floats(np.array([np.nan if gap else value for value, gap in zip(small, missing, strict=True)], dtype=float), name)
    kinds = sorted({type(value).__name__ for value in present})
    return None, [f"{name} must hold words or numbers, not both; got {', '.join(kinds)}."]
