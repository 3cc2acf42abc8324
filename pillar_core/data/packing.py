"""Rows of a set and what is said of them as plain arrays, for a file, and back."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from pillar_core.arrays import Array
from pillar_core.errors import DataError
from pillar_core.types import BY_COIN, Dataset, FeatureSet, Persons


def pack(data: FeatureSet | Dataset) -> dict[str, Any]:
    """The arrays of a set by name, without those that it lacks."""
    arrays = {
        "x_train": data.x_train,
        "y_train": data.y_train,
        "x_test": data.x_test,
        "y_test": data.y_test,
        "classes": np.array(data.classes, dtype=str),
        "name": np.array(data.name),
        "title": np.array(data.title if isinstance(data, Dataset) else ""),
        "notes": np.array(data.notes, dtype=str),
        "caveats": np.array(data.caveats, dtype=str),
        "stored_rows": np.array(data.stored_rows if isinstance(data, Dataset) else (), dtype=str),
        "persons": data.persons and data.persons.of,
        "rows_per_person": data.persons and np.array(data.persons.most),
        "test_drawn": np.array(data.test_drawn) if data.test_drawn else None,
        "texts": np.frombuffer("\n".join(data.texts).encode(errors="replace"), np.uint8) if data.texts else None,
    }
    if isinstance(data, FeatureSet):
        arrays["names"] = None if data.names is None else np.array(data.names, dtype=str)
        arrays["recipe"] = None if data.recipe is None else np.array(json.dumps(data.recipe))
    return {name: array for name, array in arrays.items() if array is not None}


def draw_of(arrays: Mapping[str, Array]) -> bool | str:
    """How the test rows were drawn, as `Dataset.test_drawn` says it."""
    return "test_drawn" in arrays and (BY_COIN if str(arrays["test_drawn"]) == BY_COIN else True)


def unpack(arrays: Mapping[str, Array], *, title: str = "") -> FeatureSet | Dataset:
    """The set that `pack` took apart; `title` is its name and title where the arrays do not say them.

    Raises DataError: persons without a number of rows, or the other way round.
    """
    texts = ("classes", "notes", "stored_rows", "caveats")
    classes, notes, decoded, caveats = (tuple(str(word) for word in arrays.get(part, ())) for part in texts)
    title = title or str(arrays.get("title", ""))
    name = str(arrays.get("name", title))
    persons = None
    if declared := {"persons", "rows_per_person"} & set(arrays):
        if len(declared) < 2:
            raise DataError("persons and rows_per_person go together; one of them is missing.")
        persons = Persons(arrays["persons"], arrays["rows_per_person"].tolist())
    x_train, y_train, x_test, y_test = arrays["x_train"], arrays.get("y_train"), arrays.get("x_test"), arrays.get("y_test")
    more: dict[str, Any] = {"notes": notes, "persons": persons, "caveats": caveats, "test_drawn": draw_of(arrays)}
    more["texts"] = tuple(arrays["texts"].tobytes().decode(errors="replace").split("\n")) if "texts" in arrays else ()
    if x_train.ndim > 2:
        return Dataset(name, x_train, y_train, x_test, y_test, classes, title=title or name, stored_rows=decoded, **more)
    more["names"] = tuple(map(str, arrays["names"])) if "names" in arrays else None
    more["recipe"] = json.loads(str(arrays["recipe"])) if "recipe" in arrays else None
    return FeatureSet(x_train, y_train, x_test, y_test, classes, name=name, **more)
