"""Arrays too large for memory: written piece by piece to a nameless file in the cache folder, and mapped from there.

The file has no name, so a killed process leaves nothing behind and nobody reads half of it; its space is free again when the last
array that maps it is gone.
"""

import math
import tempfile
from collections.abc import Iterable
from typing import Any

import numpy as np

from pillar_core import store
from pillar_core.arrays import Array
from pillar_core.errors import StoreError

LARGEST_IN_MEMORY = 512 * 2**20


def is_large(shape: tuple[int, ...], itemsize: int = 1) -> bool:
    """Whether an array of this shape should not be held in memory."""
    return math.prod(shape) * itemsize > LARGEST_IN_MEMORY


def on_disk(pieces: Iterable[Any], dtype: Any, shape: tuple[int, ...], *, order: str = "C") -> Array:
    """The array of `pieces` (bytes or contiguous arrays) one after the other; a first side of −1 is as long as they make it.

    Raises StoreError: no room, or a folder that cannot be written. ValueError: the pieces do not make the shape.
    """
    root = store.default().root
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=root) as file:
            for piece in pieces:
                file.write(piece)
            file.flush()
            count = file.tell() // (np.dtype(dtype).itemsize * math.prod(shape[1:]))
            full_shape = (count, *shape[1:]) if shape[0] < 0 else shape
            if file.tell() != math.prod(full_shape) * np.dtype(dtype).itemsize:
                raise ValueError(f"{file.tell()} bytes do not make an array of shape {full_shape}")
            return np.memmap(file, dtype=dtype, mode="c", shape=full_shape, order=order) if file.tell() else np.empty(full_shape, dtype)  # type: ignore[call-overload]  # the stub wants a literal order
    except OSError as error:
        raise StoreError(
            f"rows could not be written below {root} ({error}): nothing was kept. Free space on that disk, or set PILLAR_CACHE to a "
            "folder on another one."
        ) from error


def take_rows(rows: Array, numbers: Array) -> Array:
    """`rows[numbers]`, on the disk where that is too large for memory."""
    shape = (len(numbers), *rows.shape[1:])
    if not is_large(shape, rows.itemsize):
        return np.asarray(rows[numbers])
    return on_disk((np.ascontiguousarray(rows[number]).data for number in numbers), rows.dtype, shape)


def join_rows(rows: Array, more: Array) -> Array:
    """`rows` and then `more`, on the disk where that is too large for memory."""
    shape = (len(rows) + len(more), *rows.shape[1:])
    if not is_large(shape, rows.itemsize):
        return np.concatenate([rows, more])
    return on_disk((np.ascontiguousarray(row).data for part in (rows, more) for row in part), rows.dtype, shape)
