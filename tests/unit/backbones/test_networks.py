"""Networks as backbones: timm by name and by local file, self-supervised checkpoints, open_clip,
ONNX files."""

import struct
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from pillar_core.backbones import BACKBONES, extract, is_ready
from pillar_core.errors import DataError, SettingError, UnknownNameError
from pillar_core.types import Dataset
from users import raises, refuses

MOBILE = "timm:mobilenetv2_100?pad_type=same&mean=0.5&std=0.5&input_size=64"

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""Of the channels of ImageNet."""

pytestmark = pytest.mark.usefixtures("own_cache")


def _images(n: int = 6, side: int = 32, colour: bool = True) -> Dataset:
    shape = (n, side, side, 3) if colour else (n, side, side)
    return Dataset(
        "noise", np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8), np.arange(n) % 2
    )


def _standardised(images: Dataset, *moments: tuple[float, ...]) -> torch.Tensor:
    mean, std = (torch.tensor(values).view(1, 3, 1, 1) for values in moments)
    return (torch.from_numpy(images.x_train).permute(0, 3, 1, 2) / 255 - mean) / std


@pytest.mark.slow
def test_real_weights_by_the_local_file_route_beat_pixels(shared):
    weights = shared / "data" / "weights" / "mobilenetv2_100_imagenet.safetensors"
    with np.load(shared / "data" / "images" / "cifar10.npz", allow_pickle=False) as stored:
        rows, labels = stored["x_train"][:300], stored["y_train"][:300]
    data = Dataset("cifar", rows[:200], labels[:200], rows[200:], labels[200:])
    train, test, notes = extract(data, backbone=MOBILE, weights=weights, device="cpu")
    assert train.shape == (200, 1280)
    assert "mobilenetv2_100_imagenet.safetensors" in notes[0]
    shares = []
    for x, z in (
        (train, test),
        (data.x_train.reshape(200, -1) / 255.0, data.x_test.reshape(100, -1) / 255.0),
    ):
        centred = x - x.mean(axis=0)
        unit = centred / np.linalg.norm(centred, axis=1, keepdims=True)
        means = np.stack([unit[data.y_train == label].mean(axis=0) for label in range(10)])
        shares.append(
            float(np.mean((z @ means.T - x.mean(axis=0) @ means.T).argmax(axis=1) == data.y_test))
        )
    # Chance is 10 %; nearest means of 20 images a class reach about a quarter on pixels and twice
    # that on such features.
    assert shares[0] > shares[1] + 0.15
    refuses(
        "does not hold the weights of timm:mobilenetv2_050",
        extract,
        data,
        backbone="timm:mobilenetv2_050",
        weights=weights,
        device="cpu",
    )


def test_a_named_model_is_what_timm_computes_with_its_own_preparation(tmp_path):
    import timm

    torch.manual_seed(0)
    model = timm.create_model("mobilenetv2_035", pretrained=False, num_classes=0).eval()
    save_file(model.state_dict(), tmp_path / "weights.safetensors")
    images = _images(3, 48)
    train, _, _ = extract(
        images,
        backbone=f"timm:mobilenetv2_035?input_size=48&weights={tmp_path / 'weights.safetensors'}",
        device="cpu",
    )
    with torch.inference_mode():
        wanted = model(_standardised(images, MEAN, STD)).numpy()
    # Two memory layouts of the same float32 sums.
    np.testing.assert_allclose(train, wanted, rtol=1e-4, atol=1e-5)
    card = BACKBONES["timm:mobilenetv2_035"]
    assert (card.width, card.name) == ("1,280", "timm:mobilenetv2_035")
    assert (
        card.parameters
        == f"{sum(value.numel() for value in model.parameters()) / 1e6:,.1f} million"
    )


def test_equal_images_have_equal_features_wherever_they_stand(tmp_path):
    """Duplicates between public and private rows must show after extraction, in the last, filled-up
    batch too."""
    import timm

    save_file(
        timm.create_model("mobilenetv2_035", pretrained=False, num_classes=0).state_dict(),
        tmp_path / "weights.safetensors",
    )
    rows = _images(5).x_train[[0, 1, 2, 0, 3, 4, 0]]
    dataset, weights = Dataset("x", rows, None), tmp_path / "weights.safetensors"
    train, _, _ = extract(
        dataset, backbone="timm:mobilenetv2_035?input_size=32", weights=weights, batch_size=3
    )
    assert train[0].tobytes() == train[3].tobytes() == train[6].tobytes()
    assert train[0].tobytes() != train[1].tobytes()


def test_self_supervised_checkpoints_are_resnets_without_their_heads(tmp_path):
    import timm

    model = timm.create_model("resnet50", pretrained=False, num_classes=0).eval()
    state = model.state_dict() | {"fc.0.weight": torch.zeros(2, 2)}
    state = {f"module.encoder_q.{key}": value for key, value in state.items()}
    torch.save({"state_dict": state, "epoch": 1}, tmp_path / "checkpoint.pth.tar")
    train, _, notes = extract(
        _images(2), backbone="resnet50:byol", weights=tmp_path / "checkpoint.pth.tar", device="cpu"
    )
    assert train.shape == (2, 2048)
    assert "module.encoder_q" in notes[0]
    for name in ("resnet50:byol", "resnet50:moco_v2plus", "resnet50:moco_v3", "resnet50:dino"):
        raises(SettingError, "local file", extract, _images(2), backbone=name)


@pytest.mark.filterwarnings(
    "ignore"
)  # open_clip warns that a model without weights is random, which is what is wanted
def test_the_image_half_of_a_clip_model(tiny):
    import open_clip

    name, weights, model = tiny
    images = _images(2, 32)
    train, _, notes = extract(images, backbone=name, weights=weights, device="cpu", batch_size=2)
    assert "visual" in notes[0]
    shown = _standardised(images, open_clip.OPENAI_DATASET_MEAN, open_clip.OPENAI_DATASET_STD)
    with torch.inference_mode():
        wanted = model.encode_image(shown).numpy()
    np.testing.assert_allclose(train, wanted, rtol=1e-3, atol=1e-4)
    assert BACKBONES[name].width == f"{train.shape[1]:,}"


def _means(images: np.ndarray) -> np.ndarray:
    pixels = images.astype(np.float64).mean(axis=(1, 2)) / 255
    return (pixels - MEAN) / STD


def _field(number: int, value: int | bytes | str) -> bytes:
    """One field of a protocol buffer: a number or bytes."""
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    content = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    low, rest = value & 0x7F, value >> 7
    return struct.pack("B", low | 0x80) + _varint(rest) if rest else struct.pack("B", low)


def _onnx(batch: int | str, *, over_batch: bool = False) -> bytes:
    """A model that averages each channel over its pixels: input x (batch, 3, 32, 32), output y
    (batch, 3, 1, 1); where `over_batch`, it then takes the softmax over the images, as statistics
    of a batch would mix them.
    """

    def tensor(name: str, sizes: tuple[Any, ...]) -> bytes:
        dims = b"".join(
            _field(1, _field(1, size) if isinstance(size, int) else _field(2, size))
            for size in sizes
        )
        return _field(1, name) + _field(2, _field(1, _field(1, 1) + _field(2, dims)))

    first_axis = _field(5, _field(1, "axis") + _field(3, 0) + _field(20, 2))
    nodes = [
        _field(1, "x") + _field(2, "means" if over_batch else "y") + _field(4, "GlobalAveragePool")
    ]
    nodes += [_field(1, "means") + _field(2, "y") + _field(4, "Softmax") + first_axis] * over_batch
    graph = b"".join(_field(1, node) for node in nodes) + _field(2, "g")
    graph += _field(11, tensor("x", (batch, 3, 32, 32))) + _field(12, tensor("y", (batch, 3, 1, 1)))
    return _field(1, 8) + _field(7, graph) + _field(8, _field(2, 13))


@pytest.mark.parametrize("batch", ["n", 2])
def test_an_onnx_file_of_ones_own(batch, tmp_path):
    pytest.importorskip("onnxruntime")
    own, moved = tmp_path / "own.onnx", tmp_path / "moved.onnx"
    own.write_bytes(_onnx(batch))
    images = _images(5)
    assert not is_ready(images, backbone=f"onnx:{own}")
    train, _, _ = extract(images, backbone=f"onnx:{own}", device="cpu", batch_size=4)
    np.testing.assert_allclose(train, _means(images.x_train), atol=1e-5)
    own.rename(moved)
    assert is_ready(images, backbone=f"onnx:{moved}")
    grey, asked = _images(3, colour=False), {"device": "cpu", "batch_size": 2}
    refuses("moved.onnx failed", extract, grey, backbone=f"onnx:{moved}?input_size=16", **asked)
    own.write_bytes(_onnx(batch)[:40])
    refuses("cannot be opened as ONNX", extract, images, backbone=f"onnx:{own}", device="cpu")
    if isinstance(batch, int):
        asked = {"device": "cpu", "batch_size": 3}
        other = f"onnx:{moved}?mean=0.1"
        raises(SettingError, "multiple of 2", extract, images, backbone=other, **asked)


def test_a_file_whose_features_mix_the_images_of_a_batch_is_refused(tmp_path):
    pytest.importorskip("onnxruntime")
    (tmp_path / "own.onnx").write_bytes(_onnx("n", over_batch=True))
    with pytest.raises(DataError, match="beside other images"):
        extract(_images(4), backbone=f"onnx:{tmp_path / 'own.onnx'}", device="cpu")


@pytest.mark.parametrize(
    ("name", "error", "says"),
    [
        ("timm:resnet5000", UnknownNameError, "no model of timm.* Did you mean resnet50"),
        ("timm:resnet50.nobodys_tag", UnknownNameError, "no model of timm"),
        ("open_clip:ViT-Z-1", UnknownNameError, "no model of open_clip"),
        ("open_clip:ViT-B-32?pretrained=nobody", SettingError, "pretrained must be one of"),
        ("open_clip:ViT-B-32?depth=3", SettingError, "no option depth"),
        ("onnx:/no/such.onnx", SettingError, "there is no /no/such.onnx"),
        ("onnx:/no/such.onnx?depth=3", SettingError, "options that prepare images"),
        ("timm:mobilenetv2_100?input_size=1", SettingError, "input_size"),
    ],
)
def test_names_that_cannot_be_are_refused(name, error, says):
    raises(error, says, extract, _images(), backbone=name)


def test_unknown_arguments_and_weights_named_twice_or_for_nothing_are_refused(tmp_path):
    save_file({"x": torch.zeros(1)}, tmp_path / "weights.safetensors")
    with pytest.raises(SettingError, match="no_such_argument"):
        extract(
            _images(),
            backbone="timm:mobilenetv2_100?no_such_argument=3",
            weights=tmp_path / "weights.safetensors",
        )
    for name in ("one", "two"):
        (tmp_path / name).write_bytes(b"x")
    with pytest.raises(SettingError, match="named twice"):
        extract(
            _images(),
            backbone=f"timm:mobilenetv2_100?weights={tmp_path / 'one'}",
            weights=tmp_path / "two",
        )
    with pytest.raises(SettingError, match="weights must be none"):
        extract(_images(), backbone="scattering", weights=tmp_path / "one")


def test_every_card_tells_what_a_reader_must_know():
    for card in BACKBONES.values():
        assert all(
            (
                card.title,
                card.source,
                card.licence,
                card.width,
                card.pretraining,
                card.overlap,
                card.parameters,
            )
        ), card.name
        assert card.takes == "images" or not card.weights
    papers = {
        "timm:resnet50.tv_in1k",
        "timm:resnet50.fb_ssl_yfcc100m_ft_in1k",
        "timm:resnet50.fb_swsl_ig1b_ft_in1k",
        "resnet50:byol",
    }
    assert papers | {
        "timm:convnext_xlarge.fb_in22k",
        "resnet50:moco_v3",
        "resnet50:dino",
        "open_clip:ViT-B-32",
    } <= set(BACKBONES)


def test_without_a_network_the_message_says_what_to_do_instead(monkeypatch, tmp_path):
    import huggingface_hub

    def unreachable(*_, **__):
        raise OSError("the network is down")

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", unreachable)
    assert not is_ready(_images(), backbone="timm:resnet50.tv_in1k")
    with pytest.raises(
        DataError,
        match=r"timm/resnet50.tv_in1k/resolve/main/model.safetensors elsewhere.*weights=FILE",
    ):
        extract(_images(), backbone="timm:resnet50.tv_in1k")
