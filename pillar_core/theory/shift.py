"""Distribution shift with known truth: public rows of which a share η comes from elsewhere, and what that does to directions.

The private rows have second moment Σ; a public row is, with probability η, ±R·u for a unit direction u, else a private
one. Total variation is then exactly η (or less where the supports meet), the public moment Σ_U = (1 − η)Σ + ηR²uuᵀ.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from pillar_core import checks, rng
from pillar_core.arrays import Array
from pillar_core.errors import DataError, SettingError
from pillar_core.params import K
from pillar_core.theory.calculator import Form, inputs_of, ratio
from pillar_core.theory.pillar_shift import moment_shift

PURPOSE = "shift"
_INPUTS = inputs_of("pillar_theorem_4")
ETA, RADIUS = _INPUTS["eta"], _INPUTS["radius"]


def shifted_moment(moment: Array, direction: Array, *, eta: float, radius: float = 1.0) -> Array:
    """(d, d) second moment of the public rows."""
    checks.within(eta=(eta, ETA), radius=(radius, RADIUS))
    moment, direction = checks.arrays("d d, d", moment=moment, direction=direction)
    u = _unit(direction)
    return np.asarray((1 - eta) * moment + eta * radius**2 * np.outer(u, u))


def shifted_rows(rows: Array, direction: Array, *, eta: float, radius: float = 1.0, seed: int = 0) -> Array:
    """`rows` (m, d) with each one, with probability η, replaced by ±R·u; streams nest, so a larger η replaces more."""
    checks.within(eta=(eta, ETA), radius=(radius, RADIUS))
    rows, direction = checks.arrays("n d, d", rows=rows, direction=direction)
    generator = rng.stream(seed, PURPOSE, "rows")
    u = _unit(direction)
    chosen = generator.random(len(rows)) < eta
    signs = np.where(generator.random(len(rows)) < 0.5, -1.0, 1.0)
    out = np.array(rows, dtype=np.float32)
    out[chosen] = (radius * signs[chosen, None] * u).astype(np.float32)
    return out


def share_inside(moment: Array, separator: Array, k: int) -> float:
    """‖A_kᵀw*‖/‖w*‖ for the top k directions of a second moment: 1 − ξ_k."""
    _, vectors = np.linalg.eigh(moment)
    return float(np.linalg.norm(vectors[:, -k:].T @ separator) / np.linalg.norm(separator))


def shift_curve(
    etas: Sequence[float],
    *,
    eigenvalues: Array,
    separator: Array,
    direction: Array,
    k: int,
    rows: Array,
    radius: float = 1.0,
    seed: int = 0,
) -> pd.DataFrame:
    """Columns eta, population, sampled, bound, bound_printed: the share of w* that the public directions hold, against η.

    eigenvalues (d,) of the private moment, in whose eigenbasis `separator` and `direction` (d,) are given; rows (m, d)
    private-like rows in that basis, shifted by `shifted_rows`. Bounds: (1 − ξ) less 2R²η/Δ_k (14η/Δ_k as printed), floored at 0.
    """
    checks.within(etas=(etas, ETA), k=(k, K), radius=(radius, RADIUS))
    eigenvalues, separator, direction, rows = checks.arrays(
        "d, d, d, n d", eigenvalues=eigenvalues, separator=separator, direction=direction, rows=rows
    )
    values = np.asarray(eigenvalues, dtype=np.float64)
    if not 1 <= k < len(values):
        raise SettingError(f"k must be in [1, {len(values) - 1}], below the number of eigenvalues; got {k!r}.")
    moment, gap = np.diag(values), float(values[k - 1] - values[k])
    base = share_inside(moment, separator, k)
    lines = []
    for eta in etas:
        shifted = shifted_rows(rows, direction, eta=eta, radius=radius, seed=seed).astype(np.float64)
        lines.append(
            (
                float(eta),
                share_inside(shifted_moment(moment, direction, eta=eta, radius=radius), separator, k),
                share_inside(shifted.T @ shifted / len(shifted), separator, k),
                *(_lower_bound(base, gap, eta, radius, form) for form in (Form.CORRECTED, Form.PRINTED)),
            )
        )
    return pd.DataFrame(lines, columns=["eta", "population", "sampled", "bound", "bound_printed"])


def _unit(direction: Array) -> Array:
    length = float(np.linalg.norm(direction))
    if not 0 < length < np.inf:
        raise DataError("direction must not be zero, nor infinite.")
    return np.asarray(direction / length)


def _lower_bound(base: float, gap: float, eta: float, radius: float, form: Form) -> float:
    """What Theorem 4 leaves of w*, before its 0.9 for sampling: 1 − ξ − 2·shift/Δ, at least 0."""
    shift = moment_shift(eta=eta, radius=radius, form=form)
    return max(base - ratio(2 * shift, min(gap, 1.0)), 0.0) if shift else base
