"""What a file of rows holds before it is checked, and how files are opened, from a path or as uploaded bytes."""

import dataclasses
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pillar_core.errors import DataError
from pillar_core.types import Persons

OF_SEVERAL = "Of each private person at most {} train rows are used, the first ones. ε protects a person with all of them."
IMAGE_ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".ppm", ".pgm")


@dataclasses.dataclass(frozen=True)
class Parts:
    """What a file holds, unchecked; `notes` say what was decided while reading.

    `stored_rows` names entries of the store that hold decoded images, `persons` whose the train rows are: see `Dataset`.
    """

    x_train: Any
    y_train: Any = None
    x_test: Any = None
    y_test: Any = None
    classes: Sequence[Any] | None = None
    notes: tuple[str, ...] = ()
    stored_rows: tuple[str, ...] = ()
    persons: Persons | None = None

    @property
    def said(self) -> tuple[str, ...]:
        """The notes, and how many rows of a person count, where persons are declared."""
        return self.notes if self.persons is None else (*self.notes, OF_SEVERAL.format(self.persons.most))

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
