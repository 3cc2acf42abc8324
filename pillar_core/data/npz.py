"""Archives of arrays (npz), read by the names of their members. Pickle is never read."""

import contextlib
import io
import json
import lzma
import math
import tokenize
import zipfile
import zlib
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pillar_core.arrays import Array
from pillar_core.data import recipes, room, scratch
from pillar_core.data.arrays import as_array
from pillar_core.data.parts import draw_of, pack
from pillar_core.data.persons import persons_of
from pillar_core.data.wording import join
from pillar_core.errors import DataError
from pillar_core.store import codec
from pillar_core.types import Dataset, FeatureSet, Persons

KEYS = ("x_train", "y_train", "x_test", "y_test", "classes", "persons", "rows_per_person")
SAVED = ("caveats", "names", "recipe", "test_drawn")
"""What is said of rows in a npz that `npz_of` made, whose mark is the first."""
NAMES_CALLED = ("names", "feature_names", "columns")
"""Names that people give to the columns' names."""
IMAGE_KEYS = {
    "train_images": "x_train",
    "train_labels": "y_train",
    "test_images": "x_test",
    "test_labels": "y_test",
}
ROWS_CALLED = ("train_x", "x", "features", "data", "embeddings", "images", "inputs", "arr_0")
LABELS_CALLED = ("train_y", "y", "labels", "label", "targets", "target", "arr_1")
"""Names that people give to rows and labels, in small letters; each is taken where it is the only
one."""
SPARSE_KEYS = {"format", "shape", "data"}
PIECE = 2**24
UNREADABLE = (
    *codec.UNREADABLE,
    TypeError,
    KeyError,
    RuntimeError,
    zlib.error,
    lzma.LZMAError,
    tokenize.TokenError,
)
"""What zipfile and numpy raise on damaged files and on headers that somebody made up."""


def read_npz(content: io.BytesIO | Path, *, keys: tuple[str, str | None] | None = None) -> Dataset:
    """The arrays of a npz, without ever unpickling: by the names of `KEYS`, medmnist's, or those
    that people give.

    keys: the names of rows and labels (None: no labels), where others hold them. What scipy's
    `save_npz` wrote are rows without labels.

    Raises DataError: not a npz, pickled, truncated, without rows that are certain; as `persons_in`.
    """
    shapes = shapes_of(content)
    if keys is None and set(shapes) >= SPARSE_KEYS:
        return Dataset(
            "rows",
            _sparse(content),
            None,
            notes=(
                (
                    "Sparse rows, without labels: `pc.features(scipy.sparse.load_npz(path),"
                    " labels)` adds them."
                ),
            ),
        )
    names = _names_of(shapes, keys)
    width = shapes[names["x_train"]][1:] if "x_train" in names else ()
    named = [
        name
        for name in NAMES_CALLED
        if len(width) == 1 and shapes.get(name) == width and name not in names.values()
    ]
    names |= {"names": named[0]} if named else {}
    arrays, unused = arrays_of(content, names=names)
    if "x_train" not in arrays:
        contents = join([f"{key} {shape}" for key, shape in shapes.items()]) or "nothing"
        raise DataError(
            f"which arrays are rows and labels is not certain; the npz holds {contents}. Say which"
            " (keys=…), or save them as x_train, y_train, x_test, y_test."
        )
    roles = [
        f"{names['x_train']} are the rows"
        + (f", {names['y_train']} the labels." if "y_train" in arrays else ", without labels.")
    ]
    notes = roles if names["x_train"] not in ("x_train", "train_images") else []
    notes += [f"Keys left aside: {join(unused)}."] if unused else []
    if "meta" in arrays:
        notes.append(f"Made by: {_meta(arrays['meta'])}")
    classes = np.atleast_1d(arrays["classes"]) if "classes" in arrays else None
    if classes is not None and classes.ndim > 1:
        raise DataError(
            f"classes must hold one name for each class, shape (C,); got shape {classes.shape} of"
            f" {classes.dtype}."
        )
    persons = persons_in(arrays, arrays["x_train"])
    rows = (arrays["x_train"], arrays.get("y_train"), arrays.get("x_test"), arrays.get("y_test"))
    return Dataset(
        "rows",
        *rows,
        () if classes is None else tuple(classes.tolist()),
        notes=tuple(notes),
        persons=persons,
        **_saved(arrays),
    )


def npz_of(data: FeatureSet | Dataset) -> bytes:
    """Rows and what is said of them as a npz, which `load_features` reads on any machine."""
    content = io.BytesIO()
    np.savez_compressed(
        content, **{name: array for name, array in pack(data).items() if name in (*KEYS, *SAVED)}
    )
    return content.getvalue()


def _saved(arrays: Mapping[str, Array]) -> dict[str, Any]:
    """What a npz of `npz_of` says of its rows."""
    names = tuple(map(str, arrays["names"].tolist())) if "names" in arrays else None
    if SAVED[0] not in arrays:
        return {"names": names}
    try:
        recipe = (
            recipes.form_of(recipes.recipe_of(json.loads(str(arrays["recipe"]))))
            if "recipe" in arrays
            else None
        )
    except (ValueError, RecursionError) as error:
        raise DataError(
            f"the recipe in the npz is damaged ({error}): save the set again."
        ) from error
    if names is not None and len(names) != arrays["x_train"].shape[1]:
        raise DataError(
            f"the npz names {len(names)} columns of rows of {arrays['x_train'].shape[1]} numbers:"
            " save the set again."
        )
    caveats = tuple(map(str, arrays["caveats"].tolist()))
    return {"names": names, "recipe": recipe, "caveats": caveats, "test_drawn": draw_of(arrays)}


def uncertain(content: io.BytesIO | Path) -> dict[str, tuple[int, ...]]:
    """The shape of each array of a npz whose names do not say which are the rows; {} where they do.

    Raises DataError: not a npz, or damaged.
    """
    shapes = shapes_of(content)
    return {} if set(shapes) >= SPARSE_KEYS or "x_train" in _names_of(shapes, None) else shapes


def shapes_of(content: io.BytesIO | Path) -> dict[str, tuple[int, ...]]:
    """The shape of each array of a npz by its name.

    Raises DataError: not a npz, or damaged.
    """
    with _open_archive(content) as archive:
        shapes = {}
        for member in archive.infolist():
            if member.filename.endswith(".npy"):
                with archive.open(member) as stream:
                    shapes[member.filename.removesuffix(".npy")] = codec.read_header(stream)[0]
        return shapes


def arrays_of(
    content: io.BytesIO | Path, *, names: Mapping[str, str]
) -> tuple[dict[str, Array], list[str]]:
    """(the arrays of a npz by the keys of `names`, whose values are their names in the file; the
    names of its other ones)."""
    keys = {name: key for key, name in names.items()}
    with _open_archive(content) as archive:
        members = {member.filename.removesuffix(".npy"): member for member in archive.infolist()}
        unused = [name for name in members if name not in keys]
        return {
            keys[name]: _array(archive, member) for name, member in members.items() if name in keys
        }, unused


def _names_of(present: Collection[str], keys: tuple[str, str | None] | None) -> dict[str, str]:
    """The names in a file of what is read from it."""
    names = {
        key: key
        for key in (*KEYS, "meta", *(SAVED if SAVED[0] in present else ()))
        if key in present
    }
    if keys is not None:
        chosen = {"x_train": keys[0]} | ({} if keys[1] is None else {"y_train": keys[1]})
        if absent := [name for name in chosen.values() if name not in present]:
            raise DataError(f"the npz holds no {join(absent)}; it holds {join(present)}.")
        return {
            key: name for key, name in names.items() if key not in ("x_train", "y_train")
        } | chosen
    names |= {key: name for name, key in IMAGE_KEYS.items() if name in present}
    by_lower = {name.lower(): name for name in present}
    called_so: dict[str, tuple[str, ...]] = {
        "x_train": ("x_train", *ROWS_CALLED),
        "y_train": ("y_train", *LABELS_CALLED),
        "x_test": ("x_test", "test_x"),
        "y_test": ("y_test", "test_y"),
    }
    for key, called in called_so.items():
        present = [by_lower[name] for name in called if name in by_lower]
        if key not in names and len(present) == 1:
            names[key] = present[0]
    return names


@contextlib.contextmanager
def _open_archive(content: io.BytesIO | Path) -> Iterator[zipfile.ZipFile]:
    try:
        _refuse_other_formats(content)
        with zipfile.ZipFile(content) as archive:
            yield archive
    except UNREADABLE as error:
        if isinstance(error, DataError):
            raise
        raise DataError(
            f"the npz cannot be read ({error}): it is damaged or incomplete. Save it again with"
            " numpy.savez."
        ) from error


def _sparse(content: io.BytesIO | Path) -> Array:
    """(n, d) float32 rows of what scipy's `save_npz` wrote."""
    from scipy.sparse import load_npz

    with _open_archive(content):
        if isinstance(content, io.BytesIO):
            content.seek(0)
        return as_array(load_npz(content))


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Array:
    """One array of a npz; on the disk where it is too large for memory, unpacked piece by piece."""
    with archive.open(member) as stream:
        shape, is_fortran, dtype = codec.read_header(stream)
        if dtype.hasobject:
            raise DataError(
                "the npz holds Python objects (pickle), which can run code when read: refused. "
                "Save words as a string array (dtype 'U') and numbers as numbers."
            )
        n_bytes = member.file_size - stream.tell()
        if not dtype.itemsize or math.prod(shape) * dtype.itemsize != n_bytes:
            raise DataError(
                f"{member.filename} says that it is of shape {shape} and {dtype}, and holds"
                f" {n_bytes:,} bytes: it is no such array."
            )
        is_large, becomes_float32 = (
            scratch.is_large((member.file_size,)),
            len(shape) == 2 and dtype != np.float32,
        )
        room.check_memory(
            f"{member.filename}, of shape {shape}, takes",
            n_bytes * (not is_large) + 4 * math.prod(shape) * becomes_float32,
        )
        if not is_large:
            stream.seek(0)
            return np.asarray(np.lib.format.read_array(stream, allow_pickle=False))
        pieces = iter(lambda: stream.read(PIECE), b"")
        return scratch.on_disk(pieces, dtype, shape, order="F" if is_fortran else "C")


def persons_in(arrays: Mapping[str, Array], rows: Array) -> Persons | None:
    """Whose the train rows are that a npz holds, where it says so: of each person `rows_per_person`
    count, or one.

    Raises DataError: see `persons_of`; how many count, and not whose they are.
    """
    if not {"persons", "rows_per_person"} & set(arrays):
        return None
    most = arrays["rows_per_person"].tolist() if "rows_per_person" in arrays else 1
    return persons_of(arrays.get("persons", ()), most, n_rows=len(np.atleast_1d(rows)))


def _refuse_other_formats(content: io.BytesIO | Path) -> None:
    if isinstance(content, io.BytesIO):
        start = content.getvalue()[:6]
    else:
        with content.open("rb") as stream:
            start = stream.read(6)
    if start.startswith(b"\x80"):
        raise DataError(
            "the file is a pickle, which can run code when read: refused. Save arrays with"
            " numpy.savez."
        )
    if start == b"\x93NUMPY":
        raise DataError(
            "the file is one bare array (npy): save x_train, y_train, … together with numpy.savez."
        )
    if not start.startswith(b"PK"):
        raise DataError(
            "the file is no npz: it is damaged or another format. Save it again with numpy.savez."
        )


def _meta(value: Array) -> str:
    text = "more than a text" if value.ndim else str(value)
    try:
        entries = json.loads(text)
    except (ValueError, RecursionError):
        return text[:300]
    return (
        ", ".join(f"{key} {entry}" for key, entry in entries.items())[:300]
        if isinstance(entries, dict)
        else text[:300]
    )
