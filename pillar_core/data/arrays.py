"""The user's arrays as a checked `FeatureSet`. Every check happens here, at loading, for the curator's eyes."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pillar_core.arrays import Array
from pillar_core.data import labels as labelling
from pillar_core.data.wording import join
from pillar_core.errors import DataError
from pillar_core.types import FeatureSet

CHUNK = 4_096
ROWS_NAMED = 20
NO_TEST = "No test rows: accuracy is not measured."


def features(x_train: Any, y_train: Any, x_test: Any = None, y_test: Any = None, classes: Sequence[str | int] | None = None) -> FeatureSet:
    """The arrays as a feature set, after all checks.

    Args:
        x_train: (n, d) finite numbers; kept as float32, C-contiguous.
        y_train: (n,) whole numbers or words, or None for unlabelled rows. Labels other than 0 … C − 1 are mapped in
            sorted order; the notes hold the mapping.
        x_test: (m, d) likewise, or None: then there is no accuracy.
        y_test: (m,) labels that occur among the classes.
        classes: names in the order of the codes; with words as labels, the words themselves.

    Raises DataError: everything that is wrong, one line each, with row numbers.
    """
    return check(x_train, y_train, x_test, y_test, classes)


def check(
    x_train: Any,
    y_train: Any,
    x_test: Any = None,
    y_test: Any = None,
    classes: Sequence[Any] | None = None,
    *,
    is_divided_later: bool = False,
) -> FeatureSet:
    """As `features`. is_divided_later: the caller sets test rows apart, so that absent ones are no note."""
    train, problems = matrix(x_train, "x_train")
    test, more = (None, []) if x_test is None else matrix(x_test, "x_test")
    problems += more
    if train is not None and test is not None and train.shape[1] != test.shape[1]:
        problems.append(f"x_test must have as many columns as x_train, {train.shape[1]}; got {test.shape[1]}. Use one backbone for both.")
    if x_test is None and y_test is not None:
        problems.append("y_test came without x_test: give both, or neither.")
    sizes = tuple(labelling.as_array(x).shape[:1] for x in (x_train, x_test))
    names, y, y_of_test, more, notes = _labels(y_train, y_test if x_test is not None else None, classes, sizes)
    problems += more
    if not all(labelling.is_text(name) for name in names):
        problems.append("a class name holds half a sign (a lone surrogate); write it as text.")
    if x_test is None and not is_divided_later:
        notes.append(NO_TEST)
    if problems or train is None:
        raise DataError(*problems)
    return FeatureSet(train, y, test, y_of_test, names, notes=tuple(notes))


def matrix(values: Any, name: str) -> tuple[Array | None, list[str]]:
    """(n, d) float32 C-contiguous rows, None where `values` are none, and what is wrong with them."""
    array = labelling.as_array(values)
    if array.dtype.kind not in "biuf":
        return None, [
            f"{name} must hold numbers; got dtype {array.dtype}. Encode words as numbers, or give the whole table to load_features."
        ]
    if array.ndim != 2:
        hint = " Images go through load_images and a backbone." if array.ndim > 2 else " One row is x[None, :], one feature x[:, None]."
        return None, [f"{name} must have two dimensions, (rows, features); got shape {array.shape}.{hint}"]
    if not array.size:
        return None, [f"{name} must have at least one row and one column; got shape {array.shape}."]
    with np.errstate(over="ignore"):
        rows = np.ascontiguousarray(array, dtype=np.float32)
    return rows, not_finite(rows, name)


def not_finite(rows: Array, name: str, *, columns: Sequence[str] | None = None) -> list[str]:
    """One line for each of the first rows of (n, d) `rows` that hold NaN or infinity, and their number beyond that."""
    titles = np.arange(rows.shape[1]) if columns is None else np.array(columns)
    bad = [start + np.flatnonzero(~np.isfinite(rows[start : start + CHUNK]).all(axis=1)) for start in range(0, len(rows), CHUNK)]
    numbers = np.concatenate(bad)
    problems = [
        f"{name} row {row} is not finite in columns {join(titles[~np.isfinite(rows[row])])}: fill or remove it."
        for row in numbers[:ROWS_NAMED]
    ]
    if len(numbers) > ROWS_NAMED:
        problems.append(f"{name} has {len(numbers)} rows that are not finite as float32; {len(numbers) - ROWS_NAMED} more are not listed.")
    return problems


Outcome = tuple[tuple[str, ...], Array | None, Array | None, list[str], list[str]]


def _labels(y_train: Any, y_test: Any, classes: Sequence[Any] | None, sizes: tuple[tuple[int, ...], tuple[int, ...]]) -> Outcome:
    """(class names, train codes, test codes, problems, notes)."""
    declared = tuple(str(labelling.decode_text(name)) for name in (() if classes is None else classes))
    train, problems = _plain_or_none(y_train, sizes[0], "y_train")
    test, more = _plain_or_none(y_test, sizes[1], "y_test")
    problems += more
    anchor = train if y_train is not None else test
    if problems or anchor is None:
        return declared, None, None, problems, [] if problems else ["Rows are unlabelled: for methods that use unlabelled public data."]
    names, order, problems, notes = labelling.names_and_order(anchor, None if classes is None else declared)
    if not problems and len(order) < 2:
        problems = [f"labels must show at least two classes; every row has {join(names)}."]
    if y_train is None:
        notes.append("Train rows are unlabelled: for methods that use unlabelled public data.")
    if problems:
        return names, None, None, problems, notes
    y = None if train is None else labelling.codes(train, order)
    y_of_test = None if test is None else labelling.codes(test, order)
    if y is not None and len(y) and classes is not None and len(np.unique(y)) < 2:
        problems.append(f"y_train must show at least two classes; every row has {names[int(y[0])]}.")
    if test is not None and y_of_test is not None:
        unknown = np.flatnonzero(y_of_test == labelling.MISSING)
        if len(unknown):
            unknown_labels = join(sorted({str(value) for value in test.values[unknown]}))
            where = f"{unknown_labels} (rows {join(unknown)})"
            problems.append(f"y_test has labels that are none of the train rows' classes: {where}. Remove those rows.")
    return names, y, y_of_test, problems, notes


def _plain_or_none(labels: Any, size: tuple[int, ...], name: str) -> tuple[labelling.Plain | None, list[str]]:
    if labels is None:
        return None, []
    vector, problems = labelling.plain(labels, name=name)
    if vector is None:
        return None, problems
    if size and len(vector.values) != size[0]:
        problems.append(f"{name} must have one label for each of the {size[0]} rows of {name.replace('y', 'x')}; got {len(vector.values)}.")
    missing = np.flatnonzero(vector.missing)
    if len(missing):
        problems.append(f"{name} has no label in rows {join(missing)}: fill them, or remove the rows.")
    return vector, problems
