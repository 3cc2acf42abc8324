"""Many entries as one zip file: a GPU machine's runs carried to a laptop, each entry checked again on arrival."""

from __future__ import annotations

import dataclasses
import os
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

from pillar_core.errors import StoreError
from pillar_core.store.entry import (
    HEADER_SIZE,
    KINDS,
    Damaged,
    Entry,
    check_file,
    checked_kind,
    checked_name,
    copy_entry,
    entry_path,
)
from pillar_core.store.files import write_whole

_MARK = "pillar-export-1"


@dataclasses.dataclass(frozen=True)
class ImportReport:
    """Entries added, already present, left out because their kind was not asked for, and refused (with the reason)."""

    added: int
    present: int
    skipped: int
    refused: tuple[str, ...]


def write(path: Path, root: Path, entries: Sequence[Entry], note: Callable[[str], None]) -> int:
    """How many of `entries` were written to the zip at `path`; damaged ones are left out with a note.

    Raises:
        OSError: the file cannot be written; what was at `path` before is untouched.
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


def read(path: Path, root: Path, kinds: Sequence[str]) -> ImportReport:
    """What came of each entry of the zip at `path`, placed below `root`.

    Raises:
        StoreError: not a file that `write` made, or an unknown kind.
        OSError, zipfile.BadZipFile: it cannot be read, or `root` not written.
    """
    for kind in kinds:
        checked_kind(kind)
    added, present, skipped, refused = 0, 0, 0, []
    with zipfile.ZipFile(path) as archive:
        if archive.comment != _MARK.encode():
            raise StoreError(f"{path} is a zip file, but no export of this cache; use `python -m pillar_core cache export`.")
        for member in archive.infolist():
            kind, _, key = member.filename.partition("/")
            if kind in KINDS and kind not in kinds:
                skipped += 1
                continue
            try:
                new = _take(archive, member, root, kind, key)
            except (Damaged, StoreError, zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
                refused.append(f"{member.filename!r} was refused: {error}")
                continue
            added, present = added + new, present + (not new)
    return ImportReport(added, present, skipped, tuple(refused))


def _take(archive: zipfile.ZipFile, member: zipfile.ZipInfo, root: Path, kind: str, key: str) -> bool:
    checked_name(kind, key)
    if member.compress_type != zipfile.ZIP_STORED or member.file_size < HEADER_SIZE:
        raise Damaged("it is not stored as this cache stores")
    with archive.open(member) as source:
        return copy_entry(root, kind, key, source)
