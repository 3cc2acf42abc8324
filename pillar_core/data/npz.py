"""Archives of arrays (npz), read by the names of their members. Pickle is never read."""

import io
import json
import lzma
import math
import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from pillar_core.arrays import Array
from pillar_core.data import room, scratch
from pillar_core.data.parts import Parts
from pillar_core.data.persons import persons_of
from pillar_core.data.wording import listed
from pillar_core.errors import DataError
from pillar_core.store import codec
from pillar_core.types import Persons

KEYS = ("x_train", "y_train", "x_test", "y_test", "classes", "persons", "rows_per_person")
IMAGE_KEYS = {"train_images": "x_train", "train_labels": "y_train", "test_images": "x_test", "test_labels": "y_test"}
PIECE = 2**24
UNREADABLE = (*codec.UNREADABLE, TypeError, KeyError, RuntimeError, zlib.error, lzma.LZMAError, tokenize.TokenError)
"""What zipfile and numpy raise on damaged files and on headers that somebody made up."""


def read_npz(content: io.BytesIO | Path) -> Parts:
    """The arrays of a npz, by the names of `KEYS` (or medmnist's), without ever unpickling.

    Raises:
        DataError: not a npz, pickled, truncated, without x_train; as `persons_in`.
    """
    arrays, others = arrays_of(content)
    arrays = {IMAGE_KEYS.get(key, key): value for key, value in arrays.items()}
    if "x_train" not in arrays:
        keys = listed([*arrays, *others])
        raise DataError(f"the npz must hold x_train (and y_train, x_test, y_test, classes where there are any); it holds {keys}.")
    notes = [f"Keys left aside: {listed(others)}."] if others else []
    if "meta" in arrays:
        notes.append(f"Made by: {_meta(arrays['meta'])}")
    classes = np.atleast_1d(arrays["classes"]) if "classes" in arrays else None
    if classes is not None and classes.ndim > 1:
        raise DataError(f"classes must hold one name for each class, shape (C,); got shape {classes.shape} of {classes.dtype}.")
    persons = persons_in(arrays, arrays["x_train"])
    rows = (arrays["x_train"], arrays.get("y_train"), arrays.get("x_test"), arrays.get("y_test"))
    return Parts(*rows, None if classes is None else classes.tolist(), tuple(notes), persons=persons)


def arrays_of(content: io.BytesIO | Path, *, also: tuple[str, ...] = ()) -> tuple[dict[str, Array], list[str]]:
    """The arrays of a npz under the keys that are read (and those in `also`), and the names of its other ones."""
    wanted = {*KEYS, *IMAGE_KEYS, "meta", *also}
    try:
        _refuse_other_formats(content)
        with zipfile.ZipFile(content) as archive:
            members = {member.filename.removesuffix(".npy"): member for member in archive.infolist()}
            others = [key for key in members if key not in wanted]
            return {key: _array(archive, member) for key, member in members.items() if key in wanted}, others
    except UNREADABLE as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"the npz cannot be read ({error}): it is damaged or incomplete. Save it again with numpy.savez.") from error


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Array:
    """One array of a npz; on the disk where it is too large for memory, unpacked piece by piece."""
    with archive.open(member) as stream:
        version = np.lib.format.read_magic(stream)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, is_fortran, dtype = read(stream)
        if dtype.hasobject:
            raise DataError(
                "the npz holds Python objects (pickle), which can run code when read: refused. "
                "Save words as a string array (dtype 'U') and numbers as numbers."
            )
        held = member.file_size - stream.tell()
        if not dtype.itemsize or math.prod(shape) * dtype.itemsize != held:
            raise DataError(
                f"{member.filename} says that it is of shape {shape} and {dtype}, and holds {held:,} bytes: it is no such array."
            )
        is_large, becomes_float32 = scratch.is_large((member.file_size,)), len(shape) == 2 and dtype != np.float32
        room.need(f"{member.filename}, of shape {shape}, takes", held * (not is_large) + 4 * math.prod(shape) * becomes_float32)
        if not is_large:
            stream.seek(0)
            return np.asarray(np.lib.format.read_array(stream, allow_pickle=False))
        pieces = iter(lambda: stream.read(PIECE), b"")
        return scratch.on_disk(pieces, dtype, shape, order="F" if is_fortran else "C")


def persons_in(arrays: Mapping[str, Array], rows: Array) -> Persons | None:
    """Whose the train rows are that a npz holds, where it says so: of each person `rows_per_person` count, or one.

    Raises:
        DataError: see `persons_of`; how many count, and not whose they are.
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
        raise DataError("the file is a pickle, which can run code when read: refused. Save arrays with numpy.savez.")
    if start == b"\x93NUMPY":
        raise DataError("the file is one bare array (npy): save x_train, y_train, … together with numpy.savez.")
    if not start.startswith(b"PK"):
        raise DataError("the file is no npz: it is damaged or another format. Save it again with numpy.savez.")


def _meta(value: Array) -> str:
    text = "more than a text" if value.ndim else str(value)
    try:
        entries = json.loads(text)
    except (ValueError, RecursionError):
        return text[:300]
    return ", ".join(f"{key} {entry}" for key, entry in entries.items())[:300] if isinstance(entries, dict) else text[:300]
