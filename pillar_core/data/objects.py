"""Whatever lies in a file, a folder, an upload or Python: images or features, pairs, Bunches,
tensors, the hub's data sets; checked."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pillar_core.data import arrays, files
from pillar_core.data.images import loading as images
from pillar_core.data.partition import SET_APART, with_drawn_test
from pillar_core.data.parts import Parts, open_source, place_of
from pillar_core.deferred import pandas as pd
from pillar_core.errors import DataError
from pillar_core.types import Dataset, FeatureSet, Progress, ignore_progress

WITHOUT_LABELS = (
    "A .npy file holds rows without labels. Give a pair (rows.npy, labels.npy) for both."
)
TEXT = "text"
"""What the column of a list of texts is called."""
KINDS = (
    "a path, a DataFrame, a list of texts, a pair (rows, labels) of arrays or of .npy files,"
    " scikit-learn's Bunch, a TensorDataset, a data set of the library datasets, a Dataset or a"
    " FeatureSet"
)


def is_table(rows: object) -> bool:
    """Whether an object is a pandas DataFrame, without importing pandas."""
    return type(rows).__name__ == "DataFrame" and hasattr(rows, "columns")


def is_texts(rows: Any) -> bool:
    """Whether rows are a list or an array of texts, not the paths of two .npy files."""
    values = rows.tolist() if isinstance(rows, np.ndarray) and rows.ndim == 1 else rows
    if not isinstance(values, list | tuple) or not any(isinstance(text, str) for text in values):
        return False
    is_pair = len(values) == 2 and all(str(text).endswith(".npy") for text in values)
    return not is_pair and all(text is None or isinstance(text, str) for text in values)


def table_of_texts(rows: Any, y: Any = None) -> Any:
    """A DataFrame of texts and their labels."""
    frame = pd.DataFrame(
        {TEXT: np.array(rows, dtype=object), "label": np.full(len(rows), None) if y is None else y}
    )
    frame.attrs["text"] = TEXT
    return frame


def read_object(source: Any) -> Any:
    """A Dataset or FeatureSet of an object; a DataFrame where the rows are one, whose last column
    then holds the labels.

    Raises DataError: no object of these kinds, or rows and labels that cannot be used.
    """
    first = next(iter(source.values()), None) if isinstance(source, Mapping) else source
    if type(first).__module__.startswith("datasets."):
        from pillar_core.data.sets import hub_sets

        splits = source if isinstance(source, Mapping) else {"train": source}
        return hub_sets.dataset_of(splits, name="dataset")
    rows: Any
    y: Any
    names: Any = None
    classes: Any = None
    if is_texts(source):
        return table_of_texts(source)
    if hasattr(source, "tensors"):
        rows, y = source.tensors if len(source.tensors) == 2 else (source.tensors[0], None)
    elif isinstance(source, Mapping) and {"data", "target"} <= set(source):
        rows, y, names = source["data"], source["target"], source.get("feature_names")
        classes = source.get("target_names")
    elif isinstance(source, tuple | list) and len(source) == 2:
        rows, y = array_of(source[0]), array_of(source[1])
    else:
        raise DataError(f"source must be {KINDS}; got {type(source).__name__}.")
    if is_table(rows):
        names = _class_names(classes, y)
        y_values = arrays.as_array(y) if names is None else np.asarray(names)[arrays.as_array(y)]
        return rows.assign(**{str(getattr(y, "name", None) or "label"): y_values})
    if is_texts(rows):
        return table_of_texts(rows, y)
    rows = arrays.as_array(rows)
    is_named = names is not None and rows.ndim == 2 and len(names) == rows.shape[1]
    parts = Parts(
        rows,
        y,
        classes=_class_names(classes, y),
        names=tuple(map(str, names)) if is_named else None,
    )
    return _checked(parts, name="images" if parts.holds_images else "rows")


def _checked(parts: Parts, *, name: str) -> Dataset | FeatureSet:
    if parts.holds_images:
        return images.checked_images(parts, name=name)
    return with_drawn_test(files.checked_features(parts, name=name))


def array_of(values: Any) -> Any:
    """An array, or that of a .npy file; a DataError where it holds none, or Python objects."""
    if not isinstance(values, str | Path) and not hasattr(values, "read"):
        return values
    try:
        return np.load(
            values, allow_pickle=False, mmap_mode=None if hasattr(values, "read") else "r"
        )
    except (ValueError, OSError, EOFError) as error:
        raise DataError(
            f"{getattr(values, 'name', None) or values!s:.80} cannot be read as .npy ({error})."
        ) from error


def _class_names(classes: Any, y: Any) -> list[str] | None:
    """scikit-learn's `target_names` where they name the codes 0 … C − 1; regression sets and words
    have none."""
    codes = arrays.as_array(y)
    is_coded = (
        classes is not None and codes.dtype.kind in "iu" and codes.max(initial=-1) < len(classes)
    )
    return list(map(str, classes)) if is_coded else None


def read(
    source: str | Path | bytes | Dataset | FeatureSet,
    *,
    filename: str = "",
    keys: tuple[str, str | None] | None = None,
    progress: Progress = ignore_progress,
) -> Dataset | FeatureSet:
    """What lies at a path or was uploaded, images or features; a dataset or feature set comes back
    as it is.

    filename: an upload's name, whose ending says the format; a path needs none. keys: of rows and
    labels in a npz. progress: counts images. Labelled rows without test rows give a stratified
    fifth of themselves to the test.

    Raises DataError: a file or rows that cannot be used.
    """
    if isinstance(source, Dataset | FeatureSet):
        return source
    place = source if isinstance(source, bytes) else place_of(source)
    name = Path(filename) if isinstance(place, bytes) else place
    ending = name.suffix.lower()
    rows: Dataset | FeatureSet
    if ending == ".zip" or (isinstance(place, Path) and place.is_dir()):
        rows = images.read_images(place, filename=filename, progress=progress)
    elif ending == ".npz":
        rows = _checked(files.read_parts(place, filename=filename, keys=keys), name=name.stem)
    elif ending == ".npy":
        rows = _checked(
            Parts(array_of(open_source(place)), notes=(WITHOUT_LABELS,)), name=name.stem
        )
    else:
        return files.read_features(place, filename=filename)
    return dataclasses.replace(rows, test_drawn=rows.test_drawn or SET_APART in rows.notes)
