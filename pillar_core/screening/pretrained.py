"""Pre-trained networks of timm: frozen features, and the gradients of chosen layers. timm is imported where it is used."""

from __future__ import annotations

import dataclasses
import functools
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import numpy as np
import torch

from pillar_core.errors import DataError, MissingDependencyError, SettingError
from pillar_core.screening import networks
from pillar_core.screening.batches import LABEL_CLASSES, image_batches

Array = np.ndarray[Any, Any]
INPUT_SIZE = 128
"""Side of the images: large enough for features of small sources, a third of the cost of 224."""


@dataclasses.dataclass(frozen=True)
class Trunk:
    """A pre-trained network: its timm name, a local safetensors file, options of timm, and the layers that are differentiated."""

    name: str
    weights: Path
    options: tuple[tuple[str, str], ...] = ()
    layers: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The name for people."""
        return f"{self.name}, {', '.join(self.layers)} and head" if self.layers else f"{self.name}, linear head"


def parsed(name: str) -> Trunk:
    """The network that `timm:<name>?weights=<file>[&layers=a,b][&option=value]` names.

    Raises:
        SettingError: no weights file.
    """
    title, _, query = name.removeprefix("timm:").partition("?")
    given = dict(parse_qsl(query))
    weights = Path(given.pop("weights", "")).expanduser()
    if not weights.is_file():
        raise SettingError(
            f"a pre-trained model needs its weights as a local safetensors file: timm:{title}?weights=FILE; got {str(weights)!r}."
        )
    layers = tuple(part for part in given.pop("layers", "").split(",") if part)
    return Trunk(title, weights, tuple(sorted(given.items())), layers)


def features(trunk: Trunk, rows: Array) -> Array:
    """(m, width) float32 features of uint8 images by the frozen network, its classifier left out."""
    network = _network(trunk.name, trunk.weights, trunk.options)
    with torch.inference_mode():
        return torch.cat([network(images) for images in image_batches(rows, INPUT_SIZE, batch=32)]).float().numpy()


def with_head(trunk: Trunk, *, seed: int, repeat: int) -> tuple[torch.nn.Module, list[str]]:
    """(the network with a fresh head of ten classes, the names of the parameters that are differentiated).

    Raises:
        SettingError: a layer that the network does not have.
    """
    network = _network(trunk.name, trunk.weights, trunk.options)
    head = networks.started(torch.nn.Linear(int(network.num_features), LABEL_CLASSES), seed=seed, repeat=repeat)
    whole = torch.nn.Sequential(network, head)
    names = [own for own, _ in whole.named_parameters() if own.startswith(("1.", *(f"0.{layer}" for layer in trunk.layers)))]
    absent = [layer for layer in trunk.layers if not any(own.startswith(f"0.{layer}") for own in names)]
    if absent:
        parts = ", ".join(own for own, _ in network.named_children())
        raise SettingError(f"{trunk.name} has no layer {', '.join(absent)}; its parts are {parts}.")
    return whole, names


@functools.lru_cache(maxsize=2)
def _network(name: str, weights: Path, options: tuple[tuple[str, str], ...]) -> Any:
    try:
        import timm
        from safetensors.torch import load_file
    except ImportError as cause:
        raise MissingDependencyError("models named timm:… need the packages timm and safetensors: pip install timm safetensors.") from cause
    chosen: dict[str, Any] = dict(options)
    network = timm.create_model(name, pretrained=False, num_classes=0, **chosen)
    stored = {key: value.float() for key, value in load_file(str(weights)).items()}
    absent = [key for key in network.load_state_dict(stored, strict=False).missing_keys if "num_batches" not in key]
    if absent:
        raise DataError(f"{weights} does not hold the weights of {name}: {', '.join(absent[:3])} and perhaps others are missing.")
    return network.eval().requires_grad_(False)
