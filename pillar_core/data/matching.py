"""Exact duplicate rows between two matrices, in time linear in their size."""

import os

import numpy as np

from pillar_core.arrays import Array
from pillar_core.errors import DataError

CHUNK = 2_048
FEW_NUMBERS, BY_CHANCE = 32, 0.05
"""Rows of no more numbers are equal by chance, as ages and doses are; and at most this share of either matrix."""


def duplicates(x_a: Array, x_b: Array) -> Array:
    """(m, 2) int64: each row number of `x_a` that occurs in `x_b`, with the first equal row of `x_b`; ascending.

    Rows are compared as float32, exactly (0 equals −0). A 64-bit hash proposes, a comparison decides, so the answer is
    exact whatever the hash does.

    Args:
        x_a: (n, d) numbers.
        x_b: (m, d) numbers.

    Raises:
        DataError: the widths differ, or an array is not a matrix.
    """
    if np.ndim(x_a) != 2 or np.ndim(x_b) != 2 or np.shape(x_a)[1] != np.shape(x_b)[1]:
        raise DataError(f"duplicates needs two matrices of equal width; got shapes {np.shape(x_a)} and {np.shape(x_b)}.")
    factors = np.frombuffer(os.urandom(8 * np.shape(x_a)[1]), dtype=np.uint64)  # secret: rows of one hash cannot be made
    hashes_b, first = np.unique(_hashes(x_b, factors), return_index=True)
    if not len(hashes_b):
        return np.empty((0, 2), dtype=np.int64)
    hashes_a = _hashes(x_a, factors)
    place = np.minimum(np.searchsorted(hashes_b, hashes_a), len(hashes_b) - 1)
    rows = np.flatnonzero(hashes_b[place] == hashes_a)
    proposed = first[place[rows]]
    equal = _equal(x_a, rows, x_b, proposed)
    if not equal.all():
        proposed[~equal] = [_first_equal(x_a[row], x_b) for row in rows[~equal]]
    keep = proposed >= 0
    return np.stack([rows[keep], proposed[keep]], axis=1).astype(np.int64)


def are_by_chance(pairs: Array, x_a: Array, x_b: Array) -> bool:
    """Whether the `duplicates` of two matrices may be rows of different people who share a few numbers."""
    return x_a[0].size <= FEW_NUMBERS and len(pairs) <= BY_CHANCE * min(len(x_a), len(x_b))


def _hashes(x: Array, factors: Array) -> Array:
    """(n,) uint64: Σ_j word_j · factor_j modulo 2⁶⁴ over the row's 32-bit words."""
    result = np.empty(len(x), dtype=np.uint64)
    for start in range(0, len(x), CHUNK):
        # Adding zero turns −0 into 0, whose bits differ though the numbers are equal.
        words = (np.asarray(x[start : start + CHUNK], dtype=np.float32) + np.float32(0)).view(np.uint32)
        result[start : start + CHUNK] = np.einsum("ij,j->i", words, factors)
    return result


def _equal(x_a: Array, rows_a: Array, x_b: Array, rows_b: Array) -> Array:
    result = np.empty(len(rows_a), dtype=bool)
    for start in range(0, len(rows_a), CHUNK):
        part = slice(start, start + CHUNK)
        left, right = np.asarray(x_a[rows_a[part]], dtype=np.float32), np.asarray(x_b[rows_b[part]], dtype=np.float32)
        result[part] = (left == right).all(axis=1)
    return result


def _first_equal(row: Array, x_b: Array) -> int:
    """The first row of `x_b` equal to `row`, or −1: the rare case of a hash shared by different rows."""
    places = np.flatnonzero((np.asarray(x_b, dtype=np.float32) == np.asarray(row, dtype=np.float32)).all(axis=1))
    return int(places[0]) if len(places) else -1
