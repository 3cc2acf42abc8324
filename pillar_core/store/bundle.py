"""Many entries as one zip file: a GPU machine's runs carried to a laptop, each entry checked again on arrival."""

import dataclasses
import os
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from pillar_core.errors import StoreError
from pillar_core.store import codec, entry
from pillar_core.store.entry import Damaged, Entry
from pillar_core.store.files import write_whole

LARGEST_RECORD = 1_000_000
"""Bytes of a record that is taken in; ours have some thousands."""
MOST_REFUSED = 100
"""Entries of one file that are refused one by one; a file with more of them is none that we wrote."""
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


def read(path: Path, root: Path, kinds: Sequence[str], *, room: int | None, problem_of: Callable[[Any], str] | None) -> ImportReport:
    """What came of each entry of the zip at `path`, placed below `root`; after `MOST_REFUSED` refusals the rest is left unread.

    room: the bytes that may be added (None: any number). problem_of: None where the file is trusted and each entry keeps its
    kind; else records become `IMPORTED`, those with a problem are refused, and those of which `root` has its own stay out.

    Raises:
        StoreError: not a file that `write` made, an unknown kind, more than there is room for, or than the file can hold.
        OSError, zipfile.BadZipFile: it cannot be read, or `root` not written.
    """
    for kind in kinds:
        entry.checked_kind(kind)
    added, present, refused = 0, 0, []
    with zipfile.ZipFile(path) as archive:
        if archive.comment != _MARK.encode():
            raise StoreError(f"{path} is a zip file, but no export of this cache; use `python -m pillar_core cache export`.")
        named = [(member, *member.filename.partition("/")[::2]) for member in archive.infolist()]
        wanted = [one for one in named if one[1] in kinds or one[1] not in entry.KINDS]
        _check_sizes(path, sum(member.file_size for member, _, _ in wanted if member.compress_type == zipfile.ZIP_STORED), room)
        for count, (member, kind, key) in enumerate(wanted):
            try:
                new = _take(archive, member, root, kind, key, problem_of)
            except (Damaged, StoreError, zipfile.BadZipFile, ValueError, OverflowError, EOFError, RuntimeError) as error:
                refused.append(f"{member.filename[:120]!r} was refused: {error}")
                if len(refused) == MOST_REFUSED:
                    refused.append(f"{len(wanted) - count - 1:,} more entries were left unread: {MOST_REFUSED} were refused.")
                    break
                continue
            added, present = added + new, present + (not new)
    return ImportReport(added, present, len(named) - len(wanted), tuple(refused))


def _check_sizes(path: Path, wanted: int, room: int | None) -> None:
    """Entries are stored as they are, so a file cannot hold more than its own size.

    Raises:
        StoreError: it says that it does, or there is no room.
    """
    if wanted > path.stat().st_size:
        raise StoreError(f"{path} says that it holds {wanted:,} bytes, more than the file has: it is damaged or made to mislead.")
    if room is not None and wanted > room:
        raise StoreError(
            f"{path} holds {wanted:,} bytes, and the cache has room for {max(0, room):,} within its limit. Make room with "
            "`python -m pillar_core cache prune --to SIZE`, or raise PILLAR_CACHE_BYTES."
        )


def _take(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, root: Path, kind: str, key: str, problem_of: Callable[[Any], str] | None
) -> bool:
    entry.checked_name(kind, key)
    if member.compress_type != zipfile.ZIP_STORED or member.file_size < entry.HEADER_SIZE:
        raise Damaged("it is not stored as this cache stores")
    if problem_of is None:
        with archive.open(member) as source:
            return entry.copy_entry(root, kind, key, source)
    if member.file_size > LARGEST_RECORD:
        raise Damaged(f"a record has at most {LARGEST_RECORD:,} bytes; this one has {member.file_size:,}")
    payload = entry.checked_payload(archive.read(member), kind, key)
    value = codec.decode_json(payload)
    problem = problem_of(value)
    if problem:
        raise Damaged(problem)
    whole = codec.encode_json(value)  # refuses what was written otherwise and cannot be read as text
    return not entry.entry_path(root, kind, key).exists() and entry.write_entry(root, entry.IMPORTED, key, lambda out: out.write(whole))
