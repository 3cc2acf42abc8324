"""Content-addressed bytes on disk: atomic, checksummed, indexed. The store knows no other noun.

An entry has a kind and a key (the fingerprint of what made it). "record" and "calibration" hold
JSON, "arrays" npz, "blob" bytes; nothing is ever pickled. What cannot be read as written is a miss
with a note, never an error and never wrong data. The checksum guards against damage, not against
somebody who can write to the cache.

>>> from tempfile import TemporaryDirectory
>>> with TemporaryDirectory() as folder:
...     store = pc.store.Store(folder)
...     is_written = store.put_json("record", "a-key", {"accuracy": 0.9})
...     found = store.get_json("record", "a-key")
>>> is_written, found
(True, {'accuracy': 0.9})
"""

import atexit
import contextlib
import functools
import glob
import logging
import os
import threading
from collections import deque
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from pillar_core import installation
from pillar_core.arrays import Array, Json
from pillar_core.errors import StoreError
from pillar_core.store import codec, entry, upkeep
from pillar_core.store.entry import KINDS, Damaged, Entry
from pillar_core.store.files import check_room, writable
from pillar_core.store.index import Index
from pillar_core.store.upkeep import ImportReport, PruneReport, VerifyReport

__all__ = ["KINDS", "Entry", "ImportReport", "PruneReport", "Store", "VerifyReport", "default"]

T = TypeVar("T")
_LOGGER = logging.getLogger(__name__)

DEFAULT_MAX_BYTES = 20 * 10**9
MEMORY_BYTES = 100 * 10**6
"""What of `remember_json` is held in memory at most where the disk refuses; the oldest goes
first."""


def default() -> "Store":
    """The cache of this user: PILLAR_CACHE, else that of this copy, over the starter records that
    ship with it.

    PILLAR_CACHE_BYTES limits its size (20 GB unless set): features go before records.
    Raises StoreError: PILLAR_CACHE_BYTES is not a whole number above 0.
    """
    root = os.environ.get("PILLAR_CACHE") or str(installation.cache_folder())
    limit = os.environ.get("PILLAR_CACHE_BYTES") or str(DEFAULT_MAX_BYTES)
    if not limit.isdecimal() or int(limit) == 0:
        raise StoreError(
            f"PILLAR_CACHE_BYTES must be a whole number above 0; got {limit!r}. Unset it for"
            f" {DEFAULT_MAX_BYTES}."
        )
    return _shared_store(Path(root).expanduser().absolute(), int(limit))


@functools.lru_cache(maxsize=8)
def _shared_store(root: Path, max_bytes: int) -> "Store":
    store = Store(root, starter=installation.APP / "cache" / "starter", max_bytes=max_bytes)
    atexit.register(store.flush)
    return store


@functools.lru_cache(maxsize=50_000)
def _check_version(path: Path, kind: str, key: str, *version: int) -> None:
    """`entry.check_file`, once for each version of a file."""
    entry.check_file(path, kind, key)


def _check_once(path: Path, kind: str, key: str) -> None:
    status = path.stat()
    _check_version(path, kind, key, status.st_ino, status.st_mtime_ns, status.st_size)


class Store:
    """Entries below `root` (created on the first write, for its owner alone), over a read-only
    `starter` layer.

    `max_bytes` bounds what lies in `root` after each `put_arrays`. Safe for many threads and
    processes at once: the first writer of a key wins, and readers see whole entries or none.
    """

    def __init__(
        self, root: Path | str, *, starter: Path | str | None = None, max_bytes: int | None = None
    ) -> None:
        self.root = Path(root).expanduser().absolute()
        self.starter = None if starter is None else Path(starter).absolute()
        self._layers = (self.root,) if self.starter is None else (self.root, self.starter)
        self.max_bytes = max_bytes
        self._notes: deque[str] = deque(maxlen=50)
        self._lock = threading.Lock()
        self._index = Index(self.root / "index", self._note)
        self._memory: dict[tuple[str, str], bytes] = {}
        self.unkept = ""
        """Why results are only in memory, in a sentence for people; "" while the disk takes what is
        written."""

    def notes(self) -> tuple[str, ...]:
        """What went wrong in this process and was worked around: the last 50, oldest first."""
        return tuple(self._notes)

    def has(self, kind: str, key: str) -> bool:
        """Whether there is such an entry. A record is read for it, once for each version of its
        file; damage of others shows later."""
        kind, key = entry.checked_name(kind, key)
        for layer in self._layers:
            path = entry.entry_path(layer, kind, key)
            with contextlib.suppress(FileNotFoundError, Damaged, *codec.UNREADABLE):
                if kind == "record":
                    _check_once(path, kind, key)
                else:
                    path.stat()
                return True
        return False

    def get_json(self, kind: str, key: str) -> Json:
        """The value stored (or remembered by this process) under `key`, or None."""
        stored = self._get(
            kind, key, lambda path: codec.decode_json(entry.read_payload(path, kind, key))
        )
        remembered = self._memory.get((kind, key)) if stored is None else None
        return stored if remembered is None else codec.decode_json(remembered)

    def remember_json(self, kind: str, key: str, value: Json) -> bool:
        """As `put_json` for what can be computed again: on a full or read-only disk it stays in
        memory, and `unkept` says so.

        Raises StoreError: NaN, a type that JSON lacks, or somebody else's folder.
        """
        try:
            written = self.put_json(kind, key, value)
        except StoreError as error:
            if not isinstance(error.__cause__, OSError):
                raise
            with self._lock:
                self._memory[kind, key] = codec.encode_json(value)
                while sum(map(len, self._memory.values())) > MEMORY_BYTES:
                    del self._memory[next(iter(self._memory))]
            self.unkept = (
                "The cache cannot be written: results are only in memory, until this process ends."
                f" {error}"
            )
            self._note(self.unkept)
            return False
        self.unkept = ""
        return written

    def put_json(self, kind: str, key: str, value: Json) -> bool:
        """Whether `value` was stored now; False when the key was there (the first written wins).

        Raises StoreError: NaN, a type that JSON lacks, or a disk that refuses.
        """
        payload = codec.encode_json(value)
        return self._put(kind, key, lambda out: out.write(payload))

    def check_room(self, n_bytes: int = 2**20) -> None:
        """Refuses a cache that takes no further entry of this size, before anything is spent that
        must be written down.

        Raises StoreError: what the disk would refuse, and what to do.
        """
        with writable(self.root):
            entry.make_private(self.root / "record", parents_of=self.root)
        check_room(self.root / "record" / "room", n_bytes)

    def get_bytes(self, key: str) -> bytes | None:
        """The blob stored under `key`, or None."""
        return self._get("blob", key, lambda path: entry.read_payload(path, "blob", key))

    def put_bytes(self, key: str, value: bytes) -> bool:
        """Whether `value` was stored now, as a blob. Raises StoreError: a disk that refuses."""
        return self._put("blob", key, lambda out: out.write(value))

    def get_arrays(self, key: str, *, mmap: bool = False) -> dict[str, Array] | None:
        """The arrays stored under `key`, or None. With `mmap` they stay on disk until touched.

        A file is checked in full on its first use by this process and again whenever it has
        changed.
        """
        return self._get("arrays", key, lambda path: self._read_arrays(path, key, mmap))

    def put_arrays(self, key: str, **arrays: ArrayLike) -> bool:
        """Whether `arrays` were stored now. May evict other entries, features first and nothing
        that somebody brought, to stay within `max_bytes`.

        Raises StoreError: an array of Python objects, or a disk that refuses.
        """
        written = self._put("arrays", key, lambda out: codec.write_npz(arrays, out))
        if (
            written
            and self.max_bytes is not None
            and sum(item.size for item in upkeep.entries_below(self.root)) > self.max_bytes
        ):
            self.prune(self.max_bytes, with_brought=False)
        return written

    def delete(self, kind: str, key: str) -> bool:
        """Whether an entry was removed. Starter entries stay."""
        kind, key = entry.checked_name(kind, key)
        self._memory.pop((kind, key), None)
        with writable(self.root):
            try:
                entry.entry_path(self.root, kind, key).unlink()
            except FileNotFoundError:
                return False
        self._index.forget([f"{kind}/{key}"])
        return True

    def ls(self, kind: str | None = None) -> list[Entry]:
        """Entries in the cache (of one kind), longest unused first."""
        return upkeep.entries_below(self.root, kind, self._index.last_used())

    def keys(self, kind: str, *, prefix: str = "") -> list[str]:
        """Keys of one kind in the cache that start with `prefix`, in order; quicker than `ls`,
        which also asks when each was used."""
        pattern = f"{prefix[:2] if len(prefix) > 1 else '??'}/{prefix or '[!.]'}*"
        folder, suffix = self.root / entry.checked_kind(kind), entry.SUFFIX[kind]
        names = glob.glob(pattern + suffix, root_dir=folder)
        return sorted(os.path.basename(name).removesuffix(suffix) for name in names)

    def verify(self, *, remove: bool = False) -> VerifyReport:
        """Every entry read and compared with its checksum, starter entries too; with `remove`,
        damaged ones are deleted."""
        report = upkeep.verify(self._layers)
        for path, _ in report.damaged if remove else ():
            if path.parents[2] == self.root:
                path.unlink(missing_ok=True)
        return report

    def prune(self, max_bytes: int, *, with_brought: bool = True) -> PruneReport:
        """Remove the longest unused entries until at most `max_bytes` are left: arrays, blobs,
        calibrations, records.

        with_brought: rows that somebody brought, which have no other copy, go, too.
        Raises StoreError: a negative size.
        """
        upkeep.sweep_unfinished(self.root)
        chosen = upkeep.evictable(self.ls(), max_bytes, with_brought=with_brought)
        for item in chosen:
            entry.entry_path(self.root, item.kind, item.key).unlink(missing_ok=True)
        if chosen:
            self._index.forget([f"{item.kind}/{item.key}" for item in chosen])
        return PruneReport(tuple(chosen), sum(item.size for item in chosen))

    def export(
        self,
        path: Path | str,
        *,
        kinds: Sequence[str] = ("record",),
        keys: Collection[str] | None = None,
    ) -> int:
        """How many entries went into the one zip file at `path`: records only, unless other kinds
        are named.

        Raises StoreError: an unknown kind, or a place that cannot be written.
        """
        chosen = [
            item for kind in kinds for item in self.ls(kind) if keys is None or item.key in keys
        ]
        with writable(path):
            return upkeep.write_bundle(Path(path), self.root, chosen, self._note)

    def import_(self, path: Path | str) -> ImportReport:
        """What came of each entry in a file that `export` wrote: it answers here like what was made
        here. Damaged ones are refused.

        Raises StoreError: not such a file at all, or a disk that refuses.
        """
        with writable(path):
            report = upkeep.read_bundle(Path(path), self.root)
        for problem in report.refused:
            self._note(f"import of {Path(path).name}: {problem}")
        return report

    def flush(self) -> None:
        """Write the times of last use to the index."""
        if self.root.exists():
            self._index.flush()

    def _get(self, kind: str, key: str, read: Callable[[Path], T]) -> T | None:
        kind, key = entry.checked_name(kind, key)
        for layer in self._layers:
            path = entry.entry_path(layer, kind, key)
            try:
                value = read(path)
            except FileNotFoundError:
                continue
            except (Damaged, *codec.UNREADABLE) as error:
                self._note(
                    f"{kind} {key} in {layer} could not be used ({error}); it counts as missing and"
                    " is computed again."
                )
                continue
            if layer == self.root:
                self._index.touch(kind, key)
            return value
        return None

    def _put(self, kind: str, key: str, fill: Callable[[BinaryIO], object]) -> bool:
        kind, key = entry.checked_name(kind, key)
        with writable(self.root):
            try:
                written = entry.write_entry(self.root, kind, key, fill)
            except FileNotFoundError:
                return False
        self._index.touch(kind, key)
        return written

    def _read_arrays(self, path: Path, key: str, mmap: bool) -> dict[str, Array]:
        _check_once(path, "arrays", key)
        mapped = codec.map_npz(str(path))
        return mapped if mmap else {name: np.array(value) for name, value in mapped.items()}

    def _note(self, text: str) -> None:
        with self._lock:
            if text in self._notes:
                return
            self._notes.append(text)
        _LOGGER.warning(text)
