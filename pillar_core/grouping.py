"""Positions of items that agree, for what is trained together, and of rows of one class."""

from collections.abc import Hashable, Iterable

import numpy as np

from pillar_core.arrays import Array


def grouped(keys: Iterable[Hashable]) -> list[list[int]]:
    """The positions of equal keys, one list per key, in the order in which keys first come."""
    positions: dict[Hashable, list[int]] = {}
    for position, key in enumerate(keys):
        positions.setdefault(key, []).append(position)
    return list(positions.values())


def by_label(labels: Array) -> dict[int, Array]:
    """The ascending positions of each label that occurs in (n,) `labels`, smallest label first: one
    sort, however many labels there are."""
    order = np.argsort(labels, kind="stable")
    values, starts = np.unique(labels[order], return_index=True)
    return (
        dict(zip(values.tolist(), np.split(order, starts[1:]), strict=True)) if len(order) else {}
    )
