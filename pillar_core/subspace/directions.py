"""The top right singular directions of a matrix of per-example gradients.

Up to `GRAM_PARAMETERS` columns the rows fit in memory and the answer is exact, through the (m, m) Gram matrix. Wider ones
come as chunks that are produced twice: a randomised SVD of two passes (Halko, Martinsson & Tropp 2011, Algorithm 5.1 without
power iterations), whose memory is p·(k + OVERSAMPLING) numbers.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable

import numpy as np

from pillar_core.arrays import Array
from pillar_core.deferred import torch
from pillar_core.errors import DataError
from pillar_core.rng import stream

GRAM_PARAMETERS = 100_000
OVERSAMPLING = 32
RANK_TOLERANCE = 1e-7
"""Eigenvalues of the Gram matrix below this fraction of the largest are rounding errors of float32 gradients."""
BLOCK = 512


@dataclasses.dataclass(frozen=True, eq=False)
class Directions:
    """basis: (p, k) float64 orthonormal, most important first; values: float64 singular values, falling, at least k of them."""

    basis: Array
    values: Array
    passes: int


def gram(rows: torch.Tensor) -> torch.Tensor:
    """(m, m) float32 inner products of the rows (m, p), block by block below the diagonal."""
    m = len(rows)
    result = torch.empty(m, m)
    for start in range(0, m, BLOCK):
        stop = min(start + BLOCK, m)
        result[start:stop, :stop] = rows[start:stop] @ rows[:stop].T
        result[:start, start:stop] = result[start:stop, :start].T
    return result


def top_directions(rows: torch.Tensor, k: int, *, products: torch.Tensor | None = None) -> Directions:
    """The exact top k right singular directions of `rows` (m, p) float32; `products` is their Gram matrix where known.

    Raises:
        DataError: fewer rows than k, or a rank below k.
    """
    from scipy.linalg import eigh

    m = len(rows)
    if m < k:
        raise DataError(f"k must be at most the number of examples, {m}; got {k}. Lower k or bring more examples.")
    inner = (gram(rows) if products is None else products).double().numpy()
    largest, vectors = eigh(inner, subset_by_index=[m - k, m - 1], check_finite=False)
    largest, vectors = largest[::-1], vectors[:, ::-1]
    rank = int((largest > RANK_TOLERANCE * max(float(largest[0]), np.finfo(np.float64).tiny)).sum())
    if rank < k:
        raise DataError(f"the gradients span only {rank} directions, fewer than k = {k}: many examples are alike. Lower k.")
    coefficients = torch.from_numpy(np.ascontiguousarray(vectors / np.sqrt(largest)))
    spanned = (rows.T @ coefficients.to(rows.dtype)).double().numpy()
    return Directions(_orthonormal(spanned), np.sqrt(largest), 1)


def singular_values(products: torch.Tensor) -> Array:
    """(m,) float64 singular values, falling, of rows with the Gram matrix `products`."""
    values = np.linalg.eigvalsh(products.double().numpy())[::-1]
    return np.sqrt(np.maximum(values, 0.0))


def streamed_directions(chunks: Callable[[], Iterable[torch.Tensor]], k: int, *, seed: int = 0) -> Directions:
    """The top k directions of rows that `chunks()` yields anew for each of two passes, (c, p) float32 each.

    Raises:
        DataError: fewer rows than k, or a rank below k.
    """
    test_matrix: torch.Tensor | None = None
    sketched: list[torch.Tensor] = []
    for chunk in chunks():
        if test_matrix is None:
            draws = stream(seed, "range finder").standard_normal((chunk.shape[1], k + OVERSAMPLING), dtype=np.float32)
            test_matrix = torch.from_numpy(draws)
        sketched.append(chunk @ test_matrix)
    sketch = torch.cat(sketched).double()
    if len(sketch) < k:
        raise DataError(f"k must be at most the number of examples, {len(sketch)}; got {k}. Lower k or bring more examples.")
    left = torch.linalg.qr(sketch)[0].float()
    total, start = torch.zeros(1), 0
    for chunk in chunks():
        total, start = total + left[start : start + len(chunk)].T @ chunk, start + len(chunk)
    return dataclasses.replace(top_directions(total, k), passes=2)


def _orthonormal(columns: Array) -> Array:
    """The same span, orthonormal in float64; signs as given, so that equal rows give equal bases."""
    basis, triangle = np.linalg.qr(columns)
    signs = np.where(np.diag(triangle) < 0, -1.0, 1.0)
    result: Array = basis * signs
    return result
