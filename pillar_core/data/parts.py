"""What a file of rows holds before it is checked, and how files are opened, from a path or as uploaded bytes."""

import dataclasses
import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pillar_core.errors import DataError
from pillar_core.types import Persons, Unit

ALWAYS_UNPACKED, ALWAYS_SCORED, TIMES_UNPACKED = 2**25, 2**22, 50
"""Bytes to which any file may unpack, those of its scores, and how many times its own size beyond that: few bytes stand for little work."""
TABLE_UNPACKED, TIMES_HEAD = 2**27, 4
"""Bytes to which any parquet table, of whose rows and cells more is counted, and words as categories may unpack; and of how many times a
file a head may be, which is trained again and again: that of as many classes as rows, for features that are stored as bytes."""

ROW_BYTES, WORD_BYTES = 64, 24
"""Of each row beside its numbers, and of a cell that holds a word: what labels, order and objects take, however well a file packs them."""
OF_PERSONS = "Train rows that are used of each private person, the first ones: at most {}. ε protects a {}."
COLUMNS_SEEN = "which columns hold words or numbers, and which are left out"
COLOUR_SEEN = "that all rows have colour, because some images do"
SIZE_SEEN = "the size of all images, the median of theirs"
NO_EPSILON = "The rows themselves decided {}: where they are private, no ε covers that."
"""The note on each of these caveats."""
IMAGE_ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".ppm", ".pgm")
MOST_COLUMNS = 20_000
"""Columns of a csv or parquet table: each costs time, an empty one too."""


@dataclasses.dataclass(frozen=True)
class Parts:
    """What a file holds, unchecked; `notes` say what was decided while reading.

    `stored_rows` names entries of the store that hold decoded images, for `persons` and `caveats` see `Dataset`.
    """

    x_train: Any
    y_train: Any = None
    x_test: Any = None
    y_test: Any = None
    classes: Sequence[Any] | None = None
    notes: tuple[str, ...] = ()
    stored_rows: tuple[str, ...] = ()
    persons: Persons | None = None
    caveats: tuple[str, ...] = ()

    @property
    def said(self) -> tuple[str, ...]:
        """The notes, those on the caveats, and how many rows of a person count, where persons are declared."""
        notes = (*self.notes, *map(NO_EPSILON.format, self.caveats))
        return notes if self.persons is None else (*notes, OF_PERSONS.format(self.persons.most, Unit(self.persons.most)))

    @property
    def holds_images(self) -> bool:
        """Whether the train rows are images, not vectors."""
        return np.ndim(self.x_train) >= 3


def place_of(path: str | Path) -> Path:
    """The path as this machine has it, `~` expanded; whether anything lies there is another question.

    Raises:
        DataError: no text of a path, a user that is not there, or a path that this machine cannot look at.
    """
    try:
        place = Path(path).expanduser()
        place.exists()
    except (OSError, RuntimeError, TypeError, ValueError) as error:
        raise DataError("this is no path that can be looked at here: check its spelling, its length and who may read it.") from error
    return place


def opened(source: str | Path | bytes) -> io.BytesIO | Path:
    """Something that readers accept: bytes as a stream, or a path to a file that exists.

    Raises:
        DataError: no such file.
    """
    if isinstance(source, bytes):
        return io.BytesIO(source)
    path = place_of(source)
    if not path.is_file():
        raise DataError(f"there is no file {path}: check the path (embedded sets are loaded by name, with load_dataset).")
    return path


def size_of(content: io.BytesIO | Path) -> int:
    """Bytes of a file."""
    return len(content.getbuffer()) if isinstance(content, io.BytesIO) else content.stat().st_size


def check_unpacked(
    what: str, size: int, content: io.BytesIO | Path | int, *, most: float, always: int | None = None, times: int = TIMES_UNPACKED
) -> None:
    """Refuses a file (or so many bytes of one) whose content says `size`: above `most`, or `always` (32 MiB) and `times` the file.

    Raises:
        DataError: it would be that large.
    """
    packed = content if isinstance(content, int) else size_of(content)
    limit = min(most, max(ALWAYS_UNPACKED if always is None else always, times * packed))
    if not size <= limit:
        sizes = f"{size / 2**20:,.0f} MiB; the limit for a file of {packed / 2**20:,.2f} MiB is {limit / 2**20:,.0f} MiB"
        raise DataError(f"{what} would unpack to {sizes}. Store fewer rows, smaller numbers, or without compression, a table as csv.")


def check_classes(rows: int, features: int, classes: int, content: io.BytesIO | Path | int, *, are_images: bool = False) -> None:
    """Refuses more classes than rows and features of a file of this size allow: learners hold a number for each pair of them, and often.

    Raises:
        DataError: so.
    """
    limits: dict[str, Any] = {"most": math.inf, "always": ALWAYS_SCORED}
    check_unpacked(f"scores of {classes:,} classes for each row", 4 * classes * rows, content, **limits)
    times = TIMES_UNPACKED if are_images else TIMES_HEAD
    check_unpacked(f"{classes:,} classes by {features:,} features", 4 * classes * features, content, **limits, times=times)
