"""Maps of the columns of a table: *bins* cut each number into steps, *fourier* makes waves of all.

A map is fitted on public rows, or on declared ranges where there are none, and on nothing else; it
takes one row at a time, and what it makes of numbers lies in [−1, 1]. So it changes nothing about
who is protected: whatever is released afterwards is released of rows that public facts prepared.
"""

import numpy as np

from pillar_core import rng
from pillar_core.arrays import Array
from pillar_core.backbones.built_in import as_numbers
from pillar_core.backbones.cards import BACKBONES, Layout, card_of
from pillar_core.backbones.column_map import ColumnMap
from pillar_core.errors import DataError

STEPS, WIDEST = 16, 2_048
"""Indicators that bins make of a number, and columns that any map makes at most of all numbers."""
FEWEST_STEPS = 2
WAVES = 400
ROWS_APART = 500
"""Public rows whose distances decide how long waves are."""


def _bins(public: Array, layout: Layout) -> ColumnMap:
    """Indicators x > q: q quantiles of the public rows, else even steps over the ranges, or over
    their root where numbers crowd at the low end."""
    numbers = _numbers("bins", public, layout)
    n_steps = min(STEPS, WIDEST // len(numbers))
    if n_steps < FEWEST_STEPS:
        raise DataError(
            f"the map bins takes at most {WIDEST // FEWEST_STEPS:,} columns of numbers, of which it"
            f" makes {WIDEST:,}; got {len(numbers):,}. Leave columns out, or keep them as given."
        )
    shares = np.arange(1, n_steps + 1) / (n_steps + 1)
    cut, steps = [], []
    for column in numbers:
        even = shares**2 if layout.crowds_low[column] else shares
        levels = _levels(public[:, column], shares) if len(public) else even
        cut += [column] * len(levels)
        steps += list(levels)
    return ColumnMap(
        len(layout.is_kept),
        np.flatnonzero(layout.is_kept),
        np.array(cut),
        np.array(steps, dtype=np.float32),
    )


def _levels(values: Array, shares: Array) -> Array:
    """The different quantiles of public values that some of them exceed; the value itself where all
    are equal."""
    levels = np.unique(np.quantile(values, shares, method="lower"))
    return levels[levels < values.max()] if values.max() > levels[0] else levels[:1]


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


for _name, _fit in {"bins": _bins, "fourier": _fourier}.items():
    BACKBONES.register(card_of(_name, fit=_fit, open=as_numbers))
