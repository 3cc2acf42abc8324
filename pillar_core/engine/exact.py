"""Clipped gradient sums in whole numbers: each row's term is a function of that row and the
released head alone, to the last bit.

Guarantee: a term is r ⊗ u with whole numbers ‖u‖ ≤ U and ‖r‖ ≤ R, both checked in whole numbers;
one that fails is 0. So a row moves the sum by at most U·R units, which stand for the clip norm.
Before the checks a row meets only operations of IEEE 754 on single numbers (+, −, ×, ÷, √,
rounding), sums in one fixed order, a public table for exp, and products of whole numbers below 2⁵³,
which are exact in any order of summation. docs/accounting.md has the proof.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Sequence

import numpy as np

from pillar_core import rng
from pillar_core.arrays import Array
from pillar_core.deferred import torch
from pillar_core.engine.gradient import (
    LONGEST_HEAD,
    SUM_FLOATS,
    SUM_ROWS,
    SUM_ROWS_DEVICE,
    exact_products,
    row_sum,
)
from pillar_core.errors import SettingError, UnsupportedError
from pillar_core.grouping import slices
from pillar_core.splits.transform import CHUNK_ROWS, LateRows, rows_at_once, squared_norms

ROW_UNITS, WIDE_ROW_UNITS, WIDE = 1 << 12, 1 << 14, 2048
"""U, and U of rows of at least WIDE numbers."""
RESIDUAL_UNITS = 1 << 12
"""R, the longest clipped residual."""
SCALE_UNITS, SPREAD = 1 << 6, 1 << 5
"""Of the largest scale of an entry, and of the longest row whose entries are scaled, where rows are
clipped."""
SHARE_UNITS = 1 << 20
"""A probability of 1 before the clip."""
FINENESS, LARGEST_GAP = 1 << 12, 16
"""Entries of the table of exp for each 1 in a logit, and the gap below the largest logit from which
on a class's share is 0."""
FLOATS = 1 << 17
"""Logits at a time on a CPU."""
MADE_ROWS = 1 << 13
"""Rows made at a time where they are late: few enough to need little memory, many enough that what
is done once for each such part takes no time."""
SMALLEST_SCALE = 2.0**-100
MOST_UNITS = 1 << 62
SUM_UNITS = 1 << 24
"""Of the longest row where rows themselves are summed."""


@dataclasses.dataclass(frozen=True, eq=False)
class IntegerRows:
    """Rows (n, k) as scale · units: units (n, k) int16, whole numbers of norm at most `most`;
    scale (n,) float64."""

    units: torch.Tensor
    scale: torch.Tensor
    most: int

    @property
    def sensitivity(self) -> int:
        """U·R: the units that a clip norm is counted in."""
        return self.most * RESIDUAL_UNITS


def integer_rows(z: Array | LateRows, *, bias: bool = False) -> IntegerRows:
    """Rows z (n, k) float32 on a grid of their own; bias: with one more number, a 1. A row that is
    not finite counts as 0.

    Raises SettingError for so many rows or numbers that a sum of theirs could leave 64 bits.
    """
    n, width = len(z), z.shape[1] + bias
    most = WIDE_ROW_UNITS if width >= WIDE else ROW_UNITS
    reach = most - math.sqrt(width) / 2 - 1  # rounding lengthens a row by at most √width / 2
    refuse(n, width, most * RESIDUAL_UNITS)
    units, scale = np.empty((n, width), dtype=np.int16), np.empty(n)
    size = rows_at_once(width)
    wide = np.ones((2, min(n, size), width))
    for block in slices(n, MADE_ROWS):
        given, made, lengths = z[block], units[block], scale[block]
        for part in slices(len(given), size):
            rows, squares = wide[:, : len(given[part])]
            rows[:, : z.shape[1]], rows[:, z.shape[1] :] = given[part], 1.0
            norms = np.sqrt(squared_norms(rows, squares))
            rows[~np.isfinite(norms)] = norms[~np.isfinite(norms)] = 0.0
            rows *= np.divide(reach, norms, out=np.zeros_like(norms), where=norms > 0)[:, None]
            np.rint(rows, out=rows)
            rows[np.einsum("ij,ij->i", rows, rows) > most**2] = 0.0
            made[part], lengths[part] = rows, norms / reach
    return IntegerRows(torch.from_numpy(units), torch.from_numpy(scale), most)


def clipped_sum(
    rows: IntegerRows,
    labels: torch.Tensor,
    state: torch.Tensor,
    norms: Sequence[float],
    picked: torch.Tensor | None = None,
    *,
    scaling: torch.Tensor | None = None,
) -> torch.Tensor:
    """(H, C, k) int64: Σ clip(gradient) of softmax heads `state` (H, C, k), of each head in units
    of its norm / rows.sensitivity.

    labels: (n,) int64; norms: H clip norms; picked: (m,) int64, the rows of the sum (None: all).
    scaling: (H, C, k) above 0, multiplies gradients before the clip; units are then SCALE_UNITS
    times as many.
    """
    heads, classes, _ = state.shape
    device, units, scales = state.device, rows.units, rows.scale
    if picked is not None:
        units, scales, labels = (part.index_select(0, picked) for part in (units, scales, labels))
    per_unit = torch.tensor(
        [rows.sensitivity / SHARE_UNITS / norm for norm in norms],
        dtype=torch.float64,
        device=device,
    )
    weights, steps = _integer_heads(state)
    table = _exponentials(str(device))
    total = torch.zeros((heads * classes, units.shape[1]), dtype=torch.int64, device=device)
    entries, spread = None, 1
    if scaling is not None:
        refuse(len(labels), units.shape[1], rows.sensitivity * SCALE_UNITS)
        wide = torch.nan_to_num(scaling.double(), nan=1.0).clamp(SMALLEST_SCALE, 1 / SMALLEST_SCALE)
        largest = wide.amax((1, 2))
        per_unit *= largest
        entries = (
            (wide * (SCALE_UNITS / largest)[:, None, None]).round_().clamp_(min=1.0).flatten(0, 1)
        )
        spread = SPREAD
    size = (
        SUM_ROWS_DEVICE if device.type != "cpu" else min(SUM_ROWS, max(256, FLOATS // len(weights)))
    )
    reach = (RESIDUAL_UNITS - math.sqrt(classes) / 2 - 1) * spread
    for part in slices(len(labels), size):
        few = units[part]
        if few.numel() <= SUM_FLOATS:
            few = few.double()  # once for all products
        logits = _products(weights, few).view(heads, classes, -1)
        gaps = (logits.amax(1, keepdim=True) - logits).mul_(
            (FINENESS * steps[:, None] * scales[part])[:, None]
        )
        shares = table.index_select(
            0, gaps.round_().clamp_(max=FINENESS * LARGEST_GAP).int().flatten()
        ).view_as(gaps)
        residuals = shares.mul_(SHARE_UNITS / shares.sum(1, keepdim=True)).round_()
        index = labels[part].expand(heads, 1, -1)
        residuals.scatter_add_(1, index, residuals.new_full((), -SHARE_UNITS).expand(index.shape))
        # squared lengths of a scaled row by class, rounded up, with SPREAD for U·SCALE_UNITS
        lengths = None
        if entries is not None:
            lengths = _products(entries.square(), few.double().square()).mul_(
                (SPREAD / rows.most / SCALE_UNITS) ** 2
            )
            lengths = lengths.ceil_().clamp_(min=1.0).view(heads, classes, -1)
        squares = _squares(residuals, lengths)
        roots = squares.sqrt().floor_()
        roots += (
            roots.square() < squares
        )  # rounded up in whole numbers, whichever way a vector library rounds roots
        factors = torch.minimum(per_unit[:, None] * scales[part], reach / roots)
        residuals.mul_(factors[:, None]).round_()
        residuals.mul_((_squares(residuals, lengths) <= (spread * RESIDUAL_UNITS) ** 2)[:, None])
        total += _sum(residuals.view(heads * classes, -1), few).long()
    if entries is not None:
        total *= entries.long()
    return total.view(heads, classes, -1)


def _squares(residuals: torch.Tensor, lengths: torch.Tensor | None) -> torch.Tensor:
    """(H, n) squared norms of residuals (H, C, n), times the squared lengths of their rows where
    these differ between classes."""
    squares = residuals.square()
    return (squares if lengths is None else squares.mul_(lengths)).sum(1)


def class_sums(z: Array, y: Array, *, n_classes: int, count_weight: float = 0.0) -> torch.Tensor:
    """(C, k + 1) int64 sums over each class's unit rows z (n, k) of (u, c₀), without the last
    column where c₀ = 0.

    In units of √(1 + c₀²)/SUM_UNITS. A row with ‖u‖ > 1, or that is no number, adds 0.
    """
    width, per_one = z.shape[1] + (count_weight > 0), SUM_UNITS / math.sqrt(1.0 + count_weight**2)
    refuse(len(z), width, SUM_UNITS)
    reach = (
        per_one * (1 - 2.0**-20) - math.sqrt(width) / 2
    )  # float32 leaves unit rows 2⁻²⁴ too long, rounding √width / 2
    total = np.zeros((n_classes, width), dtype=np.int64)
    for part in slices(len(z), CHUNK_ROWS):
        rows = np.full(
            (len(z[part]), width),
            math.floor(count_weight * per_one * (1 - 2.0**-20)),
            dtype=np.float64,
        )
        units = np.rint(z[part] * np.float64(reach))
        rows[:, : z.shape[1]] = units
        rows[~(np.square(units).sum(axis=1) <= math.floor(per_one**2) - 1)] = 0.0
        for label in range(n_classes):
            total[label] += rows[y[part] == label].sum(axis=0).astype(np.int64)
    return torch.from_numpy(total)


def refuse(n: int, width: int, units: int) -> None:
    """Raises where whole numbers of n rows of `width` numbers could leave 64 bits, or numpy's
    products are not exact."""
    if not has_exact_products("numpy"):  # which projected the rows
        raise UnsupportedError(
            "an exact release needs a numpy whose float64 products of whole numbers are exact:"
            " install another BLAS."
        )
    if n * units > MOST_UNITS or math.sqrt(width) > math.sqrt(units) / 2:
        raise SettingError(
            f"an exact release takes sums of fewer rows or numbers than {n:,} × {width:,}."
        )


def _integer_heads(state: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """((H·C, k) float64 whole numbers, (H,) the power of two that each head was divided by)."""
    weights = torch.nan_to_num(state.double()).clamp_(-LONGEST_HEAD, LONGEST_HEAD)
    longest = torch.linalg.vector_norm(weights, dim=2).amax(1)
    steps = torch.ldexp(
        torch.ones_like(longest), torch.frexp(longest).exponent - 36
    )  # 36 bits of the longest class's weights
    return (weights / steps[:, None, None]).round_().flatten(0, 1), steps


@functools.cache
def _exponentials(device: str) -> torch.Tensor:
    """Whole numbers near 2²⁰·exp(−gap), one for each gap on the grid; the last is 0."""
    gaps = np.arange(FINENESS * LARGEST_GAP + 1) / FINENESS
    return torch.from_numpy(np.append(np.rint(SHARE_UNITS * np.exp(-gaps[:-1])), 0.0)).to(device)


def _products(heads: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    """(R, n) float64 products of whole heads (R, k) and rows (n, k); exact, because ‖head‖·‖row‖ <
    2⁵³ bounds the sum of any terms."""
    if has_exact_products(str(heads.device)):
        return exact_products(heads, rows)
    return (heads.cpu().long() @ rows.cpu().long().T).to(heads)


def _sum(residuals: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    """(R, k) float64 sums of whole residuals (R, n) times rows (n, k), exact as well."""
    if has_exact_products(str(residuals.device)):
        return row_sum(residuals, rows)
    return (residuals.cpu().long() @ rows.cpu().long()).to(residuals)


@functools.cache
def has_exact_products(device: str) -> bool:
    """Whether float64 products on this device, or "numpy", are those of whole numbers: some emulate
    float64 with fewer bits."""
    generator = rng.stream(0, "products of whole numbers")
    for shape, largest in (
        ((20, 160, 512), (1 << 33, 1 << 10)),
        ((20, 2048, 160), (1 << 21, 1 << 20)),
        ((3, 5, 1), (1 << 38, 1 << 12)),
    ):
        left, right = (
            torch.from_numpy(generator.integers(-most, most, size, endpoint=True))
            for most, size in zip(largest, (shape[:2], shape[1:]), strict=True)
        )
        of_numpy = device == "numpy"
        floats = [
            part.double().numpy() if of_numpy else part.double().to(device)
            for part in (left, right)
        ]
        if not torch.equal(torch.as_tensor(floats[0] @ floats[1]).cpu().long(), left @ right):
            return False
    return True
