"""A stratified train/test partition, for sources that come without one."""

import dataclasses

import numpy as np

from pillar_core import rng
from pillar_core.arrays import Array
from pillar_core.errors import DataError
from pillar_core.grouping import by_label
from pillar_core.types import Dataset

TEST_FRACTION = 0.2


def stratified(labels: Array, *, seed: int, name: str, share: float = TEST_FRACTION, persons: Array | None = None) -> tuple[Array, Array]:
    """Row numbers (train, test), each ascending int64: a share of every class is test, at least one row where it has two.

    Args:
        labels: (n,) int64 codes.
        seed: with `name`, names the random stream.
        name: what is divided; the same labels under another name are divided otherwise.
        persons: (n,) whose the rows are; those of one person stay together and count for the label of the first.
    """
    if persons is not None:
        first, codes = np.unique(persons, return_index=True, return_inverse=True)[1:]
        first = np.sort(first)
        _, chosen = stratified(labels[first], seed=seed, name=name, share=share)
        is_theirs = np.isin(codes, codes[first[chosen]])
        return np.flatnonzero(~is_theirs), np.flatnonzero(is_theirs)
    generator = rng.stream(seed, "train/test", name)
    in_test = np.zeros(len(labels), dtype=bool)
    for of_class in by_label(labels).values():
        rows = generator.permutation(of_class)
        wanted = max(1, round(share * len(rows))) if len(rows) > 1 else 0
        in_test[rows[:wanted]] = True
    return np.flatnonzero(~in_test), np.flatnonzero(in_test)


def with_test_rows(data: Dataset, *, seed: int) -> Dataset:
    """`data` with a stratified fifth of its train rows as its test rows, and a note that says so.

    Raises:
        DataError: the rows have no labels.
    """
    if data.y_train is None:
        raise DataError(f"the table {data.name} has no labels.")
    train, test = stratified(data.y_train, seed=seed, name=data.name)
    x, y, notes = data.x_train, data.y_train, (*data.notes, "The source has no test rows: a stratified fifth was set apart.")
    return dataclasses.replace(data, x_train=x[train], y_train=y[train], x_test=x[test], y_test=y[test], notes=notes)
