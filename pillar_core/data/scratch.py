"""Arrays too large for memory: written piece by piece to a nameless file in the cache folder, and
mapped from there.

The file has no name, so a killed process leaves nothing behind and nobody reads half of it; its
space is free again when the last array that maps it is gone.
"""

import errno
import math
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from pillar_core import store
from pillar_core.arrays import Array
from pillar_core.data.progress import BYTES, progress_of
from pillar_core.store.files import writable

LARGEST_IN_MEMORY = 512 * 2**20
BLOCK = 2**24
"""Bytes of rows that are copied at once."""


def is_large(shape: tuple[int, ...], itemsize: int = 1) -> bool:
    """Whether an array of this shape should not be held in memory."""
    return math.prod(shape) * itemsize > LARGEST_IN_MEMORY


def on_disk(
    pieces: Iterable[Any], dtype: Any, shape: tuple[int, ...], *, order: str = "C"
) -> Array:
    """The array of `pieces` (bytes or contiguous arrays) one after the other; a first side of −1 is
    as long as they make it.

    Raises StoreError: no room, or a folder that cannot be written. ValueError: the pieces do not
    make the shape.
    """
    root = store.default().root
    with writable(root, "Nothing was kept. "):
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=root) as file:
            for piece in _announced(pieces, math.prod(shape) * np.dtype(dtype).itemsize, root):
                file.write(piece)
            file.flush()
            count = file.tell() // (np.dtype(dtype).itemsize * math.prod(shape[1:]))
            full_shape = (count, *shape[1:]) if shape[0] < 0 else shape
            if file.tell() != math.prod(full_shape) * np.dtype(dtype).itemsize:
                raise ValueError(f"{file.tell()} bytes do not make an array of shape {full_shape}")
            if not file.tell():
                return np.empty(full_shape, dtype)
            mapped: Array = np.memmap(file, dtype, "c", shape=full_shape, order=order)  # type: ignore[call-overload]
            return mapped


def _announced(pieces: Iterable[Any], n_bytes: int, root: Path) -> Iterator[Any]:
    """The pieces, once whoever watches knows how much goes where, and that there is room; after
    each, how far it is. Below 0 bytes nobody knows yet.

    Raises OSError: the disk has less room.
    """
    free, done = shutil.disk_usage(root).free, 0
    if free < n_bytes:
        words = f"{n_bytes / 1e6:,.0f} MB are to come, {free / 1e6:,.0f} MB are free"
        raise OSError(errno.ENOSPC, words)
    watch = progress_of(BYTES) if n_bytes > 0 else None
    for piece in pieces:
        if watch is not None:
            watch(done, n_bytes, f"of rows in {root}, until the work ends")
        yield piece
        done += memoryview(piece).nbytes
    if watch is not None:
        watch(done, n_bytes)


def take_rows(rows: Array, numbers: Array) -> Array:
    """`rows[numbers]`, on the disk where that is too large for memory."""
    shape = (len(numbers), *rows.shape[1:])
    return in_room(
        (np.ascontiguousarray(rows[numbers[part]]) for part in parts_of(shape, rows.itemsize)),
        rows.dtype,
        shape,
    )


def join_rows(rows: Array, more: Array) -> Array:
    """`rows` and then `more`, on the disk where that is too large for memory."""
    shape = (len(rows) + len(more), *rows.shape[1:])
    pieces = (
        np.ascontiguousarray(side[part])
        for side in (rows, more)
        for part in parts_of(side.shape, side.itemsize)
    )
    return in_room(pieces, rows.dtype, shape)


def in_room(pieces: Iterable[Array], dtype: Any, shape: tuple[int, ...]) -> Array:
    """The array of `pieces` one after the other, on the disk where that is too large for memory."""
    if is_large(shape, np.dtype(dtype).itemsize):
        return on_disk(pieces, dtype, shape)
    rows, end = np.empty(shape, dtype), 0
    for piece in pieces:
        rows[end : (end := end + len(piece))] = piece
    return rows


def parts_of(shape: tuple[int, ...], itemsize: int) -> Iterator[slice]:
    """Some rows after the other of an array of this shape, `BLOCK` bytes of them at a time."""
    size = max(1, BLOCK // (math.prod(shape[1:]) * itemsize or 1))
    return (slice(start, start + size) for start in range(0, shape[0], size))
