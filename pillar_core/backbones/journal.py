"""Rows written batch by batch, so that a process that is killed loses at most one batch.

Two files in a folder of its own: the rows, and one line for each batch with its extent, type and checksum. A line counts only
when it is whole, follows the line before it, and its rows are there and match; what comes after is cut off. So neither a
kill, nor a full disk, nor lost power ever leaves rows that are read and wrong.
"""

import contextlib
import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from pillar_core.arrays import Array
from pillar_core.errors import StoreError
from pillar_core.store.entry import make_private
from pillar_core.store.files import try_lock, waiting_for

ABANDONED_SECONDS = 14 * 86_400.0


class Journal:
    """The rows of one extraction below `folder`; only the holder of its lock may use it."""

    def __init__(self, folder: Path) -> None:
        self._rows, self._lines = folder / "rows.bin", folder / "lines.jsonl"
        self.done = 0
        self.width = 0
        self.dtype = ""
        self._recover()

    def append(self, rows: Array) -> None:
        """Keep the next rows, (b, width), on the disk.

        Raises:
            StoreError: the disk is full or refuses; what was kept before stays good.
        """
        content = np.ascontiguousarray(rows).view(np.uint8).data
        checksum = hashlib.sha256(content).hexdigest()
        line = {"stop": self.done + len(rows), "width": rows.shape[1], "dtype": rows.dtype.str, "sha256": checksum}
        try:
            with self._rows.open("ab") as file:
                file.write(content)
            with self._lines.open("ab") as file:
                file.write(json.dumps(line).encode() + b"\n")
        except OSError as error:
            self._recover()
            raise StoreError(
                f"{self._rows} could not be written ({error}): {self.done} rows are kept. Free space on that disk or set PILLAR_CACHE to "
                "a folder on another one, then ask again; it goes on from there."
            ) from error
        self.done, self.width, self.dtype = self.done + len(rows), rows.shape[1], rows.dtype.str

    def rows(self) -> Array:
        """(done, width) of all that was kept, mapped from the disk."""
        return np.memmap(self._rows, dtype=np.dtype(self.dtype), mode="r", shape=(self.done, self.width))

    def _recover(self) -> None:
        """Count the batches that are whole, and cut off what follows them."""
        self.done, good, size = 0, 0, 0
        with contextlib.suppress(FileNotFoundError), self._lines.open("rb") as lines, self._rows.open("rb") as rows:
            for line in lines:
                bytes_of_batch = self._checked(line, rows)
                if bytes_of_batch is None:
                    break
                good, size = good + len(line), size + bytes_of_batch
        for path, length in ((self._lines, good), (self._rows, size)):
            with contextlib.suppress(FileNotFoundError):
                os.truncate(path, length)

    def _checked(self, line: bytes, rows: BinaryIO) -> int | None:
        """The size of the batch that `line` tells of, taken into account; None where line or rows are not whole."""
        try:
            about = json.loads(line) if line.endswith(b"\n") else {}
            stop, width, kind = int(about["stop"]), int(about["width"]), np.dtype(about["dtype"])
            checksum = str(about["sha256"])
        except (ValueError, KeyError, TypeError):
            return None
        size = (stop - self.done) * width * kind.itemsize
        fits = self.done == 0 or (width, kind.str) == (self.width, self.dtype)
        if size <= 0 or not fits or hashlib.sha256(rows.read(size)).hexdigest() != checksum:
            return None
        self.done, self.width, self.dtype = stop, width, kind.str
        return int(size)


@contextlib.contextmanager
def locked(root: Path, key: str, *, wait: Any) -> Iterator[Path]:
    """The folder for the extraction `key` below `root`, held by this caller alone; the lock goes with its process.

    wait: called now and then while another process holds it, with the rows that this one has kept; it may raise to give up.

    Raises:
        StoreError: a disk that refuses.
    """
    folder = root / "extraction" / key
    with waiting_for(lambda: _lock(folder, root), told=lambda: wait(_rows_kept(folder / "lines.jsonl"))):
        yield folder


def remove(root: Path, prefix: str) -> None:
    """Delete what unfinished extractions kept whose key starts with `prefix`."""
    for folder in (root / "extraction").glob(f"{prefix}*"):
        shutil.rmtree(folder, ignore_errors=True)


def sweep(root: Path) -> None:
    """Delete what nobody went on with for two weeks."""
    for folder in (root / "extraction").glob("*"):
        with contextlib.suppress(OSError):
            if time.time() - max(item.stat().st_mtime for item in (folder, *folder.iterdir())) > ABANDONED_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)


def _lock(folder: Path, root: Path) -> int | None:
    try:
        make_private(folder, parents_of=root)
        return try_lock(folder / "lock")
    except FileNotFoundError:
        return None  # whoever held it has finished and removes the folder
    except OSError as error:
        raise StoreError(f"{folder} could not be written ({error}); free space or set PILLAR_CACHE.") from error


def _rows_kept(lines: Path) -> int:
    """The rows that the last whole line tells of."""
    with contextlib.suppress(OSError, ValueError, KeyError, IndexError):
        return int(json.loads(lines.read_bytes().splitlines()[-1])["stop"])
    return 0
