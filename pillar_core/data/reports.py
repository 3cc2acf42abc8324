"""What an upload holds and what is wrong with it, without raising: the text of the app's upload panel."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pillar_core.data import arrays, files, images
from pillar_core.errors import DataError
from pillar_core.types import Dataset, FeatureSet

PREVIEW_ROWS, PREVIEW_COLUMNS = 5, 6


@dataclasses.dataclass(frozen=True)
class Report:
    """The outcome of a dry run.

    `ok` means that loading would succeed. `rows` counts train and test rows; `dims` is (d,) for features, (h, w) or
    (h, w, 3) for images. `problems` and `notes` are one line each; `preview` holds the first train rows as tidy mappings.
    """

    ok: bool
    rows: int = 0
    dims: tuple[int, ...] = ()
    classes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    preview: tuple[Mapping[str, Any], ...] = ()
    n_train: int = 0
    n_test: int = 0
    is_images: bool = False


def dry_run(path_or_bytes: str | Path | bytes, filename: str = "") -> Report:
    """The report on a npz, csv, parquet, zip or folder; never raises for what the data hold.

    Args:
        path_or_bytes: where the data lie, or an upload's bytes.
        filename: the upload's name, whose ending says the format; a path needs none.
    """
    name = filename or ("" if isinstance(path_or_bytes, bytes) else str(path_or_bytes))
    try:
        if Path(name).suffix.lower() not in files.SUFFIXES:
            return _of_images(images.read_images(path_or_bytes, filename=name))
        parts = files.read_parts(path_or_bytes, filename=name)
        return _of_images(images.checked_images(parts, name=Path(name).stem)) if parts.holds_images else _of_parts(parts)
    except DataError as error:
        return Report(ok=False, problems=tuple(str(error).splitlines()))


def _of_parts(parts: files.Parts) -> Report:
    outcome = arrays.check(parts.x_train, parts.y_train, parts.x_test, parts.y_test, parts.classes)
    notes = parts.notes + outcome.notes
    if outcome.features is not None:
        return _described(outcome.features, notes=notes)
    shape = np.shape(parts.x_train)
    n_train, n_test = len(parts.x_train) if shape else 0, 0 if parts.x_test is None or not np.ndim(parts.x_test) else len(parts.x_test)
    return Report(False, n_train + n_test, shape[1:], outcome.classes, outcome.problems, notes, (), n_train, n_test)


def _of_images(dataset: Dataset) -> Report:
    return _described(dataset, notes=dataset.notes)


def _described(data: Dataset | FeatureSet, *, notes: tuple[str, ...]) -> Report:
    n_train, n_test = len(data.x_train), 0 if data.x_test is None else len(data.x_test)
    shape = tuple(int(size) for size in data.x_train.shape[1:])
    preview = tuple(_row(data, number) for number in range(min(PREVIEW_ROWS, n_train)))
    return Report(True, n_train + n_test, shape, data.classes, (), notes, preview, n_train, n_test, data.x_train.ndim > 2)


def _row(data: Dataset | FeatureSet, number: int) -> dict[str, Any]:
    label = "" if data.y_train is None else data.classes[int(data.y_train[number])]
    row = data.x_train[number]
    if row.ndim > 1:
        return {"row": number, "label": label, "mean": float(row.mean()), "darkest": int(row.min()), "brightest": int(row.max())}
    return {"row": number, "label": label} | {f"x{column}": float(value) for column, value in enumerate(row[:PREVIEW_COLUMNS])}
