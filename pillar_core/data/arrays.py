"""The user's arrays as a checked `FeatureSet`, labels of any kind as codes 0 … C − 1. Every check
happens here, at loading, for the curator's eyes."""

import dataclasses
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np

from pillar_core.arrays import Array
from pillar_core.data import cells, room
from pillar_core.data.parts import notes_on
from pillar_core.data.wording import join
from pillar_core.errors import DataError
from pillar_core.types import Dataset, FeatureSet

MISSING = -1
Made = TypeVar("Made")
LARGEST_WHOLE = 2.0**53
MOST_CLASSES_OF_NUMBERS = 20
TOO_MANY_NUMBERS = (
    "{} {:,} different numbers, and learners here predict a class: cut it into bins"
    " (`pillar_core.data.tables.bins(column, edges)`, or a formula in your spreadsheet)."
)


@dataclasses.dataclass(frozen=True)
class Plain:
    """Labels as one clean vector of numbers or words; `missing` marks rows without a label."""

    values: Array
    missing: Array


def is_text(name: str) -> bool:
    """Whether a name can be written to a file and sent to a browser: no half of a sign (a lone
    surrogate) is in it."""
    return not any("\ud800" <= sign <= "\udfff" for sign in name)


def plain(labels: Any, *, name: str) -> Plain:
    """Labels as a vector (n,) of int64 or str. Raises DataError: they are none."""
    array = as_array(labels)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise DataError(
            f"{name} must be one label per row, shape (n,); got shape {array.shape}. For one-hot"
            " labels pass the column number."
        )
    if array.dtype.kind in "biu":
        return Plain(array.astype(np.int64), np.zeros(len(array), dtype=bool))
    if array.dtype.kind == "f":
        return _from_floats(array, name)
    if array.dtype.kind in "OUS":
        return _from_objects(array, name)
    raise DataError(f"{name} must hold whole numbers or words; got dtype {array.dtype}.")


def as_array(values: Any) -> Array:
    """`values` as numpy has them; ragged or too deep lists as one object, which is neither number
    nor word.

    Tensors leave their graph and device, sparse matrices become dense, frames of numbers and
    booleans are numbers with NaN in gaps.

    Raises DataError: a sparse matrix that takes more memory than there is.
    """
    if hasattr(values, "toarray") and hasattr(values, "nnz"):
        room.check_memory(
            f"A sparse matrix of shape {values.shape} takes", 4 * math.prod(values.shape)
        )
        return np.asarray(values.astype(np.float32).toarray())
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        values = values.float() if str(values.dtype) == "torch.bfloat16" else values
    if (
        hasattr(values, "select_dtypes")
        and values.select_dtypes(["number", "bool", "boolean"]).shape == values.shape
    ):
        return np.asarray(values.to_numpy(dtype=np.float64, na_value=np.nan))
    try:
        return np.asarray(values)
    except ValueError:
        return np.empty(0, dtype=object)


def alike(names: Iterable[str]) -> tuple[tuple[str, ...], ...]:
    """Labels that differ in nothing but small or large letters and outer blanks, each group
    sorted."""
    groups: dict[str, set[str]] = {}
    for name in names:
        groups.setdefault(name.strip().casefold(), set()).add(name)
    return tuple(tuple(sorted(group)) for group in groups.values() if len(group) > 1)


def names_and_order(
    train: Plain, classes: tuple[str, ...] | None
) -> tuple[tuple[str, ...], Array, list[str]]:
    """(class names, label values in the order of their codes, notes); the values are what `codes`
    looks up. Raises DataError: labels or classes that do not fit each other."""
    present = np.unique(train.values[~train.missing])
    numeric = present.dtype.kind == "i"
    if classes is None:
        names = tuple(str(value) for value in present)
        identity = numeric and np.array_equal(present, np.arange(len(present)))
        mapping = ", ".join(f"{value} → {code}" for code, value in enumerate(names[:20])) + (
            " …" if len(names) > 20 else ""
        )
        notes = [] if identity else [f"Labels were mapped in sorted order: {mapping}."]
        notes += [
            f"Labels that differ by case or blanks alone: {join(map(repr, group))}. Are they one"
            " class?"
            for group in alike(names)
        ]
        return names, present, notes
    if len(set(classes)) < len(classes):
        raise DataError(f"classes must differ from each other; got {join(classes)}.")
    order = np.arange(len(classes)) if numeric else np.array(classes, dtype=str)
    if unknown := [str(value) for value in present[~np.isin(present, order)]]:
        allowed = (
            f"0 … {len(classes) - 1} (one number per class)"
            if numeric
            else f"one of {join(classes)}"
        )
        raise DataError(
            f"y_train must be {allowed}; got {join(unknown)}. Correct the labels or the list of"
            " classes."
        )
    values = set(present.tolist())
    absent = [name for name, value in zip(classes, order, strict=True) if value not in values]
    return classes, order, [f"No train row has the class {join(absent)}."] if absent else []


def codes(labels: Plain, order: Array) -> Array:
    """(n,) int64 position of each label in `order`; `MISSING` where it is absent from it or has
    another type."""
    if labels.values.dtype.kind != order.dtype.kind or not len(order):
        return np.full(len(labels.values), MISSING, dtype=np.int64)
    by_value = np.argsort(order, kind="stable")
    place = np.minimum(np.searchsorted(order[by_value], labels.values), len(order) - 1)
    positions = by_value[place]
    return np.where(
        (order[positions] == labels.values) & ~labels.missing, positions, MISSING
    ).astype(np.int64)


def _from_floats(array: Array, name: str) -> Plain:
    missing = np.isnan(array)
    bad = ~missing & ((array != np.rint(array)) | (np.abs(array) > LARGEST_WHOLE))
    if bad.any():
        rows = join(np.flatnonzero(bad))
        raise DataError(
            f"{name} must hold whole numbers or words; rows {rows} hold others. A regression target"
            " is no class: cut it into bins."
        )
    return Plain(np.where(missing, 0, array).astype(np.int64), missing)


def decode_text(value: Any) -> Any:
    """The value, or the text that its bytes hold."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _from_objects(array: Array, name: str) -> Plain:
    values = np.fromiter(map(decode_text, array.tolist()), dtype=object)
    missing = np.array(
        [
            value is None or value == "" or (isinstance(value, float) and np.isnan(value))
            for value in values
        ],
        dtype=bool,
    )
    present = values[~missing]
    if all(isinstance(value, str) for value in present):
        return Plain(np.where(missing, "", values).astype(str), missing)
    if all(isinstance(value, int | float | np.number) for value in present):
        numbers = np.full(len(values), np.nan)
        numbers[~missing] = [
            np.inf if isinstance(value, int) and abs(value) > LARGEST_WHOLE else value
            for value in present
        ]
        return _from_floats(numbers, name)
    kinds = sorted({type(value).__name__ for value in present})
    raise DataError(f"{name} must hold words or numbers, not both; got {', '.join(kinds)}.")


CHUNK = 4_096
ROWS_NAMED = 20
NO_TEST = "No test rows: accuracy is not measured."


def features(
    x_train: Any,
    y_train: Any,
    x_test: Any = None,
    y_test: Any = None,
    classes: Sequence[str | int] | None = None,
) -> FeatureSet:
    """The arrays as a feature set, after all checks.

    Args:
        x_train: (n, d) finite numbers; kept as float32, C-contiguous.
        y_train: (n,) whole numbers or words, or None for unlabelled rows. Labels other than 0 … C −
        1 are mapped in
            sorted order; the notes hold the mapping.
        x_test: (m, d) likewise, or None: then there is no accuracy.
        y_test: (m,) labels that occur among the classes.
        classes: names in the order of the codes; with words as labels, the words themselves.

    Raises DataError: everything that is wrong, one line each, with row numbers.

    >>> rows = pc.features([[0.0, 1.0], [2.0, 0.5], [1.0, 1.0]], ["cat", "dog", "cat"])
    >>> rows.classes, rows.y_train.tolist()
    (('cat', 'dog'), [0, 1, 0])
    """
    problems: list[str] = []
    train = _tried(problems, _matrix, x_train, "x_train")
    test = None if x_test is None else _tried(problems, _matrix, x_test, "x_test")
    for rows, name in ((train, "x_train"), (test, "x_test")):
        problems += [] if rows is None else not_finite(rows, name)
    if train is not None and not problems:
        problems += _merged_columns(as_array(x_train), train)
    if train is not None and test is not None and train.shape[1] != test.shape[1]:
        problems.append(
            f"x_test must have as many columns as x_train, {train.shape[1]}; got {test.shape[1]}."
            " Use one backbone for both."
        )
    if x_test is None and y_test is not None:
        problems.append("y_test came without x_test: give both, or neither.")
    sizes = tuple(as_array(x).shape[:1] for x in (x_train, x_test))
    y_test = y_test if x_test is not None else None
    labels = _tried(problems, _labels, y_train, y_test, classes, sizes)
    if labels is not None and not all(map(is_text, labels[0])):
        problems.append("a class name holds half a sign (a lone surrogate); write it as text.")
    if problems or train is None or labels is None:
        raise DataError(*problems)
    names, y, y_of_test, notes = labels
    notes += [NO_TEST] if x_test is None else []
    return FeatureSet(train, y, test, y_of_test, names, notes=tuple(notes))


def _tried(problems: list[str], make: Callable[..., Made], *arguments: Any) -> Made | None:
    """What `make` gives; None where it refuses, and why joins the problems."""
    try:
        return make(*arguments)
    except DataError as error:
        problems += error.problems
        return None


def checked_features(rows: Dataset, *, name: str) -> FeatureSet:
    """Rows of numbers as a reader found them, as a feature set.

    Raises DataError: anything that `features` refuses.
    """
    classes, y = rows.classes or None, as_array(rows.y_train)
    values = np.unique(y) if y.dtype.kind in "iuf" and classes is None else np.empty(0)
    if len(values) > max(MOST_CLASSES_OF_NUMBERS, y.size / 10) and values[-1] - values[0] >= len(
        values
    ):
        raise DataError(TOO_MANY_NUMBERS.format("the labels hold", len(values)))
    checked = features(rows.x_train, rows.y_train, rows.x_test, rows.y_test, classes)
    said = ("persons", "caveats", "names", "recipe", "test_drawn", "texts", "cells")
    return dataclasses.replace(
        checked,
        name=name,
        notes=notes_on(rows) + checked.notes,
        **{field: getattr(rows, field) for field in said},
    )


def _matrix(values: Any, name: str) -> Array:
    """(n, d) float32 C-contiguous rows. Raises DataError: `values` are none."""
    array = as_array(values)
    if array.dtype.kind not in "biuf":
        raise DataError(
            f"{name} must hold numbers; got dtype {array.dtype}. Encode words as numbers, or give"
            " the whole table (`load_features`)."
        )
    if array.ndim != 2:
        hint = (
            " Images are uint8 and go through a backbone (`load_images`)."
            if array.ndim > 2
            else " One row is x[None, :], one feature x[:, None]."
        )
        raise DataError(
            f"{name} must have two dimensions, (rows, features); got shape {array.shape}.{hint}"
        )
    if not array.size:
        raise DataError(
            f"{name} must have at least one row and one column; got shape {array.shape}."
        )
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(array, dtype=np.float32)


def _merged_columns(array: Array, rows: Array) -> list[str]:
    """One line for each column of large numbers, different ones of which became one in float32."""
    if rows.dtype == array.dtype:
        return []
    largest = np.maximum(rows.max(axis=0), -rows.min(axis=0))
    return [
        cells.MERGE.format(int(place), cells.OF_ARRAYS)
        for place in np.flatnonzero(largest > cells.LARGEST_APART)
        if cells.merge_in_float32(array[:, place], rows[:, place], rows[:, place])
    ]


def not_finite(rows: Array, name: str, *, columns: Sequence[str] | None = None) -> list[str]:
    """One line for each of the first rows of (n, d) `rows` that hold NaN or infinity, and their
    number beyond that."""
    titles = np.arange(rows.shape[1]) if columns is None else np.array(columns)
    bad = [
        start + np.flatnonzero(~np.isfinite(rows[start : start + CHUNK]).all(axis=1))
        for start in range(0, len(rows), CHUNK)
    ]
    numbers = np.concatenate(bad)
    problems = [
        f"{name} row {row} is not finite in columns {join(titles[~np.isfinite(rows[row])])}: fill"
        " or remove it."
        for row in numbers[:ROWS_NAMED]
    ]
    if len(numbers) > ROWS_NAMED:
        problems.append(
            f"{name} has {len(numbers)} rows that are not finite as float32;"
            f" {len(numbers) - ROWS_NAMED} more are not listed."
        )
    return problems


def _labels(
    y_train: Any,
    y_test: Any,
    classes: Sequence[Any] | None,
    sizes: tuple[tuple[int, ...], tuple[int, ...]],
) -> tuple[tuple[str, ...], Array | None, Array | None, list[str]]:
    """(class names, train codes, test codes, notes). Raises DataError: labels that cannot be
    used."""
    problems: list[str] = []
    train = None if y_train is None else _tried(problems, _vector, y_train, sizes[0], "y_train")
    test = None if y_test is None else _tried(problems, _vector, y_test, sizes[1], "y_test")
    if problems:
        raise DataError(*problems)
    declared = None if classes is None else tuple(str(decode_text(name)) for name in classes)
    anchor = test if train is None else train
    if anchor is None:
        note = "Rows are unlabelled: for methods that use unlabelled public data."
        return declared or (), None, None, [note]
    names, order, notes = names_and_order(anchor, declared)
    if len(order) < 2:
        raise DataError(f"labels must show at least two classes; every row has {join(names)}.")
    if train is None:
        notes.append("Train rows are unlabelled: for methods that use unlabelled public data.")
    y, y_of_test = (None if side is None else codes(side, order) for side in (train, test))
    if y is not None and len(y) and classes is not None and len(np.unique(y)) < 2:
        problems.append(
            f"y_train must show at least two classes; every row has {names[int(y[0])]}."
        )
    if test is not None and y_of_test is not None:
        unknown = np.flatnonzero(y_of_test == MISSING)
        if len(unknown):
            unknown_labels = join(sorted({str(value) for value in test.values[unknown]}))
            where = f"{unknown_labels} (rows {join(unknown)})"
            problems.append(
                f"y_test has labels that are none of the train rows' classes: {where}. Remove those"
                " rows."
            )
    if problems:
        raise DataError(*problems)
    return names, y, y_of_test, notes


def _vector(labels: Any, size: tuple[int, ...], name: str) -> Plain:
    """One label for each of the rows. Raises DataError: too few, too many, or missing ones."""
    vector, problems = plain(labels, name=name), []
    if size and len(vector.values) != size[0]:
        problems.append(
            f"{name} must have one label for each of the {size[0]} rows of"
            f" {name.replace('y', 'x')}; got {len(vector.values)}."
        )
    missing = np.flatnonzero(vector.missing)
    if len(missing):
        problems.append(
            f"{name} has no label in rows {join(missing)}: fill them, or remove the rows."
        )
    if problems:
        raise DataError(*problems)
    return vector
