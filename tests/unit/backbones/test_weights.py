"""Weights files: every layout that checkpoints come in, and everything that must be refused."""

import argparse
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from pillar_core.backbones.weights import content_hash, fill, read_tensors
from users import refuses


def _network(depth: int = 2) -> nn.Module:
    network = nn.Sequential()
    network.add_module("conv1", nn.Conv2d(3, 4, 3))
    network.add_module("bn1", nn.BatchNorm2d(4))
    network.add_module("layer1", nn.Sequential(*(nn.Linear(4, 4) for _ in range(depth))))
    return network


def _state(seed: int = 1, depth: int = 2) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return {
        name: (
            value
            if name.endswith("num_batches_tracked")
            else torch.rand(value.shape, generator=generator)
        )
        for name, value in _network(depth).state_dict().items()
    }


def _under(prefix: str, state: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {prefix + name: value for name, value in state.items()}


HEADS = {"fc.weight": torch.zeros(7, 4), "fc.bias": torch.zeros(7)}
OWN, OTHER = _state(1), _state(2)
DINO = {
    "student": _under("module.backbone.", OTHER),
    "teacher": _under("backbone.", OWN),
    "args": argparse.Namespace(arch="resnet50"),
}
TRUNK = {"trunk": _under("_feature_blocks.", OWN), "heads": {"0.clf.weight": torch.ones(1)}}
LAYOUTS: dict[str, Any] = {
    "torch hub": OWN | HEADS,
    "dino": DINO,
    "moco v2": {"epoch": 800, "state_dict": _under("module.encoder_q.", OWN | HEADS) | _under("module.encoder_k.", OTHER)
                | {"module.queue": torch.zeros(2, 5)}},
    "moco v3": {"state_dict": _under("module.base_encoder.", OWN | {"fc.0.weight": torch.zeros(2, 2)})
                | _under("module.momentum_encoder.", OTHER) | {"module.predictor.0.weight": torch.zeros(2, 2)}},
    "solo-learn": {"state_dict": _under("backbone.", OWN) | _under("momentum_backbone.", OTHER) | {"classifier.weight": torch.zeros(2, 2)},
                   "optimizer_states": [{}]},
    "byol": {"online_network": _under("encoder.", OWN), "target_network": _under("encoder.", OTHER)},
    "vissl": {"classy_state_dict": {"base_model": {"model": TRUNK}}},
}  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_gives_the_network_its_own_tensors(layout, tmp_path):
    torch.save(LAYOUTS[layout], tmp_path / "checkpoint.pth")
    network = _network()
    notes = fill(network, tmp_path / "checkpoint.pth", title="a small network")
    for name, value in network.state_dict().items():
        assert torch.equal(value, OWN[name]), name
    assert "checkpoint.pth" in notes[0]


def test_half_precision_is_widened_and_batch_counters_may_be_absent(tmp_path):
    half = {
        name: value.half()
        for name, value in OWN.items()
        if not name.endswith("num_batches_tracked")
    }
    save_file(half, tmp_path / "half.safetensors")
    network = _network()
    fill(network, tmp_path / "half.safetensors", title="a small network")
    assert network.state_dict()["conv1.weight"].dtype == torch.float32
    assert torch.equal(network.state_dict()["conv1.weight"], half["conv1.weight"].float())


@pytest.mark.parametrize(
    ("state", "says"),
    [
        (
            {name: value for name, value in OWN.items() if name != "layer1.1.weight"},
            "1 missing: layer1.1.weight",
        ),
        (
            OWN | {"conv1.weight": torch.zeros(4, 3, 7, 7)},
            r"conv1.weight \(4, 3, 7, 7\) instead of \(4, 3, 3, 3\)",
        ),
        (_state(1, depth=3), "2 that it does not know: layer1.2.bias, layer1.2.weight"),
        ({"something.else": torch.zeros(1)}, "10 missing: conv1.weight.*it holds something.else"),
    ],
)
def test_another_architecture_is_refused_and_its_keys_named(state, says, tmp_path):
    save_file(state, tmp_path / "other.safetensors")
    network = _network()
    before = {name: value.clone() for name, value in network.state_dict().items()}
    refuses(says, fill, network, tmp_path / "other.safetensors", title="a small network")
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())


@pytest.mark.parametrize("ending", ["safetensors", "pth"])
@pytest.mark.parametrize("kept", [0, 20, 0.5, 0.98])
def test_truncated_files_are_refused(ending, kept, tmp_path):
    path = tmp_path / f"weights.{ending}"
    save_file(OWN, path) if ending == "safetensors" else torch.save(OWN, path)
    content = path.read_bytes()
    path.write_bytes(content[: int(kept * len(content)) if isinstance(kept, float) else kept])
    refuses("weights", read_tensors, path)


class _Trap:
    def __reduce__(self) -> Any:
        return os.mkdir, ("trapped",)


def test_the_hash_follows_the_content_and_code_in_a_file_is_refused_unread(tmp_path, monkeypatch):
    path = tmp_path / "weights.bin"
    path.write_bytes(b"one")
    first = content_hash(path)
    path.write_bytes(b"two!")
    assert content_hash(path) != first
    path.write_bytes(b"one")
    assert content_hash(path) == first
    refuses("cannot be read", content_hash, tmp_path / "absent")
    monkeypatch.chdir(tmp_path)
    torch.save({"state_dict": OWN, "hyper_parameters": _Trap()}, "trap.ckpt")
    refuses("can run code", read_tensors, tmp_path / "trap.ckpt")
    assert not Path("trapped").exists()


_LOOKING = """
import socket
asked = []
socket.getaddrinfo = lambda *where, **_: (asked.append(where), exec("raise OSError"))
from pillar_core.backbones.weights import hub_file
print(hub_file("timm/resnet18.a1_in1k", "model.safetensors", network=False), asked)
"""


def test_looking_for_weights_on_this_machine_asks_no_other(tmp_path):
    """A link alone looks for them; the hub's own library would fetch a list first."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("HF_")
    } | {"HF_HOME": str(tmp_path)}
    looked = subprocess.run(
        [sys.executable, "-c", _LOOKING],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert looked.stdout.strip() == "None []"
