"""Which rows a geometry question is about: labelled ones to separate, and those that may choose the
directions."""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from pillar_core import rng
from pillar_core.arrays import Array
from pillar_core.errors import DataError, SettingError
from pillar_core.splits.basis import moments
from pillar_core.splits.transform import Transform
from pillar_core.types import FeatureSet, SemiPrivateSplit


@dataclasses.dataclass(frozen=True, eq=False)
class Rows:
    """x (n, d) float32 and y (n,) int64: the private rows of a split, or all train rows; `public`
    (m, d): the public ones.

    `has_public` is False where there are none: the train rows then stand in, and what they choose
    is not private. `block`: see `moments`.
    """

    x: Array
    y: Array
    classes: tuple[str, ...]
    public: Array
    has_public: bool
    block: slice | None = None

    def space(self, *, standardise: bool = False) -> Transform:
        """The affine map that features pass before anything is measured: less the public mean, over
        the public deviation."""
        mean, scale = moments(self.public, standardise=standardise, centre=True, block=self.block)
        return Transform(mean, scale)


def thinned(rows: Rows, per_class: int) -> Rows:
    """At most `per_class` rows of each class, drawn by chance, in their old order; public rows
    stay.

    Raises SettingError: per_class below 1.
    """
    if not per_class >= 1:
        raise SettingError(f"per_class must be at least 1; got {per_class!r}.")
    order = rng.stream(0, "geometry", "thinned").permutation(len(rows.y))
    ranked = order[np.argsort(rows.y[order], kind="stable")]
    counts = np.bincount(rows.y)
    place = np.arange(len(ranked)) - np.repeat(np.cumsum(counts) - counts, counts)
    chosen = np.sort(ranked[place < per_class])
    return dataclasses.replace(rows, x=rows.x[chosen], y=rows.y[chosen])


def rows_of(data: FeatureSet | SemiPrivateSplit) -> Rows:
    """The rows of a feature set (all train rows) or of a split (private rows, public directions).

    Raises DataError: no labels, or fewer than two classes with rows.
    """
    if isinstance(data, SemiPrivateSplit):
        features, picked = data.features, data.private
        x = features.x_train[picked]
        y = None if features.y_train is None else features.y_train[picked]
        public = data.public_x
    else:
        features, x, y, public = data, data.x_train, data.y_train, data.x_train[:0]
    if y is None:
        raise DataError("margins and ξ need labels; these rows have none.")
    if len(np.unique(y)) < 2:
        raise DataError("margins and ξ need rows of at least two classes; these rows have one.")
    return Rows(
        x, y, features.classes, public if len(public) else x, len(public) > 0, features.text_block
    )


def checked_ks(k: int | Sequence[int], *, most: int, why: str) -> list[int]:
    """One k or several as a sorted list without repeats.

    Raises SettingError: no k, or one that is not a whole number in 1 … `most`; `why` says what
    limits it.
    """
    values = [k] if isinstance(k, int | float | np.number) else list(k)
    for value in values:
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float | np.number)
            or not 1 <= value <= most
            or value != int(value)
        ):
            raise SettingError(
                f"k must be a whole number in [1, {most}] ({why}); got {value!r}. Lower k or bring"
                " more public rows."
            )
    if not values:
        raise SettingError("k must be a whole number or several of them; got none.")
    return sorted({int(value) for value in values})


def collapse_ratio(x: Array, y: Array) -> float | None:
    """How much rows vary around their class's mean, over how much class means vary; None without
    two rows of a class, or one class.

    x: (n, d), y: (n,). Traces of both covariances, 0 where features have collapsed (Wang et al.
    2024, arXiv 2405.08920, study what that does to noisy training); what few rows add to the spread
    of means is taken off. As secret as its rows.
    """
    labels, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    if len(labels) < 2 or len(x) <= len(labels):
        return None
    means = np.stack(
        [x[codes == code].mean(axis=0, dtype=np.float64) for code in range(len(labels))]
    )
    within = float(
        sum(np.square(x[codes == code] - mean).sum() for code, mean in enumerate(means))
    ) / (len(x) - len(labels))
    between = float(np.square(means - means.mean(axis=0)).sum()) / (
        len(labels) - 1
    ) - within * float((1 / counts).mean())
    return within / between if between > 0 else math.inf
