"""Positions of items that agree, for what is trained together."""

from collections.abc import Hashable, Iterable


def grouped(keys: Iterable[Hashable]) -> list[list[int]]:
    """The positions of equal keys, one list per key, in the order in which keys first come."""
    positions: dict[Hashable, list[int]] = {}
    for position, key in enumerate(keys):
        positions.setdefault(key, []).append(position)
    return list(positions.values())
