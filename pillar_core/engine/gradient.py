"""Clipped gradient sums of linear softmax heads, many heads at once.

For a row z and residual r = softmax(Wz + b) − onehot(y), the gradient is r ⊗ z (and r for the
bias), a rank-one matrix of norm ‖r‖·√(‖z‖² + 1): norms need no per-example gradient and a clipped
sum is one matrix product with scaled residuals. Logits are kept class-major, (H, C, n): softmax
over a short last axis was measured twenty times slower.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from pillar_core.deferred import torch
from pillar_core.grouping import slices

UNIT = 2.0**-24
"""Largest relative rounding error of one float32 operation."""
ROUNDING_GUARD = 1e-6
"""Clip factors are lowered by this fraction, and by TERM_GUARD for each term of a float32 sum of
squares.

A norm ‖r‖·‖z‖ is off by half a UNIT for each rounding in its square (‖z‖² from float64, squares,
product, bias), by four for rsqrt (a GPU's), and clip norm, factor and scaled residual by one each:
ten UNITs, 6e-7, hold no row above the clip norm. Sums of n clipped rows in float64 are exact to
n²·2⁻⁵³ of it, 2e-7 for 45,000 rows. (Sums in float32 can be made to move by many times the clip
norm when one ordinary row leaves: Casacuberta et al. 2022.)"""
TERM_GUARD = UNIT / 2
"""A float32 sum of m squares, in any order, is at least 1 − m·UNIT of the true one (Higham 2002,
section 4.2), its root 1 − m·UNIT/2."""
SMALLEST_NORMAL = 2.0**-126
"""Added to each square, so that squares that underflow count for more than they are, never for
less."""
WIDE = 256
"""Numbers of a row from which on the next one begins an odd number of a cache's lines later: rows a
power of two apart would evict each other."""
LONGEST_ROW = 1e4
"""Longer rows have the logits that they would have at this norm: rounding, which hangs on how many
rows there are, would decide them."""
LONGEST_HEAD = 1e8
"""A class's weights that are longer count as that long: they are releases already, so this is
post-processing."""
SMALL_PRODUCT = 1_000_000
"""Multiply-adds of a product that OpenBLAS makes without packing its matrices first."""
SUM_ROWS, SUM_FLOATS, SUM_ROWS_DEVICE = 2048, 1 << 17, 1 << 17
"""Rows, and numbers of wide ones, that are widened to float64 at a time: what is cast stays in a
core's second-level cache and on pages that the process has already; a GPU wants long products."""
LONG_PASS = 1 << 23
"""Numbers of rows from which half as many are widened at a time: small products are faster still,
and what shorter passes add up to stays as it was, to the last bit. Sums of whole numbers hang on no
order, so that theirs are always cut so."""


@np.errstate(all="ignore")  # rows that are not finite are taken out later
def exact_products(heads: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
    """(R, n) float64 products of heads (R, k) with float32 rows z (n, k).

    What is made of a row must be a function of that row alone. In float32 it is not: sums that
    climb and fall are off by 1e-4 where both are 60 long, equal rows by the same, and which kernel
    adds them up hangs on how many rows there are.
    """
    exact = heads.double()
    if z.shape[0] <= part_rows(z, len(heads)):
        return torch.as_tensor(_product(in_numpy(exact), in_numpy(z.double().T)))
    products = torch.empty((len(heads), len(z)), dtype=torch.float64, device=z.device)
    left, made = in_numpy(exact), in_numpy(products)
    for part, rows in wide_parts(z, len(heads)):
        made[:, part] = _product(left, rows.T)
    return products


def part_rows(z: torch.Tensor, heads: int) -> int:
    """How many rows are taken at a time for products with so many heads."""
    if z.device.type != "cpu":
        return SUM_ROWS_DEVICE
    k = max(z.shape[1], 1)
    small = SMALL_PRODUCT // (heads * k)
    most = small if small >= 32 else SUM_ROWS
    if z.dtype == torch.float64:
        return most
    is_free = z.numel() > LONG_PASS or not z.is_floating_point()
    if 32 <= small < SUM_FLOATS // k and is_free:
        return max(32, SUM_FLOATS // 2 // k)
    return min(SUM_ROWS, max(32, SUM_FLOATS // k), most)


def wide_parts(z: torch.Tensor, heads: int) -> Iterator[tuple[slice, Any]]:
    """The rows in float64, a part at a time, with its place: numpy's on a CPU, where torch's calls
    would take a fifth of a step."""
    size = part_rows(z, heads)
    rows = z if z.dtype == torch.float64 else WideRows(z, most=size)
    return ((part, in_numpy(rows[part])) for part in slices(len(z), size))


class WideRows:
    """Rows z (n, k) in float64, up to `most` of them at a time, always at one place: new pages each
    time would take as long as the sum. bias: with one more number, a 1."""

    def __init__(self, z: torch.Tensor, *, most: int, bias: bool = False) -> None:
        self._z, width = z, z.shape[1] + bias
        stride = width if width < WIDE else (width + 7) // 16 * 16 + 8
        self._place = z.new_ones((min(len(z), most), stride), dtype=torch.float64)[:, :width]

    def __getitem__(self, places: Any) -> torch.Tensor:
        rows, place, end = in_numpy(self._z), in_numpy(self._place), 0
        is_whole = isinstance(places, slice) or isinstance(rows, torch.Tensor)
        for part in [places] if is_whole else places.split(part_rows(self._z, 1)):
            taken = rows[part] if is_whole else rows.take(part.numpy(), 0, mode="clip")
            start, end = end, end + len(taken)
            place[start:end, : rows.shape[1]] = taken
        return self._place[:end]


def in_numpy(values: torch.Tensor) -> Any:
    """The same numbers as numpy's, where they lie on a CPU."""
    return values.numpy() if values.device.type == "cpu" else values


def _product(left: Any, right: Any) -> Any:
    """left @ right, both numpy's or torch's."""
    if isinstance(right, torch.Tensor) or _is_small(left, right):
        return left @ right
    return (torch.from_numpy(left) @ torch.from_numpy(right)).numpy()


def _in_float64(values: Any) -> Any:
    return values.double() if isinstance(values, torch.Tensor) else values.astype(np.float64)


def _is_small(left: Any, right: Any) -> bool:
    """Whether numpy makes their product, whose library takes half the time of torch there."""
    return isinstance(right, np.ndarray) and len(left) * right.size <= SMALL_PRODUCT


def cross_entropy_residuals(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """softmax − onehot. logits: (H, C, n) float32; labels: (n,) int64."""
    residuals = torch.softmax(logits, dim=1)
    index = labels.expand(residuals.shape[0], 1, -1)
    return residuals.scatter_add_(1, index, residuals.new_full((), -1.0).expand_as(index))


def bounded_logits(
    z: torch.Tensor, squared_rows: torch.Tensor, weights: torch.Tensor
) -> torch.Tensor:
    """Logits (H, C, n) less the largest of each row, as if no row were longer than LONGEST_ROW and
    no head than LONGEST_HEAD.

    z: (n, k) rows with squared norms squared_rows (n,); weights: (H, C, k). Rounded to float32 when
    the largest is taken away, they move no share of a class by more than a few UNITs.
    """
    heads, classes, k = weights.shape
    flat = weights.reshape(heads * classes, k).double()
    if z.device.type != "cpu" or not float(weights.norm()) <= LONGEST_HEAD / 2:
        flat = flat.renorm(2, 0, LONGEST_HEAD)
    logits = exact_products(flat, z).view(heads, classes, -1)
    if z.device.type != "cpu" or (
        z.shape[0] and not float(squared_rows.max()) <= LONGEST_ROW**2
    ):  # a GPU would wait for the answer
        logits *= (LONGEST_ROW * torch.rsqrt(squared_rows.double())).clamp_(max=1.0)
    return logits.sub_(logits.amax(1, keepdim=True)).float()


def squared_lengths(z: torch.Tensor) -> torch.Tensor:
    """(n,) float32 squared norms of rows z (n, k), summed in float64: in float32 those of 8,192
    numbers were 2.4e-5 too small."""
    squares = z.new_empty(len(z), dtype=torch.float32)
    for part, rows in wide_parts(z, 1):
        squares[part] = torch.linalg.vector_norm(torch.as_tensor(rows), dim=1).square_()
    return squares


def squared_residuals(residuals: torch.Tensor, dim: int) -> torch.Tensor:
    """Σ over classes of squared residuals; not below the true one where squares underflow, else the
    same to the last bit."""
    return residuals.square().sum(dim).add_(residuals.shape[dim] * SMALLEST_NORMAL)


def within_unit_ball(rows: torch.Tensor) -> torch.Tensor:
    """(n, k) float64 rows of norm at most 1, for what is summed itself; a row that is not finite
    becomes 0."""
    norms = torch.linalg.vector_norm(rows, dim=1, keepdim=True, dtype=torch.float64)
    return torch.where(
        norms < math.inf, rows.double() * ((1 - ROUNDING_GUARD) / norms.clamp(min=1.0)), 0.0
    )


def clip_factors(
    squared_norms: torch.Tensor, clip: torch.Tensor, *, terms: int = 0
) -> torch.Tensor:
    """min(1, clip/norm) for every head and row, 0 where a norm is not finite. squared_norms: (H,
    n); clip: (H,).

    terms: how many float32 numbers were added up in each squared norm.
    """
    factors = (
        torch.rsqrt(squared_norms)
        .mul_(clip[:, None] * (1 - ROUNDING_GUARD - terms * TERM_GUARD))
        .clamp_(max=1.0)
    )
    return factors.nan_to_num_(nan=0.0)  # of an infinite norm the root is 0 already


def clipped_residuals(
    residuals: torch.Tensor, squared_norms: torch.Tensor, clip: torch.Tensor, *, more_terms: int = 0
) -> tuple[torch.Tensor, torch.Tensor]:
    """(residuals (H, C, n) scaled so that every row keeps to the clip norm, the factors (H, n)).

    more_terms: numbers that were added up in the squared norms, besides the C squared residuals. A
    row whose norm is not finite becomes 0: NaN in one row must not reach the sum.
    """
    factors = clip_factors(squared_norms, clip, terms=residuals.shape[1] + more_terms)
    if squared_norms.device.type != "cpu" or not math.isfinite(
        float(squared_norms.sum())
    ):  # a GPU would wait for the answer
        residuals = torch.where((factors > 0)[:, None], residuals, 0.0)
    return residuals.mul_(factors[:, None]), factors


@np.errstate(all="ignore")
def row_sum(
    residuals: torch.Tensor, z: torch.Tensor, total: torch.Tensor | None = None
) -> torch.Tensor:
    """Σ_i residual_i ⊗ z_i, (R, k) float64: products of float32 numbers are exact there. residuals:
    (R, n); z: (n, k). total: what they are added to, in place."""
    values = in_numpy(residuals)
    for part, rows in wide_parts(z, len(residuals)):
        left = values[:, part]
        if total is None or _is_small(left, rows):
            product = _product(_in_float64(left), rows)
            if total is None:
                total = torch.as_tensor(product)
            else:
                sums = in_numpy(total)
                sums += product
        else:  # a product of its own would be written and read once more
            total.addmm_(torch.as_tensor(_in_float64(left)), torch.as_tensor(rows))
    if total is None:
        return torch.zeros((len(residuals), z.shape[1]), dtype=torch.float64, device=z.device)
    return total


def clipped_sum(
    z: torch.Tensor,
    squared_rows: torch.Tensor,
    labels: torch.Tensor,
    weights: torch.Tensor,
    clip: torch.Tensor,
    total: torch.Tensor | None = None,
) -> torch.Tensor:
    """Σ_i clip(g_i) for every head, (H, C, k) float64. total: what it is added to, in place.

    z: (n, k) float32 rows, wide or not, with squared norms squared_rows (n,); a bias is the weight
    of a last number, 1. labels: (n,) int64; weights: (H, C, k); clip: (H,) float32. A row whose
    residual is not finite contributes 0.
    """
    heads, classes, k = weights.shape
    if z.shape[0] <= part_rows(z, heads * classes):
        z = z.double()  # once for both products
    residuals = cross_entropy_residuals(bounded_logits(z, squared_rows, weights), labels)
    squared_norms = squared_residuals(residuals, 1) * squared_rows
    residuals, _ = clipped_residuals(residuals, squared_norms, clip)
    flat = None if total is None else total.view(heads * classes, k)
    return row_sum(residuals.view(heads * classes, -1), z, flat).view(heads, classes, k)
