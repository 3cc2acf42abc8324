"""Row-wise preprocessing decided by public rows alone: standardise, centre, project, then scale
rows to unit norm.

Each row is mapped by itself, so the map changes nothing about who is protected; the clip is on what
comes out.
"""

import dataclasses
import functools
import math
from typing import Any

import numpy as np

from pillar_core.arrays import Array
from pillar_core.errors import DataError
from pillar_core.grouping import slices

CHUNK_ROWS, CHUNK_NUMBERS, PRODUCT_PARTS = 1024, 1 << 16, 16
"""Rows, and numbers of wide ones, that are widened to float64 at a time, and how often so many are
multiplied at a time: a core's second-level cache holds the first, products want the second."""
LARGEST = 1e15
"""Coordinates are clamped to ±1e15 so that squared norms stay finite in float32 for any finite
row."""
SMALLEST_SCALE = np.float32(1e-30)
MANTISSA_BITS = 53


@dataclasses.dataclass(frozen=True, eq=False)
class Transform:
    """x (n, d) → ((x − mean) / scale) · projection, then unit rows where `normalise`; a zero row
    stays zero.

    mean, scale: (d,) float32 or None. projection: (d, k) float32 or None. columns: what makes the d
    columns of rows as given, one row at a time; None where they are that.
    """

    mean: Array | None = None
    scale: Array | None = None
    projection: Array | None = None
    normalise: bool = False
    columns: Any = None

    def __call__(self, x: Array) -> Array:
        """(n, k) float32 rows. Raises DataError: rows of another dimension."""
        return self.rows(x, None)

    def rows(self, x: Array, indices: Array | None) -> Array:
        """The transform of x[indices] (of all rows for None), chunk by chunk: no copy of x is made.

        What comes out of a row hangs on that row alone, to the last bit. A matrix product in
        floating point adds up in an order that depends on how many rows there are and where a row
        stands; of a row at right angles to the projection only that rounding is left, which unit
        norm would blow up, and one row more or less would turn many others. So products are made
        exact.
        """
        expected = next(
            (len(part) for part in (self.mean, self.scale, self.projection) if part is not None),
            None,
        )
        if x.ndim == 2 and self.columns is not None:
            x, indices = self.columns(x if indices is None else x[indices]), None
        if x.ndim != 2 or (expected is not None and x.shape[1] != expected):
            raise DataError(f"rows must have shape (n, {expected}); got {x.shape}.")
        n = len(x) if indices is None else len(indices)
        width = x.shape[1] if self.projection is None else self.projection.shape[1]
        out = np.empty((n, width), dtype=np.float32)
        factor = (
            None
            if self.scale is None
            else 1.0 / np.maximum(self.scale, SMALLEST_SCALE).astype(np.float64)
        )
        bits = bits_of(x.shape[1])
        directions = (
            None
            if self.projection is None
            else rounded_rows(self.projection.T.astype(np.float64), bits).T
        )
        size = rows_at_once(x.shape[1])
        at_once = size if directions is None else PRODUCT_PARTS * size
        wide, spare = np.empty((min(n, at_once), x.shape[1])), np.empty((2, min(n, size), width))
        made = wide if directions is None else np.empty((len(wide), width))
        for block in slices(n, at_once):
            done = out[block]
            rows, products = wide[: len(done)], made[: len(done)]
            for part in slices(len(done), size):
                given = x[block][part] if indices is None else x[indices[block][part]]
                few = rows[part]
                np.copyto(few, given)
                if not _is_bounded(given):
                    np.clip(few, -LARGEST, LARGEST, out=few)
                    few[np.isnan(few)] = 0.0  # a row that is no number must not make the sum none
                if self.mean is not None:
                    few -= self.mean
                if factor is not None:
                    few *= factor
                if directions is not None:
                    rounded_rows(few, bits)
            if directions is not None:
                np.matmul(rows, directions, out=products)
            for part in slices(len(done), size):
                if not _is_bounded(products[part]):
                    np.clip(products[part], -LARGEST, LARGEST, out=products[part])
                done[part] = products[part]
                if self.normalise:
                    _make_unit(done[part], spare[:, : len(done[part])], None)
        return out


@dataclasses.dataclass(frozen=True, eq=False)
class LateRows:
    """Rows (n, k) float32, a transform of x[indices] (all for None), made when they are asked for:
    a part at a time, to the same bits, or whole and kept."""

    transform: Transform
    x: Array
    indices: Array | None

    @property
    def shape(self) -> tuple[int, int]:
        """(n, k)."""
        projection = self.transform.projection
        return (
            len(self.x if self.indices is None else self.indices),
            self.x.shape[1] if projection is None else projection.shape[1],
        )

    @functools.cached_property
    def whole(self) -> Array:
        """(n, k) float32, all of them."""
        return self.transform.rows(self.x, self.indices)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        return self.whole

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, part: slice) -> Array:
        if self.indices is None:
            return self.transform.rows(self.x[part], None)
        return self.transform.rows(self.x, self.indices[part])


def rows_at_once(width: int) -> int:
    """How many rows of so many numbers are widened at a time."""
    return min(CHUNK_ROWS, max(64, CHUNK_NUMBERS // max(width, 1)))


def _is_bounded(rows: Array) -> bool:
    """Whether no number lies outside ±LARGEST, or is none: to look is faster than to clip."""
    return bool(rows.min() >= -LARGEST and rows.max() <= LARGEST)


def bits_of(terms: int) -> int:
    """How many bits numbers may have so that float64 holds any sum of so many products of two of
    them."""
    return (MANTISSA_BITS - math.ceil(math.log2(max(terms, 2)))) // 2


def rounded_rows(rows: Array, bits: int) -> Array:
    """Rows (n, d) float64, each rounded in place to multiples of a power of two, at most 2^bits of
    them, which its largest number decides.

    A float64 number between 2⁵² and 2⁵³ such powers is a multiple of it: adding 1.5 · 2⁵² of them
    rounds, and taking them away again changes nothing more.
    """
    largest = np.maximum(rows.max(axis=1, keepdims=True), -rows.min(axis=1, keepdims=True))
    shift = np.ldexp(1.5, np.frexp(largest)[1] - bits + MANTISSA_BITS - 1)
    rows += shift
    rows -= shift
    return rows


def unit_rows(z: Array, scale: Array | None = None) -> Array:
    """`z` (n, k) float32 with every row, times `scale` (k,) float64, brought in place to unit L2
    norm; zero rows stay zero.

    In float64, where no square of a float32 number over- or underflows. Rounded to float32 again, a
    row's norm may be above 1 by 2⁻²⁴: what a guarantee leans on is clipped once more
    (`engine.gradient.within_unit_ball`, or the gradient's own clip).
    """
    size = rows_at_once(z.shape[1])
    wide = np.empty((2, min(size, len(z)), z.shape[1]))
    for part in slices(len(z), size):
        _make_unit(z[part], wide[:, : len(z[part])], scale)
    return z


def _make_unit(z: Array, wide: Array, scale: Array | None) -> None:
    """`unit_rows` of few rows, in two buffers wide (2, n, k) float64."""
    rows, squares = wide
    np.copyto(rows, z)
    if scale is not None:
        rows *= scale
    norms = np.sqrt(squared_norms(rows, squares))
    rows *= np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)[:, None]
    z[:] = rows


def squared_norms(rows: Array, squares: Array | None = None) -> Array:
    """(n,) sums of the squares of rows (n, k) float64: the second half is added to the first until
    one number is left. squares: a buffer of their shape.

    One order for every row, wherever it stands: numpy's own sums of long rows, and einsum's, hang
    on how many rows there are.
    """
    squares = np.square(rows, out=squares)
    width = squares.shape[1]
    while width > 1:
        half = (width + 1) // 2
        squares[:, : width - half] += squares[:, half:width]
        width = half
    return squares[:, 0]
