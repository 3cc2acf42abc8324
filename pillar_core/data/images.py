"""The user's own images: a npz of uint8 arrays, or a folder or zip whose subfolders are the classes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pillar_core.data import arrays, folders
from pillar_core.data.files import Parts, opened, read_npz
from pillar_core.data.partition import stratified
from pillar_core.errors import DataError
from pillar_core.types import Dataset

Array = np.ndarray[Any, Any]


def load_images(path: str | Path) -> Dataset:
    """The images at `path`: (n, h, w) or (n, h, w, 3) uint8 rows and labels 0 … C − 1.

    A npz holds x_train, y_train and perhaps x_test, y_test, classes. A folder or zip holds one subfolder per class, under
    train/ and test/ where there are both; else a stratified fifth becomes the test rows, and the notes say so.

    Raises:
        DataError: unreadable archive, more than 1 % of the files do not decode, images that are not uint8, one class.
    """
    return read_images(path)


def read_images(source: str | Path | bytes, *, filename: str = "") -> Dataset:
    """`load_images` for a path or for uploaded bytes, whose `filename` then says the format."""
    name = filename or ("" if isinstance(source, bytes) else str(source))
    parts = read_npz(opened(source)) if name.lower().endswith(".npz") else _from_folders(source, name)
    return checked_images(parts, name=Path(name).stem)


def checked_images(parts: Parts, *, name: str) -> Dataset:
    """Image arrays as a dataset.

    Raises:
        DataError: shapes or types that are no images, or labels that `features` would refuse.
    """
    train, test, notes = parts.x_train, parts.x_test, list(parts.notes)
    for title, rows in (("x_train", train), ("x_test", test)):
        if rows is not None:
            _check_shape(rows, title)
    if test is not None and test.shape[1:] != train.shape[1:]:
        raise DataError(f"x_test images must be as large as those of x_train, {train.shape[1:]}; got {test.shape[1:]}. Resize them.")
    # One column stands for the pixels, so that images and features share one set of label checks.
    stand_in = [None if rows is None else np.zeros((len(rows), 1), dtype=np.float32) for rows in (train, test)]
    labels = arrays.features(stand_in[0], parts.y_train, stand_in[1], parts.y_test, parts.classes)
    y_train, y_test = labels.y_train, labels.y_test
    if test is None and y_train is not None:
        kept, held_out = stratified(y_train, seed=0, name="images")
        train, test, y_train, y_test = train[kept], train[held_out], y_train[kept], y_train[held_out]
        notes.append("There are no test images of their own: a stratified fifth became the test rows (the same fifth every time).")
    notes += [note for note in labels.notes if not note.startswith("No test rows")]
    return Dataset(
        name, _tidy(train), y_train, None if test is None else _tidy(test), y_test, labels.classes, title=name, notes=tuple(notes)
    )


def _from_folders(source: str | Path | bytes, name: str) -> Parts:
    with folders.listing(source, filename=name) as members:
        layout = folders.arranged(members)
        rows, keep, notes = folders.decoded(layout.members)
    kept = [member for member, good in zip(layout.members, keep, strict=True) if good]
    labels = np.array([member.label for member in kept], dtype=str)
    in_test = np.array([member.in_test for member in kept], dtype=bool)
    notes = (*layout.notes, *notes)
    if not in_test.any():
        return Parts(rows, labels, notes=notes)
    if in_test.all():
        raise DataError("the folder has test images but no train images: add a train/ folder with one subfolder per class.")
    return Parts(rows[~in_test], labels[~in_test], rows[in_test], labels[in_test], notes=notes)


def _check_shape(rows: Array, title: str) -> None:
    if rows.ndim not in (3, 4) or not rows.size or (rows.ndim == 4 and rows.shape[3] not in (1, 3)):
        raise DataError(f"{title} must hold images of shape (n, height, width) or (n, height, width, 3); got {rows.shape}.")
    if rows.dtype != np.uint8:
        raise DataError(f"{title} must hold uint8 pixels, 0 … 255; got dtype {rows.dtype}. Scale and round them first.")


def _tidy(rows: Array) -> Array:
    return np.ascontiguousarray(rows[..., 0] if rows.ndim == 4 and rows.shape[3] == 1 else rows)
