"""Margins against k, under both conventions, at any quantile. Negative where rows lie on the wrong
side: shown, not hidden.

distance margin: y(⟨w, x⟩ + b)/‖w‖, in the rows' units (semi-private learning, appendix D). cosine
margin: y⟨w, x⟩/(‖w‖‖x‖) (PILLAR, Definition 3), with the offset b taken in as a constant feature:
for ‖w‖ = 1, rows of root mean square norm s and the constant √(|b|s), the rows become (x, √(|b|s)),
the weights (w, ±√(|b|/s)), and

    cosine = y(⟨w, x⟩ + b)/√((1 + |b|/s)(‖x‖² + |b|s)),

which has the distance's sign, lies in [−1, 1] and is PILLAR's where b = 0. The margin at quantile q
is the largest value that at least a share 1 − q of rows reach.
"""

import dataclasses
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from pillar_core import checks
from pillar_core.arrays import Array
from pillar_core.deferred import pandas as pd
from pillar_core.errors import SettingError, shown
from pillar_core.geometry.bases import Basis
from pillar_core.geometry.rows import Rows
from pillar_core.geometry.separators import REST, Separators, pairs_of, separators_of
from pillar_core.params import K, Param
from pillar_core.splits.transform import Transform

COLUMNS = ["k", "class", "quantile", "cosine_margin", "distance_margin"]
QUANTILE = Param(
    "quantile",
    float,
    0.01,
    "Share of rows allowed below the margin: 0.01 is “satisfied by 99 %”.",
    low=0,
    high=1,
    high_open=True,
)


@dataclasses.dataclass(frozen=True, eq=False)
class Coordinates:
    """Rows in a basis: z (n, r) float32, so that the first k columns serve every k; y (n,) and the
    classes' names."""

    z: Array
    y: Array
    classes: tuple[str, ...]


def coordinates(rows: Rows, basis: Basis, *, space: Transform | None = None) -> Coordinates:
    """`rows` in `space`, then in `basis`."""
    space = rows.space() if space is None else space
    transform = Transform(space.mean, space.scale, basis.vectors)
    return Coordinates(transform(rows.x), rows.y, rows.classes)


def margin_at(values: Array, quantile: float) -> float:
    """The largest v that at least a share 1 − quantile of `values` (n,) reach; the minimum for
    quantile 0.

    Raises SettingError: quantile outside [0, 1), or no values.
    """
    (values,) = checks.arrays("n", values=values)
    share = float(QUANTILE.check(quantile))  # type: ignore[arg-type]  # a checked float parameter
    if not len(values):
        raise SettingError("a margin needs at least one row.")
    place = min(int(np.floor(share * len(values) * (1 + 1e-12))), len(values) - 1)
    return float(np.partition(values, place)[place])


def refitted_margins(
    rows: Coordinates, ks: Sequence[int], *, quantile: float | Sequence[float] = 0.01
) -> "pd.DataFrame":
    """One-versus-rest margins of separators trained anew in the first k directions (semi-private
    learning, Fig. 3).

    Columns k, class, quantile, cosine_margin, distance_margin.
    """
    checks.within(ks=(ks, K))
    present = set(rows.y.tolist())
    pairs = tuple(pair for pair in pairs_of(rows.classes, "one_versus_rest") if pair[0] in present)
    lines = []
    for k in ks:
        z = np.ascontiguousarray(rows.z[:, :k])
        separators = separators_of(z, rows.y, pairs, classes=rows.classes)
        distances = z @ separators.weights.T.astype(np.float32) + separators.offsets
        squares = np.einsum("ij,ij->i", z, z)
        lines += _lines(k, distances, separators.offsets, squares, rows, separators, quantile)
    return pd.DataFrame(lines, columns=COLUMNS)


def projected_margins(
    rows: Coordinates,
    separators: Separators,
    basis: Basis,
    ks: Sequence[int],
    *,
    quantile: float | Sequence[float] = 0.01,
) -> "pd.DataFrame":
    """Margins of one separator w*, projected: y⟨A_kᵀx, A_kᵀw*⟩ over lengths (PILLAR, equation 2),
    at every k at once.

    Columns k, class, quantile, cosine_margin, distance_margin; with pairs the class reads "a – b"
    and only their rows count.
    """
    checks.within(ks=(ks, K))
    turned = separators.weights @ basis.vectors.astype(np.float64)
    lines = []
    products = np.zeros((len(rows.z), len(separators.pairs)))
    row_squares, weight_squares, start = np.zeros(len(rows.z)), np.zeros(len(separators.pairs)), 0
    for k in sorted(ks):
        part = rows.z[:, start:k]
        products += part @ turned[:, start:k].T.astype(np.float32)
        row_squares += np.einsum("ij,ij->i", part, part)
        weight_squares += np.square(turned[:, start:k]).sum(axis=1)
        lengths = np.sqrt(np.where(weight_squares > 0, weight_squares, 1.0))
        distances = (products + separators.offsets) / lengths
        lines += _lines(
            k, distances, separators.offsets / lengths, row_squares, rows, separators, quantile
        )
        start = k
    return pd.DataFrame(lines, columns=COLUMNS)


def pair_margins(
    rows: Rows, separators: Separators, basis: Basis, k: int, *, space: Transform | None = None
) -> "pd.DataFrame":
    """Cosines of a pair's rows with all features, and projected on k directions (PILLAR, equation
    2): columns class, whole, projected.

    Above 0 on the first class's side, so that a row of the second class is on the right side below
    0.
    """
    (a, b), w = separators.pairs[0], separators.weights[0]
    is_in = (rows.y == a) | (rows.y == b)
    x = (rows.space() if space is None else space)(rows.x[is_in])
    columns: dict[str, Any] = {"class": [rows.classes[label] for label in rows.y[is_in]]}
    for name, z, weights in (
        ("whole", x, w),
        ("projected", x @ basis.vectors[:, :k], w @ basis.vectors[:, :k]),
    ):
        length = float(np.linalg.norm(weights)) or 1.0
        offset = float(separators.offsets[0]) / length
        columns[name] = _cosines(z @ weights / length + offset, offset, np.einsum("ij,ij->i", z, z))
    return pd.DataFrame(columns)


def compatibility(margins: Array, gamma: float) -> float:
    """χ_γ(w, D) in [0, 1]: the share of `margins` (n,), cosines with a separator w, that lie at
    least γ from it on either side (semi-private learning, equation 2).

    Raises SettingError: γ outside [0, 1]. DataError: no margins.
    """
    (margins,) = checks.arrays("n", margins=margins)
    if not 0 <= gamma <= 1:
        raise SettingError(f"γ must be in [0, 1] for χ; got {shown(gamma)}.")
    return float((np.abs(margins) >= gamma).mean())


def nearest_pair(rows: Rows) -> tuple[int, int]:
    """The two classes whose means lie nearest to each other."""
    present = sorted(set(rows.y.tolist()))
    means = {label: rows.x[rows.y == label].mean(axis=0) for label in present}
    return min(
        itertools.combinations(present, 2),
        key=lambda pair: float(np.linalg.norm(means[pair[0]] - means[pair[1]])),
    )


def smallest(table: "pd.DataFrame") -> "pd.DataFrame":
    """The minimum over classes at each k: columns k, quantile, cosine_margin, distance_margin,
    class (of the smallest distance)."""
    worst = table.loc[table.groupby("k")["distance_margin"].idxmin()].set_index("k")
    worst["cosine_margin"] = table.groupby("k")["cosine_margin"].min()
    return worst.reset_index()[["k", "quantile", "cosine_margin", "distance_margin", "class"]]


def _lines(
    k: int,
    distances: Array,
    offsets: Array,
    squares: Array,
    rows: Coordinates,
    separators: Separators,
    quantile: float | Sequence[float],
) -> list[tuple[int, str, float, float, float]]:
    quantiles = [quantile] if isinstance(quantile, int | float) else list(quantile)
    lines = []
    for place, (a, b) in enumerate(separators.pairs):
        part = slice(None) if b == REST else (rows.y == a) | (rows.y == b)
        signed = np.where(rows.y[part] == a, 1.0, -1.0) * distances[part, place]
        cosine = _cosines(signed, float(offsets[place]), squares[part])
        name = rows.classes[a] if b == REST else f"{rows.classes[a]} – {rows.classes[b]}"
        lines += [
            (k, name, share, margin_at(cosine, share), margin_at(signed, share))
            for share in quantiles
        ]
    return lines


def _cosines(distances: Array, offset: float, squares: Array) -> Array:
    """Distances as cosines, the offset taken in as a constant feature; 0 for rows of length 0
    without an offset."""
    scale = float(np.sqrt(squares.mean()))
    share = abs(offset) / scale if scale > 0 else 0.0
    lengths = np.sqrt((1 + share) * (squares + abs(offset) * scale))
    return np.divide(distances, lengths, out=np.zeros_like(distances), where=lengths > 0)
