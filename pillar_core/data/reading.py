"""The front door: whatever somebody brings becomes rows here, checked.

`load` takes a path, an upload's bytes, a frame, arrays, and what other libraries hold rows in. A
table becomes numbers in `raw`, by its columns' roles; of anything else `FORMATS` says the reader.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pillar_core.arrays import Array
from pillar_core.data import arrays, frames, raw, tables
from pillar_core.data.images import loading as images
from pillar_core.data.npz import arrays_of, read_npz, shapes_of
from pillar_core.data.partition import SET_APART, with_drawn_test
from pillar_core.data.parts import IMAGE_ENDINGS, open_source, place_of
from pillar_core.data.raw import NOTHING_SAID, Roles, is_table
from pillar_core.data.wording import join
from pillar_core.errors import DataError, SettingError
from pillar_core.registry import toml_tables
from pillar_core.types import Dataset, FeatureSet, Progress, ignore_progress

Rows = Dataset | FeatureSet
_LINES = toml_tables(Path(__file__).with_name("conversions.toml"))
CONVERSIONS = {tuple(endings.split()): str(line) for endings, line in _LINES.items()}
"""How files of other endings become files that are read."""
FOLDER = "a folder"
WITHOUT_LABELS = (
    "A .npy file holds rows without labels. Give a pair (rows.npy, labels.npy) for both."
)
KINDS = (
    "a path, a DataFrame, a list of texts, an array of rows, a pair (rows, labels) of arrays or of"
    " .npy files, scikit-learn's Bunch, a TensorDataset, a data set of the library datasets, a"
    " Dataset or a FeatureSet"
)
TO_PREDICT = ("x", "X", "x_test", "x_train")
"""Names of the rows to predict in a npz, the first of which counts."""


def load(
    source: Any,
    roles: Roles = NOTHING_SAID,
    public: Sequence[Any] = (),
    *,
    filename: str = "",
    progress: Progress = ignore_progress,
) -> Rows:
    """The rows of what somebody brings, checked: images, or features; a dataset or feature set
    comes back as it is. Labelled rows without test rows give a stratified fifth of themselves to
    the test.

    roles: what somebody says of a table's columns, or of a npz's arrays. public: tables that say
    what the words and gaps of a private table mean; whoever has rows there has none here. filename:
    that of an upload's bytes, whose ending says the format. progress: counts images.

    Raises DataError: a file or rows that cannot be used. SettingError: roles of columns for what is
    no table, or of arrays for a table.
    """
    if not isinstance(source, str | Path | bytes | Rows) and not frames.is_frame(source):
        source, roles = _of_object(source, roles)
    if is_table(source, filename):
        if roles.keys is not None:
            raise SettingError(
                f"keys name arrays of a npz; a table has label and leave_out. Got {roles.keys!r}."
            )
        return raw.read_private(source, roles, public, filename=filename)
    if roles or public:
        raise SettingError(
            "label, person, leave_out, recipe, public, text and ranges go with tables: a DataFrame,"
            f" or a file that ends in {join(frames.READERS)}."
        )
    if isinstance(source, Rows):
        return source
    place = source if isinstance(source, bytes) else place_of(source)
    name = Path(filename) if isinstance(place, bytes) else place
    is_folder = isinstance(place, Path) and place.is_dir()
    ending = FOLDER if is_folder else name.suffix.lower()
    if ending not in FORMATS:
        raise DataError(_why_not_read(name))
    rows = FORMATS[ending](place, name, roles, progress)
    return dataclasses.replace(rows, test_drawn=rows.test_drawn or SET_APART in rows.notes)


def load_images(path: str | Path) -> Dataset:
    """The images at `path`: (n, h, w) or (n, h, w, 3) uint8 rows and labels 0 … C − 1.

    A npz holds x_train, y_train and perhaps x_test, y_test, classes (or medmnist's train_images,
    train_labels …). A folder or zip holds one subfolder per class, under train/ and test/ where
    there are both; else a stratified fifth becomes the test rows, and the notes say so. Images in
    no class folders have their classes in a csv inside, or in labels.csv beside the folder. A
    directory that torchvision would read (MNIST/raw, cifar-10-batches-py, gtsrb …) is read so.

    Raises DataError: unreadable archive, too many files that do not decode, images that are not
    uint8, one class.

    >>> from tempfile import TemporaryDirectory
    >>> images = {"x_train": np.zeros((4, 8, 8), np.uint8), "y_train": np.array([0, 1, 0, 1])}
    >>> with TemporaryDirectory() as folder:
    ...     np.savez(f"{folder}/photos.npz", **images)
    ...     photos = pc.load_images(f"{folder}/photos.npz")
    >>> photos.x_train.shape[1:]
    (8, 8)
    """
    rows = images.read_images(path)
    return dataclasses.replace(rows, test_drawn=rows.test_drawn or SET_APART in rows.notes)


def read_rows(source: Any) -> Array:
    """Rows to predict, (n, d) float32: of a npz the first of `TO_PREDICT`, of a table all but label
    and split.

    Raises DataError: unreadable, words, or NaN in a table.
    """
    if is_table(source):
        frame, _ = raw.table_of(source)
        taken = {tables.find_column(frame, tables.LABEL_NAMES), tables.split_column(frame)}
        return tables.numbers_of(frame, [name for name in frame.columns if name not in taken])
    if (name := place_of(source)).suffix.lower() != ".npz":
        raise DataError(_why_not_read(name))
    shapes = shapes_of(content := open_source(source))
    rows = next((key for key in TO_PREDICT if key in shapes), None)
    if rows is None:
        raise DataError(
            f"the npz needs one of {', '.join(TO_PREDICT)}; it holds {join(shapes) or 'nothing'}."
        )
    return arrays_of(content, names={rows: rows})[0][rows]


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


def _of_object(source: Any, roles: Roles) -> tuple[Any, Roles]:
    """(the rows that an object holds, or a DataFrame of them; the roles with its label column).

    Raises DataError: no object of these kinds, or rows and labels that cannot be used.
    """
    first = next(iter(source.values()), None) if isinstance(source, Mapping) else source
    if type(first).__module__.startswith("datasets."):
        from pillar_core.data.sets import hub_sets

        splits = source if isinstance(source, Mapping) else {"train": source}
        return hub_sets.dataset_of(splits, name="dataset"), roles
    y: Any = None
    names: Any = None
    classes: Any = None
    if frames.are_texts(source) or hasattr(source, "__array__"):
        rows = source
    elif hasattr(source, "tensors"):
        rows, y = source.tensors if len(source.tensors) == 2 else (source.tensors[0], None)
    elif isinstance(source, Mapping) and {"data", "target"} <= set(source):
        rows, y, names = source["data"], source["target"], source.get("feature_names")
        classes = _class_names(source.get("target_names"), y)
    elif isinstance(source, tuple | list) and len(source) == 2:
        rows, y = map(array_of, source)
    else:
        raise DataError(f"source must be {KINDS}; got {type(source).__name__}.")
    if frames.is_frame(rows) or frames.are_texts(rows):
        frame = _with_labels(rows, y, classes)
        label = str(frame.columns[-1])  # rows and labels came apart: the last column is certain
        text = roles.text or frame.attrs.get("text")
        return frame, dataclasses.replace(roles, label=roles.label or label, text=text)
    rows = arrays.as_array(rows)
    is_named = names is not None and rows.ndim == 2 and len(names) == rows.shape[1]
    data = Dataset(
        "rows" if rows.ndim < 3 else "images",
        rows,
        y,
        classes=classes or (),
        names=tuple(map(str, names)) if is_named else None,
    )
    return _checked(data, data.name), roles


def _with_labels(rows: Any, y: Any, classes: tuple[str, ...] | None) -> Any:
    """A DataFrame of rows or texts, whose last column holds the labels."""
    if not frames.is_frame(rows):
        return frames.of_texts(rows, y)
    codes = arrays.as_array(y)
    labels = codes if classes is None else np.asarray(classes)[codes]
    return rows.assign(**{str(getattr(y, "name", None) or "label"): labels})


def _class_names(classes: Any, y: Any) -> tuple[str, ...] | None:
    """scikit-learn's `target_names` where they name the codes 0 … C − 1; regression sets and words
    have none."""
    codes = arrays.as_array(y)
    is_coded = (
        classes is not None and codes.dtype.kind in "iu" and codes.max(initial=-1) < len(classes)
    )
    return tuple(map(str, classes)) if is_coded else None


def _checked(rows: Dataset, name: str) -> Rows:
    if rows.is_images:
        return images.checked_images(rows, name=name)
    return with_drawn_test(arrays.checked_features(rows, name=name))


def _read_npz(place: bytes | Path, name: Path, roles: Roles, _: Progress) -> Rows:
    return _checked(read_npz(open_source(place), keys=roles.keys), name.stem)


def _read_npy(place: bytes | Path, name: Path, *_: Any) -> Rows:
    rows = array_of(open_source(place))
    return _checked(Dataset(name.stem, rows, None, notes=(WITHOUT_LABELS,)), name.stem)


def _read_images(place: bytes | Path, name: Path, _: Roles, progress: Progress) -> Rows:
    return images.read_images(place, filename=str(name), progress=progress)


FORMATS: Mapping[str, Callable[[bytes | Path, Path, Roles, Progress], Rows]] = {
    ".npz": _read_npz,
    ".npy": _read_npy,
    ".zip": _read_images,
    FOLDER: _read_images,
}
"""What reads a file of an ending that is no table's: those of tables are `frames.READERS`."""


def _why_not_read(name: Path) -> str:
    ending = name.suffix.lower()
    line = next((line for endings, line in CONVERSIONS.items() if ending in endings), None)
    if line is not None:
        return (
            f"{ending} files are not read here. This line of Python makes one that is:"
            f" {line.format(name.name)}"
        )
    known = (ending for ending in (*FORMATS, *frames.READERS) if ending != FOLDER)
    way_on = " Bring images as a folder or a zip." if ending in IMAGE_ENDINGS else ""
    return (
        f"a file of rows must end in one of {', '.join(known)}; got {ending or 'no ending'!r}"
        " (a registered set comes by its name)."
        f"{way_on}"
    )
