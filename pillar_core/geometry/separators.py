"""Linear separators w* of two classes, or of one against the rest: support vector machines with
squared hinge loss.

Non-private by nature: every w* is a function of the labelled rows without noise. scikit-learn's
liblinear solves them, in its primal form where rows outnumber features, else in its dual form.

ξ_k: how much of a separator the first k directions miss. One product gives every k.

Source: PILLAR, Definition 3: ξ_k = 1 − ‖A_kA_kᵀw*‖₂/‖w*‖₂, w* of unit norm without its intercept;
‖AAᵀw‖ = ‖Aᵀw‖.
"""

import dataclasses
import itertools
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from pillar_core import checks
from pillar_core.arrays import Array
from pillar_core.deferred import pandas as pd
from pillar_core.errors import Cancelled, DataError, SettingError
from pillar_core.geometry.bases import Basis
from pillar_core.geometry.rows import Rows
from pillar_core.params import K, Param
from pillar_core.splits.transform import Transform
from pillar_core.types import Progress, StopRequested

Pair = tuple[int, int]

REST = -1
"""Stands for all other classes in a pair."""
ONE_VERSUS_REST = "one_versus_rest"
TOLERANCE = 1e-4
MOST_PAIRED = 300

REGULARISATION = Param(
    "regularisation",
    float,
    1.0,
    "C of the support vector machine, on rows whose root mean square norm is 1: larger fits the"
    " rows more closely.",
    low=0,
    low_open=True,
    high=1e6,
    log=True,
)


@dataclasses.dataclass(frozen=True, eq=False)
class Separators:
    """One hyperplane per pair (a, b): class a lies where ⟨w, x⟩ + offset is positive. b is REST for
    one-versus-rest.

    weights: (P, d) float64 of unit norm, offsets: (P,) float64, so ⟨w, x⟩ + offset is a distance in
    the rows' own units. converged: (P,) bool.
    """

    pairs: tuple[Pair, ...]
    weights: Array
    offsets: Array
    converged: Array

    def names(self, classes: Sequence[str]) -> list[tuple[str, str]]:
        """The pairs in words; "rest" for REST."""
        most = max(max(pair) for pair in self.pairs)
        if most >= len(classes):
            raise SettingError(
                f"classes must name every class up to number {most}; got {len(classes)} names."
            )
        return [(classes[a], "rest" if b == REST else classes[b]) for a, b in self.pairs]


def pairs_of(
    classes: Sequence[str], chosen: str | Sequence[str | int] | None = None
) -> tuple[Pair, ...]:
    """Pairs of class indices: all for None, the pairs among some classes (names or numbers), or
    "one_versus_rest".

    Raises SettingError: an unknown class, one named twice, or fewer than two; all pairs of more
    than MOST_PAIRED classes.
    """
    if isinstance(chosen, str):
        if chosen != ONE_VERSUS_REST:
            raise SettingError(
                f"classes must be none, two or more classes, or {ONE_VERSUS_REST!r}; got"
                f" {chosen!r}."
            )
        return tuple((index, REST) for index in range(len(classes)))
    picked = (
        range(len(classes)) if chosen is None else [_class_index(classes, name) for name in chosen]
    )
    if len(picked) < 2 or len(set(picked)) < len(picked):
        raise SettingError(f"classes must name two or more different classes; got {chosen!r}.")
    if len(picked) > MOST_PAIRED:
        count = f"{len(picked) * (len(picked) - 1) // 2:,} pairs of {len(picked):,} classes"
        raise SettingError(
            f"these are {count}: name at most {MOST_PAIRED} of them, or take each against the rest."
        )
    return tuple(itertools.combinations(picked, 2))


def separators(
    rows: Rows,
    pairs: Sequence[Pair],
    *,
    space: Transform | None = None,
    regularisation: float = 1.0,
    progress: Progress | None = None,
    cancelled: StopRequested | None = None,
) -> Separators:
    """The separator of every pair, on `rows` in `space` (default: less the public mean).

    Raises SettingError: regularisation out of range. DataError: a class without rows. Cancelled:
    `cancelled()` said so.
    """
    space = rows.space() if space is None else space
    return separators_of(
        space(rows.x),
        rows.y,
        pairs,
        classes=rows.classes,
        regularisation=regularisation,
        progress=progress,
        cancelled=cancelled,
    )


def separators_of(
    x: Array,
    y: Array,
    pairs: Sequence[Pair],
    *,
    classes: Sequence[str],
    regularisation: float = 1.0,
    progress: Progress | None = None,
    cancelled: StopRequested | None = None,
) -> Separators:
    """The same from rows x (n, d) as they are and labels y (n,)."""
    if not pairs:
        raise SettingError("pairs must name at least one pair of classes; got none.")
    strength = REGULARISATION.number(regularisation)
    for index in sorted({index for pair in pairs for index in pair if index != REST}):
        if not (y == index).any():
            raise DataError(
                f"class {classes[index]!r} has no rows here, so nothing separates it; leave it out"
                " of classes."
            )
    fits = []
    for place, (a, b) in enumerate(pairs):
        if cancelled is not None and cancelled():
            raise Cancelled("stopped between two separators.")
        part = np.ones(len(y), dtype=bool) if b == REST else (y == a) | (y == b)
        fits.append(_fit_separator(x[part], y[part] == a, strength))
        if progress is not None:
            progress(place + 1, len(pairs), "separators")
    weights, offsets, converged = zip(*fits, strict=True)
    return Separators(tuple(pairs), np.stack(weights), np.array(offsets), np.array(converged))


def _fit_separator(x: Array, is_positive: Array, strength: float) -> tuple[Array, float, bool]:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import LinearSVC

    scale = float(np.sqrt(np.einsum("ij,ij->", x, x, dtype=np.float64) / len(x))) or 1.0
    machine = LinearSVC(
        C=strength, dual=len(x) < x.shape[1], tol=TOLERANCE, max_iter=20_000, random_state=0
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        machine.fit(x / scale, is_positive)
    w = machine.coef_[0].astype(np.float64) / scale
    length = float(np.linalg.norm(w))
    if not length > 0:
        return np.zeros(x.shape[1]), 0.0, False
    return w / length, float(machine.intercept_[0]) / length, not caught


def _class_index(classes: Sequence[str], name: Any) -> int:
    if isinstance(name, str) and name in classes:
        return classes.index(name)
    if (
        isinstance(name, int | np.integer)
        and not isinstance(name, bool)
        and 0 <= name < len(classes)
    ):
        return int(name)
    raise SettingError(
        f"classes must be among {', '.join(classes[:12])}{' …' if len(classes) > 12 else ''}, or"
        f" their numbers; got {name!r}."
    )


def xi_of(weights: Array, vectors: Array) -> Array:
    """(P, r) ξ_1 … ξ_r of each of (P, d) weights in the prefixes of (d, r) orthonormal directions;
    in [0, 1], falling in k.

    A zero weight vector has ξ = 1.
    """
    weights, vectors = checks.arrays("pairs d, d r", weights=weights, vectors=vectors)
    inside = np.cumsum(np.square(weights.astype(np.float64) @ vectors.astype(np.float64)), axis=1)
    total = np.square(weights.astype(np.float64)).sum(axis=1, keepdims=True)
    share = np.divide(inside, total, out=np.zeros_like(inside), where=total > 0)
    return np.asarray(1.0 - np.sqrt(np.clip(share, 0.0, 1.0)))


def xi_table(
    separators: Separators, basis: Basis, ks: Sequence[int], *, classes: Sequence[str]
) -> "pd.DataFrame":
    """Columns k, class_a, class_b, xi: one row per pair and k (each at most the basis' rank)."""
    checks.within(ks=(ks, K))
    values = xi_of(separators.weights, basis.vectors)
    names = separators.names(classes)
    columns = [(k, a, b, values[place, k - 1]) for k in ks for place, (a, b) in enumerate(names)]
    return pd.DataFrame(columns, columns=["k", "class_a", "class_b", "xi"])


def averaged(table: "pd.DataFrame") -> "pd.DataFrame":
    """Mean and extremes over pairs of an ξ table: columns k, mean, low, high, pairs."""
    grouped = table.groupby("k")["xi"].agg(mean="mean", low="min", high="max", pairs="size")
    return grouped.reset_index()
