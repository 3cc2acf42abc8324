"""How files are opened, from a path or as bytes, what is noted on rows, and sets as plain arrays
and back."""

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pillar_core.arrays import Array
from pillar_core.errors import DataError
from pillar_core.types import BY_COIN, Dataset, FeatureSet, Persons, Unit

OF_PERSONS = (
    "Train rows that are used of each private person, the first ones: at most {}. ε protects a {}."
)
COLUMNS_SEEN = "which columns hold words or numbers, and which are left out"
COLOUR_SEEN = "that all rows have colour, because some images do"
SIZE_SEEN = "the size of all images, the median of theirs"
RANGE_SEEN = "which values of grey became 0 to 255"
NO_EPSILON = "The rows themselves decided {}: where they are private, no ε covers that."
"""The note on each of these caveats."""
IMAGE_ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".ppm", ".pgm")


def notes_on(rows: Dataset) -> tuple[str, ...]:
    """The notes of rows as a reader found them, those on the caveats, and how many rows of a person
    count, where persons are declared."""
    persons = rows.persons
    most = () if persons is None else (OF_PERSONS.format(persons.most, Unit(persons.most)),)
    return (*rows.notes, *map(NO_EPSILON.format, rows.caveats), *most)


def place_of(path: str | Path) -> Path:
    """The path as this machine has it, `~` expanded; whether anything lies there is another
    question.

    Raises DataError: no text of a path, a user that is not there, or a path that this machine
    cannot look at.
    """
    if isinstance(path, str) and not path.strip():
        raise DataError("the path is empty: say which file or folder.")
    try:
        place = Path(path).expanduser()
        place.exists()
    except (OSError, RuntimeError, TypeError, ValueError) as error:
        raise DataError(
            "this is no path that can be looked at here: check its spelling, its length and who may"
            " read it."
        ) from error
    return place


def open_source(source: str | Path | bytes) -> io.BytesIO | Path:
    """Something that readers accept: bytes as a stream, or a path to a file that exists. Raises
    DataError: no such file."""
    if isinstance(source, bytes):
        return io.BytesIO(source)
    path = place_of(source)
    if not path.is_file():
        raise DataError(
            f"there is no file {path}: check the path (a registered set comes by its name)."
        )
    return path


NAMED = "persons_named"
"""What holds the digests of persons' names, in this machine's store and in no file."""


_ROWS = ("x_train", "y_train", "x_test", "y_test")
_WORDS = ("classes", "notes", "caveats", "stored_rows")


def pack(data: FeatureSet | Dataset) -> dict[str, Any]:
    """The arrays of a set by name, without those that it lacks."""
    arrays = {name: getattr(data, name) for name in (*_ROWS, "cells")}
    arrays |= {name: np.array(getattr(data, name, ()), dtype=str) for name in _WORDS}
    arrays |= {name: np.array(getattr(data, name, "")) for name in ("name", "title")}
    if persons := data.persons:
        arrays |= {"persons": persons.of, "rows_per_person": np.array(persons.most)}
        if persons.named:
            digests = np.frombuffer(b"".join(sorted(persons.named)), np.uint8)
            arrays[NAMED] = digests.reshape(-1, 16)
    if data.test_drawn:
        arrays["test_drawn"] = np.array(data.test_drawn)
    if data.texts:
        arrays["texts"] = np.frombuffer("\n".join(data.texts).encode(errors="replace"), np.uint8)
    if isinstance(data, FeatureSet) and data.names is not None:
        arrays["names"] = np.array(data.names, dtype=str)
    if isinstance(data, FeatureSet) and data.recipe is not None:
        arrays["recipe"] = np.array(json.dumps(data.recipe))
    return {name: array for name, array in arrays.items() if array is not None}


def draw_of(arrays: Mapping[str, Array]) -> bool | str:
    """How the test rows were drawn, as `Dataset.test_drawn` says it."""
    return "test_drawn" in arrays and (BY_COIN if str(arrays["test_drawn"]) == BY_COIN else True)


def unpack(arrays: Mapping[str, Array], *, title: str = "") -> FeatureSet | Dataset:
    """The set that `pack` took apart; `title` is its name and title where the arrays do not say
    them.

    Raises DataError: persons without a number of rows, or the other way round.
    """
    title = title or str(arrays.get("title", ""))
    name = str(arrays.get("name", title))
    persons = None
    if declared := {"persons", "rows_per_person"} & set(arrays):
        if len(declared) < 2:
            raise DataError("persons and rows_per_person go together; one of them is missing.")
        named = frozenset(map(bytes, arrays[NAMED])) if NAMED in arrays else None
        persons = Persons(arrays["persons"], arrays["rows_per_person"].tolist(), named)
    fields: dict[str, Any] = {name: arrays.get(name) for name in (*_ROWS, "cells")}
    fields |= {name: tuple(map(str, arrays.get(name, ()))) for name in _WORDS}
    fields |= {"name": name, "persons": persons, "test_drawn": draw_of(arrays)}
    if "texts" in arrays:
        fields["texts"] = tuple(arrays["texts"].tobytes().decode(errors="replace").split("\n"))
    if arrays["x_train"].ndim > 2:
        return Dataset(title=title or name, **fields)
    del fields["stored_rows"]
    names = tuple(map(str, arrays["names"])) if "names" in arrays else None
    recipe = json.loads(str(arrays["recipe"])) if "recipe" in arrays else None
    return FeatureSet(names=names, recipe=recipe, **fields)
