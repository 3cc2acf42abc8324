"""Row-wise preprocessing decided by public rows alone: standardise, centre, project, then scale rows to unit norm.

Each row is mapped by itself, so the map changes nothing about who is protected; the clip is on what comes out.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from pillar_core.arrays import Array
from pillar_core.errors import DataError

CHUNK_ROWS = 4096
LARGEST = 1e15
"""Coordinates are clamped to ±1e15 so that squared norms stay finite in float32 for any finite row."""
SMALLEST_SCALE = np.float32(1e-30)
LARGEST_PRODUCT = 1e37
"""Features are clamped further where their scale asks for it, so that no sum of products overflows, whatever the order of the sum."""


@dataclasses.dataclass(frozen=True, eq=False)
class Transform:
    """x (n, d) → ((x − mean) / scale) · projection, then unit rows where `normalise`; a zero row stays zero.

    mean, scale: (d,) float32 or None. projection: (d, k) float32 or None.
    """

    mean: Array | None = None
    scale: Array | None = None
    projection: Array | None = None
    normalise: bool = False

    def __call__(self, x: Array) -> Array:
        """(n, k) float32 rows.

        Raises:
            DataError: rows of another dimension.
        """
        return self.rows(x, None)

    def rows(self, x: Array, indices: Array | None) -> Array:
        """The transform of x[indices] (of all rows for None), chunk by chunk: no copy of x is made."""
        expected = self._input_width()
        if x.ndim != 2 or (expected is not None and x.shape[1] != expected):
            raise DataError(f"rows must have shape (n, {expected}); got {x.shape}.")
        n = len(x) if indices is None else len(indices)
        width = x.shape[1] if self.projection is None else self.projection.shape[1]
        out = np.empty((n, width), dtype=np.float32)
        fold, offset = self._folded()
        limit = _limit(fold)
        for start in range(0, n, CHUNK_ROWS):
            stop = min(start + CHUNK_ROWS, n)
            chunk = x[start:stop] if indices is None else x[indices[start:stop]]
            self._apply(chunk, limit, fold, offset, out[start:stop])
        return unit_rows(out) if self.normalise else out

    def _apply(self, chunk: Array, limit: Array | float, fold: Array | None, offset: Array | None, out: Array) -> None:
        chunk = np.clip(chunk, -limit, limit, dtype=np.float32)
        if fold is None:
            out[...] = chunk
        elif self.projection is not None:
            np.matmul(chunk, fold, out=out)
        else:
            np.multiply(chunk, fold, out=out)
        if offset is not None:
            out -= offset
        np.clip(out, -LARGEST, LARGEST, out=out)

    def _folded(self) -> tuple[Array | None, Array | None]:
        """The affine part as one multiplication and one subtraction: x·P/s − (m/s)·P."""
        scale = None if self.scale is None else np.maximum(self.scale, SMALLEST_SCALE)
        fold: Array | None = None if scale is None else 1.0 / scale
        if self.projection is not None:
            fold = self.projection if scale is None else self.projection / scale[:, None]
        offset = self.mean
        if self.mean is not None and fold is not None:
            offset = self.mean * fold if self.projection is None else self.mean.astype(np.float64) @ fold.astype(np.float64)
        return _float32(fold), None if offset is None else _float32(np.clip(offset, -LARGEST, LARGEST))

    def _input_width(self) -> int | None:
        for part in (self.mean, self.scale, self.projection):
            if part is not None:
                return int(part.shape[0])
        return None


def _limit(fold: Array | None) -> Array | float:
    """The largest size of each feature's numbers: LARGEST, or (d,) float32 at most that."""
    if fold is None:
        return LARGEST
    wide = np.abs(fold).reshape(len(fold), -1).max(axis=1).astype(np.float64)
    terms = len(fold) if fold.ndim == 2 else 1
    limits = np.minimum(LARGEST, LARGEST_PRODUCT / (terms * np.maximum(wide, 1.0)))
    return LARGEST if (limits == LARGEST).all() else limits.astype(np.float32)


def _float32(part: Array | None) -> Array | None:
    return None if part is None else np.ascontiguousarray(part, dtype=np.float32)


def unit_rows(z: Array, scale: Array | None = None) -> Array:
    """`z` (n, k) float32 with every row, times `scale` (k,) float64, brought in place to unit L2 norm; zero rows stay zero.

    In float64, where no square of a float32 number over- or underflows. Rounded to float32 again, a row's norm may be above 1
    by 2⁻²⁴: what a guarantee leans on is clipped once more (`engine.gradient.within_unit_ball`, or the gradient's own clip).
    """
    for start in range(0, len(z), CHUNK_ROWS):
        rows = z[start : start + CHUNK_ROWS].astype(np.float64)
        if scale is not None:
            rows *= scale
        norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        z[start : start + CHUNK_ROWS] = rows * np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)[:, None]
    return z
