"""The models whose gradients are compared: each turns rows and random labels into per-example gradients.

Names: probe, small_cnn, resnet20, linear_head; and, with timm installed, `timm:<name>?weights=<file>` (a linear head on the
frozen network's features), with `&layers=<layer>,<layer>` the parameters of those layers and of the head, and any other
`&option=value` of timm.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from pillar_core.engine.threads import threads_for
from pillar_core.registry import Registry
from pillar_core.screening import networks, pretrained, probe
from pillar_core.screening.batches import LABEL_CLASSES, image_batches
from pillar_core.subspace import gradient_chunks

Array = np.ndarray[Any, Any]
Chunks = Callable[[], Iterator[torch.Tensor]]
LINEAR_SIDE = 32
"""Side of the images that a linear head on pixels takes."""


@dataclasses.dataclass(frozen=True)
class Start:
    """What names a model's random weights."""

    seed: int = 0
    repeat: int = 0


def _as_they_are(rows: Array) -> Array:
    return rows


@dataclasses.dataclass(frozen=True)
class GradientModel:
    """A model: `chunks(prepared rows, labels, start)` makes the gradients (c, p) float32, chunk by chunk, anew at each call.

    `input_size` is the side of the images that it takes, None for numbers as they are. `prepare` does once what no repeat
    changes (a frozen network's features).
    """

    name: str
    title: str
    source: str
    input_size: int | None
    chunks: Callable[[Array, torch.Tensor, Start], Chunks]
    prepare: Callable[[Array], Array] = _as_they_are
    takes_numbers: bool = False


MODELS: Registry[GradientModel] = Registry("gradient model")


def model_of(name: str) -> GradientModel:
    """The model registered as `name`, or made for `timm:…`.

    Raises:
        UnknownNameError: no such model. SettingError: a timm name without its weights.
    """
    if not name.startswith("timm:"):
        return MODELS[name]
    trunk = pretrained.parsed(name)
    if trunk.layers:
        return GradientModel(name, trunk.title, "gsd, Table 6", pretrained.INPUT_SIZE, lambda x, y, start: _layers(trunk, x, y, start))
    return GradientModel(
        name, trunk.title, "gsd, Table 1", pretrained.INPUT_SIZE, head_chunks, lambda rows: pretrained.features(trunk, rows)
    )


def head_chunks(rows: Array, labels: torch.Tensor, start: Start) -> Chunks:
    """Gradients r ⊗ (x, 1) of a linear head at its random start on rows (m, d), each scaled to length one.

    Row by row, because a scale taken over the rows would be one more release of private ones.
    """
    features = torch.from_numpy(np.array(rows, dtype=np.float32))
    x = torch.cat([torch.nn.functional.normalize(features, dim=1), torch.ones(len(features), 1)], dim=1)
    head = networks.started(torch.nn.Linear(x.shape[1], LABEL_CLASSES, bias=False), seed=start.seed, repeat=start.repeat)
    with torch.no_grad():
        residual = torch.softmax(head(x), dim=1) - torch.nn.functional.one_hot(labels, LABEL_CLASSES)

    def chunks() -> Iterator[torch.Tensor]:
        for first in range(0, len(x), 256):
            part = slice(first, first + 256)
            yield (residual[part].unsqueeze(2) * x[part].unsqueeze(1)).flatten(1)

    return chunks


def _probe(rows: Array, labels: torch.Tensor, start: Start) -> Chunks:
    net = probe.probe(start.seed, start.repeat)

    def chunks() -> Iterator[torch.Tensor]:
        first = 0
        with threads_for(1e10):
            for images in image_batches(rows, probe.INPUT_SIZE, batch=32):
                yield probe.probe_rows(net, images, labels[first : first + len(images)])
                first += len(images)

    return chunks


def _network(build: Callable[[], torch.nn.Module], size: int, channels: int) -> Callable[[Array, torch.Tensor, Start], Chunks]:
    def chunks_of(rows: Array, labels: torch.Tensor, start: Start) -> Chunks:
        module = networks.started(build(), seed=start.seed, repeat=start.repeat)
        images = torch.cat(list(image_batches(rows, size, channels=channels)))
        return lambda: gradient_chunks(module, images, labels)

    return chunks_of


def _layers(trunk: pretrained.Trunk, rows: Array, labels: torch.Tensor, start: Start) -> Chunks:
    module, names = pretrained.with_head(trunk, seed=start.seed, repeat=start.repeat)
    images = torch.cat(list(image_batches(rows, pretrained.INPUT_SIZE)))
    return lambda: gradient_chunks(module, images, labels, names=names)


def _pixels(rows: Array) -> Array:
    """Images as flat rows of one size; numbers as they are."""
    if rows.ndim == 2:
        return rows
    return np.concatenate([batch.flatten(1).numpy() for batch in image_batches(rows, LINEAR_SIDE)])


MODELS.register(GradientModel("probe", "Probe network", "gsd, Table 5b", probe.INPUT_SIZE, _probe))
MODELS.register(GradientModel("small_cnn", "Small CNN", "gsd, Table 5a", 28, _network(networks.small_cnn, 28, 1)))
MODELS.register(GradientModel("resnet20", "ResNet20 with group normalisation", "gsd, appendix B", 32, _network(networks.resnet20, 32, 3)))
MODELS.register(GradientModel("linear_head", "Linear head on the rows", "gsd, Table 1", None, head_chunks, _pixels, takes_numbers=True))
