"""What a file of rows holds before it is checked, and how files are opened, from a path or as uploaded bytes."""

import dataclasses
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pillar_core.errors import DataError
from pillar_core.types import Persons, Unit

OF_PERSONS = "Train rows that are used of each private person, the first ones: at most {}. ε protects a {}."
COLUMNS_SEEN = "which columns hold words or numbers, and which are left out"
COLOUR_SEEN = "that all rows have colour, because some images do"
SIZE_SEEN = "the size of all images, the median of theirs"
RANGE_SEEN = "which values of grey became 0 to 255"
NO_EPSILON = "The rows themselves decided {}: where they are private, no ε covers that."
"""The note on each of these caveats."""
IMAGE_ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".ppm", ".pgm")


@dataclasses.dataclass(frozen=True)
class Parts:
    """What a file holds, unchecked; `notes` say what was decided while reading.

    `stored_rows` names entries of the store that hold decoded images; for the last six fields see `Dataset` and `FeatureSet`.
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
    names: tuple[str, ...] | None = None
    recipe: Mapping[str, Any] | None = None
    test_drawn: bool | str = False
    texts: tuple[str, ...] = ()

    @property
    def all_notes(self) -> tuple[str, ...]:
        """The notes, those on the caveats, and how many rows of a person count, where persons are declared."""
        notes = (*self.notes, *map(NO_EPSILON.format, self.caveats))
        return notes if self.persons is None else (*notes, OF_PERSONS.format(self.persons.most, Unit(self.persons.most)))

    @property
    def holds_images(self) -> bool:
        """Whether the train rows are images, not vectors."""
        return np.ndim(self.x_train) >= 3


def place_of(path: str | Path) -> Path:
    """The path as this machine has it, `~` expanded; whether anything lies there is another question.

    Raises DataError: no text of a path, a user that is not there, or a path that this machine cannot look at.
    """
    if isinstance(path, str) and not path.strip():
        raise DataError("the path is empty: say which file or folder.")
    try:
        place = Path(path).expanduser()
        place.exists()
    except (OSError, RuntimeError, TypeError, ValueError) as error:
        raise DataError("this is no path that can be looked at here: check its spelling, its length and who may read it.") from error
    return place


def open_source(source: str | Path | bytes) -> io.BytesIO | Path:
    """Something that readers accept: bytes as a stream, or a path to a file that exists.

    Raises DataError: no such file.
    """
    if isinstance(source, bytes):
        return io.BytesIO(source)
    path = place_of(source)
    if not path.is_file():
        raise DataError(f"there is no file {path}: check the path (embedded sets are loaded by name, with load_dataset).")
    return path
