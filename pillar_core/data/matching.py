"""Exact duplicate rows between two matrices, in time linear in their size."""

import hashlib
from collections.abc import Iterator

import numpy as np

from pillar_core.arrays import Array
from pillar_core.errors import DataError

CHUNK = 2_048
FEW_NUMBERS, BY_CHANCE = 32, 0.05
"""Rows of no more numbers are equal by chance, as ages and doses are; and at most this share of either matrix."""


def duplicates(x_a: Array, x_b: Array) -> Array:
    """(m, 2) int64: each row number of `x_a` that occurs in `x_b`, with the first equal row of `x_b`; ascending.

    Rows are compared as float32, exactly (0 equals −0), by digests of 128 bits.

    Args:
        x_a: (n, d) numbers.
        x_b: (m, d) numbers.

    Raises:
        DataError: the widths differ, or an array is not a matrix.
    """
    if np.ndim(x_a) != 2 or np.ndim(x_b) != 2 or np.shape(x_a)[1] != np.shape(x_b)[1]:
        raise DataError(f"duplicates needs two matrices of equal width; got shapes {np.shape(x_a)} and {np.shape(x_b)}.")
    first: dict[bytes, int] = {}
    for number, digest in enumerate(_digests(x_b)):
        first.setdefault(digest, number)
    pairs = [(number, first[digest]) for number, digest in enumerate(_digests(x_a)) if digest in first]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def are_by_chance(pairs: Array, x_a: Array, x_b: Array) -> bool:
    """Whether the `duplicates` of two matrices may be rows of different people who share a few numbers."""
    return x_a[0].size <= FEW_NUMBERS and len(pairs) <= BY_CHANCE * min(len(x_a), len(x_b))


def _digests(x: Array) -> Iterator[bytes]:
    """The digest of each row."""
    for start in range(0, len(x), CHUNK):
        # Adding zero turns −0 into 0, whose bits differ though the numbers are equal.
        for row in np.asarray(x[start : start + CHUNK], dtype=np.float32) + np.float32(0):
            yield hashlib.blake2b(row.tobytes(), digest_size=16).digest()
