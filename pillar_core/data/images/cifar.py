"""CIFAR-10 and CIFAR-100 as their authors hand them out: pickled batches.

A pickle can run code when it is read. The reader here cannot: it knows two names, numpy's array and
its element type, and for both it builds plain holders of its own, which accept unsigned bytes and
nothing else. So directories that somebody made in this layout can be read as safely as the official
ones, and no checksum has to stand between a planted file and this process (a comparison followed by
a reading could be raced; and MD5, all that the source publishes, is not what to build on).
"""

import dataclasses
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pillar_core.arrays import Array
from pillar_core.data.downloading import has
from pillar_core.errors import DataError
from pillar_core.registry import toml_tables
from pillar_core.types import Dataset

PIXELS = 32 * 32 * 3


@dataclasses.dataclass(frozen=True)
class Version:
    """Where the rows of one version lie: folder, train and test files, label key, file of class
    names and its key, and MD5 sums."""

    folder: str
    train: Sequence[str]
    test: Sequence[str]
    labels: str
    names: str
    names_key: str
    md5: dict[str, str] = dataclasses.field(default_factory=dict)


VERSIONS = {
    folder: Version(folder, **fields)
    for folder, fields in toml_tables(Path(__file__).with_suffix(".toml")).items()
}


def read_cifar(place: Path, version: Version, *, official: bool = False) -> Dataset:
    """Train and test images (n, 32, 32, 3) uint8 of the folder `place`.

    Args:
        official: compare every file with the sums that the source publishes.

    Raises DataError: a file is missing, has another checksum, or holds something else.
    """
    for name, expected in version.md5.items() if official else ():
        path = place / name
        if not has(path, f"md5:{expected}"):
            raise DataError(
                f"{path} is missing or has another checksum than the source's: delete {place} and"
                " fetch it again."
            )
    try:
        sides = [_rows(place, files, version) for files in (version.train, version.test)]
        classes = tuple(map(str, _read_batch(place / version.names)[version.names_key]))
    except (
        OSError,
        ValueError,
        KeyError,
        TypeError,
        IndexError,
        EOFError,
        AttributeError,
        pickle.UnpicklingError,
    ) as error:
        raise DataError(
            f"{place} cannot be read as {version.folder} ({error}): files are missing, cut short or"
            " another format."
        ) from error
    (x_train, y_train), (x_test, y_test) = sides
    return Dataset(version.folder, x_train, y_train, x_test, y_test, classes)


def _rows(place: Path, files: Sequence[str], version: Version) -> tuple[Array, Array]:
    present = [place / name for name in files if (place / name).is_file()]
    if not present:
        raise DataError(f"{place} holds none of {', '.join(files)}.")
    pairs = [_batch(path, version) for path in present]
    images = (
        np.concatenate([rows for rows, _ in pairs]).reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    )
    return np.ascontiguousarray(images), np.concatenate([labels for _, labels in pairs])


def _batch(path: Path, version: Version) -> tuple[Array, Array]:
    batch = _read_batch(path)
    rows, labels = _array(batch["data"]), np.array(batch[version.labels], dtype=np.int64)
    if rows.ndim != 2 or rows.shape[1] != PIXELS or labels.shape != (len(rows),):
        raise ValueError(f"{path.name}: rows {rows.shape}, labels {labels.shape}")
    return rows, labels


class _Holder:
    """What stands for a numpy array or element type while a pickle is read: the state that it was
    given, unread."""

    def __init__(self, *arguments: Any) -> None:
        self.arguments, self.state = arguments, ()

    def __setstate__(self, state: Any) -> None:
        self.state = state


class _Reader(pickle.Unpickler):
    """Builds numbers, text, lists, dictionaries and holders; every other name is refused, so
    nothing can be called."""

    def find_class(self, module: str, name: str) -> Any:
        if module.split(".")[0] == "numpy" and name in (
            "_reconstruct",
            "_frombuffer",
            "ndarray",
            "dtype",
        ):
            return _Holder
        if (module, name) == ("_codecs", "encode"):  # how Python 3 writes bytes in protocol 2
            return str.encode
        raise pickle.UnpicklingError(
            f"it asks for {module}.{name}, which no image batch needs: refused, it could run code"
        )


def _read_batch(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        content = _Reader(file, encoding="latin1").load()
    if not isinstance(content, dict):
        raise ValueError(f"{path.name} holds no dictionary")
    return {str(key): value for key, value in content.items()}


def _array(holder: Any) -> Array:
    """The matrix of unsigned bytes that a holder was given.

    Protocols 2 to 4 set the state (version, shape, element type, Fortran order, bytes); protocol 5
    passes (bytes, element type, shape, order).
    """
    if not isinstance(holder, _Holder):
        raise ValueError("the image rows are no array")
    if holder.state:
        _, shape, element, is_fortran, content = holder.state
    else:
        content, element, shape, order = holder.arguments
        is_fortran = order == "F"
    if not isinstance(element, _Holder) or element.arguments[:1] not in (
        ("u1",),
        ("|u1",),
        ("uint8",),
    ):
        raise ValueError("the image rows are no unsigned bytes")
    raw = content.encode("latin1") if isinstance(content, str) else content
    if (
        not isinstance(raw, bytes | bytearray)
        or len(shape) != 2
        or not all(isinstance(side, int) for side in shape)
    ):
        raise ValueError("the image rows are no matrix")
    return np.frombuffer(raw, dtype=np.uint8).reshape(shape, order="F" if is_fortran else "C")
