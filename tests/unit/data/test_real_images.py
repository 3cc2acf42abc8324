"""Real images in every form that users bring: one content, whether it comes as npz, folder, zip or in torchvision's layout."""

import struct
from pathlib import Path

import numpy as np
import pytest

from pillar_core.arrays import Array
from pillar_core.data import load_dataset, load_images
from unit.image_files import encoded, report_on, written, zipped

N = 60


@pytest.fixture(params=["fashion_mnist", "cifar10", "gtsrb", "mnist", "pneumonia"])
def real(request: pytest.FixtureRequest, shared: Path) -> dict[str, Array]:
    with np.load(shared / "data" / "images" / f"{request.param}.npz", allow_pickle=False) as file:
        x, y, x_test, y_test = (file[key] for key in ("x_train", "y_train", "x_test", "y_test"))
    known = np.isin(y_test[:N], np.unique(y[:N]))
    return {"x_train": x[:N], "y_train": y[:N], "x_test": x_test[:N][known], "y_test": y_test[:N][known]}


def _files(real: dict[str, Array]) -> dict[str, bytes]:
    return {
        f"{side}/{int(label):02d}/{number:05d}.png": encoded(image)
        for side in ("train", "test")
        for number, (image, label) in enumerate(zip(real[f"x_{side}"], real[f"y_{side}"], strict=True))
    }


def _sorted(rows: Array, labels: Array) -> list[tuple[int, bytes]]:
    return sorted((int(label), row.tobytes()) for row, label in zip(rows, labels, strict=True))


def test_npz_folder_and_zip_hold_the_same(real: dict[str, Array], tmp_path: Path) -> None:
    np.savez(
        tmp_path / "a.npz",
        **{f"{side}_{what}": real[f"{key}_{side}"] for side in ("train", "test") for what, key in (("images", "x"), ("labels", "y"))},
    )
    files = _files(real)
    (tmp_path / "a.zip").write_bytes(zipped(files))
    for place in (tmp_path / "a.npz", tmp_path / "a.zip", written(tmp_path / "folder", files)):
        found = load_images(place)
        codes = np.unique(real["y_train"])
        for rows, labels, side in ((found.x_train, found.y_train, "train"), (found.x_test, found.y_test, "test")):
            assert _sorted(rows, codes[labels]) == _sorted(real[f"x_{side}"], real[f"y_{side}"])
        assert report_on(place, public_fraction=0.5).ok


def test_torchvision_layout_of_real_grey_images(shared: Path, tmp_path: Path) -> None:
    with np.load(shared / "data" / "images" / "fashion_mnist.npz", allow_pickle=False) as file:
        x, y, x_test, y_test = (file[key] for key in ("x_train", "y_train", "x_test", "y_test"))
    for side, rows, labels in (("train", x, y), ("t10k", x_test, y_test)):
        head = struct.pack(">HBBIII", 0, 8, 3, *rows.shape)
        files = {f"{side}-images-idx3-ubyte": head + rows.tobytes()}
        files[f"{side}-labels-idx1-ubyte"] = struct.pack(">HBBI", 0, 8, 1, len(labels)) + labels.astype(np.uint8).tobytes()
        written(tmp_path / "FashionMNIST" / "raw", files)
    found = load_dataset("torchvision:fashionmnist", root=tmp_path)
    np.testing.assert_array_equal(found.x_train, x)
    np.testing.assert_array_equal(found.y_test, y_test)
    assert found.classes[-1] == "Ankle boot"
