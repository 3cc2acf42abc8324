"""Many entries as one zip file: a GPU machine's runs carried to a laptop, each entry's checksum compared on arrival."""

import dataclasses
import os
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

from pillar_core.errors import StoreError
from pillar_core.store import entry
from pillar_core.store.entry import Damaged, Entry
from pillar_core.store.files import write_whole

_MARK = "pillar-export-1"


@dataclasses.dataclass(frozen=True)
class ImportReport:
    """Entries added, already present, and refused (with the reason)."""

    added: int
    present: int
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
                source = entry.entry_path(root, item.kind, item.key)
                try:
                    entry.check_file(source, item.kind, item.key)
                    archive.write(source, f"{item.kind}/{item.key}")
                except (Damaged, FileNotFoundError) as error:
                    note(f"{item.kind} {item.key} was left out of the export: {error}")
                    continue
                written += 1

    write_whole(path, fill, claim=lambda whole: os.replace(whole, path))
    return written


def read(path: Path, root: Path) -> ImportReport:
    """What came of each entry of the zip at `path`, placed below `root`.

    Raises:
        StoreError: not a file that `write` made.
        OSError, zipfile.BadZipFile: it cannot be read, or `root` not written.
    """
    added, present, refused = 0, 0, []
    with zipfile.ZipFile(path) as archive:
        if archive.comment != _MARK.encode():
            raise StoreError(f"{path} is a zip file, but no export of this cache; use `python -m pillar_core cache export`.")
        for member in archive.infolist():
            kind, _, key = member.filename.partition("/")
            try:
                entry.checked_name(kind, key)
                with archive.open(member) as source:
                    new = entry.copy_entry(root, kind, key, source)
            except (Damaged, StoreError, zipfile.BadZipFile) as error:
                refused.append(f"{member.filename[:120]!r} was refused: {error}")
                continue
            added, present = added + new, present + (not new)
    return ImportReport(added, present, tuple(refused))
