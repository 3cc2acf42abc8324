"""Tables: one row per example, a label column, an optional column that says train or test."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

import numpy as np

from pillar_core.arrays import Array
from pillar_core.data import cells
from pillar_core.data.arrays import (
    MOST_CLASSES_OF_NUMBERS,
    TOO_MANY_NUMBERS,
    alike,
    not_finite,
    plain,
)
from pillar_core.data.partition import BY_COIN_NOTE, SET_APART, stratify, toss
from pillar_core.data.wording import join
from pillar_core.deferred import pandas as pd
from pillar_core.errors import DataError

LABEL_NAMES = ("label", "labels", "y", "target", "targets", "class", "cls", "outcome", "diagnosis")
"""Names that make a column of labels certain, in any case: the first wins, of the others there may
be one."""
IDENTIFYING = re.compile(
    r"(^|[_\W])(id|ids|nr|no|mrn|ssn|uuid|guid|number|name|surname|email|e-mail|phone|address|index|patient)([_\W]|$)",
    re.I,
)
"""In the name of a column: its values may name a person."""
PERSON = re.compile(
    r"(person|patient|subject|participant|user|customer|client)[_\W]?(id|nr|no|number|name)?", re.I
)
"""A column called so may say whose the rows are."""
FEWEST_DISTINCT = 20
"""A column with more values than these may name something, such as a person."""


def find_column(frame: pd.DataFrame, names: tuple[str, ...]) -> str | None:
    by_lower = {column.strip().lower(): column for column in frame.columns}
    return next((by_lower[name] for name in names if name in by_lower), None)


def split_column(frame: pd.DataFrame) -> str | None:
    """The column that says which rows are for training and which for the test."""
    return find_column(frame, ("split",))


def label_column(frame: pd.DataFrame, label: str | None = None) -> str:
    """The column of labels: the one that is named, else the one whose name makes it certain, else
    the only one of words.

    Raises DataError: no such column; or none is certain, with the columns to choose from.
    """
    names = [str(name) for name in frame.columns]
    if label is not None:
        if label not in names:
            raise DataError(
                f"there is no column {label!r} for the label; the table has {join(names)}."
            )
        return label
    called = {name: name.strip().lower() for name in names}
    certain = [name for name in names if called[name] == LABEL_NAMES[0]] or [
        name for name in names if called[name] in LABEL_NAMES
    ]
    certain = certain or _words_alone(frame)
    if len(certain) != 1:
        why = (
            f"{join(certain)} may all be it"
            if certain
            else f"none is named {', '.join(LABEL_NAMES)} or is the only one of words"
        )
        raise DataError(
            f"which label column is meant is not certain: {why}. Say which: {join(names)}."
            " Rows without labels need an empty column named label."
        ).naming(label=())
    return certain[0]


def label_notes(label: str) -> list[str]:
    """Why a column of labels was taken that nobody named, where its name does not say it."""
    why = f"Label: {label}, the only column of words. You can name another."
    return [] if label.strip().lower() in LABEL_NAMES else [why]


def _words_alone(frame: pd.DataFrame) -> list[str]:
    """The one column that holds neither numbers nor texts, where it looks like labels: few values,
    each in some rows, no dates and nobody's name, and the table's first or last column, or no other
    has so few values: of ward and a 0 or 1, either may be meant.
    """
    columns = [name for name in map(str, frame.columns) if name.strip().lower() != "split"]
    numbers = frame[columns].select_dtypes(include=["number", "bool"])
    others = [name for name in columns if name not in numbers and not mostly_numbers(frame[name])]
    if len(others) > 1:
        others = [name for name in others if not are_texts(frame[name].dropna())]
    if len(others) != 1 or IDENTIFYING.search(others[0]) or PERSON.fullmatch(others[0]):
        return []
    words = frame[others[0]]
    if pd.api.types.infer_dtype(words, skipna=True) != "string" or cells.are_dates(
        *distinct_of(words.dropna())
    ):
        return []
    if (
        not 2
        <= words.nunique()
        <= min(len(frame) / 2, max(MOST_CLASSES_OF_NUMBERS, len(frame) / 10))
    ):
        return []
    if others[0] in (columns[0], columns[-1]):
        return others
    return (
        []
        if any(2 <= numbers[name].nunique() <= MOST_CLASSES_OF_NUMBERS for name in numbers)
        else others
    )


def bins(column: pd.Series, edges: Sequence[float]) -> pd.Series:
    """A number to predict as a class: the words "up to a", "a to b", … "above z" for rising
    `edges`; gaps stay.

    Raises DataError: no numbers, or edges that do not rise.
    """
    if (
        is_text(column)
        or not len(edges)
        or any(low >= high for low, high in itertools.pairwise(edges))
    ):
        raise DataError(
            f"bins need a column of numbers and rising edges; got {column.dtype} and {list(edges)}."
        )
    names = [
        f"up to {edges[0]:g}",
        *(f"{low:g} to {high:g}" for low, high in itertools.pairwise(edges)),
        f"above {edges[-1]:g}",
    ]
    return pd.cut(column, [-np.inf, *edges, np.inf], labels=names).astype(object)


def joined_labels(column: pd.Series) -> pd.Series:
    """The labels, those of each group of `alike_labels` as the one that occurs most, without outer
    blanks."""
    counts = column.value_counts()
    chosen = {
        label: max(group, key=lambda name: counts.get(name, 0)).strip()
        for group in alike_labels(column)
        for label in group
    }
    return column.map(lambda label: chosen.get(label, label), na_action="ignore")


def alike_labels(column: pd.Series) -> tuple[tuple[str, ...], ...]:
    """The labels of a column that `labels.alike` groups."""
    return alike(map(str, column.dropna().unique()))


def distinct_of(column: pd.Series) -> tuple[Array, pd.Series]:
    """((n,) which of the distinct values each cell has, those values): a word of many rows is
    worked on once."""
    codes, values = pd.factorize(column, use_na_sentinel=False)
    return codes, pd.Series(values, name=column.name)


def is_text(column: pd.Series) -> bool:
    """Whether a column, or its dtype, holds no numbers."""
    return not pd.api.types.is_numeric_dtype(column)


def are_texts(values: pd.Series) -> bool:
    """Whether cells without gaps are long, and most of them stand once."""
    codes, words = distinct_of(values)
    return cells.are_long(words) and bool((np.bincount(codes) == 1).mean() > 0.5)


def mostly_numbers(column: pd.Series) -> bool:
    return bool(pd.to_numeric(column, errors="coerce").notna().mean() > 0.5)


def numbers_of(frame: pd.DataFrame, columns: list[str]) -> Array:
    if not columns:
        raise DataError("the table has no feature columns beside label and split.")
    problems = []
    kinds = frame.dtypes
    for column in (column for column in columns if is_text(kinds[column])):
        if not mostly_numbers(frame[column]):
            problems.append(
                f"column {column!r} holds words, not numbers: encode it as numbers, drop it, or"
                " name the label column label."
            )
            continue
        for row in cells.unreadable(frame[column])[:20]:
            problems.append(
                f"table row {row}: column {column!r} holds {cells.quote(frame[column].iloc[row])},"
                " not a number."
            )
    if problems:
        raise DataError(*problems)
    with np.errstate(over="ignore"):  # what becomes infinite is refused below
        x = np.ascontiguousarray(frame[columns].to_numpy(dtype=np.float32, na_value=np.nan))
    problems = not_finite(x, "table", columns=columns)
    if problems:
        raise DataError(*problems)
    return x


def labels_of(column: pd.Series) -> Array:
    values = (
        column.astype(object).to_numpy()
        if is_text(column)
        else column.to_numpy(dtype=np.float64, na_value=np.nan)
    )
    vector = plain(values, name="label column")
    if vector.missing.any():
        raise DataError(
            f"label column has no label in table rows {join(np.flatnonzero(vector.missing))}: fill"
            " them, or remove the rows."
        )
    names, counts = np.unique(vector.values, return_counts=True)
    if not is_text(column) and len(names) > max(MOST_CLASSES_OF_NUMBERS, len(column) / 10):
        raise DataError(TOO_MANY_NUMBERS.format(f"column {column.name!r} holds", len(names)))
    if len(names) > 1 and counts.min() < 2:
        rare = join(names[counts < 2])
        why = f"the classes {rare} have one row each, which cannot be in train and test rows"
        raise DataError(
            f"{why}: bring more, join or remove them; cut a number to predict into bins."
        )
    return vector.values


def sides_of(column: pd.Series) -> Array:
    """(n,) what a column of train and test says, in small letters."""
    codes, values = distinct_of(column)
    words: Array = (
        values.astype(str).fillna("nothing").str.strip().str.lower().to_numpy(dtype=object)
    )
    return words[codes]


def partition(
    frame: pd.DataFrame,
    split: str | None,
    y: Array | None,
    notes: list[str],
    *,
    persons: Array | None = None,
    by_coin: bool = False,
) -> tuple[Array, Array]:
    """Row numbers (train, test): by the secret coins of `toss`, else as the column `split` says,
    else drawn class by class."""
    if by_coin:
        notes.append(BY_COIN_NOTE)
        return toss(len(frame), persons=persons)
    if split is not None:
        sides = sides_of(frame[split])
        unknown = np.flatnonzero(~np.isin(sides, ("train", "test")))
        if len(unknown):
            words = join(sorted(set(sides[unknown].tolist())))
            raise DataError(
                f"column {split!r} must say train or test; rows {join(unknown)} say {words}."
            )
        notes.append(
            SET_APART
            if frame.attrs.get("is_drawn")
            else f"Train and test rows are those that column {split!r} names."
        )
        return np.flatnonzero(sides == "train"), np.flatnonzero(sides == "test")
    if y is None:
        return np.arange(len(frame)), np.arange(0)
    notes.append(SET_APART)
    return stratify(np.unique(y, return_inverse=True)[1], seed=0, name="table", persons=persons)
