"""What two matrices share: columns of one name, and exact duplicate rows, in time linear in their
size."""

import dataclasses
import hashlib
from collections.abc import Iterator

import numpy as np

from pillar_core import texts
from pillar_core.arrays import Array
from pillar_core.data.wording import join
from pillar_core.errors import DataError
from pillar_core.types import FeatureSet

CHUNK = 2_048
REORDERED = "The public columns came in another order: they were matched by name."
BY_PLACE = (
    "The public columns have no names: the first is taken for the first private one, and so on."
)
FEW_NUMBERS, FEW_PAIRS, BY_CHANCE = 32, 2, 0.05
"""Rows of no more numbers are equal by chance, as ages and doses are; and at most so many, or this
share of either matrix."""


def duplicates(x_a: Array, x_b: Array) -> Array:
    """(m, 2) int64: each row number of `x_a` that occurs in `x_b`, with the first equal row of
    `x_b`; ascending.

    Rows are compared as float32, exactly (0 equals −0), by digests of 128 bits.

    Args:
        x_a: (n, d) numbers.
        x_b: (m, d) numbers.

    Raises DataError: the widths differ, or an array is not a matrix.
    """
    if np.ndim(x_a) != 2 or np.ndim(x_b) != 2 or np.shape(x_a)[1] != np.shape(x_b)[1]:
        raise DataError(
            f"duplicates needs two matrices of equal width; got shapes {np.shape(x_a)} and"
            f" {np.shape(x_b)}."
        )
    first: dict[bytes, int] = {}
    for number, digest in enumerate(digests(x_b)):
        first.setdefault(digest, number)
    pairs = [
        (number, first[digest]) for number, digest in enumerate(digests(x_a)) if digest in first
    ]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def are_by_chance(pairs: Array, x_a: Array, x_b: Array, *, are_texts: bool = False) -> bool:
    """Whether the `duplicates` of two matrices may be rows of different people who share a few
    numbers, or a phrase."""
    return (are_texts or x_a[0].size <= FEW_NUMBERS) and len(pairs) <= max(
        FEW_PAIRS, BY_CHANCE * min(len(x_a), len(x_b))
    )


def by_name(public: FeatureSet, private: FeatureSet) -> tuple[FeatureSet, tuple[str, ...]]:
    """The public features with the private ones' columns in their order, where both have names; and
    a note where that changed them.

    Raises DataError: columns that the public rows lack, or that have one name; texts through
    different encoders.
    """
    theirs, ours = texts.encoder_of(public.recipe), texts.encoder_of(private.recipe)
    if theirs and ours and theirs != ours:
        raise DataError(
            f"the public texts became numbers through {theirs['name']}, the private ones through"
            f" {ours['name']}: use one encoder."
        )
    if public.names is None or private.names is None or public.names == private.names:
        return public, (
            (BY_PLACE,)
            if public.names is None and private.names is not None and public.d == private.d
            else ()
        )
    places, names = (
        {name: place for place, name in enumerate(public.names)},
        frozenset(private.names),
    )
    absent = [name for name in private.names if name not in places]
    if absent:
        raise DataError(
            f"the public rows lack the columns {join(absent)}: bring them with the same columns, or"
            " leave these out of the private rows. Words need one recipe for both tables (recipe=,"
            " --recipe)."
        )
    order, more = (
        [places[name] for name in private.names],
        [name for name in public.names if name not in names],
    )
    ordered = [name for name in public.names if name in names] == list(private.names)
    notes = [] if ordered else [REORDERED]
    notes += (
        [f"Public columns that the private rows lack were left out: {join(more)}."] if more else []
    )
    x_train, x_test = (
        public.x_train[:, order],
        (None if public.x_test is None else public.x_test[:, order]),
    )
    return dataclasses.replace(
        public, x_train=np.ascontiguousarray(x_train), x_test=x_test, names=private.names
    ), tuple(notes)


def digests(x: Array) -> Iterator[bytes]:
    """The digest of each row."""
    for start in range(0, len(x), CHUNK):
        # Adding zero turns −0 into 0, whose bits differ though the numbers are equal.
        for row in np.asarray(x[start : start + CHUNK], dtype=np.float32) + np.float32(0):
            yield hashlib.blake2b(row.tobytes(), digest_size=16).digest()
