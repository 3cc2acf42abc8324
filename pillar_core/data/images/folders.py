"""Class folders of image files, on disk or in a zip. Nothing is ever extracted to disk."""

import contextlib
import dataclasses
import io
import math
import os
import re
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import IO, Any

from pillar_core.data.images.decoding import UNREADABLE_LIMIT, Picture
from pillar_core.data.parts import IMAGE_ENDINGS, check_unpacked, opened, place_of
from pillar_core.data.wording import listed
from pillar_core.errors import DataError
from pillar_core.fingerprint import fingerprint

MOST_SCANS, SCAN, MOST_TEXT = 100, b"\xff\xda", 2**20
"""Passes over its pixels of a JPEG in a zip, what begins one (coded pixels hold it nowhere), and bytes of text beside those of a PNG.

A few packed bytes may ask for a million of them.
"""
MOST_PARTS, MOST_STRIPS, SMALLEST_PART, BY_CHANCE, BY_CHANCE_AMONG = 1000, 10_000, 512, 8192, 2048
"""Of a file's description, of a TIFF's pixels; bytes that a chunk of pixels has beyond that; bytes in which chance begins a scan, and any
segment, less than once."""
FORMATS = ("PNG", "JPEG", "BMP", "GIF", "TIFF", "WEBP", "PPM")
"""What Pillow may take a file for, whatever its ending: for PostScript, say, it would start another program."""
_SEGMENTS = [bytes([255, code]) for code in (*range(0xE0, 0xF0), 0xFE)]
_OFFSETS = (273, 324)
"""Tags of a TIFF: where its strips, or its tiles, lie."""
_COMMENT = re.compile(rb"#[^\n\r]*[\n\r]")
SPLITS = {"train": False, "training": False, "test": True, "testing": True}
LEFT_OUT = frozenset({"val", "valid", "validation"})
LARGEST_BYTES = 16 * 2**30
LARGEST_MEMBER = 2**30
MOST_UPLOADED = 100_000
DEEPEST = 64
MOST_AHEAD = 50_000
"""So many files of a folder without an image among them, and the rest is not looked at."""


@dataclasses.dataclass(frozen=True)
class Member:
    """One file: its path for people, what opens its bytes, and a stamp that changes with them ("" where there is none).

    `label`, `in_test` and `person` follow from the layout. `packed`: the bytes that it takes in a zip.
    """

    path: PurePosixPath
    stream: Callable[[], IO[bytes]]
    stamp: str = ""
    label: str = ""
    in_test: bool = False
    packed: float = math.inf
    person: str = ""

    @property
    def is_image(self) -> bool:
        """Whether its name ends like that of an image."""
        return self.path.suffix.lower() in IMAGE_ENDINGS

    @property
    def picture(self) -> Picture:
        """The file as an image to decode."""
        return Picture(self.path, self._image, self.packed)

    def read(self) -> bytes:
        """All its bytes."""
        with self.stream() as file:
            return file.read()

    @contextlib.contextmanager
    def _image(self) -> Iterator[Any]:
        from PIL import Image, PngImagePlugin

        PngImagePlugin.MAX_TEXT_MEMORY = PngImagePlugin.MAX_TEXT_CHUNK = MOST_TEXT
        with self.stream() as file:
            if isinstance(file, io.BytesIO):
                _check_parts(file.getvalue())
            with Image.open(file, formats=FORMATS) as image:
                yield image


def _check_parts(content: bytes) -> None:
    """Refuses an image by its own description, of which Pillow would work on every part, however few packed bytes say it.

    Raises:
        ValueError: more scans, segments or chunks than images have, a second profile, or numbers written as text.
    """
    is_jpeg, is_png = content.startswith(b"\xff\xd8"), content.startswith(b"\x89PNG")
    if content.count(SCAN) > MOST_SCANS + (0 if is_jpeg else len(content) // BY_CHANCE):
        raise ValueError(f"more than {MOST_SCANS} scans")
    if content[:2] in (b"P1", b"P2", b"P3") or (content[:1] == b"P" and len(_COMMENT.sub(b"", content[:4096]).split(None, 4)) < 4):
        raise ValueError("numbers written as text")
    if is_jpeg and sum(map(content.count, _SEGMENTS)) > MOST_PARTS + len(content) // BY_CHANCE_AMONG:
        raise ValueError(f"more than {MOST_PARTS} segments")
    if content[:2] in (b"II", b"MM") and _strips(content) > MOST_STRIPS:
        raise ValueError(f"more than {MOST_STRIPS} strips")
    place, parts, profiles = 8, 0, 0
    while is_png and place < len(content):
        parts += 1
        if parts > MOST_PARTS + len(content) // SMALLEST_PART or profiles > 1:
            raise ValueError("more chunks than pixels take, or two profiles")
        profiles += content[place + 4 : place + 8] == b"iCCP"
        place += 12 + int.from_bytes(content[place : place + 4], "big")


def _strips(content: bytes) -> float:
    """The parts in which a TIFF says that its first picture lies; ∞ for one of 64 bits, whose description is another."""
    order: Any = "little" if content[:2] == b"II" else "big"

    def number(place: int, size: int) -> int:
        return int.from_bytes(content[place : place + size], order)

    if number(2, 2) != 42:
        return math.inf
    start = number(4, 4)
    entries = [start + 2 + 12 * entry for entry in range(number(start, 2))]
    return max((number(place + 4, 4) for place in entries if number(place, 2) in _OFFSETS), default=0)


@dataclasses.dataclass(frozen=True)
class Layout:
    """Image files with their classes, and notes on what was decided.

    `classes` gives the order of the codes (empty: sorted). Without test images of their own a fifth becomes the test rows.
    `rows_per_person`: how many images of one person count at most; None where every image is an example of its own.
    """

    members: tuple[Member, ...]
    notes: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    rows_per_person: int | None = None


@contextlib.contextmanager
def listing(source: str | Path | bytes, *, filename: str) -> Iterator[list[Member]]:
    """The files of a folder or zip, sorted by path, readable while the context is open.

    Raises:
        DataError: neither a folder nor a readable zip, unsafe paths, encrypted files, or too much to unpack.
    """
    if not isinstance(source, bytes) and place_of(source).is_dir():
        root = place_of(source)
        yield _files(root)
        return
    if not filename.lower().endswith(".zip"):
        raise DataError(f"images must be a npz, a zip or a folder; got {filename or 'no name'!r}.")
    try:
        archive = zipfile.ZipFile(opened(source))
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise DataError(f"the zip cannot be read ({error}): it is damaged or incomplete. Make it again.") from error
    with archive:
        if isinstance(source, bytes) and len(archive.infolist()) > MOST_UPLOADED:
            raise DataError(
                f"a zip that is sent holds at most {MOST_UPLOADED:,} files; this one holds {len(archive.infolist()):,}. Name its path."
            )
        check_unpacked("the zip", sum(entry.file_size for entry in archive.infolist()), opened(source), most=LARGEST_BYTES)
        yield _zip_members(archive, stamped=not isinstance(source, bytes))


def content_key(members: Sequence[Member], *more: str) -> str | None:
    """A name for what the files hold, from their paths, sizes and times or checksums; None where those are not known."""
    if not all(member.stamp for member in members):
        return None
    return fingerprint("image files", [(str(member.path), member.stamp, member.label, member.in_test) for member in members], *more)


def arranged(members: Sequence[Member]) -> Layout:
    """The image files with class and split from their folders; a single folder around everything is looked through.

    Raises:
        DataError: no images, or images that lie in no class folder.
    """
    visible = [member for member in members if not any(part.startswith((".", "__MACOSX")) for part in member.path.parts)]
    images = [member for member in visible if member.is_image]
    notes = [f"{len(visible) - len(images)} files are no images and were left out."] if len(images) < len(visible) else []
    if not images:
        raise DataError(f"there are no image files ({', '.join(sorted(IMAGE_ENDINGS))}): put each class into a folder of its own.")
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


def on_disk(path: Path, root: Path, *, label: str = "", in_test: bool = False) -> Member:
    """The file at `path`, named from `root` on.

    Raises:
        OSError: there is none.
    """
    status = path.stat()
    name = PurePosixPath(path.relative_to(root).as_posix())
    return Member(name, lambda: path.open("rb"), f"{status.st_size}:{status.st_mtime_ns}", label, in_test)


def _files(root: Path) -> list[Member]:
    """The files below a folder that can be looked at, sorted by path.

    Raises:
        DataError: so many, and none is an image.
    """
    members: list[Member] = []
    seen_image = False
    for place, _, names in os.walk(root):
        for name in names:
            path = Path(place, name)
            with contextlib.suppress(OSError):
                if path.is_file():
                    members.append(on_disk(path, root))
                    seen_image = seen_image or members[-1].is_image
            if len(members) > MOST_AHEAD and not seen_image:
                raise DataError(f"the first {len(members):,} files of this folder are no images: name the folder that holds them.")
    return sorted(members, key=lambda member: member.path)


def _zip_members(archive: zipfile.ZipFile, *, stamped: bool) -> list[Member]:
    entries = sorted((entry for entry in archive.infolist() if not entry.is_dir()), key=lambda entry: entry.filename)
    unsafe = [repr(entry.filename) for entry in entries if _leads_out(entry.filename)]
    if unsafe:
        raise DataError(
            f"the zip holds paths that lead out of it, or more than {DEEPEST} folders deep ({listed(unsafe, shown=3)}): refused. "
            "Make it again from inside the folder."
        )
    if any(entry.flag_bits & 1 for entry in entries):
        raise DataError("the zip is encrypted: make it again without a password.")
    huge = [entry.filename for entry in entries if entry.file_size > LARGEST_MEMBER]
    if huge:
        raise DataError(
            f"the zip holds files of more than {LARGEST_MEMBER // 2**30} GiB ({listed(huge, shown=3)}): no image is that large."
        )
    return [
        Member(
            PurePosixPath(entry.filename),
            lambda entry=entry: io.BytesIO(archive.read(entry)),  # type: ignore[misc]  # mypy cannot type a default that is captured
            f"{entry.file_size}:{entry.CRC}" if stamped else "",
            packed=entry.compress_size,
        )
        for entry in entries
    ]


def _leads_out(name: str) -> bool:
    """Whether a path in a zip is absolute, climbs, is very deep, names a drive or holds characters that hide what it is."""
    parts = name.replace("\\", "/").split("/")
    return (
        len(parts) > DEEPEST
        or parts[0] in ("", "~")
        or ".." in parts
        or (len(parts[0]) == 2 and parts[0][1] == ":")
        or not name.isprintable()
    )


def complete(members: Sequence[Member], absent: Sequence[object], *, classes: tuple[str, ...] = (), notes: tuple[str, ...] = ()) -> Layout:
    """The layout of images that a list names, unless more than 1 % of them are not there.

    Raises:
        DataError: so many are missing; it names some.
    """
    wanted = len(members) + len(absent)
    if not members or len(absent) > UNREADABLE_LIMIT * wanted:
        raise DataError(
            f"{len(absent)} of {wanted} images that the source's lists name are missing ({listed(absent, shown=3)}): "
            "unpack every part of the data set into one folder."
        )
    more = (f"{len(absent)} images that the source's lists name are missing: {listed(absent)}.",) if absent else ()
    return Layout(tuple(members), (*notes, *more), classes)
