"""What takes long to make, piece by piece: kept at once, gone on with after a kill.

A killed process loses at most one batch: each is a file of its own, whole or not there, named by
the row that it begins with; those after a gap are made again.
"""

import contextlib
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from pillar_core.arrays import Array
from pillar_core.store.codec import UNREADABLE
from pillar_core.store.entry import make_private
from pillar_core.store.files import try_lock, waiting_for, writable, write_whole

ABANDONED_SECONDS = 14 * 86_400.0
_BATCH = "{:012}.npy"


class Journal:
    """The rows of one work below `folder`; only the holder of its lock may use it."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._paths = folder, list[Path]()
        self.done = 0
        with contextlib.suppress(*UNREADABLE):
            while True:
                self._count(folder / _BATCH.format(self.done))

    def append(self, rows: Array) -> None:
        """Keep the next rows, (b, width), on the disk. Raises StoreError: the disk is full or
        refuses; what was kept before stays good."""
        path = self._folder / _BATCH.format(self.done)
        with writable(path, f"{self.done} rows are kept, and asking again goes on from there. "):
            write_whole(
                path,
                lambda file: np.save(file, rows),
                claim=lambda written: os.replace(written, path),
            )
            self._count(path)

    def rows(self) -> Array:
        """(done, width) of all that was kept."""
        first, stop = np.load(self._paths[0], mmap_mode="r"), 0
        rows = np.empty((self.done, *first.shape[1:]), first.dtype)
        for batch in self.batches():
            rows[stop : stop + len(batch)] = batch
            stop += len(batch)
        return rows

    def batches(self) -> Iterator[Array]:
        """What was kept, batch by batch."""
        return map(np.load, self._paths)

    def _count(self, path: Path) -> None:
        self.done += len(np.load(path, mmap_mode="r"))
        self._paths.append(path)


@contextlib.contextmanager
def resuming(
    root: Path, key: str, *, wait: Callable[[int], object] = lambda n_done: None
) -> Iterator[Journal]:
    """The journal of the work `key` below `root`, held by this caller alone; the lock goes with its
    process, and the rows once all is done.

    wait: called now and then while another process holds it, with the rows that this one has kept;
    it may raise to give up.

    Raises StoreError: a disk that refuses.
    """
    sweep(root)
    folder = root / "extraction" / key

    def tell() -> None:  # the row that the last batch begins with: those before it are there
        wait(max((int(path.stem) for path in folder.glob("[0-9]*.npy")), default=0))

    with waiting_for(lambda: _lock(folder, root), told=tell):
        yield Journal(folder)
        remove(root, key)


def remove(root: Path, prefix: str) -> None:
    """Delete what unfinished work kept whose key starts with `prefix`."""
    for folder in (root / "extraction").glob(f"{prefix}*"):
        shutil.rmtree(folder, ignore_errors=True)


def sweep(root: Path) -> None:
    """Delete what nobody went on with for two weeks."""
    for folder in (root / "extraction").glob("*"):
        with contextlib.suppress(OSError):
            if (
                time.time() - max(item.stat().st_mtime for item in (folder, *folder.iterdir()))
                > ABANDONED_SECONDS
            ):
                shutil.rmtree(folder, ignore_errors=True)


def _lock(folder: Path, root: Path) -> int | None:
    with (
        writable(folder),
        contextlib.suppress(FileNotFoundError),
    ):  # whoever held it has finished and removes the folder
        make_private(folder, parents_of=root)
        return try_lock(folder / "lock")
    return None
