"""Backbones, and `load_features` over every kind of source."""

from pathlib import Path

import numpy as np
import pytest

from pillar_core.backbones import BACKBONES, extract
from pillar_core.data import load_dataset
from pillar_core.errors import DataError, SettingError, UnknownNameError
from pillar_core.runs.loading import load_features
from pillar_core.types import Dataset

IMAGES = np.arange(10 * 2 * 3 * 3, dtype=np.uint8).reshape(10, 2, 3, 3)
LABELS = np.arange(10) % 2


def _dataset() -> Dataset:
    return Dataset("tiny", IMAGES, LABELS, IMAGES[:4], LABELS[:4], classes=("a", "b"), notes=("a note",))


def test_pixels_and_numbers_are_kept_as_given() -> None:
    train, test, _ = extract(_dataset(), backbone="raw_pixels")
    assert train.dtype == np.float32
    np.testing.assert_array_equal(np.rint(train * 255).reshape(IMAGES.shape), IMAGES)
    assert train.max() <= 1
    assert test is not None
    np.testing.assert_array_equal(test, train[:4])
    dataset = load_dataset("breast_cancer")
    train, test, _ = extract(dataset, backbone="identity")
    np.testing.assert_array_equal(train, dataset.x_train)
    np.testing.assert_array_equal(test, dataset.x_test)


@pytest.mark.parametrize(("backbone", "name", "other"), [("identity", "digits", "raw_pixels"), ("raw_pixels", "breast_cancer", "identity")])
def test_wrong_backbone_names_the_right_one(backbone: str, name: str, other: str) -> None:
    with pytest.raises(DataError, match=other):
        extract(load_dataset(name), backbone=backbone)


def test_bad_extraction_settings_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="raw_pixels"):
        extract(_dataset(), backbone="raw_pixel")
    with pytest.raises(SettingError, match="device"):
        extract(_dataset(), backbone="raw_pixels", device="gpu")
    with pytest.raises(SettingError, match="batch_size"):
        extract(_dataset(), backbone="raw_pixels", batch_size=0)
    for name in BACKBONES:
        with pytest.raises(SettingError, match="weights"):
            extract(_dataset(), backbone=name, weights="somewhere.pt")


def test_features_of_a_dataset_keep_what_is_known_labels_or_not() -> None:
    found = load_features(_dataset())
    assert (found.name, found.backbone, found.classes, found.d) == ("tiny", "raw_pixels", ("a", "b"), 18)
    assert found.images is not None
    assert found.notes == ("a note",)
    mixture = load_features(load_dataset("gaussian_mixture", n=20, n_test=10, d=4))
    assert mixture.synthetic
    assert mixture.backbone == "identity"
    assert mixture.images is None
    assert "gamma" in mixture.known
    found = load_features(Dataset("public", IMAGES, None))
    assert found.y_train is None
    assert len(found.x_train) == 10


def test_each_source_goes_where_it_belongs(tmp_path: Path) -> None:
    np.savez(tmp_path / "images.npz", x_train=IMAGES, y_train=LABELS)
    np.savez(tmp_path / "numbers.npz", x_train=IMAGES.reshape(10, -1), y_train=LABELS)
    (tmp_path / "table.csv").write_text("a,y\n" + "\n".join(f"{value},{value % 2}" for value in range(10)))
    from_images, from_numbers = load_features(tmp_path / "images.npz"), load_features(str(tmp_path / "numbers.npz"))
    assert (from_images.backbone, from_images.d, len(from_images.x_train)) == ("raw_pixels", 18, 8)
    assert (from_numbers.backbone, from_numbers.d, len(from_numbers.x_train)) == ("identity", 18, 8)
    assert load_features(tmp_path / "table.csv").d == 1
    assert load_features(from_numbers) is from_numbers
    with pytest.raises(SettingError, match="backbone"):
        load_features(tmp_path / "numbers.npz", "raw_pixels")
    with pytest.raises(DataError, match="must end in"):
        load_features("digits")
