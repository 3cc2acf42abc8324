"""Per-example gradients, the top right singular directions of their matrix, and the angles between
two such spaces.

Up to `GRAM_PARAMETERS` columns the rows fit in memory and the answer is exact, through the (m, m)
Gram matrix. Wider ones come as chunks that are produced twice: a randomised SVD of two passes
(Halko, Martinsson & Tropp 2011, Algorithm 5.1 without power iterations), whose memory is p·(k +
OVERSAMPLING) numbers.

Principal angles and the projection metric made of them: gsd, Definition 3 (Ham & Lee 2008; Edelman
et al. 1998), d = (Σ sin²θ)^½ = (k − ‖V₁ᵀV₂‖²_F)^½ in [0, √k]; the paper's tables are d/√k in [0,
1], here "normalised".

Of a few anchor gradients G (m, p) with G Gᵀ = U Λ Uᵀ, the columns of V = Gᵀ A, A = U_k Λ_k^(−1/2),
are orthonormal and span the top k right singular directions. For a linear head g_i = r_i ⊗ z_i, so
(G Gᵀ)_ij = (r_i·r_j)(z_i·z_j): p never appears.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from pillar_core.arrays import Array
from pillar_core.deferred import torch
from pillar_core.errors import DataError
from pillar_core.rng import stream

GRAM_PARAMETERS = 100_000
OVERSAMPLING = 32
RANK_TOLERANCE = 1e-7
"""Eigenvalues of the Gram matrix below this fraction of the largest are rounding errors of float32
gradients."""
ANCHOR_TOLERANCE = 1e-6
"""Of anchors: directions whose eigenvalue is below this fraction of the largest are dropped:
float32 gradients do not resolve them."""
BLOCK = 512


@dataclasses.dataclass(frozen=True, eq=False)
class Directions:
    """basis: (p, k) float64 orthonormal, most important first; values: float64 singular values,
    falling, at least k of them."""

    basis: Array
    values: Array


def gram(rows: torch.Tensor) -> torch.Tensor:
    """(m, m) float32 inner products of the rows (m, p), block by block below the diagonal."""
    m = len(rows)
    result = torch.empty(m, m)
    for start in range(0, m, BLOCK):
        stop = min(start + BLOCK, m)
        result[start:stop, :stop] = rows[start:stop] @ rows[:stop].T
        result[:start, start:stop] = result[start:stop, :start].T
    return result


def top_directions(
    rows: torch.Tensor, k: int, *, products: torch.Tensor | None = None
) -> Directions:
    """The exact top k right singular directions of `rows` (m, p) float32; `products` is their Gram
    matrix where known.

    Raises DataError for fewer rows than k, or a rank below k.
    """
    m = len(rows)
    if m < k:
        raise DataError(
            f"k must be at most the number of examples, {m}; got {k}. Lower k or bring more"
            " examples."
        )
    inner = (gram(rows) if products is None else products).double().numpy()
    largest, vectors = top_eigenpairs(inner, k)
    rank = int((largest > RANK_TOLERANCE * max(float(largest[0]), np.finfo(np.float64).tiny)).sum())
    if rank < k:
        raise DataError(
            f"the gradients span only {rank} directions, fewer than k = {k}: many examples are"
            " alike. Lower k."
        )
    coefficients = torch.from_numpy(np.ascontiguousarray(vectors / np.sqrt(largest)))
    spanned = (rows.T @ coefficients.to(rows.dtype)).double().numpy()
    basis, triangle = np.linalg.qr(spanned)
    signs = np.where(
        np.diag(triangle) < 0, -1.0, 1.0
    )  # as given, so that equal rows give equal bases
    return Directions(np.asarray(basis * signs), np.sqrt(largest))


def top_eigenpairs(matrix: Array, k: int) -> tuple[Array, Array]:
    """((k,) falling, (m, k) columns) float64: the largest eigenvalues of a symmetric, finite matrix
    (m, m), and their vectors."""
    from scipy.linalg import eigh

    m = len(matrix)
    values, vectors = eigh(matrix, subset_by_index=[m - k, m - 1], check_finite=False)
    return values[::-1], vectors[:, ::-1]


def singular_values(products: torch.Tensor) -> Array:
    """(m,) float64 singular values, falling, of rows with the Gram matrix `products`."""
    values = np.linalg.eigvalsh(products.double().numpy())[::-1]
    return np.sqrt(np.maximum(values, 0.0))


def streamed_directions(
    chunks: Callable[[], Iterable[torch.Tensor]], k: int, *, seed: int = 0
) -> Directions:
    """The top k directions of rows that `chunks()` yields anew for each of two passes, (c, p)
    float32 each.

    Raises DataError for fewer rows than k, or a rank below k.
    """
    test_matrix: torch.Tensor | None = None
    sketched: list[torch.Tensor] = []
    for chunk in chunks():
        if test_matrix is None:
            draws = stream(seed, "range finder").standard_normal(
                (chunk.shape[1], k + OVERSAMPLING), dtype=np.float32
            )
            test_matrix = torch.from_numpy(draws)
        sketched.append(chunk @ test_matrix)
    sketch = torch.cat(sketched).double()
    if len(sketch) < k:
        raise DataError(
            f"k must be at most the number of examples, {len(sketch)}; got {k}. Lower k or bring"
            " more examples."
        )
    left = torch.linalg.qr(sketch)[0].float()
    total, start = torch.zeros(1), 0
    for chunk in chunks():
        total, start = total + left[start : start + len(chunk)].T @ chunk, start + len(chunk)
    return top_directions(total, k)


CHUNK_NUMBERS = 64_000_000
"""Gradient numbers per chunk: a quarter of a gigabyte of float32."""
LARGEST_CHUNK = 64


def gradient_chunks(
    module: torch.nn.Module,
    inputs: Any,
    labels: torch.Tensor,
    *,
    names: Sequence[str] | None = None,
    read: Callable[[Any], torch.Tensor] | None = None,
    at_once: int = LARGEST_CHUNK,
) -> Iterator[torch.Tensor]:
    """(c, p) float32 gradients of each example's own cross-entropy, chunk after chunk.

    module: a network without batch statistics; inputs: (m, …), of which `read` (None: none needed)
    makes a chunk float32 in its turn; labels: (m,) int64; names: the parameters that are
    differentiated (None: all), the others stay frozen; at_once: examples in a chunk at most.
    """
    every = dict(module.named_parameters())
    chosen = {
        name: value.detach() for name, value in every.items() if names is None or name in names
    }
    frozen = {name: value.detach() for name, value in every.items() if name not in chosen} | dict(
        module.named_buffers()
    )

    def loss(parameters: dict[str, torch.Tensor], x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        logits = torch.func.functional_call(module, {**parameters, **frozen}, (x.unsqueeze(0),))
        return torch.nn.functional.cross_entropy(logits, y.unsqueeze(0))

    rows = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))
    size = max(
        1, min(at_once, CHUNK_NUMBERS // max(1, sum(value.numel() for value in chosen.values())))
    )
    for start in range(0, len(inputs), size):
        parts = rows(
            chosen,
            (read or torch.as_tensor)(inputs[start : start + size]),
            labels[start : start + size],
        )
        yield torch.cat([parts[name].flatten(1) for name in chosen], dim=1)


SAME = 1e-12
"""Squared cosines this close to 1 count as 1: float64 bases of one subspace differ by about 1e-15,
and sin² would show it."""


def cosines(first: Array, second: Array) -> Array:
    """(k,) float64 cosines of the principal angles, largest first, in [0, 1]. Arguments: (p, k)
    orthonormal bases.

    Raises DataError where the bases have different shapes.
    """
    if first.shape != second.shape:
        raise DataError(
            "two subspaces are compared in one space and dimension; got bases of shapes"
            f" {first.shape} and {second.shape}."
        )
    product = np.asarray(first, dtype=np.float64).T @ np.asarray(second, dtype=np.float64)
    values: Array = np.clip(np.linalg.svd(product, compute_uv=False), 0.0, 1.0)
    values[values**2 > 1 - SAME] = 1.0
    return values


def projection_distance(first: Array, second: Array, *, normalised: bool = True) -> float:
    """The projection metric of two (p, k) orthonormal bases: in [0, 1], or in [0, √k] where not
    normalised. Equal spaces give 0."""
    values = cosines(first, second)
    sines = math.fsum(1.0 - value * value for value in values)
    return math.sqrt(sines / len(values) if normalised else sines)


def random_distance(k: int, dimension: int) -> float:
    """The normalised distance that two independent uniform k-subspaces of R^dimension show: √(1 −
    k/dimension) in root mean square."""
    return math.sqrt(max(0.0, 1.0 - k / dimension))


def rank_one_gram(residuals: torch.Tensor, row_products: Array) -> Array:
    """(m, m) float64 inner products of the gradients r_i ⊗ z_i. residuals: (C, m); row_products:
    (m, m) float64 z_i·z_j."""
    wide = residuals.double().numpy()
    return np.asarray((wide.T @ wide) * row_products)


def anchor_coefficients(gram: Array, k: int) -> Array:
    """A (m, k) float64 with V = Gᵀ A orthonormal, most important first; columns past the rank are
    0.

    gram: (m, m) float64, the anchors' inner products; k at most m.
    """
    values, vectors = top_eigenpairs(gram, k)
    keep = values > ANCHOR_TOLERANCE * max(float(values[0]), np.finfo(np.float64).tiny)
    scale = np.divide(1.0, np.sqrt(np.maximum(values, 0.0)), out=np.zeros_like(values), where=keep)
    return np.asarray(vectors * scale)
