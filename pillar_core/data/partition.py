"""A stratified train/test partition, for sources that come without one."""

import dataclasses
from typing import Any, TypeVar

import numpy as np

from pillar_core import rng
from pillar_core.arrays import Array
from pillar_core.data import scratch
from pillar_core.data.arrays import NO_TEST
from pillar_core.errors import DataError
from pillar_core.grouping import by_label
from pillar_core.types import BY_COIN, Dataset, FeatureSet

TEST_FRACTION = 0.2
Rows = TypeVar("Rows", bound=FeatureSet | Dataset)
SET_APART = (
    "No rows are named as test rows: a stratified fifth became them (the same fifth every time)."
)
SOURCE_HAS_NONE = "The source has no test rows: a stratified fifth was set apart."
BY_COIN_NOTE = (
    "No rows are named as test rows: a secret coin of each row, or of each person, made about a"
    " fifth of them test rows."
)


def stratify(
    labels: Array,
    *,
    seed: int,
    name: str,
    share: float = TEST_FRACTION,
    persons: Array | None = None,
) -> tuple[Array, Array]:
    """Row numbers (train, test), each ascending int64: a share of every class is test, at least one
    row where it has two.

    Args:
        labels: (n,) int64 codes.
        seed: with `name`, names the random stream.
        name: what is divided; the same labels under another name are divided otherwise.
        persons: (n,) whose the rows are; those of one person stay together and count for the label
        of the first.
    """
    if persons is not None:
        first, codes = np.unique(persons, return_index=True, return_inverse=True)[1:]
        first = np.sort(first)
        _, chosen = stratify(labels[first], seed=seed, name=name, share=share)
        is_theirs = np.isin(codes, codes[first[chosen]])
        return np.flatnonzero(~is_theirs), np.flatnonzero(is_theirs)
    generator = rng.stream(seed, "train/test", name)
    in_test = np.zeros(len(labels), dtype=bool)
    for of_class in by_label(labels).values():
        rows = generator.permutation(of_class)
        wanted = max(1, round(share * len(rows))) if len(rows) > 1 else 0
        in_test[rows[:wanted]] = True
    return np.flatnonzero(~in_test), np.flatnonzero(in_test)


def toss(n_rows: int, *, persons: Array | None = None) -> tuple[Array, Array]:
    """Row numbers (train, test), each ascending: a secret coin of each row alone decides, or of
    each of the `persons`, with 1/5 for test.

    Guarantee: the coins hang neither on the rows nor on each other. Given all others, that of one
    row or person puts it wholly on one side.
    """
    of = np.arange(n_rows) if persons is None else np.unique(persons, return_inverse=True)[1]
    is_test = (
        rng.Streams(None).secret("test rows").random(int(of.max(initial=-1)) + 1) < TEST_FRACTION
    )[of]
    return np.flatnonzero(~is_test), np.flatnonzero(is_test)


def with_tossed_test(data: FeatureSet | Dataset) -> FeatureSet | Dataset:
    """`data`, whose test rows were drawn while reading, with those that `toss` draws in their
    place.

    Raises DataError: test rows of the source's own, persons, whom test rows do not name, or
    features of images.
    """
    if (
        not data.test_drawn
        or data.persons is not None
        or (isinstance(data, FeatureSet) and data.images)
    ):
        raise DataError(
            "coins are for test rows that were drawn while reading, and here neither for persons"
            " nor for features of images."
        )
    whole = without_drawn_test(data)
    train, test = toss(len(whole.x_train))
    sides = _sides_of(whole, train, test)
    notes = (*(note for note in data.notes if note != SET_APART), BY_COIN_NOTE)
    return dataclasses.replace(whole, **sides, notes=notes, test_drawn=BY_COIN)


def _sides_of(data: FeatureSet | Dataset, train: Array, test: Array) -> dict[str, Any]:
    x, y = data.x_train, data.y_train
    rows = {"x_train": scratch.take_rows(x, train), "x_test": scratch.take_rows(x, test)}
    texts = {"texts": tuple(data.texts[row] for row in (*train, *test))} if data.texts else {}
    return rows | texts | ({} if y is None else {"y_train": y[train], "y_test": y[test]})


def with_drawn_test(data: FeatureSet) -> FeatureSet:
    """`data` with a stratified fifth of its train rows as test rows, the same every time, where it
    has labels and no test rows."""
    divided = with_test_rows(data, seed=0, name="table", note=SET_APART)
    x_test, y = divided.x_test, divided.y_train
    if divided is data or x_test is None or y is None:
        return data
    if not len(x_test) or len(np.unique(y)) < data.n_classes:
        return data
    return dataclasses.replace(divided, test_drawn=True)


def without_drawn_test(data: Rows) -> Rows:
    """`data` as a public set: test rows that were drawn while reading are train rows again. ε
    protects none of them."""
    if not data.test_drawn or data.x_test is None:
        return data
    x = scratch.join_rows(data.x_train, data.x_test)
    y = (
        None
        if data.y_train is None or data.y_test is None
        else np.concatenate([data.y_train, data.y_test])
    )
    more: dict[str, Any] = (
        {"images": data.images and without_drawn_test(data.images)}
        if isinstance(data, FeatureSet)
        else {}
    )
    return dataclasses.replace(
        data, x_train=x, y_train=y, x_test=None, y_test=None, persons=None, test_drawn=False, **more
    )


def with_test_rows(data: Rows, *, seed: int, name: str = "", note: str = SOURCE_HAS_NONE) -> Rows:
    """`data` with a stratified fifth of its train rows as its test rows, and a note that says so,
    where it has labels and no test rows. seed, name: see `stratify` (default: the data's name)."""
    if data.y_train is None or data.x_test is not None:
        return data
    persons = data.persons
    train, test = stratify(
        data.y_train,
        seed=seed,
        name=name or data.name,
        persons=None if persons is None else persons.of,
    )
    notes = (*(other for other in data.notes if other != NO_TEST), note)
    sides = _sides_of(data, train, test) | {"persons": persons and persons.at(train)}
    return dataclasses.replace(data, **sides, notes=notes)
