"""MedMNIST, OpenML and hub sets from files written here, through the real packages, without any
network."""

import gzip
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import served_files

from pillar_core import store
from pillar_core.arrays import Array
from pillar_core.data import load_dataset
from pillar_core.errors import MissingDependencyError
from unit.image_files import encoded, images_of, picture, pictures, sizes, written
from users import is_noted, refuses


@pytest.fixture(autouse=True)
def no_network(monkeypatch, tmp_path_factory):
    def refuse(*_, **__):
        raise AssertionError("a reader touched the network")

    monkeypatch.setattr("socket.socket.connect", refuse)
    monkeypatch.setattr("socket.getaddrinfo", refuse)
    monkeypatch.setenv("PILLAR_CACHE", str(tmp_path_factory.mktemp("cache")))


def _medmnist(
    path: Path, name: str, shape: tuple[int, ...], labels: Array, monkeypatch: pytest.MonkeyPatch
) -> Array:
    """The images of a file of medmnist's, whose checksum stands in place of the published one."""
    import medmnist

    x, _ = images_of(len(labels), shape, 2)
    path.write_bytes(served_files.medmnist(x, labels))
    monkeypatch.setitem(medmnist.INFO[name], "MD5", served_files.md5(path.read_bytes()))
    return x


def test_medmnist_file_with_its_checksum_and_a_half_downloaded_one(tmp_path, monkeypatch):
    labels = np.arange(20)[:, None].astype(np.uint8) % 2
    x = _medmnist(tmp_path / "pneumoniamnist.npz", "pneumoniamnist", (28, 28), labels, monkeypatch)
    for root in (tmp_path, tmp_path / "pneumoniamnist.npz"):
        dataset = load_dataset("medmnist:pneumoniamnist", root=root)
        np.testing.assert_array_equal(dataset.x_train, x[2:10])
        np.testing.assert_array_equal(dataset.y_test, labels[10:, 0])
        assert dataset.classes == ("normal", "pneumonia")
    path = tmp_path / "bloodmnist.npz"
    _medmnist(path, "bloodmnist", (28, 28, 3), np.arange(16)[:, None] % 8, monkeypatch)
    path.write_bytes(path.read_bytes()[:-100])
    refuses(
        r"has another checksum than the source's.*medmnist:bloodmnist --download",
        load_dataset,
        "medmnist:bloodmnist",
        root=tmp_path,
    )


@pytest.mark.parametrize(("how", "classes", "rows"), [("any", 2, 8), ("one", 14, 4)])
def test_chestmnist_has_one_label_an_image(tmp_path, monkeypatch, how, classes, rows):
    marks = np.zeros((20, 14), dtype=np.uint8)
    marks[::2, 3] = 1
    marks[2, 5] = marks[3, 6] = marks[10, 5] = marks[11, 2] = 1
    _medmnist(tmp_path / "chestmnist.npz", "chestmnist", (28, 28), marks, monkeypatch)
    dataset = load_dataset("medmnist:chestmnist", root=tmp_path, labels=how)
    assert (len(dataset.classes), len(dataset.x_train)) == (classes, rows)
    if how == "any":
        np.testing.assert_array_equal(dataset.y_train, marks[2:10].any(axis=1))
    else:
        np.testing.assert_array_equal(dataset.y_train, [6, 3, 3, 3])


def _openml_cache(root: Path, number: int = 41161, name: str = "riccardo") -> None:
    """scikit-learn's cache of one table: each answer gzipped under its address."""
    answers = served_files.openml(number, name).items()
    written(
        root / "openml" / "openml.org",
        {f"{path[1:]}.gz": gzip.compress(content) for path, content in answers},
    )


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_openml_table_by_hand(tmp_path, ending):
    path = tmp_path / f"riccardo.{ending}"
    frame = pd.DataFrame({"V1": np.arange(20.0), "second one": -np.arange(20.0)})
    frame["label"] = np.where(frame["V1"] % 2, "yes", "no")
    if ending == "csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path)
    for root in (tmp_path, path):
        dataset = load_dataset("openml:riccardo", root=root)
        assert (dataset.x_train.shape, dataset.x_test.shape) == ((16, 2), (4, 2))
        assert dataset.classes == ("no", "yes")
        np.testing.assert_array_equal(dataset.y_train, dataset.x_train[:, 0] % 2)
    assert load_dataset("openml:riccardo", root=path, seed=1).fingerprint != dataset.fingerprint


def test_openml_by_any_name_from_the_cache_unless_half_of_it_is_there(tmp_path):
    _openml_cache(tmp_path, 7, "tiny-table")
    assert len(load_dataset("openml:tiny-table", root=tmp_path).x_train) == 16
    _openml_cache(tmp_path)
    for name in ("openml:riccardo", "openml:41161"):
        rows = load_dataset(name, root=tmp_path)
        np.testing.assert_array_equal(rows.y_train, rows.x_train[:, 0] % 2)
    next((tmp_path / "openml").rglob("riccardo.arff.gz")).unlink()
    refuses(
        r"holds neither riccardo.csv.*openml:riccardo --download",
        load_dataset,
        "openml:riccardo",
        root=tmp_path,
    )


def _table(images: list[dict[str, Any]], labels: list[int], names: list[str]) -> Any:
    import datasets

    features = datasets.Features(
        {"picture": datasets.Image(), "kind": datasets.ClassLabel(names=names)}
    )
    return datasets.Dataset.from_dict({"picture": images, "kind": labels}, features=features)


def _pictures(n: int, start: int = 0) -> list[dict[str, Any]]:
    return [{"bytes": picture((start + i) % 2, start + i), "path": None} for i in range(n)]


@pytest.mark.parametrize("kept", ["parquet", "fetched"])
def test_hub_images_and_class_names(tmp_path, kept):
    import datasets

    train, test = (
        _table(_pictures(12), [0, 1] * 6, ["zebra", "ant"]),
        _table(_pictures(4, 100), [0, 1] * 2, ["zebra", "ant"]),
    )
    if kept == "parquet":
        (tmp_path / "data").mkdir()
        train.to_parquet(tmp_path / "data" / "train-00000-of-00001.parquet")
        test.to_parquet(tmp_path / "data" / "test-00000-of-00001.parquet")
    else:
        datasets.DatasetDict({"train": train, "test": test}).save_to_disk(str(tmp_path / "rows"))
    dataset = load_dataset("hub:owner/name", root=tmp_path)
    assert dataset.classes == ("zebra", "ant")
    assert not list(store.default().root.rglob("*.arrow")), (
        "no copy of the rows may stay in the cache"
    )
    np.testing.assert_array_equal(dataset.x_train[:, 0, 0, 0], range(12))
    np.testing.assert_array_equal(dataset.y_test, [0, 1, 0, 1])


def test_hub_fetch_is_kept_and_read_without_network(tmp_path, monkeypatch):
    import datasets

    monkeypatch.setenv("PILLAR_DATA", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    calls = []

    def fetched(*arguments, **_):
        calls.append(arguments)
        return datasets.DatasetDict({"train": _table(_pictures(10), [0, 1] * 5, ["a", "b"])})

    monkeypatch.setattr("datasets.load_dataset", fetched)
    first = load_dataset("hub:owner/name", download=True)
    again, offline = load_dataset("hub:owner/name", download=True), load_dataset("hub:owner/name")
    assert calls == [("owner/name", None)]
    assert first.fingerprint == again.fingerprint == offline.fingerprint
    assert not list(tmp_path.rglob(".*"))


def test_hub_rows_without_label_are_left_out_and_refused_where_none_has_one(tmp_path):
    _table(_pictures(10), [0, 1] * 4 + [-1, -1], ["a", "b"]).to_parquet(tmp_path / "train.parquet")
    dataset = load_dataset("hub:owner/name", root=tmp_path)
    assert sum(sizes(dataset)) == 8
    assert is_noted(dataset.notes, "2 train rows have no label")
    _table(_pictures(4), [-1] * 4, ["a", "b"]).to_parquet(tmp_path / "train.parquet")
    refuses("no images with a label", load_dataset, "hub:owner/name", root=tmp_path)
    stream = io.BytesIO()
    _table(_pictures(10), [0, 1] * 5, ["a", "b"]).to_parquet(stream)
    (tmp_path / "train.parquet").write_bytes(stream.getvalue()[: len(stream.getvalue()) // 2])
    refuses("cannot be read as this data set", load_dataset, "hub:owner/name", root=tmp_path)


def test_hub_table_cannot_name_files_elsewhere(tmp_path):
    """A parquet file may carry a path in place of an image's bytes: only below the data set's own
    folder is it opened."""
    secret = tmp_path / "secret.png"
    secret.write_bytes(picture(0, 1))
    place = tmp_path / "set"
    place.mkdir()
    images = [{"bytes": picture(i % 2, i), "path": None} for i in range(9)] + [
        {"bytes": None, "path": str(secret)}
    ]
    _table_of_paths(images, place)
    without = load_dataset("hub:owner/name", root=place)
    assert sum(sizes(without)) == 9
    assert is_noted(without.notes, "train row 9")
    inside = place / "own.png"
    inside.write_bytes(picture(1, 9))
    _table_of_paths([*images[:9], {"bytes": None, "path": "own.png"}], place)
    whole = load_dataset("hub:owner/name", root=place)
    assert sum(sizes(whole)) == 10


def test_hub_labels_open_no_file(tmp_path):
    """A column of labels that says it holds images would be decoded, from whatever file or address
    a row names."""
    images, secret, place = (
        [{"bytes": None, "path": str(tmp_path / "secret.png")}] * 10,
        tmp_path / "secret.png",
        tmp_path / "set",
    )
    secret.write_bytes(picture(0, 1))
    place.mkdir()
    _table_of_paths(images, place, label=True)
    refuses("'label' holds no labels but Image", load_dataset, "hub:owner/name", root=place)


@pytest.mark.parametrize("path", ["secret.png", "http://hostile.test/a.png"])
def test_hub_fetch_keeps_no_file_from_elsewhere(tmp_path, monkeypatch, path):
    """The library would store the bytes of every file that a fetched table names."""
    import datasets

    (tmp_path / "secret.png").write_bytes(picture(0, 1))
    images = [*_pictures(9), {"bytes": None, "path": path if ":" in path else str(tmp_path / path)}]
    monkeypatch.setenv("PILLAR_DATA", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        "datasets.load_dataset",
        lambda *_, **__: datasets.DatasetDict({"train": _table(images, [0, 1] * 5, ["a", "b"])}),
    )
    refuses("names a file outside what was fetched", load_dataset, "hub:owner/name", download=True)
    assert not list((tmp_path / "data").rglob("*.arrow"))


def _table_of_paths(images: list[dict[str, Any]], place: Path, *, label: bool = False) -> None:
    """Written by pyarrow: the library itself would read the files and store their bytes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    kinds = (
        {"_type": "Image"},
        (
            {"_type": "Value", "dtype": "int64"}
            if label
            else {"_type": "ClassLabel", "names": ["a", "b"]}
        ),
    )
    columns = pa.array(images, kind), pa.array([0, 1] * 5, pa.int64())
    names = ("label", "picture") if label else ("picture", "label")
    info, table = (
        {"info": {"features": dict(zip(names, kinds, strict=True))}},
        pa.table(dict(zip(names, columns, strict=True))),
    )
    pq.write_table(
        table.replace_schema_metadata({"huggingface": json.dumps(info)}), place / "train.parquet"
    )


def test_hub_tables_of_numbers(tmp_path):
    frame = pd.DataFrame({"a": np.arange(20.0), "b": np.arange(20) % 7, "label": ["x", "y"] * 10})
    frame.to_parquet(tmp_path / "train.parquet")
    dataset = load_dataset("hub:owner/name", root=tmp_path)
    assert (dataset.x_train.shape, dataset.x_test.shape, dataset.classes) == (
        (16, 2),
        (4, 2),
        ("x", "y"),
    )
    refuses(
        "there is no column 'c'; there are a, b, label",
        load_dataset,
        "hub:owner/name",
        root=tmp_path,
        label_column="c",
    )


def test_hub_folders_of_images(tmp_path):
    written(tmp_path, pictures("ab", 5, "train/{}/{}.png"))
    assert load_dataset("hub:owner/name", root=tmp_path).classes == ("a", "b")


@pytest.mark.parametrize("subset", ["../up", "a/b", ""])
def test_hub_subset_is_a_plain_word(tmp_path, subset):
    (tmp_path / "a.png").write_bytes(encoded(np.zeros((3, 3), np.uint8)))
    refuses(
        "subset must be a plain word", load_dataset, "hub:owner/name", root=tmp_path, subset=subset
    )


def test_a_version_of_datasets_without_a_fingerprint_is_named(tmp_path, monkeypatch):
    import datasets

    _table(_pictures(4), [0, 1] * 2, ["zebra", "ant"]).to_parquet(
        tmp_path / "train-00000-of-00001.parquet"
    )
    monkeypatch.setattr(datasets.Dataset, "select_columns", lambda *_: object())
    with pytest.raises(MissingDependencyError, match=r"datasets \d.* has no object\._fingerprint"):
        load_dataset("hub:owner/name", root=tmp_path)
