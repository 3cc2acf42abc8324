"""Backbones, and `load_features` over every kind of source."""

import numpy as np
import pytest
import torch
from PIL import Image

from pillar_core.backbones import BACKBONES, extract, preparing
from pillar_core.backbones.names import address, with_options
from pillar_core.backbones.preparing import IMAGENET
from pillar_core.data import load_dataset
from pillar_core.errors import SettingError, UnknownNameError
from pillar_core.runs.loading import load_features
from pillar_core.types import Dataset
from users import raises, refuses

IMAGES = np.arange(10 * 2 * 3 * 3, dtype=np.uint8).reshape(10, 2, 3, 3)
LABELS = np.arange(10) % 2


def _dataset() -> Dataset:
    return Dataset(
        "tiny", IMAGES, LABELS, IMAGES[:4], LABELS[:4], classes=("a", "b"), notes=("a note",)
    )


def test_pixels_and_numbers_are_kept_as_given():
    train, test, _ = extract(_dataset(), backbone="raw_pixels")
    assert train.dtype == np.float32
    np.testing.assert_array_equal(np.rint(train * 255).reshape(IMAGES.shape), IMAGES)
    assert train.max() <= 1
    np.testing.assert_array_equal(test, train[:4])
    dataset = load_dataset("breast_cancer")
    train, test, _ = extract(dataset, backbone="identity")
    np.testing.assert_array_equal(train, dataset.x_train)
    np.testing.assert_array_equal(test, dataset.x_test)


@pytest.mark.parametrize(
    ("backbone", "name", "other"),
    [("identity", "digits", "raw_pixels"), ("raw_pixels", "breast_cancer", "identity")],
)
def test_wrong_backbone_names_the_right_one(backbone, name, other):
    refuses(other, extract, load_dataset(name), backbone=backbone)


def test_bad_extraction_settings_are_refused():
    raises(UnknownNameError, "raw_pixels", extract, _dataset(), backbone="raw_pixel")
    raises(SettingError, "device", extract, _dataset(), backbone="raw_pixels", device="gpu")
    raises(SettingError, "batch_size", extract, _dataset(), backbone="raw_pixels", batch_size=0)
    for name in BACKBONES:
        raises(SettingError, "weights", extract, _dataset(), backbone=name, weights="somewhere.pt")


def test_features_of_a_dataset_keep_what_is_known_labels_or_not():
    found = load_features(_dataset())
    assert (found.name, found.backbone, found.classes, found.d) == (
        "tiny",
        "raw_pixels",
        ("a", "b"),
        18,
    )
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


def test_each_source_goes_where_it_belongs(tmp_path):
    np.savez(tmp_path / "images.npz", x_train=IMAGES, y_train=LABELS)
    np.savez(tmp_path / "numbers.npz", x_train=IMAGES.reshape(10, -1), y_train=LABELS)
    (tmp_path / "table.csv").write_text(
        "a,y\n" + "\n".join(f"{value},{value % 2}" for value in range(10))
    )
    from_images, from_numbers = (
        load_features(tmp_path / "images.npz"),
        load_features(str(tmp_path / "numbers.npz")),
    )
    assert (from_images.backbone, from_images.d, len(from_images.x_train)) == ("raw_pixels", 18, 8)
    assert (from_numbers.backbone, from_numbers.d, len(from_numbers.x_train)) == ("identity", 18, 8)
    assert load_features(tmp_path / "table.csv").d == 1
    assert load_features(from_numbers) is from_numbers
    raises(SettingError, "backbone", load_features, tmp_path / "numbers.npz", "raw_pixels")
    refuses("must end in", load_features, "digits")


def test_a_name_comes_apart_into_model_options_and_paths():
    first = address(
        "timm:mobilenetv2_100?std=0.5&pad_type=same&weights=/a"
        " b/c%26d.safetensors&mean=0.5&input_size=160"
    )
    assert (first.family, first.model, first.base) == (
        "timm",
        "mobilenetv2_100",
        "timm:mobilenetv2_100",
    )
    assert first.weights == "/a b/c&d.safetensors"
    assert first.canonical == "timm:mobilenetv2_100?input_size=160&mean=0.5&pad_type=same&std=0.5"
    assert first.arguments == {"pad_type": "same"}
    assert address(first.canonical) == address(
        address("timm:mobilenetv2_100?mean=0.5&std=0.5&input_size=160&pad_type=same").canonical
    )
    assert address(with_options(first.base, first.options, weights=first.weights)) == first
    plain = address("raw_pixels")
    assert (plain.family, plain.base, plain.canonical, plain.weights) == (
        "",
        "raw_pixels",
        "raw_pixels",
        None,
    )
    assert address("onnx:/home/me/net v2.onnx?mean=0").model == "/home/me/net v2.onnx"
    assert address("onnx:C:/nets/a.onnx").model == "C:/nets/a.onnx"
    spot = address(
        "timm:x?img_size=96&dynamic_img_size=true&drop_rate=0.1&global_pool=avg&precision=float32"
    )
    assert spot.arguments == {
        "img_size": 96,
        "dynamic_img_size": True,
        "drop_rate": 0.1,
        "global_pool": "avg",
    }
    assert (spot.precision, spot.storage) == ("float32", "float32")


@pytest.mark.parametrize(
    "name", ["timm:x?mean", "timm:x?=1", "timm:x?mean=", "timm:x?mean=0&mean=1"]
)
def test_options_without_one_value_each_are_refused(name):
    raises(SettingError, "NAME=VALUE", address, name)


@pytest.mark.parametrize(
    ("option", "value"),
    [("input_size", "4"), ("input_size", "big"), ("mean", "0.5,0.5"), ("mean", "x"), ("mean", "nan"), ("std", "0"), ("crop", "1.5"),
     ("interpolation", "lanczos"), ("input_size", "160.5")],
)  # fmt: skip
def test_preparation_out_of_range_is_refused(option, value):
    raises(SettingError, option, IMAGENET.with_options, {option: value})


def _photo(height: int, width: int) -> np.ndarray:
    """A smooth picture with an edge, so that resizing has something to get wrong."""
    down, right = np.mgrid[0:height, 0:width]
    channels = [
        128 + 90 * np.sin(down / 5),
        255 * (right > width / 2),
        255 * down * right / (height * width),
    ]
    return np.stack(channels, axis=-1).round().astype(np.uint8)


@pytest.mark.parametrize("interpolation", ["bilinear", "bicubic"])
@pytest.mark.parametrize(
    ("height", "width"), [(28, 28), (40, 56), (200, 150), (10, 80), (80, 10), (100, 1000)]
)
def test_resizing_and_cropping_agree_with_pillow(height, width, interpolation):
    photo = _photo(height, width)
    side, size = 64, 64 if min(height, width) <= 64 else round(64 / 0.8)
    scale = size / min(height, width)
    resized = Image.fromarray(photo).resize(
        (round(width * scale), round(height * scale)),
        getattr(Image.Resampling, interpolation.upper()),
    )
    left, top = (resized.width - side) // 2, (resized.height - side) // 2
    wanted = np.asarray(resized.crop((left, top, left + side, top + side)), dtype=float) / 255
    changed = IMAGENET.with_options(
        {
            "input_size": "64",
            "crop": "0.8",
            "mean": "0.5",
            "std": "0.25",
            "interpolation": interpolation,
        }
    )
    found = changed(torch.from_numpy(photo[None]))[0].permute(1, 2, 0).numpy() * 0.25 + 0.5
    assert found.shape == (64, 64, 3)
    # Pillow rounds to whole grey levels after each of its two passes: at most one and a half of
    # 255.
    assert np.abs(found - wanted).max() <= 1.5 / 255


def test_a_row_of_pixels_is_cut_before_it_is_enlarged(monkeypatch):
    targets = []
    resized = type(IMAGENET)._resize
    monkeypatch.setattr(
        type(IMAGENET),
        "_resize",
        lambda self, pixels, target: targets.append(target) or resized(self, pixels, target),
    )
    assert IMAGENET(torch.zeros((1, 1, 60_000), dtype=torch.uint8)).shape == (1, 3, 224, 224)
    assert targets == [(224, 896)]


def test_large_images_are_prepared_few_at_a_time_and_grey_ones_become_three_channels(monkeypatch):
    grey = torch.full((2, 8, 8), 51, dtype=torch.uint8)
    found = IMAGENET.with_options({"input_size": "8", "mean": "0.1,0.2,0.3", "std": "0.5,1,0.25"})(
        grey
    )
    assert found.shape == (2, 3, 8, 8)
    np.testing.assert_allclose(
        found[0, :, 0, 0], [(0.2 - 0.1) / 0.5, 0.0, (0.2 - 0.3) / 0.25], atol=1e-6
    )
    images = torch.from_numpy(
        np.random.default_rng(0).integers(0, 256, (5, 40, 50, 3), dtype=np.uint8)
    )
    together, sizes = IMAGENET(images), []
    prepared = type(IMAGENET).prepare
    monkeypatch.setattr(preparing, "AT_ONCE", 2 * 3 * 256 * 320)  # as they are resized
    monkeypatch.setattr(
        type(IMAGENET),
        "prepare",
        lambda self, part: sizes.append(len(part)) or prepared(self, part),
    )
    assert torch.equal(IMAGENET(images), together)
    assert sizes == [2, 2, 1]
