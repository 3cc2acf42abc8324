"""Classes made unequal: of a split's private rows, fewer and fewer of each class, down to one for `ratio` of the largest."""

import dataclasses

import numpy as np

from pillar_core import rng
from pillar_core.arrays import Array
from pillar_core.errors import DataError, SettingError
from pillar_core.grouping import by_label
from pillar_core.memo import Memo
from pillar_core.types import SemiPrivateSplit

RAREST_SHARE = 0.25


def by_size(n_classes: int) -> Array:
    """(C,) the classes from the one that keeps all its rows to the rarest: one drawn order, the same for every seed of a comparison."""
    return rng.stream(0, "imbalance").permutation(n_classes)


def rarest(n_classes: int) -> Array:
    """The rarest quarter of the classes, at least one."""
    order = by_size(n_classes)
    return order[-max(1, round(RAREST_SHARE * n_classes)) :]


def thin_classes(split: SemiPrivateSplit, ratio: float, *, seed: int) -> SemiPrivateSplit:
    """The split whose class of rank r keeps n·ratio^(−r/(C − 1)) of its n private rows; public and test rows stay.

    Raises SettingError: a ratio below 1. DataError: rows without labels.
    """
    labels, count = split.features.y_train, split.features.n_classes
    if not ratio >= 1:
        raise SettingError(f"imbalance must be at least 1; got {ratio!r}.")
    if labels is None:
        raise DataError("imbalance needs labels; these train rows have none.")
    shuffled = rng.stream(seed, "imbalance rows").permutation(split.private)
    parts, places = [], by_label(labels[shuffled])
    for rank, label in enumerate(by_size(count)):
        rows = shuffled[places.get(int(label), [])]
        parts.append(rows[: int(np.ceil(len(rows) * ratio ** (-rank / max(count - 1, 1))))])
    private = np.sort(np.concatenate(parts))
    return dataclasses.replace(split, private=private, settings={**split.settings, "imbalance": ratio}, memo=Memo())
