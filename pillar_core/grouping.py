"""Positions of items that agree, for what is trained together, of rows of one class, and of a few
rows at a time."""

from collections.abc import Hashable, Iterable, Iterator

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


def slices(count: int, size: int) -> Iterator[slice]:
    """The places of `count` rows, so many at a time."""
    return (slice(start, start + size) for start in range(0, count, size))
