"""Feature files (npz and tables), from a path or as uploaded bytes: with labels to learn from, or
rows to predict."""

import dataclasses
import io
from pathlib import Path
from typing import Any

import numpy as np

from pillar_core.arrays import Array
from pillar_core.data import arrays, frames, tables
from pillar_core.data.npz import KEYS, SAVED, arrays_of, read_npz, shapes_of
from pillar_core.data.parts import Parts, open_source, pack
from pillar_core.data.wording import join
from pillar_core.errors import DataError
from pillar_core.registry import toml_tables
from pillar_core.types import Dataset, FeatureSet

SUFFIXES = (".npz", *frames.SUFFIXES)
_LINES = toml_tables(Path(__file__).with_name("conversions.toml"))
CONVERSIONS = {tuple(endings.split()): str(line) for endings, line in _LINES.items()}
"""How files of other endings become files that are read."""
ROWS = ("x", "X", "x_test", "x_train")


def npz_of(data: FeatureSet | Dataset) -> bytes:
    """Rows and what is said of them as a npz, which `load_features` reads on any machine."""
    content = io.BytesIO()
    np.savez_compressed(
        content, **{name: array for name, array in pack(data).items() if name in (*KEYS, *SAVED)}
    )
    return content.getvalue()


def read_features(source: str | Path | bytes, *, filename: str = "") -> FeatureSet:
    """The feature set in a npz or a table, checked.

    Args:
        source: a path, or the file's bytes.
        filename: the file's name, needed with bytes; its ending says the format.

    Raises DataError: unreadable or pickled file, images instead of features, or anything that
    `features` refuses.
    """
    name = filename or ("upload" if isinstance(source, bytes) else str(source))
    return checked_features(read_parts(source, filename=filename), name=Path(name).stem)


def checked_features(parts: Parts, *, name: str) -> FeatureSet:
    """The parts of a file as a feature set. Raises DataError: images instead of features, or
    anything that `features` refuses."""
    if parts.holds_images:
        shape = np.shape(parts.x_train)[1:]
        raise DataError(
            f"the file holds images of shape {shape}, not features: read it with load_images, then"
            " choose a backbone."
        )
    y = arrays.as_array(parts.y_train)
    values = np.unique(y) if y.dtype.kind in "iuf" and parts.classes is None else np.empty(0)
    if len(values) > max(tables.MOST_CLASSES_OF_NUMBERS, y.size / 10) and values[-1] - values[
        0
    ] >= len(values):
        raise DataError(tables.TOO_MANY_NUMBERS.format("the labels hold", len(values)))
    features = arrays.features(
        parts.x_train, parts.y_train, parts.x_test, parts.y_test, parts.classes
    )
    fields = {
        field: getattr(parts, field)
        for field in ("persons", "caveats", "names", "recipe", "test_drawn", "texts")
    }
    return dataclasses.replace(
        features, name=name, notes=parts.all_notes + features.notes, **fields
    )


def read_parts(
    source: str | Path | bytes, *, filename: str = "", keys: tuple[str, str | None] | None = None
) -> Parts:
    """The arrays of a npz or a table, unchecked. keys: the names of rows and labels in a npz.

    Raises DataError: no such file, another ending, or contents that cannot be read.
    """
    ending = _ending(filename or (source if not isinstance(source, bytes) else ""))
    content = open_source(source)
    return (
        read_npz(content, keys=keys)
        if ending == ".npz"
        else tables.parts_of(frames.frame_of(content, ending))
    )


def read_rows(source: Any) -> Array:
    """The rows of a npz (the first of x, X, x_test, x_train), or those of a table without label and
    split, (n, d) float32.

    Raises DataError: unreadable, words, or NaN in a table.
    """
    is_frame = not isinstance(source, str | Path)
    ending = "" if is_frame else _ending(source)
    if ending == ".npz":
        content = open_source(source)
        shapes = shapes_of(content)
        name = next((key for key in ROWS if key in shapes), None)
        if name is None:
            raise DataError(
                f"the npz needs one of {', '.join(ROWS)}; it holds {join(shapes) or 'nothing'}."
            )
        return arrays_of(content, names={name: name})[0][name]
    frame = (
        source
        if is_frame
        else tables.without_row_numbers(frames.frame_of(open_source(source), ending))
    )
    frame = frame.set_axis([str(name) for name in frame.columns], axis=1)
    roles = {tables.find_column(frame, tables.LABEL_NAMES), tables.find_column(frame, ("split",))}
    return tables.numbers_of(frame, [column for column in frame.columns if column not in roles])


def _ending(name: str | Path) -> str:
    ending = frames.ending_of(name)
    line = next((line for endings, line in CONVERSIONS.items() if ending in endings), None)
    if line is not None:
        raise DataError(
            f"{ending} files are not read here. This line of Python makes one that is:"
            f" {line.format(Path(name).name)}"
        )
    if ending not in SUFFIXES:
        raise DataError(
            f"a feature file must end in one of {', '.join(SUFFIXES)}; got"
            f" {ending or 'no ending'!r}."
        )
    return ending
