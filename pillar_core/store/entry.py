"""One entry is one file: a line that says what it is and its checksum, then the bytes. Written
whole or not at all."""

import contextlib
import dataclasses
import errno
import hashlib
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import IO, BinaryIO, Final

from pillar_core.errors import StoreError
from pillar_core.store.files import write_whole

HEADER_SIZE: Final = 256
KINDS: Final = ("record", "arrays", "calibration", "blob")
SUFFIX: Final = {"record": ".json", "arrays": ".npz", "calibration": ".json", "blob": ".bin"}
_MAGIC = "pillar-store-1"
_KEY = re.compile(r"[a-z0-9][a-z0-9_-]{0,95}")
_OF_MACHINE = re.compile(
    rb'"error":"(PILLAR_DEVICE |network timm:[^"]* needs its weights '
    rb'|[^"]* (cannot be read as weights|holds no tensors|does not hold the weights of))'
)
"""In a record: a refusal of the machine that tried it, which older versions stored as a result."""


class Damaged(Exception):
    """An entry that is not what its place and its checksum say; the store turns it into a miss with
    a note."""


@dataclasses.dataclass(frozen=True)
class Entry:
    """What `ls` tells: kind, key, size in bytes on disk and the time of the last use (seconds since
    1970)."""

    kind: str
    key: str
    size: int
    last_used: float


def checked_name(kind: str, key: str) -> tuple[str, str]:
    """`(kind, key)`, safe as parts of a path.

    Raises StoreError: an unknown kind, or a key that is not 1 to 96 of a-z, 0-9, "_" and "-".
    """
    checked_kind(kind)
    if not isinstance(key, str) or not _KEY.fullmatch(key):
        raise StoreError(
            "a store key is 1 to 96 characters of a-z, 0-9, '_' and '-', such as a fingerprint;"
            f" got {key!r}."
        )
    return kind, key


def checked_kind(kind: str) -> str:
    """`kind`, one of `KINDS`. Raises StoreError: another word."""
    if kind not in KINDS:
        raise StoreError(f"kind must be one of {', '.join(KINDS)}; got {kind!r}.")
    return kind


def entry_path(root: Path, kind: str, key: str) -> Path:
    """Where the entry lies below `root`."""
    return root / kind / key[:2] / (key + SUFFIX[kind])


def make_private(folder: Path, *, parents_of: Path) -> None:
    """Create `folder` and what is missing between it and `parents_of`, each readable by its owner
    alone.

    Raises StoreError: the folder belongs to somebody else. OSError: it cannot be created.
    """
    for part in [*reversed(folder.relative_to(parents_of).parents), folder.relative_to(parents_of)]:
        place = parents_of / part
        with contextlib.suppress(FileExistsError):
            place.mkdir(mode=0o700, parents=place == parents_of)
            place.chmod(0o700)
    status = folder.stat()
    if status.st_uid != os.getuid():
        raise StoreError(
            f"the cache folder {folder} belongs to another user; set PILLAR_CACHE to a folder of"
            " your own."
        )
    if status.st_mode & 0o077:
        folder.chmod(0o700)


def read_payload(path: Path, kind: str, key: str) -> bytes:
    """The bytes of the entry, checked. Raises FileNotFoundError: no such entry. Damaged: wrong
    kind, key, length or checksum."""
    content = path.read_bytes()
    size, checksum = _parse_header(content[:HEADER_SIZE], kind, key)
    payload = content[HEADER_SIZE:]
    if len(payload) != size or hashlib.sha256(payload).hexdigest() != checksum:
        raise Damaged("its checksum does not match its content")
    if kind == "record" and _OF_MACHINE.search(payload):
        raise Damaged("it is a refusal of the machine that tried it, and no result")
    return payload


def check_file(path: Path, kind: str, key: str) -> None:
    """Nothing, when the entry is whole; reads it in pieces. Raises FileNotFoundError, Damaged: as
    `read_payload`."""
    if kind == "record":
        read_payload(path, kind, key)
        return
    with path.open("rb") as file:
        size, checksum = _parse_header(file.read(HEADER_SIZE), kind, key)
        if _size_and_checksum(file) != (size, checksum):
            raise Damaged("its checksum does not match its content")


def write_entry(root: Path, kind: str, key: str, fill: Callable[[BinaryIO], object]) -> bool:
    """Whether this call's bytes became the entry; False when a whole one was there first.

    `fill` writes the payload to a file that stands after the header. The file gets its name only
    when it is whole and on the disk, by a hard link, which fails where a name is taken: the first
    writer wins, whatever the timing. Raises OSError: nothing readable is left behind.
    """
    path = entry_path(root, kind, key)
    make_private(path.parent, parents_of=root)
    return write_whole(
        path,
        lambda file: _write(file, kind, key, fill),
        claim=lambda written: _claim(written, path, kind, key),
    )


def copy_entry(root: Path, kind: str, key: str, source: IO[bytes]) -> bool:
    """Like `write_entry` for the bytes of a whole entry, which are checked before they get the
    name. Raises Damaged: they are none."""
    path = entry_path(root, kind, key)
    make_private(path.parent, parents_of=root)

    def claim(written: Path) -> bool:
        check_file(written, kind, key)
        return _claim(written, path, kind, key)

    return write_whole(path, lambda out: shutil.copyfileobj(source, out), claim=claim)


def _write(file: BinaryIO, kind: str, key: str, fill: Callable[[BinaryIO], object]) -> None:
    file.write(b" " * HEADER_SIZE)
    fill(file)
    file.seek(HEADER_SIZE)
    size, checksum = _size_and_checksum(file)
    file.seek(0)
    file.write(f"{_MAGIC} {kind} {key} {size} {checksum}".ljust(HEADER_SIZE - 1).encode() + b"\n")


def _size_and_checksum(file: BinaryIO) -> tuple[int, str]:
    """Bytes that are left in the file, and their SHA-256."""
    digest, size = hashlib.sha256(), 0
    while chunk := file.read(1 << 20):
        digest.update(chunk)
        size += len(chunk)
    return size, digest.hexdigest()


def _claim(temporary: Path, path: Path, kind: str, key: str) -> bool:
    try:
        os.link(temporary, path)
    except FileExistsError:
        try:
            check_file(path, kind, key)
        except (Damaged, FileNotFoundError):
            os.replace(temporary, path)
            return True
        return False
    except OSError as error:
        # Some network and FAT disks have no hard links; a rename is atomic there too, and equal
        # keys mean equal content.
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK):
            raise
        if path.exists():
            return False
        os.replace(temporary, path)
    return True


def _parse_header(header: bytes, kind: str, key: str) -> tuple[int, str]:
    fields = header.decode("ascii", errors="replace").split()
    if (
        len(header) != HEADER_SIZE
        or len(fields) != 5
        or fields[0] != _MAGIC
        or not fields[3].isdecimal()
    ):
        raise Damaged("it was not written by this store")
    if (fields[1], fields[2]) != (kind, key):
        raise Damaged(f"it says that it is {fields[1]} {fields[2]}")
    return int(fields[3]), fields[4]
