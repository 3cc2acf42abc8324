"""What lies below a cache folder: listed, compared with its checksums, cleared of what killed
writers left, carried away as a zip."""

import contextlib
import dataclasses
import itertools
import os
import time
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO

from pillar_core.errors import StoreError
from pillar_core.store.entry import (
    KINDS,
    SUFFIX,
    Damaged,
    Entry,
    check_file,
    checked_kind,
    checked_name,
    copy_entry,
    entry_path,
)
from pillar_core.store.files import TEMPORARY, write_whole

EVICTION_ORDER = ("arrays", "blob", "calibration", "record")
BROUGHT = "upload-"
"""A blob of this name and a key is the card of arrays that somebody brought, which have no other
copy."""
SPENT = "spent-"
"""A record of this name says what was spent on private rows: it is never removed to make room."""
_STALE_SECONDS = 3600.0
_MARK = "pillar-export-1"


@dataclasses.dataclass(frozen=True)
class PruneReport:
    """Entries removed and bytes freed."""

    removed: tuple[Entry, ...]
    freed: int


@dataclasses.dataclass(frozen=True)
class VerifyReport:
    """How many entries are whole, and what is wrong with the others, by file."""

    whole: int
    damaged: tuple[tuple[Path, str], ...]


def entries_below(
    root: Path, kind: str | None = None, last_used: Mapping[str, float] = MappingProxyType({})
) -> list[Entry]:
    """Entries (of one kind), longest unused first; without a time in `last_used`, that of the
    writing counts."""
    entries = []
    for entry_kind in KINDS if kind is None else (checked_kind(kind),):
        for path in (root / entry_kind).glob(f"??/[!.]*{SUFFIX[entry_kind]}"):
            with contextlib.suppress(FileNotFoundError):
                status = path.stat()
                used = max(last_used.get(f"{entry_kind}/{path.stem}", 0.0), status.st_mtime)
                entries.append(Entry(entry_kind, path.stem, status.st_size, used))
    return sorted(entries, key=lambda item: (item.last_used, item.key))


def evictable(entries: list[Entry], max_bytes: int, *, with_brought: bool) -> list[Entry]:
    """Entries to delete so that at most `max_bytes` stay: arrays, blobs, calibrations, records;
    oldest first.

    with_brought: files that a person brought go, too.
    Raises StoreError: a negative size.
    """
    if not max_bytes >= 0:
        raise StoreError(f"max_bytes must be at least 0; got {max_bytes!r}.")
    total = sum(item.size for item in entries)
    brought = {
        item.key.removeprefix(BROUGHT)
        for item in entries
        if item.kind == "blob" and item.key.startswith(BROUGHT)
    }
    chosen, spared = [], {item for item in entries if item.key.startswith(SPENT)}
    if not with_brought:
        spared |= {
            item
            for item in entries
            if item.kind in ("arrays", "blob") and item.key.removeprefix(BROUGHT) in brought
        }
    for item in sorted(
        set(entries) - spared,
        key=lambda item: (EVICTION_ORDER.index(item.kind), item.last_used, item.key),
    ):
        if total <= max_bytes:
            break
        total -= item.size
        chosen.append(item)
    return chosen


def verify(roots: Iterable[Path]) -> VerifyReport:
    """Every file below these folders compared with its name and its checksum."""
    whole, damaged = 0, []
    for root, kind in itertools.product(roots, KINDS):
        for path in sorted(path for path in (root / kind).glob("??/*") if path.is_file()):
            problem = _problem(path, kind)
            if problem:
                damaged.append((path, problem))
            whole += problem is None
    return VerifyReport(whole, tuple(damaged))


def sweep_unfinished(root: Path) -> None:
    """Delete what killed processes left half-written, once nobody can still be writing it."""
    for kind in KINDS:
        for path in (root / kind).glob(f"??/{TEMPORARY}*"):
            with contextlib.suppress(FileNotFoundError):
                if time.time() - path.stat().st_mtime > _STALE_SECONDS:
                    path.unlink()


def _problem(path: Path, kind: str) -> str | None:
    """None when whole, "" for a file that is being written or has gone, else what is wrong."""
    if path.name.startswith(TEMPORARY):
        return ""
    try:
        check_file(path, *checked_name(kind, path.name.removesuffix(SUFFIX[kind])))
    except FileNotFoundError:
        return ""
    except (Damaged, OSError) as error:
        return str(error)
    return None


@dataclasses.dataclass(frozen=True)
class ImportReport:
    """Entries added, already present, and refused (with the reason)."""

    added: int
    present: int
    refused: tuple[str, ...]


def write_bundle(
    path: Path, root: Path, entries: Sequence[Entry], note: Callable[[str], None]
) -> int:
    """How many of `entries` were written to the zip at `path`; damaged ones are left out with a
    note.

    Raises OSError: the file cannot be written; what was at `path` before is untouched.
    """
    written = 0

    def fill(file: BinaryIO) -> None:
        nonlocal written
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
            archive.comment = _MARK.encode()
            for item in entries:
                source = entry_path(root, item.kind, item.key)
                try:
                    check_file(source, item.kind, item.key)
                    archive.write(source, f"{item.kind}/{item.key}")
                except (Damaged, FileNotFoundError) as error:
                    note(f"{item.kind} {item.key} was left out of the export: {error}")
                    continue
                written += 1

    write_whole(path, fill, claim=lambda whole: os.replace(whole, path))
    return written


def _opened(path: Path) -> zipfile.ZipFile:
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, NotImplementedError, UnicodeDecodeError) as error:
        raise StoreError(f"{path} is no zip file that can be read ({error}).") from error
    if archive.comment != _MARK.encode():
        archive.close()
        raise StoreError(
            f"{path} is a zip file, but no export of this cache; use `python -m pillar_core cache"
            " export`."
        )
    return archive


def read_bundle(path: Path, root: Path) -> ImportReport:
    """What came of each entry of the zip at `path`, placed below `root`.

    Raises StoreError: not a file that `write_bundle` made. OSError: it cannot be read, or `root`
    not written.
    """
    added, present, refused = 0, 0, []
    with _opened(path) as archive:
        for member in archive.infolist():
            kind, _, key = member.filename.partition("/")
            try:
                checked_name(kind, key)
                with archive.open(member) as source:
                    new = copy_entry(root, kind, key, source)
            except (Damaged, StoreError, zipfile.BadZipFile) as error:
                refused.append(f"{member.filename[:120]!r} was refused: {error}")
                continue
            added, present = added + new, present + (not new)
    return ImportReport(added, present, tuple(refused))
