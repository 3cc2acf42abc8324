"""Feature files (npz, csv, parquet), from a path or as uploaded bytes."""

import dataclasses
from pathlib import Path

import numpy as np

from pillar_core.data import arrays
from pillar_core.data.npz import read_npz
from pillar_core.data.parts import Parts, opened
from pillar_core.data.tables import read_table
from pillar_core.errors import DataError
from pillar_core.types import FeatureSet

SUFFIXES = (".npz", ".csv", ".parquet")


def read_features(source: str | Path | bytes, *, filename: str = "") -> FeatureSet:
    """The feature set in a npz, csv or parquet file, checked.

    Args:
        source: a path, or the file's bytes.
        filename: the file's name, needed with bytes; its ending says the format.

    Raises:
        DataError: unreadable or pickled file, images instead of features, or anything that `features` refuses.
    """
    name = filename or ("upload" if isinstance(source, bytes) else str(source))
    return checked_features(read_parts(source, filename=filename), name=Path(name).stem)


def checked_features(parts: Parts, *, name: str) -> FeatureSet:
    """The parts of a file as a feature set.

    Raises:
        DataError: images instead of features, or anything that `features` refuses.
    """
    if parts.holds_images:
        shape = np.shape(parts.x_train)[1:]
        raise DataError(f"the file holds images of shape {shape}, not features: read it with load_images, then choose a backbone.")
    features = arrays.features(parts.x_train, parts.y_train, parts.x_test, parts.y_test, parts.classes)
    return dataclasses.replace(features, name=name, notes=parts.said + features.notes, persons=parts.persons)


def read_parts(source: str | Path | bytes, *, filename: str = "") -> Parts:
    """The arrays of a npz, csv or parquet file, unchecked.

    Raises:
        DataError: no such file, another ending, or contents that cannot be read.
    """
    ending = Path(filename or (source if not isinstance(source, bytes) else "")).suffix.lower()
    if ending not in SUFFIXES:
        raise DataError(f"a feature file must end in one of {', '.join(SUFFIXES)}; got {ending or 'no ending'!r}.")
    content = opened(source)
    return read_npz(content) if ending == ".npz" else read_table(content, ending=ending)
