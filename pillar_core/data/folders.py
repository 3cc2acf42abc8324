"""Class folders of image files, on disk or in a zip, decoded to one array. Nothing is ever extracted to disk."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from pillar_core.data.files import opened
from pillar_core.data.wording import listed
from pillar_core.errors import DataError

Array = np.ndarray[Any, Any]
ENDINGS = frozenset({".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".ppm", ".pgm"})
SPLITS = {"train": False, "training": False, "test": True, "testing": True}
LEFT_OUT = frozenset({"val", "valid", "validation"})
UNREADABLE_LIMIT = 0.01
LARGEST_SIDE = 224
LARGEST_PIXELS = 50_000_000
LARGEST_BYTES = 16 * 2**30
UNREADABLE = (OSError, ValueError, SyntaxError, EOFError, IndexError, struct.error, NotImplementedError, zipfile.BadZipFile, zlib.error)


@dataclasses.dataclass(frozen=True)
class Member:
    """One image file: its path for people, and how to read its bytes. `label` and `in_test` follow from the layout."""

    path: PurePosixPath
    read: Callable[[], bytes]
    label: str = ""
    in_test: bool = False


@dataclasses.dataclass(frozen=True)
class Layout:
    """Image files with their classes, and notes on what was decided."""

    members: tuple[Member, ...]
    notes: tuple[str, ...]


@contextlib.contextmanager
def listing(source: str | Path | bytes, *, filename: str) -> Iterator[list[Member]]:
    """The files of a folder or zip, sorted by path, readable while the context is open.

    Raises:
        DataError: neither a folder nor a readable zip, unsafe paths, encrypted files, or too much to unpack.
    """
    if not isinstance(source, bytes) and Path(source).expanduser().is_dir():
        root = Path(source).expanduser()
        files = sorted(path for path in root.rglob("*") if path.is_file())
        yield [Member(PurePosixPath(path.relative_to(root).as_posix()), path.read_bytes) for path in files]
        return
    if not filename.lower().endswith(".zip"):
        raise DataError(f"images must be a npz, a zip or a folder; got {filename or 'no name'!r}.")
    try:
        archive = zipfile.ZipFile(opened(source))
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise DataError(f"the zip cannot be read ({error}): it is damaged or incomplete. Make it again.") from error
    with archive:
        yield _zip_members(archive)


def arranged(members: Sequence[Member]) -> Layout:
    """The image files with class and split from their folders; a single folder around everything is looked through.

    Raises:
        DataError: no images, or images that lie in no class folder.
    """
    visible = [member for member in members if not any(part.startswith((".", "__MACOSX")) for part in member.path.parts)]
    images = [member for member in visible if member.path.suffix.lower() in ENDINGS]
    notes = [f"{len(visible) - len(images)} files are no images and were left out."] if len(images) < len(visible) else []
    if not images:
        raise DataError(f"there are no image files ({', '.join(sorted(ENDINGS))}): put each class into a folder of its own.")
    paths = {member: member.path.parts for member in images}
    while len({parts[0] for parts in paths.values()}) == 1 and all(len(parts) > 2 for parts in paths.values()):
        if next(iter(paths.values()))[0].lower() in SPLITS:
            break
        paths = {member: parts[1:] for member, parts in paths.items()}
    tops = {parts[0].lower() for parts in paths.values()}
    if tops & set(SPLITS) and tops <= {*SPLITS, *LEFT_OUT}:
        left_out = [member for member, parts in paths.items() if parts[0].lower() in LEFT_OUT]
        if left_out:
            notes.append(f"{len(left_out)} validation images were left out: the split carves its own.")
        in_test = {member: SPLITS[parts[0].lower()] for member, parts in paths.items() if parts[0].lower() in SPLITS}
        paths = {member: paths[member][1:] for member in in_test}
    else:
        in_test = dict.fromkeys(paths, False)
    stray = [member.path for member, parts in paths.items() if len(parts) < 2]
    if stray:
        raise DataError(f"{len(stray)} images lie in no class folder ({listed(stray, shown=3)}): put each class into a folder of its own.")
    return Layout(tuple(dataclasses.replace(m, label=paths[m][0], in_test=in_test[m]) for m in paths), tuple(notes))


def decoded(members: Sequence[Member]) -> tuple[Array, Array, tuple[str, ...]]:
    """((m, h, w[, 3]) uint8 rows of the readable files, (n,) bool which those are, notes).

    Colour wherever one image has it. Different sizes become the median size, at most 224 a side, said in the notes.

    Raises:
        DataError: more than 1 % of the files do not decode.
    """
    headers = [_header(member) for member in members]
    readable = [header for header in headers if header is not None]
    _refuse_many(members, np.array([header is not None for header in headers]))
    sizes = np.array([(height, width) for height, width, _ in readable])
    same = bool((sizes == sizes[0]).all())
    target = tuple(int(side) for side in (sizes[0] if same else np.minimum(np.median(sizes, axis=0), LARGEST_SIDE)))
    colour = any(is_colour for _, _, is_colour in readable)
    rows = np.empty((len(members), *target, *((3,) if colour else ())), dtype=np.uint8)
    keep = np.zeros(len(members), dtype=bool)
    for number, (member, header) in enumerate(zip(members, headers, strict=True)):
        keep[number] = header is not None and _decode(member, rows[number], colour)
    _refuse_many(members, keep)
    notes = [] if same else [f"Images of different sizes were resized to {target[0]} × {target[1]} pixels."]
    if not keep.all():
        skipped = [member.path for member, good in zip(members, keep, strict=True) if not good]
        notes.append(f"{len(skipped)} files do not decode and were skipped: {listed(skipped)}.")
    return rows if keep.all() else rows[keep], keep, tuple(notes)


def is_readable(member: Member) -> bool:
    """Whether the file's pixels decode."""
    header = _header(member)
    return header is not None and _decode(member, np.empty((*header[:2], 3) if header[2] else header[:2], dtype=np.uint8), header[2])


def _zip_members(archive: zipfile.ZipFile) -> list[Member]:
    entries = sorted((entry for entry in archive.infolist() if not entry.is_dir()), key=lambda entry: entry.filename)
    unsafe = [entry.filename for entry in entries if entry.filename.startswith(("/", "\\")) or ".." in PurePosixPath(entry.filename).parts]
    if unsafe:
        raise DataError(
            f"the zip holds paths that lead out of it ({listed(unsafe, shown=3)}): refused. Make it again from inside the folder."
        )
    if any(entry.flag_bits & 1 for entry in entries):
        raise DataError("the zip is encrypted: make it again without a password.")
    size = sum(entry.file_size for entry in entries)
    if not size <= LARGEST_BYTES:
        raise DataError(f"the zip would unpack to {size / 2**30:.1f} GiB; the limit is {LARGEST_BYTES // 2**30} GiB.")
    return [Member(PurePosixPath(entry.filename), lambda entry=entry: archive.read(entry)) for entry in entries]  # type: ignore[misc]


def _opened_image(member: Member) -> Any:
    """A Pillow image, or None where the file is none, too large or damaged."""
    from PIL import Image

    try:
        image = Image.open(io.BytesIO(member.read()))
    except (*UNREADABLE, Image.DecompressionBombError, Image.DecompressionBombWarning):
        return None
    return image if image.width * image.height <= LARGEST_PIXELS else None


def _header(member: Member) -> tuple[int, int, bool] | None:
    image = _opened_image(member)
    return None if image is None else (image.height, image.width, image.mode not in ("1", "L", "LA", "I", "I;16", "F"))


def _decode(member: Member, row: Array, colour: bool) -> bool:
    """Writes the image into `row`; False where its pixels do not decode."""
    image = _opened_image(member)
    if image is None:
        return False
    try:
        pixels = image.convert("RGB" if colour else "L")
        height, width = row.shape[:2]
        row[...] = np.asarray(pixels if pixels.size == (width, height) else pixels.resize((width, height)))
    except UNREADABLE:
        return False
    return True


def _refuse_many(members: Sequence[Member], good: Array) -> None:
    bad = [member.path for member, is_good in zip(members, good, strict=True) if not is_good]
    if len(bad) > UNREADABLE_LIMIT * len(members):
        raise DataError(
            f"{len(bad)} of {len(members)} images do not decode, more than {UNREADABLE_LIMIT:.0%}: {listed(bad)}. Remove or replace them."
        )
