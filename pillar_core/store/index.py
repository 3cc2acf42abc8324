"""When each entry was last used, and its size, in a diskcache index that never unpickles. Losing it
loses no entry.

diskcache's own Disk classes unpickle what they find (CVE-2025-69872). `PlainDisk` stores and reads
text and numbers inside the database only: it refuses pickles for keys and for values, and it
refuses file names, so that a planted database can neither run code nor make the cache read or
delete a file elsewhere.
"""

import shutil
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import diskcache

from pillar_core.store.entry import make_private

_BATCH = 4096
_SECONDS = 5.0
_LOWER_BYTE = 0xFF
T = TypeVar("T")
_NOT_ITS_FAULT = (
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_CANTOPEN,
)


class ForeignIndex(Exception):
    """The index holds something that this library does not write."""


class PlainDisk(diskcache.Disk):  # type: ignore[misc]  # diskcache carries no types
    """Text keys and text values, nothing else in either direction."""

    def __init__(self, directory: str, **_: object) -> None:
        """The arguments come from the database's own settings table, so they are ignored."""
        super().__init__(directory, min_file_size=1 << 30, pickle_protocol=0)

    def put(self, key: object) -> tuple[str, bool]:
        if type(key) is not str:
            raise ForeignIndex("an index key that is not text")
        return key, True

    def get(self, key: object, raw: object) -> str:
        if not raw or type(key) is not str:
            raise ForeignIndex("an index key that is not text")
        return key

    def store(self, value: object, read: bool, key: object = None) -> tuple[int, int, None, str]:
        if read or type(value) is not str:
            raise ForeignIndex("an index value that is not text")
        return 0, diskcache.core.MODE_RAW, None, value

    def fetch(self, mode: int, filename: str | None, value: object, read: bool) -> str:
        if (
            mode != diskcache.core.MODE_RAW
            or filename is not None
            or read
            or type(value) is not str
        ):
            raise ForeignIndex("an index value that is not text")
        return value

    def remove(self, file_path: str) -> None:
        """Nothing: this disk has no files, so a file name in the database is not ours to delete."""


class Index:
    """Last uses, gathered in memory and written in batches. `note` is told when the index had to be
    thrown away."""

    def __init__(self, folder: Path, note: Callable[[str], None]) -> None:
        self._folder = folder
        self._note = note
        self._lock = threading.Lock()
        self._pending: dict[str, str] = {}
        self._written = time.monotonic()

    def touch(self, kind: str, key: str) -> None:
        """Remember that the entry was used now; on disk within 4096 uses, or with the first one
        after five seconds."""
        with self._lock:
            self._pending[f"{kind}/{key}"] = f"{time.time():.3f}"
            due = len(self._pending) >= _BATCH or time.monotonic() - self._written > _SECONDS
        if due:
            self.flush()

    def flush(self) -> None:
        """Write what was gathered."""
        with self._lock:
            pending, self._pending = self._pending, {}
            self._written = time.monotonic()

        def write(cache: diskcache.Cache) -> None:
            with cache.transact():
                for name, value in pending.items():
                    cache.set(name, value)

        if pending:
            self._with_cache(write)

    def last_used(self) -> dict[str, float]:
        """Time of last use by "kind/key"; earlier versions wrote the size before it."""
        self.flush()

        def read(cache: diskcache.Cache) -> dict[str, float]:
            return {name: float(cache.get(name, "0").split()[-1]) for name in cache}

        return self._with_cache(read) or {}

    def forget(self, names: list[str]) -> None:
        """Drop entries that were deleted."""
        self.flush()

        def drop(cache: diskcache.Cache) -> None:
            with cache.transact():
                for name in names:
                    cache.delete(name)

        self._with_cache(drop)

    def _with_cache(self, action: Callable[[diskcache.Cache], T]) -> T | None:
        for attempt in range(2):
            try:
                make_private(self._folder, parents_of=self._folder.parent)
                with diskcache.Cache(
                    str(self._folder),
                    disk=PlainDisk,
                    timeout=10,
                    eviction_policy="none",
                    cull_limit=0,
                ) as cache:
                    return action(cache)
            except (ForeignIndex, sqlite3.DatabaseError, ValueError) as error:
                if attempt or getattr(error, "sqlite_errorcode", 0) & _LOWER_BYTE in _NOT_ITS_FAULT:
                    self._note(
                        f"the cache's index could not be used ({error}); entries are unaffected."
                    )
                    return None
                self._note(
                    f"the cache's index was damaged or foreign ({error}) and was started anew;"
                    " entries are unaffected."
                )
                shutil.rmtree(self._folder, ignore_errors=True)
            except (OSError, diskcache.Timeout) as error:
                self._note(
                    f"the cache's index could not be written ({error}); entries are unaffected."
                )
                return None
        return None
