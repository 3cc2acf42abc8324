"""Rows in k public directions, each a function of itself alone to the last bit: no other row moves it by way of rounding.

A matrix product adds up in an order that depends on how many rows there are and where a row stands, so in floating point a row
that comes or goes can move all others by an ulp. Where a vote or a neighbour hangs on a comparison, that could move more
than one of them. Here factors are whole numbers (of a public unit) small enough for every product and every partial sum to be
exact in float64, whatever the order; all else is done entry by entry. The results are multiples of 2⁻¹⁵ of a public power
of two, so that their squared distances are exact in float64 as well.
"""

import math

import numpy as np

from pillar_core.arrays import Array
from pillar_core.splits import Prepared, Transform, View

MANTISSA_BITS = 53
STEP = 2.0**-15
ROOM = 4.0
"""Private entries may be this many times the largest public one before they are cut; a unit row keeps its direction otherwise."""
CHUNK_ROWS = 4096


def exact_rows(view: View, *, standardise: bool | None, centre: bool | None, normalise: bool, k: int) -> Prepared:
    """Private and public rows as `View.prepare` makes them, on the grid of STEP. z, z_public: (n, k), (m, k) float32.

    Raises:
        DataError: k above the rank of the public rows, or no public rows.
    """
    transform = view.basis(standardise=standardise, centre=centre).transform(k, normalise=normalise)
    reach = ROOM * (float(np.abs(_affine(view.x_public, transform)).max(initial=0.0)) or 1.0)
    public = _projected(view.x_public, None, transform, reach)
    largest = 1.0 if normalise else float(np.abs(public).max(initial=0.0)) or 1.0
    limit = 2.0 ** math.ceil(math.log2(largest))
    return Prepared(_on_grid(_projected(view.x, view.rows, transform, reach), limit), _on_grid(public, limit), transform)


def _projected(x: Array, indices: Array | None, transform: Transform, reach: float) -> Array:
    """(n, k) float64 rows before the grid; every product sum exact."""
    projection = np.asarray(transform.projection, dtype=np.float64)
    bits = (MANTISSA_BITS - math.ceil(math.log2(max(len(projection), 2)))) // 2
    whole = np.rint(np.clip(projection, -1.0, 1.0) * 2.0**bits)
    n = len(x) if indices is None else len(indices)
    out = np.empty((n, projection.shape[1]))
    for start in range(0, n, CHUNK_ROWS):
        part = slice(start, start + CHUNK_ROWS)
        rows = _affine(x[part] if indices is None else x[indices[part]], transform) / reach
        np.matmul(np.rint(np.clip(rows, -1.0, 1.0) * 2.0**bits), whole, out=out[part])
    out *= reach * 2.0 ** (-2 * bits)
    if transform.normalise:
        lengths = _lengths(out)
        out /= np.where(lengths > 0, lengths, 1.0)[:, None]
    return out


def _affine(x: Array, transform: Transform) -> Array:
    rows = x.astype(np.float64)
    if transform.mean is not None:
        rows -= transform.mean
    if transform.scale is not None:
        rows /= transform.scale
    return rows


def _lengths(z: Array) -> Array:
    """(n,) lengths, added up column by column: the order is the same for every row."""
    squares = np.zeros(len(z))
    for column in z.T:
        squares += column * column
    return np.sqrt(squares)


def _on_grid(z: Array, limit: float) -> Array:
    on_grid: Array = (np.rint(np.clip(z / limit, -1.0, 1.0) / STEP) * (STEP * limit)).astype(np.float32)
    return on_grid
