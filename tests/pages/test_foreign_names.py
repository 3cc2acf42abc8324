"""What a link, a settings file or an upload may name: nothing that is a file or an address."""

import socket

import numpy as np
import pytest
import torch
from safetensors.torch import save

from pages.frame import settings as codec
from pillar_core import store
from pillar_core.backbones import BACKBONES, extract
from pillar_core.backbones.weights import keep_upload
from pillar_core.errors import DataError, PillarError
from pillar_core.types import Dataset

FOREIGN = (
    "onnx:/etc/passwd?mean=0",
    "open_clip:hf-hub:x/y",
    "open_clip:local-dir:/etc",
    "open_clip:ViT-B-32?weights=/etc/passwd",
    "timm:hf-hub:x/y",
    "timm:resnet18?checkpoint_path=/etc/passwd",
    "timm:resnet18?pretrained_cfg_overlay=x",
    "timm:resnet18?cache_dir=/tmp",
    "timm:resnet18?weights=/etc/passwd",
    "resnet50:dino?weights=/etc/passwd",
)
PLAIN = (
    "raw_pixels",
    "scattering",
    "timm:resnet18",
    "timm:resnet50.tv_in1k?input_size=160",
    "timm:mobilenetv2_100?mean=0.5&pad_type=same&precision=float32&std=0.5",
    "resnet50:dino?crop=1",
    "open_clip:ViT-B-32?pretrained=laion2b_s34b_b79k",
)


@pytest.fixture(autouse=True)
def _alone(tmp_path, monkeypatch):
    """A cache of its own, and no connection to anywhere."""

    def refused(*_, **__):
        raise AssertionError("a connection was opened")

    monkeypatch.setenv("PILLAR_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(socket.socket, "connect", refused)


def _images() -> Dataset:
    return Dataset("noise", np.zeros((4, 32, 32, 3), np.uint8), np.arange(4) % 2)


def test_a_link_names_no_file_address_or_unknown_model():
    for name in FOREIGN:
        found, notes = codec.from_query({"data": "digits", "backbone": name})
        kept, mark, _ = name.partition("?weights=")
        assert found.backbone == (kept if mark else "auto")
        assert len(notes) == 1
        assert "My data → Rows" in notes[0]
        assert not BACKBONES.is_linkable(name)
        pinned = codec.pin(codec.Settings(backbone=name))
        assert codec.from_query({"a": pinned})[0].a == ""
    for name in ("timm:no_such_model", "nonsense:x", "timm:" + "x" * 2000):
        assert codec.from_query({"backbone": name})[0].backbone == "auto"


def test_what_a_library_lists_or_was_chosen_here_may_be_linked():
    assert [codec.from_query({"backbone": name}) for name in PLAIN] == [
        (codec.Settings(backbone=name), []) for name in PLAIN
    ]
    own = "timm:resnet18?weights=/models/a.safetensors"
    settings = codec.Settings(backbone=own, a=codec.pin(codec.Settings(backbone=own)))
    assert codec.from_query(codec.to_query(settings), chosen_names={own}) == (settings, [])
    other = codec.to_query(settings) | {"backbone": own.replace("a.s", "b.s")}
    assert codec.from_query(other, chosen_names={own})[0].backbone == "timm:resnet18"


@pytest.mark.parametrize(
    "name",
    [
        "open_clip:hf-hub:x/y",
        "open_clip:local-dir:/etc",
        "timm:resnet18?checkpoint_path=/etc/passwd",
    ],
)
def test_libraries_load_nothing_that_a_name_points_to(name, tmp_path):
    (tmp_path / "weights.safetensors").write_bytes(save({"x": torch.zeros(1)}))
    with pytest.raises(PillarError, match=r"no model|no argument of a model"):
        extract(_images(), backbone=name, weights=tmp_path / "weights.safetensors", device="cpu")


def test_only_tensors_are_kept_from_an_upload():
    good = save({"x": torch.zeros(3)})
    for content in (b"", b"\x80\x04.", b"PK\x03\x04", good[:-1], good + b"PK", b"\xff" * 64):
        with pytest.raises(DataError, match="safetensors"):
            keep_upload(content)
    assert not list((store.default().root).rglob("*.safetensors*"))
