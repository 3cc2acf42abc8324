"""Directories in torchvision's layouts: read by torchvision's own code from files written here, and
refused when damaged."""

import os
import pickle
import struct
import sys
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from scipy.io import savemat
from served_files import cifar_batch, cifar_batches, idx

from pillar_core.arrays import Array
from pillar_core.data import DATASETS, load_dataset, load_images
from pillar_core.data.images import layouts
from pillar_core.data.images.layouts import LAYOUTS
from pillar_core.errors import MissingDependencyError
from unit.image_files import all_rows, encoded, images_of, picture, pictures, sizes, written
from users import is_noted, refuses


def _mnist(root: Path, name: str = "MNIST", n: int = 40) -> tuple[Array, Array]:
    x, y = images_of(n + 20, (28, 28), 10)
    parts = {"train": (x[:n], y[:n]), "t10k": (x[n:], y[n:])}
    for side, (rows, labels) in parts.items():
        written(
            root / name / "raw",
            {f"{side}-images-idx3-ubyte": idx(rows), f"{side}-labels-idx1-ubyte": idx(labels)},
        )
    return x, y


def _cifar10(root: Path, protocol: int = 2) -> tuple[Array, Array]:
    x, y = images_of(60, (32, 32, 3), 10)
    written(root / "cifar-10-batches-py", cifar_batches(x, y, protocol))
    return x, y


def _gtsrb(root: Path) -> Path:
    files = {
        f"gtsrb/GTSRB/Training/{code:05d}/{code:05d}_{i:05d}.ppm": picture(
            code, i, size=(15 + code, 20), kind="ppm"
        )
        for code in range(3)
        for i in range(4)
    }
    files |= {
        f"gtsrb/GTSRB/Final_Test/Images/{i:05d}.ppm": picture(i % 3, i, size=(18, 20), kind="ppm")
        for i in range(6)
    }
    rows = [
        "Filename;Width;Height;Roi.X1;Roi.Y1;Roi.X2;Roi.Y2;ClassId",
        *(f"{i:05d}.ppm;20;18;1;1;9;9;{i % 3}" for i in range(6)),
    ]
    return written(root, files | {"gtsrb/GT-final_test.csv": "\n".join(rows).encode()})


@pytest.mark.parametrize("below", ["", "MNIST", "MNIST/raw"])
def test_mnist_files_are_read_through_torchvision(tmp_path, below):
    x, y = _mnist(tmp_path)
    dataset = load_images(tmp_path / below)
    np.testing.assert_array_equal(dataset.x_train, x[:40])
    np.testing.assert_array_equal(dataset.y_test, y[40:])
    assert dataset.classes[3] == "3 - three"


def test_half_an_idx_file_is_refused_by_name_and_what_is_missing_said(tmp_path):
    x, _ = _mnist(tmp_path, "FashionMNIST")
    dataset = load_dataset("torchvision:fashionmnist", root=tmp_path)
    np.testing.assert_array_equal(dataset.x_test, x[40:])
    assert (dataset.name, dataset.title) == ("torchvision:fashionmnist", "Fashion-MNIST")
    assert is_noted(dataset.notes, "counts 60,000 train rows, these files hold 40")
    _mnist(tmp_path)
    path = tmp_path / "MNIST" / "raw" / "train-images-idx3-ubyte"
    path.write_bytes(path.read_bytes()[:5000])
    refuses(
        r"MNIST/raw cannot be read.*damaged, incomplete",
        load_dataset,
        "torchvision:mnist",
        root=tmp_path,
    )


@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_cifar_batches_are_read_without_unpickling_objects(tmp_path, protocol):
    x, y = _cifar10(tmp_path, protocol)
    for place in (tmp_path, tmp_path / "cifar-10-batches-py"):
        dataset = load_images(place)
        np.testing.assert_array_equal(dataset.x_train, x[:50])
        np.testing.assert_array_equal(dataset.x_test, x[50:])
        np.testing.assert_array_equal(dataset.y_train, y[:50])
        assert dataset.classes[9] == "class9"


def test_cifar_batches_of_python_2_are_read(tmp_path):
    """The official files were pickled by Python 2: byte strings, and numpy.core.multiarray. Written
    here opcode by opcode."""
    x, y = _cifar10(tmp_path)
    flat = np.ascontiguousarray(x[:10].transpose(0, 3, 1, 2)).reshape(10, -1)
    content = (
        b"\x80\x02}(U\x04datacnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R("
        + b"K\x01K\x0aM\x00\x0c\x86cnumpy\ndtype\nU\x02u1K\x00K\x01\x87R(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89T"
        + struct.pack("<i", flat.size)
        + flat.tobytes()
        + b"tbU\x06labels]("
        + b"".join(b"K" + bytes([code]) for code in y[:10])
        + b"eu."
    )
    assert pickle.loads(content, encoding="latin1")["data"].shape == (10, 3072)
    (tmp_path / "cifar-10-batches-py" / "data_batch_1").write_bytes(content)
    np.testing.assert_array_equal(load_images(tmp_path).x_train, x[:50])


class _Code:
    """What a planted pickle does when Python's own reader reads it: it calls something, here
    os.mkdir."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (self.path,)


@pytest.mark.parametrize("protocol", [2, 4])
def test_a_planted_pickle_runs_nothing(tmp_path, protocol):
    _cifar10(tmp_path)
    path, proof = tmp_path / "cifar-10-batches-py" / "data_batch_2", tmp_path / "proof"
    path.write_bytes(pickle.dumps({"data": _Code(proof), "labels": [0]}, protocol))
    pickle.loads(path.read_bytes())
    assert proof.exists(), "the planted pickle would have run"
    proof.rmdir()
    refuses(r"asks for .*mkdir.* refused, it could run code", load_images, tmp_path)
    assert not proof.exists()


@pytest.mark.parametrize(
    "state",
    [
        *(
            {"data": np.zeros((2, 3072)), "labels": [0, 1]},
            {"data": np.zeros((2, 100), np.uint8), "labels": [0, 1]},
        ),
        *(
            {"data": np.zeros((2, 3072), np.uint8), "labels": [0]},
            {"data": [1, 2], "labels": [0, 1]},
            {"labels": [0, 1]},
            [1, 2],
        ),
    ],
)
def test_batches_that_hold_something_else_are_refused(tmp_path, state):
    _cifar10(tmp_path)
    (tmp_path / "cifar-10-batches-py" / "data_batch_1").write_bytes(pickle.dumps(state, 4))
    refuses("cannot be read as cifar-10-batches-py", load_images, tmp_path)


def test_named_cifar_compares_checksums_and_each_layout_has_a_card(tmp_path):
    _cifar10(tmp_path)
    refuses(
        r"data_batch_1 is missing or has another checksum.*fetch it again",
        load_dataset,
        "torchvision:cifar10",
        root=tmp_path,
    )
    assert all(f"torchvision:{name}" in DATASETS for name in LAYOUTS)


def test_cifar100_python(tmp_path):
    x, y = images_of(40, (32, 32, 3), 20)
    names = [f"fine{code}" for code in range(20)]
    written(
        tmp_path / "cifar-100-python",
        {
            "train": cifar_batch(x[:20], y[:20], "fine_labels"),
            "test": cifar_batch(x[20:], y[20:], "fine_labels"),
            "meta": pickle.dumps({"fine_label_names": names, "coarse_label_names": ["c"]}, 2),
        },
    )
    np.testing.assert_array_equal(load_images(tmp_path / "cifar-100-python").x_train, x[:20])


def test_gtsrb_signs_of_several_sizes_are_refused_without_test_images(tmp_path):
    dataset = load_images(_gtsrb(tmp_path))
    assert dataset.x_train.shape == (12, 17, 20, 3)
    assert dataset.classes == ("00", "01", "02")
    assert is_noted(dataset.notes, "different sizes were resized to 17 × 20")
    np.testing.assert_array_equal(dataset.y_test, [0, 1, 2, 0, 1, 2])
    assert (
        load_dataset("torchvision:gtsrb", root=tmp_path / "gtsrb").fingerprint
        == dataset.fingerprint
    )
    for path in (_gtsrb(tmp_path) / "gtsrb/GTSRB/Final_Test/Images").iterdir():
        path.unlink()
    refuses("6 of 18 images that the source's lists name are missing", load_images, tmp_path)


def test_svhn_with_another_checksum_is_refused_and_its_rows_come_out_upright(tmp_path, monkeypatch):
    """torchvision's own reader on files whose checksum is made to match: axes, and 10 standing for
    the digit 0."""
    x, y = images_of(20, (32, 32, 3), 10)
    for side in ("train", "test"):
        savemat(
            tmp_path / f"{side}_32x32.mat",
            {"X": x.transpose(1, 2, 3, 0), "y": np.where(y == 0, 10, y)[:, None]},
        )
    refuses("not found or corrupted", load_dataset, "torchvision:svhn", root=tmp_path)
    monkeypatch.setattr("torchvision.datasets.SVHN._check_integrity", lambda self: True)
    dataset = load_images(tmp_path)
    np.testing.assert_array_equal(dataset.x_train, x)
    np.testing.assert_array_equal(dataset.y_train, y)


def test_flowers_use_the_official_lists(tmp_path, monkeypatch):
    base = written(
        tmp_path / "flowers-102",
        {f"jpg/image_{i:05d}.jpg": picture(i % 3, i, kind="jpeg") for i in range(1, 13)},
    )
    labels = np.array([i % 3 + 1 for i in range(1, 13)])
    savemat(base / "imagelabels.mat", {"labels": labels[None]})
    savemat(
        base / "setid.mat",
        {"trnid": [[1, 2, 3]], "valid": [[4, 5, 6]], "tstid": [[7, 8, 9, 10, 11, 12]]},
    )
    monkeypatch.setattr("torchvision.datasets.Flowers102._check_integrity", lambda self: True)
    dataset = load_dataset("torchvision:flowers102", root=tmp_path)
    assert sizes(dataset) == (6, 6)
    assert dataset.classes[:2] == ("pink primrose", "hard-leaved pocket orchid")
    np.testing.assert_array_equal(dataset.y_test, labels[6:] - 1)


def test_pets_use_the_official_lists(tmp_path):
    names = ["Abyssinian", "american_bulldog"]
    base = tmp_path / "oxford-iiit-pet"
    written(base, pictures(names, 4, "images/{}_{}.jpg"))
    line = "{name}_{i} {code} 1 1"
    for side, numbers in (("trainval", (0, 1)), ("test", (2, 3))):
        rows = [
            line.format(name=name, i=i, code=code + 1)
            for code, name in enumerate(names)
            for i in numbers
        ]
        written(base, {f"annotations/{side}.txt": "\n".join(rows).encode()})
    dataset = load_images(base)
    assert dataset.classes == ("Abyssinian", "American Bulldog")
    np.testing.assert_array_equal(dataset.y_train, [0, 0, 1, 1])


def test_caltech256_leaves_clutter_out(tmp_path):
    folders = ("001.ak47", "002.american-flag", "257.clutter")
    written(tmp_path / "caltech256", pictures(folders, 5, "256_ObjectCategories/{}/{}.jpg"))
    dataset = load_dataset("torchvision:caltech256", root=tmp_path, seed=3)
    assert dataset.classes == folders[:2]
    assert sizes(dataset) == (8, 2)


def test_pcam_is_read_from_its_own_files(tmp_path):
    x, y = images_of(12, (96, 96, 3), 2)
    base = tmp_path / "pcam"
    base.mkdir()
    for side, rows in (("train", slice(0, 8)), ("test", slice(8, 12))):
        for what, values in (("x", x[rows]), ("y", y[rows].reshape(-1, 1, 1, 1))):
            with h5py.File(base / f"camelyonpatch_level_2_split_{side}_{what}.h5", "w") as file:
                file[what] = values
    dataset = load_dataset("torchvision:pcam", root=tmp_path)
    np.testing.assert_array_equal(dataset.x_train, x[:8])


def test_a_package_that_a_layout_needs_is_asked_for(tmp_path, monkeypatch):
    written(tmp_path, {LAYOUTS["pcam"].marker: b"patches"})
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(MissingDependencyError, match=r"needs the package h5py.*`hdf5`"):
        load_dataset("torchvision:pcam", root=tmp_path)


def test_a_version_of_torchvision_without_a_private_attribute_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(layouts, "class_of", lambda _: lambda root, **split: object())
    for name in ("dtd", "pcam"):
        with pytest.raises(
            MissingDependencyError,
            match=r"torchvision \d.* has no object\._.*: install the version in requirements.txt",
        ):
            layouts.read(LAYOUTS[name], tmp_path)


def test_class_folders_stand_in_for_a_layout(tmp_path):
    places = [(side, code, i) for side in ("train", "test") for code in (0, 1) for i in range(3)]
    written(
        tmp_path, {f"{side}/{'ab'[code]}/{i}.png": picture(code, i) for side, code, i in places}
    )
    dataset = load_dataset("torchvision:pcam", root=tmp_path)
    assert (*sizes(dataset), dataset.classes) == (6, 6, ("a", "b"))


def test_a_folder_with_something_else_says_how_to_get_it(tmp_path):
    written(tmp_path, {"notes.txt": b"nothing"})
    refuses(
        r"holds no stl10_binary.*Fetch it \(2.6 GB\).*torchvision:stl10 --download.*By hand",
        load_dataset,
        "torchvision:stl10",
        root=tmp_path,
    )


def test_one_grey_image_among_colour_ones_and_sixteen_bits(tmp_path):
    deep = encoded(np.full((6, 8), 0x4000, dtype=np.uint16))
    written(
        tmp_path,
        pictures("ab", 4) | {"b/deep.png": deep},
    )
    dataset = load_images(tmp_path)
    assert dataset.x_train.shape[1:] == (6, 8, 3)
    every = all_rows(dataset)
    # 0x4000 of 16 bits is 0x40 of 8; the other images are 10 or 30 away from their first pixel.
    assert (every[:, 3, 3, 0] == 0x40).sum() == 1
