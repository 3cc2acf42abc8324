"""What a file of rows holds before it is checked, and how files are opened, from a path or as uploaded bytes."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pillar_core.errors import DataError


@dataclasses.dataclass(frozen=True)
class Parts:
    """What a file holds, unchecked; `notes` say what was decided while reading.

    `stored_rows` names entries of the store that hold decoded images: see `Dataset`.
    """

    x_train: Any
    y_train: Any = None
    x_test: Any = None
    y_test: Any = None
    classes: Sequence[Any] | None = None
    notes: tuple[str, ...] = ()
    stored_rows: tuple[str, ...] = ()

    @property
    def holds_images(self) -> bool:
        """Whether the train rows are images, not vectors."""
        return np.ndim(self.x_train) >= 3


def opened(source: str | Path | bytes) -> io.BytesIO | Path:
    """Something that readers accept: bytes as a stream, or a path to a file that exists.

    Raises:
        DataError: no such file.
    """
    if isinstance(source, bytes):
        return io.BytesIO(source)
    path = Path(source).expanduser()
    if not path.is_file():
        raise DataError(f"there is no file {path}: check the path (embedded sets are loaded by name, with load_dataset).")
    return path
