"""Images for screening: as `load_images`, but labels are not needed, because screening draws its own."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pillar_core.arrays import Array
from pillar_core.data.images import decoding, folders
from pillar_core.data.images.loading import read_images
from pillar_core.data.npz import read_npz
from pillar_core.data.parts import Parts, open_source
from pillar_core.data.wording import join
from pillar_core.errors import DataError
from pillar_core.types import Dataset

FEWEST = 2


def load_candidate(source: str | Path) -> Dataset:
    """The images of a npz, folder or zip with labels where it has them, else the same images without any.

    One unreadable file among few is skipped, named and counted in the notes.

    Raises DataError: no images, or most of them unreadable.
    """
    try:
        return read_images(source)
    except DataError as refusal:
        parts = _npz_images(source) if str(source).lower().endswith(".npz") else _loose_images(source)
        if parts is None:
            raise refusal
    name = Path(source).stem
    return Dataset(name, parts.x_train, None, title=name, notes=parts.all_notes, persons=parts.persons)


def load_unlabelled(source: Path, shape: Sequence[int] | None) -> tuple[Array, tuple[str, ...]]:
    """((n, h, w[, 3]) uint8 images of a folder or zip in the order of their paths, of `shape` where given; notes).

    Raises DataError: no images, or one that does not decode: leaving it out would move the labels of the others.
    """
    with folders.listing(source, filename=source.name) as members:
        pictures = [member.picture for member in members if member.is_image]
        if not pictures:
            raise DataError(f"{source} holds no images.")
        shared, notes, _ = decoding.common(decoding.pixel_formats(pictures))
        if shape is not None:
            shared = dataclasses.replace(shared, height=shape[0], width=shape[1], colour=len(shape) == 3)
        decoded = decoding.decode([pictures], shared, key=None)
    if decoded.skipped:
        bad = f"{len(decoded.skipped)} images do not decode: {join(decoded.skipped)}"
        raise DataError(f"{bad}. Take them out, so that labels stay in order.")
    return decoded.rows[0], notes if shape is None else ()


def _npz_images(source: str | Path) -> Parts | None:
    try:
        parts = read_npz(open_source(source))
    except DataError:
        return None
    rows = np.asarray(parts.x_train)
    if rows.dtype != np.uint8 or not (rows.ndim == 3 or (rows.ndim == 4 and rows.shape[3] == 3)) or not len(rows):
        return None
    return Parts(rows, notes=("Taken without labels.",), persons=parts.persons)


def _loose_images(source: str | Path) -> Parts | None:
    """Every readable image of a folder or zip, wherever it lies."""
    with folders.listing(source, filename=str(source)) as members:
        good: list[decoding.Picture] = []
        broken: list[decoding.Picture] = []
        for picture in (member.picture for member in members if member.is_image):
            pixel_format = decoding.format_of(picture)
            (good if pixel_format and decoding.pixels(picture, pixel_format) is not None else broken).append(picture)
        if len(good) < FEWEST or len(broken) > len(good):
            return None
        shared, notes, caveats = decoding.common(decoding.pixel_formats(good))
        rows = decoding.decode([good], shared, key=None).rows[0]
    skipped = (f"{len(broken)} files do not decode and were skipped: {join([picture.path for picture in broken])}.",) if broken else ()
    return Parts(rows, notes=("Taken without labels.", *notes, *skipped), caveats=caveats)
