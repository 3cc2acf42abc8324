"""Many entries as one zip file: a GPU machine's runs carried to a laptop, each entry checked again on arrival."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import secrets
import shutil
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

from pillar_core.errors import StoreError
from pillar_core.store.entry import (
    HEADER_SIZE,
    KINDS,
    TEMPORARY,
    Damaged,
    Entry,
    check_file,
    checked_kind,
    checked_name,
    entry_path,
    make_private,
    place_file,
)

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
    temporary = path.with_name(f"{TEMPORARY}{os.getpid()}-{secrets.token_hex(6)}")
    written = 0
    try:
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
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
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()
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
    folder = entry_path(root, kind, key).parent
    make_private(folder, parents_of=root)
    temporary = folder / f"{TEMPORARY}{os.getpid()}-{secrets.token_hex(6)}"
    try:
        with os.fdopen(os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600), "w+b") as out:
            with archive.open(member) as source:
                shutil.copyfileobj(source, out)
            out.flush()
            os.fsync(out.fileno())
        check_file(temporary, kind, key)
        return place_file(root, kind, key, temporary)
    finally:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()
