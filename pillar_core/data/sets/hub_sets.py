"""Data sets of the Hugging Face hub by id, such as `hub:ylecun/mnist`, through the library
`datasets`.

No code of a repository runs: the library reads data files alone. What was fetched is kept as Arrow
files in the data folder and read from there without any network. By hand: the repository's parquet
files, or its folders of images.
"""

import dataclasses
import functools
import io
import re
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath
from typing import IO, Any

from pillar_core import store
from pillar_core.data import arrays, downloading, places
from pillar_core.data.cards import DATASETS, DatasetCard, card_of
from pillar_core.data.frames import notes_of, of_arrow
from pillar_core.data.images.folders import Layout, Member
from pillar_core.data.images.loading import assemble, read_images
from pillar_core.data.partition import with_test_rows
from pillar_core.data.tables import LABEL_NAMES, numbers_of
from pillar_core.errors import DataError, UnknownNameError
from pillar_core.extras import hidden
from pillar_core.params import declare
from pillar_core.types import Dataset

PREFIX = "hub"
ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-]{0,95}/[A-Za-z0-9][A-Za-z0-9_.\-]{0,95}")
WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-]{0,95}")
KEPT = "rows"
BLOB = re.compile("[0-9a-f]{64}")
"""How huggingface_hub calls a file whose checksum the hub says."""
ASKED_SECONDS = 10.0
TEST_NAMES = ("test", "validation", "valid", "val")


@dataclasses.dataclass(frozen=True)
class HubSettings(places.RootSettings):
    """Where the files are, which configuration, and which columns hold image and label (None: found
    by type and name)."""

    subset: str | None = declare(
        None, "Configuration of the repository.", none_means="its only one"
    )
    image_column: str | None = declare(
        None, "Column of the images.", none_means="the first of that type"
    )
    label_column: str | None = declare(
        None, "Column of the labels.", none_means="label, y, or the one of that type"
    )


def _read(repository: str, settings: HubSettings, seed: int, download: bool) -> Dataset:
    card = DATASETS[f"{PREFIX}:{repository}"]
    place = places.home(card.name, settings.root)
    if settings.subset is not None and not WORD.fullmatch(settings.subset):
        raise DataError(
            f"subset must be a plain word, as the repository names it; got {settings.subset!r}."
        )
    folder = place / (f"{KEPT}-{settings.subset}" if settings.subset else KEPT)
    has_parquet = place.is_dir() and any(path for path in place.rglob("*.parquet"))
    if download and not has_parquet:
        card.fill(
            place, lambda: _fetch(repository, settings.subset, folder), is_there=folder.exists
        )
    if not folder.exists() and not has_parquet:
        return read_images(place)
    with places.readable(place):
        import datasets

        splits = datasets.load_from_disk(str(folder)) if folder.exists() else _parquet(place)
        splits = splits if isinstance(splits, Mapping) else {"train": splits}
        return dataset_of(
            splits,
            name=repository,
            place=place,
            image=settings.image_column,
            label=settings.label_column,
            seed=seed,
        )


def dataset_of(
    splits: Mapping[str, Any],
    *,
    name: str,
    place: Path = Path("/"),
    image: str | None = None,
    label: str | None = None,
    seed: int = 0,
) -> Dataset:
    """The images or numbers of the library's splits by their names; files that a table names lie
    below `place`.

    Raises DataError: no column of images or numbers, or of labels.
    """
    train, test, notes = _sides(splits)
    column = _column(train, image, "Image")
    if column is not None:
        return assemble(_layout(train, test, column, label, place, notes), name=name, seed=seed)
    return _table(name, train, test, label, seed, notes)


def _fetch(repository: str, subset: str | None, folder: Path) -> None:
    """Fetches the repository's rows and keeps them in `folder`, which appears when it is whole."""
    import datasets

    if Path(repository).exists():
        raise DataError(
            f"there is a local folder {repository!r} here, which the library would read instead:"
            " start from another folder."
        )
    scratch = folder.with_name(f".{folder.name}.part")
    shutil.rmtree(scratch, ignore_errors=True)
    try:
        with downloading.for_hub():
            rows = datasets.load_dataset(repository, subset, cache_dir=str(scratch / "cache"))
        for path in (_hub_folder(repository) / "blobs").glob(
            "*"
        ):  # named by checksums, which the hub's library does not compare
            if BLOB.fullmatch(path.name) and not downloading.has(path, f"sha256:{path.name}"):
                path.unlink()
                raise downloading.DownloadFailedError(
                    "a file that came has another checksum than the hub says"
                )
        _refuse_elsewhere(rows, (scratch, _hub_folder(repository)))
        rows.save_to_disk(str(scratch / "kept"))
        (scratch / "kept").rename(folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _hub_folder(repository: str) -> Path:
    from huggingface_hub.constants import HF_HUB_CACHE

    return Path(HF_HUB_CACHE, f"datasets--{repository.replace('/', '--')}")


def _refuse_elsewhere(rows: Any, places_: tuple[Path, ...]) -> None:
    """Refuses a table that names files of this machine, or addresses: what the library keeps holds
    the bytes of each, whatever it is."""
    from datasets.features.features import require_storage_embed
    from pyarrow import compute

    for split in rows.values():
        for name in [
            name for name, feature in split.features.items() if require_storage_embed(feature)
        ]:
            if type(split.features[name]).__name__ != "Image":
                raise DataError(
                    f"column {name!r} holds files that are no images: bring the rows without it."
                )
            values = split.data.column(name)
            is_named = compute.is_null(compute.struct_field(values, "bytes"))
            for path in compute.unique(
                compute.struct_field(values, "path").filter(is_named)
            ).to_pylist():
                if path and not any(
                    Path(path).resolve().is_relative_to(place.resolve()) for place in places_
                ):
                    raise DataError(
                        f"column {name!r} names a file outside what was fetched: refused."
                    )


def size_and_licence(repository: str) -> tuple[int, str]:
    """Bytes of all files of a repository and its licence, "" where it says none; asks the hub.

    Raises DataError: it does not answer, or has no such repository for everybody.
    """
    import huggingface_hub

    try:
        info = huggingface_hub.HfApi().dataset_info(
            repository, files_metadata=True, timeout=ASKED_SECONDS
        )
    except (*places.FETCHING_FAILS, *places.foreign()) as error:
        words = str(error).splitlines()[0][:200]
        raise DataError(
            f"the hub does not say what {repository} holds ({words}); the setting HF_ENDPOINT names"
            " a mirror."
        ) from error
    licence = getattr(info.card_data, "license", None)
    return sum(file.size or 0 for file in info.siblings or ()), (
        "" if licence is None else str(licence)
    )


def _parquet(place: Path) -> Mapping[str, Any]:
    """The splits of parquet files named as the hub names them: train-00000-of-00001.parquet, or a
    folder called train."""
    import datasets

    files: dict[str, list[str]] = {}
    for path in sorted(place.rglob("*.parquet")):
        path_words = {path.stem.split("-")[0].lower(), path.parent.name.lower()}
        split = next((name for name in ("train", *TEST_NAMES) if name in path_words), "train")
        files.setdefault(split, []).append(str(path))
    root = store.default().root
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    # The library turns parquet into Arrow files and maps them; a mapped file stays readable when
    # its name is gone.
    with tempfile.TemporaryDirectory(dir=root, ignore_cleanup_errors=True) as scratch:
        splits: Mapping[str, Any] = datasets.load_dataset(
            "parquet", data_files=files, cache_dir=scratch
        )
    return splits


def _sides(splits: Mapping[str, Any]) -> tuple[Any, Any, tuple[str, ...]]:
    first = "train" if "train" in splits else next(iter(splits))
    second = next((name for name in TEST_NAMES if name in splits and name != first), None)
    unused = [name for name in splits if name not in (first, second)]
    notes = [
        f"Train rows are the split {first!r}" + (f", test rows {second!r}." if second else ".")
    ]
    notes += [f"Splits left aside: {', '.join(unused)}."] if unused else []
    return splits[first], None if second is None else splits[second], tuple(notes)


def _column(rows: Any, wanted: str | None, kind: str) -> str | None:
    """The column of that name, else the first whose type is `kind`."""
    if wanted is not None and wanted not in rows.features:
        raise DataError(f"there is no column {wanted!r}; there are {', '.join(rows.features)}.")
    return wanted or next(
        (name for name, feature in rows.features.items() if type(feature).__name__ == kind), None
    )


def _label_column(rows: Any, wanted: str | None) -> str:
    column = _column(rows, wanted, "ClassLabel") or next(
        (name for name in rows.features if name.lower() in LABEL_NAMES), None
    )
    if column is None:
        raise DataError(
            f"no column holds labels; name it with label_column: {', '.join(rows.features)}."
        )
    if (kind := type(rows.features[column]).__name__) not in (
        "ClassLabel",
        "Value",
    ):  # to read others opens the files that they name
        raise DataError(
            f"column {column!r} holds no labels but {kind}: name another with label_column."
        )
    return column


def _words(rows: Any, column: str) -> tuple[list[str], tuple[str, ...]]:
    """(labels as words, class names in the order of their codes or nothing); a missing label (−1 or
    none) is an empty word."""
    feature, values = rows.features[column], rows[column]
    names = tuple(str(name) for name in getattr(feature, "names", None) or ())
    if names:
        return ["" if value is None or value < 0 else names[value] for value in values], names
    return ["" if value is None else str(value) for value in values], ()


def _layout(
    train: Any, test: Any, image: str, label: str | None, place: Path, notes: tuple[str, ...]
) -> Layout:
    import datasets

    column = _label_column(train, label)
    members: list[Member] = []
    classes: tuple[str, ...] = ()
    for in_test, rows in ((False, train), (True, test)):
        if rows is None:
            continue
        labels, names = _words(rows, column)
        classes = classes or names
        raw = rows.cast_column(image, datasets.Image(decode=False)).select_columns([image])
        content = hidden(
            "datasets", raw, "_fingerprint"
        )  # the library's own hash of a table's rows
        labelled = [number for number, word in enumerate(labels) if word]
        if len(labelled) < len(labels):
            notes = (
                *notes,
                (
                    f"{len(labels) - len(labelled):,} {'test' if in_test else 'train'} rows have no"
                    " label and were left out."
                ),
            )
        side = "test" if in_test else "train"
        members += [
            Member(
                PurePosixPath(f"{side} row {number}"),
                _stream(raw, number, image, place),
                f"{content}:{number}",
                labels[number],
                in_test,
            )
            for number in labelled
        ]
    return Layout(tuple(members), notes, classes)


def _stream(rows: Any, number: int, image: str, place: Path) -> Callable[[], IO[bytes]]:
    """Opens one image: its bytes, or a file that it names, which must lie below `place` (a table
    may name any file)."""

    def stream() -> IO[bytes]:
        value = rows[number][image]
        if value["bytes"] is not None:
            return io.BytesIO(value["bytes"])
        path = (place / str(value["path"])).resolve()
        if not path.is_relative_to(place.resolve()):
            raise OSError(f"{path} lies outside the data set")
        return path.open("rb")

    return stream


def _table(
    repository: str, train: Any, test: Any, label: str | None, seed: int, notes: tuple[str, ...]
) -> Dataset:
    column = _label_column(train, label)
    frames = [
        of_arrow(rows.remove_columns([column]).with_format("arrow")[:])
        for rows in (train, test)
        if rows is not None
    ]
    train_labels, names = _words(train, column)
    x = [numbers_of(frame, list(map(str, frame.columns))) for frame in frames]
    labels = None if test is None else _words(test, column)[0]
    checked = arrays.features(
        x[0], train_labels, x[1] if len(x) > 1 else None, labels, names or None
    )
    rows = (checked.x_train, checked.y_train, checked.x_test, checked.y_test)
    notes = (*notes, *notes_of(frames[0]), *checked.notes)
    data = Dataset(
        repository, *rows, checked.classes, notes=notes, names=tuple(map(str, frames[0].columns))
    )
    return with_test_rows(data, seed=seed)


def _family(name: str) -> DatasetCard:
    repository = name.removeprefix(f"{PREFIX}:")
    if not ID.fullmatch(repository) or ".." in repository:
        raise UnknownNameError(
            f"a data set of the hub is called {PREFIX}:<owner>/<name>, such as"
            f" {PREFIX}:ylecun/mnist; got {name!r}."
        )
    return card_of(
        name,
        functools.partial(_read, repository),
        settings=HubSettings,
        ask=lambda: size_and_licence(repository),
    )


DATASETS.register_family(PREFIX, _family)
