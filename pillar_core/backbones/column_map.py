"""A fitted map of columns, with numpy alone: a file of a model holds this code and its arrays."""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from pillar_core.arrays import Array
from pillar_core.errors import DataError
from pillar_core.grouping import slices

ROWS_AT_ONCE = 4_096
WAVE = np.cos(2 * np.pi * np.arange(4_096) / 4_096).astype(np.float32)
"""One turn of a wave. Steps of it depend on their row alone; a processor's own cosine of many
numbers may round one by what stands beside it."""
STEEP = 2.0**-149
"""The width of a step: the least that two float32 differ by."""
PREFIX, ARRAYS = "map_", ("kept", "cut", "steps", "stops", "shifts", "tops", "turns", "offsets")
"""How the arrays of a map are called in a model's files."""


@dataclasses.dataclass(frozen=True, eq=False)
class ColumnMap:
    """x (n, d) → (n, k) float32: the columns `kept` as they are; then, of the columns `cut`, how
    far each is from its number of `steps` to that of `stops`, from 0 to 1, plus its shift, times
    its top; or waves of them all, in [−1, 1].

    d: the numbers of a row as given. kept: (p,), cut: (c,) int64 places. steps, stops, shifts,
    tops: (c,) float32; where a column steps and stops at one number it says whether that is
    exceeded. turns: (c, w) float32, a wave's turns for one unit of a column; offsets: (w,) float32
    turns.
    """

    d: int
    kept: Array
    cut: Array
    steps: Array | None = None
    stops: Array | None = None
    shifts: Array | float = 0.0
    tops: Array | float = 1.0
    turns: Array | None = None
    offsets: Array | None = None

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, Array], d: int) -> "ColumnMap | None":
        """The map of rows of d numbers that a model's arrays hold; None where they hold none."""
        parts = {name: arrays[PREFIX + name] for name in ARRAYS if PREFIX + name in arrays}
        if "steps" in parts and "stops" not in parts:  # of a file before there were stops
            parts["stops"] = parts["steps"] + arrays.get(PREFIX + "widths", np.float32(0))
        return cls(d, **parts) if "kept" in parts else None

    @property
    def arrays(self) -> dict[str, Array]:
        """What `of_arrays` reads."""
        parts = {PREFIX + name: getattr(self, name) for name in ARRAYS}
        return {name: part for name, part in parts.items() if isinstance(part, np.ndarray)}

    @property
    def width(self) -> int:
        """k, the columns that it makes."""
        return len(self.kept) + len(self.cut if self.offsets is None else self.offsets)

    def names(self, given: Sequence[str] | None) -> tuple[str, ...] | None:
        """The names of what it makes, from those of the columns as given; None where those have
        none."""
        if given is None:
            return None
        kept = tuple(given[place] for place in self.kept)
        if self.steps is None:
            return (*kept, *(f"wave {number}" for number in range(self.width - len(kept))))
        pieces = zip(self.cut, self.steps, np.asarray(self.stops), strict=True)
        return kept + tuple(
            f"{given[place]} > {step:.6g}"
            if step == stop
            else f"{given[place]} from {step:.6g} to {stop:.6g}"
            for place, step, stop in pieces
        )

    def __call__(self, x: Array) -> Array:
        """Each row by itself, to the last bit. Raises DataError: rows of another dimension."""
        if x.shape[1] != self.d:
            raise DataError(f"rows must have shape (n, {self.d}); got {x.shape}.")
        out = np.empty((len(x), self.width), dtype=np.float32)
        for part in slices(len(x), ROWS_AT_ONCE):
            rows, made = x[part], out[part]
            made[:, : len(self.kept)] = rows[:, self.kept]
            if self.turns is None or self.offsets is None:
                steps, stops = (np.asarray(each, np.float64) for each in (self.steps, self.stops))
                far = rows[:, self.cut] - steps
                far /= (stops - steps).clip(STEEP)
                np.clip(far, 0, 1, out=far)
                far += self.shifts
                far *= self.tops
                made[:, len(self.kept) :] = far
                continue
            turned = np.zeros((len(rows), len(self.offsets))) + self.offsets
            for column, turns in zip(self.cut, self.turns, strict=True):  # one order of sums
                turned += rows[:, column, None].astype(np.float64) * turns
            turned -= np.floor(turned)
            made[:, len(self.kept) :] = WAVE[(turned * len(WAVE)).astype(np.int64) % len(WAVE)]
        return out
