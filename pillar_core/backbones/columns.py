"""Maps of the columns of a table: *ramps* bend each number's line, *bins* cut it into steps,
*fourier* makes waves of all.

A map is fitted on public rows, or on declared ranges where there are none, and on nothing else; it
takes one row at a time, and what it makes of numbers is bounded. So it changes nothing about who is
protected: whatever is released afterwards is released of rows that public facts prepared.
"""

import functools
import itertools

import numpy as np

from pillar_core import rng
from pillar_core.arrays import Array
from pillar_core.backbones.built_in import as_numbers
from pillar_core.backbones.cards import BACKBONES, Layout, card_of
from pillar_core.backbones.column_map import ColumnMap
from pillar_core.errors import DataError

RAMPS, STEPS, WIDEST = 4, 16, 2_048
"""Columns that ramps and bins make of a number, and that any map makes at most of all numbers."""
FEWEST_STEPS = 2
LINE, FAR = 0.4, 3.0
"""How much the line along ramps or bins rises in a standard deviation, and how many of these the
public numbers at its ends are from the mean at most (research/tables.md)."""
TOPS = {"ramps": 0.5, "bins": 0.25}
"""How much each of the others rises."""
WAVES = 400
ROWS_APART = 500
"""Public rows whose distances decide how long waves are."""


def _pieces(name: str, public: Array, layout: Layout) -> ColumnMap:
    """Ramps: how far a number is from one knot to the next (Gorishniy et al. 2022). Bins: whether
    it exceeds each knot. Both: how far it is along them all. Knots are quantiles of the public
    rows, of ramps their ends, too; else even parts of the ranges, or of their root where numbers
    crowd at the low end, along which no line stands."""
    numbers, is_bins = _numbers(name, public, layout), name == "bins"
    n_steps = min(STEPS if is_bins else RAMPS, WIDEST // len(numbers) - 1)
    if n_steps < FEWEST_STEPS:
        raise DataError(
            f"the map {name} takes at most {WIDEST // (FEWEST_STEPS + 1):,} columns of numbers, of"
            f" which it makes {WIDEST:,}; got {len(numbers):,}. Leave columns out, or keep them as"
            " given."
        )
    shares = np.arange(is_bins, n_steps + is_bins + 1) / (n_steps + is_bins)
    pieces = []
    for column in numbers:
        values, crowds = public[:, column].astype(np.float64), layout.crowds_low[column]
        if len(values):
            knots, deviation = _levels(values, shares), values.std()
            near = values[np.abs(values - values.mean()) <= FAR * deviation]
        else:
            knots, deviation = shares ** (2 if crowds else 1), 12**-0.5
            near = np.array([0.0, 0.0 if crowds else 1.0])
        if reach := np.ptp(near):
            pieces.append((column, near.min(), near.max(), -0.5, LINE * reach / deviation))
        for low, high in itertools.pairwise(knots):
            pieces.append((column, low, low if is_bins else high, 0, TOPS[name]))
    places, *parts = np.array(pieces, dtype=np.float32).T
    kept = np.flatnonzero(layout.is_kept)
    return ColumnMap(len(layout.is_kept), kept, places.astype(np.int64), *parts)


def _levels(values: Array, shares: Array) -> Array:
    """The different quantiles of public values; the least and the quantile where all are equal."""
    levels = np.unique(np.quantile(values, shares, method="lower"))
    return levels if len(levels) > 1 else np.append(values.min(), levels)


def _fourier(public: Array, layout: Layout) -> ColumnMap:
    """Random waves of all numbers together, about as long as public rows lie apart (Rahimi & Recht
    2007)."""
    numbers = _numbers("fourier", public, layout)
    rows = public[:, numbers].astype(np.float64)
    deviations = rows.std(axis=0) if len(rows) else np.full(len(numbers), 12**-0.5)
    scale = np.where(deviations > 0, deviations, 1.0)
    random = rng.stream(0, "fourier")
    apart = (2 * len(numbers)) ** 0.5
    if len(rows) > 1:
        rows = (rows - rows.mean(axis=0)) / scale
        one, other = (random.permutation(len(rows))[:ROWS_APART] for _ in range(2))
        distances = np.linalg.norm(rows[one] - rows[other], axis=1)
        apart = float(np.median(distances[distances > 0])) if distances.any() else apart
    per_turn = 1 / (2 * np.pi * apart * scale)
    turns = random.standard_normal((len(numbers), WAVES)) * per_turn[:, None]
    return ColumnMap(
        len(layout.is_kept),
        np.flatnonzero(layout.is_kept),
        numbers,
        turns=turns.astype(np.float32),
        offsets=random.random(WAVES).astype(np.float32),
    )


def _numbers(name: str, public: Array, layout: Layout) -> Array:
    """The columns to map. Raises DataError: none, or nothing public says how large they are."""
    numbers = layout.numbers
    if not len(numbers):
        raise DataError(
            f"the map {name} takes columns of numbers, and these rows have none: keep them as"
            " given."
        )
    if not len(public) and not layout.is_ranged[numbers].all():
        raise DataError(
            f"the map {name} needs public rows, or a declared range of each column of numbers, and"
            f" {int((~layout.is_ranged[numbers]).sum()):,} of {len(numbers):,} have none: declare"
            " them, or keep the columns as given."
        ).naming(ranges=())
    return numbers


for _name, _fit in {
    "ramps": functools.partial(_pieces, "ramps"),
    "bins": functools.partial(_pieces, "bins"),
    "fourier": _fourier,
}.items():
    BACKBONES.register(card_of(_name, fit=_fit, open=as_numbers))
