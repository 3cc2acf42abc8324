"""Class folders of image files, on disk or in a zip. Nothing is ever extracted to disk."""

import contextlib
import dataclasses
import io
import os
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import IO, Any

from pillar_core.data.parts import IMAGE_ENDINGS, open_source, place_of
from pillar_core.data.wording import join
from pillar_core.errors import DataError
from pillar_core.fingerprint import fingerprint

UNREADABLE_SHARE = 0.01
"""Of many images that a list or a folder names, so many may be absent or broken."""
FORMATS = ("PNG", "JPEG", "BMP", "GIF", "TIFF", "WEBP", "PPM")
"""What Pillow may take a file for, whatever its ending: for PostScript, say, it would start another
program."""


@dataclasses.dataclass(frozen=True)
class Member:
    """One file: its path for people, what opens its bytes, and a stamp that changes with them (""
    where there is none).

    `label`, `in_test` and `person` follow from the layout.
    """

    path: PurePosixPath
    stream: Callable[[], IO[bytes]]
    stamp: str = ""
    label: str = ""
    in_test: bool = False
    person: str = ""

    @property
    def is_image(self) -> bool:
        """Whether its name ends like that of an image."""
        return self.path.suffix.lower() in IMAGE_ENDINGS

    def read(self) -> bytes:
        """All its bytes."""
        with self.stream() as file:
            return file.read()

    @contextlib.contextmanager
    def open(self) -> Iterator[Any]:
        """The image in it, lazily decoded by Pillow, or one of `decoding.UNREADABLE`."""
        from PIL import Image

        Image.MAX_IMAGE_PIXELS = None  # `room` says how large an image may be
        with self.stream() as file, Image.open(file, formats=FORMATS) as image:
            yield image


@dataclasses.dataclass(frozen=True)
class Layout:
    """Image files with their classes, and notes on what was decided.

    `classes` gives the order of the codes (empty: sorted). Without test images of their own a fifth
    becomes the test rows. `rows_per_person`: how many images of one person count at most; None
    where every image is an example of its own.
    """

    members: tuple[Member, ...]
    notes: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    rows_per_person: int | None = None


@contextlib.contextmanager
def listing(source: str | Path | bytes, *, filename: str) -> Iterator[list[Member]]:
    """The files of a folder or zip, sorted by path, readable while the context is open.

    Raises DataError: neither a folder nor a readable zip, paths that lead out of it, or encrypted
    files.
    """
    if not isinstance(source, bytes) and place_of(source).is_dir():
        root = place_of(source)
        yield _files(root)
        return
    if not filename.lower().endswith(".zip"):
        raise DataError(f"images must be a npz, a zip or a folder; got {filename or 'no name'!r}.")
    try:
        archive = zipfile.ZipFile(open_source(source))
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise DataError(
            f"the zip cannot be read ({error}): it is damaged or incomplete. Make it again."
        ) from error
    with archive:
        yield _zip_members(archive, stamped=not isinstance(source, bytes))


def content_key(members: Sequence[Member], *more: str) -> str | None:
    """A name for what the files hold, from their paths, sizes and times or checksums; None where
    those are not known."""
    if not all(member.stamp for member in members):
        return None
    return fingerprint(
        "image files",
        [(str(member.path), member.stamp, member.label, member.in_test) for member in members],
        *more,
    )


def on_disk(path: Path, root: Path, *, label: str = "", in_test: bool = False) -> Member:
    """The file at `path`, named from `root` on.

    Raises OSError: there is none.
    """
    status = path.stat()
    name = PurePosixPath(path.relative_to(root).as_posix())
    return Member(
        name, lambda: path.open("rb"), f"{status.st_size}:{status.st_mtime_ns}", label, in_test
    )


def _files(root: Path) -> list[Member]:
    """The files below a folder that can be looked at, sorted by path."""
    members: list[Member] = []
    for place, _, names in os.walk(root):
        for name in names:
            path = Path(place, name)
            with contextlib.suppress(OSError):
                if path.is_file():
                    members.append(on_disk(path, root))
    return sorted(members, key=lambda member: member.path)


def _zip_members(archive: zipfile.ZipFile, *, stamped: bool) -> list[Member]:
    entries = sorted((entry for entry in archive.infolist() if not entry.is_dir()), key=_path_of)
    unsafe = [repr(entry.filename) for entry in entries if _leads_out(_path_of(entry))]
    if unsafe:
        raise DataError(
            f"the zip holds paths that lead out of it ({join(unsafe, most=3)}): refused. Make it"
            " again inside the folder."
        )
    if any(entry.flag_bits & 1 for entry in entries):
        raise DataError("the zip is encrypted: make it again without a password.")
    return [
        Member(
            PurePosixPath(_path_of(entry)),
            lambda entry=entry: io.BytesIO(archive.read(entry)),  # type: ignore[misc]  # mypy cannot type a default that is captured
            f"{entry.file_size}:{entry.CRC}" if stamped else "",
        )
        for entry in entries
    ]


def _path_of(entry: zipfile.ZipInfo) -> str:
    """The path in a zip: older tools wrote UTF-8 without saying so, or backslashes."""
    name = entry.filename
    if not entry.flag_bits & 0x800:
        with contextlib.suppress(UnicodeError):
            name = name.encode("cp437").decode("utf-8")
    return name.replace("\\", "/")


def _leads_out(name: str) -> bool:
    """Whether a path in a zip is absolute, climbs or names a drive."""
    parts = name.split("/")
    return parts[0] in ("", "~") or ".." in parts or (len(parts[0]) == 2 and parts[0][1] == ":")


def complete(
    members: Sequence[Member],
    absent: Sequence[object],
    *,
    classes: tuple[str, ...] = (),
    notes: tuple[str, ...] = (),
) -> Layout:
    """The layout of images that a list names, unless more than 1 % of them are not there.

    Raises DataError: so many are missing; it names some.
    """
    wanted = len(members) + len(absent)
    if not members or len(absent) > UNREADABLE_SHARE * wanted:
        raise DataError(
            f"{len(absent)} of {wanted} images that the source's lists name are missing"
            f" ({join(absent, most=3)}): unpack every part of the data set into one folder."
        )
    more = (
        (f"{len(absent)} images that the source's lists name are missing: {join(absent)}.",)
        if absent
        else ()
    )
    return Layout(tuple(members), (*notes, *more), classes)
