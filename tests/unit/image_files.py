"""Small image files and arrays for the tests of data readers."""

import io
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from pillar_core import rng
from pillar_core.arrays import Array
from pillar_core.types import Dataset, FeatureSet


def encoded(pixels: Array, kind: str = "png") -> bytes:
    """An image file of (h, w) or (h, w, 3) uint8, or (h, w) uint16, pixels."""
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, kind)
    return stream.getvalue()


def picture(
    code: int,
    number: int,
    *,
    size: tuple[int, int] = (6, 8),
    colour: bool = True,
    kind: str = "png",
) -> bytes:
    """One image of class `code`: its brightness says which, its first pixel says which number."""
    pixels = np.full((*size, 3) if colour else size, 20 * code + 10, dtype=np.uint8)
    pixels[0, 0] = number
    return encoded(pixels, kind)


def pictures(
    classes: Iterable[str], n: int, at: str = "{}/{}.png", **settings: Any
) -> dict[str, bytes]:
    """`n` pictures of each class, at its name and their number."""
    kind = "jpeg" if at.endswith(".jpg") else "png"
    return {
        at.format(name, number): picture(code, number, kind=kind, **settings)
        for code, name in enumerate(classes)
        for number in range(n)
    }


def npz_of_squares(side: int = 10, n: int = 240, *, has_test: bool = True, **more: Any) -> bytes:
    """Labelled grey images, and what else a npz holds."""
    labels = np.arange(n) % 2
    pixels = (
        rng.stream(side, "pixels").integers(120, size=(n, side, side)).astype(np.uint8)
        + (labels * 100).astype(np.uint8)[:, None, None]
    )
    file = io.BytesIO()
    test = {"x_test": pixels[:40] + 1, "y_test": labels[:40]} if has_test else {}
    np.savez(file, x_train=pixels, y_train=labels, **test, **more)
    return file.getvalue()


def written(root: Path, files: dict[str, bytes]) -> Path:
    """`root`, with these files below it."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return root


def zipped(files: dict[str, bytes]) -> bytes:
    """A zip of these files."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return stream.getvalue()


def npz(**arrays: Any) -> bytes:
    """A npz of these arrays."""
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def images_of(n: int, shape: tuple[int, ...], classes: int, seed: int = 0) -> tuple[Array, Array]:
    """(n, *shape) uint8 random images and (n,) int64 labels that cover all classes."""
    pixels = np.frombuffer(
        np.random.RandomState(seed).bytes(n * int(np.prod(shape))), dtype=np.uint8
    )
    return pixels.reshape(n, *shape).copy(), np.arange(n) % classes


def bright(n: int = 60, shape: tuple[int, int] = (8, 8), **facts: Any) -> Dataset:
    """Grey images of two classes, told apart by their brightness; the first 20 are test rows."""
    labels = np.arange(n) % 2
    pixels = rng.stream(3, "pixels").integers(100, size=(n, *shape)) + 120 * labels[:, None, None]
    x = pixels.astype(np.uint8)
    return Dataset("bright", x, labels, x[:20], labels[:20], ("dark", "bright"), **facts)


def sizes(data: Dataset | FeatureSet) -> tuple[int, int]:
    """How many train and test rows there are."""
    return len(data.x_train), len(data.x_test if data.x_test is not None else ())


def all_rows(data: Dataset | FeatureSet) -> Array:
    """The train rows, then the test rows."""
    return data.x_train if data.x_test is None else np.concatenate([data.x_train, data.x_test])
