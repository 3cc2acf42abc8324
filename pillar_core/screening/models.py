"""The models whose gradients are compared: each turns rows and random labels into per-example
gradients.

Names: probe, small_cnn, resnet20, linear_head; and, with timm installed,
`timm:<name>?weights=<file>` (a linear head on the frozen network's features), with
`&layers=<layer>,<layer>` the parameters of those layers and of the head, with `&lora=8` low-rank
additions to a vision transformer's attention and the head, `&size=<pixels>`, and any other
`&option=value` of timm.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from pillar_core.arrays import Array
from pillar_core.deferred import torch
from pillar_core.registry import Registry, toml_tables
from pillar_core.screening import networks, pretrained, probe
from pillar_core.screening.batches import LABEL_CLASSES, Start, flat_pixels, image_batches
from pillar_core.subspace import LARGEST_CHUNK, gradient_chunks
from pillar_core.threads import threads_for

Chunks = Callable[[], Iterator["torch.Tensor"]]
PIXELS_AT_ONCE = 256
LAYER_ROWS, LORA_ROWS = 8, 1
"""Images at once through a deep network whose gradients reach a late layer, or every layer: what
two gigabytes hold."""


@dataclasses.dataclass(frozen=True, eq=False)
class Network:
    """A model as a module: the parameters that are differentiated (None: all), what it reads of
    prepared rows, and how many rows it is given at once."""

    module: torch.nn.Module
    names: tuple[str, ...] | None
    read: Callable[[Array], torch.Tensor]
    at_once: int = LARGEST_CHUNK

    def chunks(self, rows: Array, labels: torch.Tensor) -> Chunks:
        """What makes the gradients of prepared rows by autograd."""
        return lambda: gradient_chunks(
            self.module, rows, labels, names=self.names, read=self.read, at_once=self.at_once
        )


@dataclasses.dataclass(frozen=True)
class GradientModel:
    """A model: `network(prepared rows, start)` is its module, whose per-example gradients are
    compared.

    `input_size` is the side of the images that it takes, None for numbers as they are. `prepare`
    does once what no repeat changes (`is_frozen_network`: the features of images). `rows` makes the
    gradients without autograd where the model allows it. seconds_per_row: of one row's gradient, on
    one core.
    """

    name: str
    title: str
    source: str
    input_size: int | None
    network: Callable[[Array, Start], Network]
    rows: Callable[[Array, torch.Tensor, Start], Chunks] | None = None
    prepare: Callable[[Array], Array] = lambda rows: rows
    takes_numbers: bool = False
    is_frozen_network: bool = False
    seconds_per_row: float = 0.04

    def chunks(self, rows: Array, labels: torch.Tensor, start: Start) -> Chunks:
        """What makes the gradients (c, p) float32 of prepared rows, chunk by chunk, anew at each
        call."""
        if self.rows is not None:
            return self.rows(rows, labels, start)
        return self.network(rows, start).chunks(rows, labels)


MODELS: Registry[GradientModel] = Registry("gradient model", home="pillar_core.screening")


def model_of(name: str) -> GradientModel:
    """The model registered as `name`, or made for `timm:…`.

    Raises UnknownNameError: no such model. SettingError: a timm name without its weights.
    """
    if not name.startswith("timm:"):
        return MODELS[name]
    trunk = pretrained.parse_trunk(name)
    if not trunk.layers and not trunk.lora:
        features = functools.partial(pretrained.features, trunk)
        return GradientModel(
            name,
            trunk.title,
            "gsd, Table 1",
            trunk.size,
            head,
            head_chunks,
            features,
            is_frozen_network=True,
        )

    def network(rows: Array, start: Start) -> Network:
        module, names = pretrained.with_head(trunk, start)
        at_once = LORA_ROWS if trunk.lora else LAYER_ROWS
        return Network(module, tuple(names), _reader(trunk.size, 3), at_once)

    return GradientModel(name, trunk.title, "gsd, Table 6", trunk.size, network)


def head(rows: Array, start: Start) -> Network:
    """A linear head at its random start on rows (m, d), each scaled to length one, with a constant
    column.

    Row by row, because a scale taken over the rows would be one more release of private ones.
    """
    module = torch.nn.Linear(rows.shape[1] + 1, LABEL_CLASSES, bias=False)
    return Network(networks.start_network(module, start), None, _unit_rows)


def head_chunks(rows: Array, labels: torch.Tensor, start: Start) -> Chunks:
    """Gradients r ⊗ (x, 1) of that head in closed form."""
    x, module = _unit_rows(rows), head(rows, start).module
    with torch.no_grad():
        residual = torch.softmax(module(x), dim=1) - torch.nn.functional.one_hot(
            labels, LABEL_CLASSES
        )

    def chunks() -> Iterator[torch.Tensor]:
        for first in range(0, len(x), PIXELS_AT_ONCE):
            part = slice(first, first + PIXELS_AT_ONCE)
            yield (residual[part].unsqueeze(2) * x[part].unsqueeze(1)).flatten(1)

    return chunks


def _unit_rows(rows: Array) -> torch.Tensor:
    features = torch.from_numpy(np.array(rows, dtype=np.float32))
    return torch.cat(
        [torch.nn.functional.normalize(features, dim=1), torch.ones(len(features), 1)], dim=1
    )


def _probe_chunks(rows: Array, labels: torch.Tensor, start: Start) -> Chunks:
    net = probe.probe(start)

    def chunks() -> Iterator[torch.Tensor]:
        first = 0
        with threads_for(1e10):
            for images in image_batches(
                rows, probe.INPUT_SIZE, channels=1 if rows.ndim == 3 else 3, batch=16
            ):
                yield probe.probe_rows(net, images, labels[first : first + len(images)])
                first += len(images)

    return chunks


def _reader(size: int, channels: int) -> Callable[[Array], torch.Tensor]:
    return lambda rows: torch.cat(list(image_batches(rows, size, channels=channels)))


def _register(name: str, network: Callable[[Array, Start], Network], **fields: Any) -> None:
    """Register a model, which `models.toml` describes."""
    facts = toml_tables(Path(__file__).with_suffix(".toml"))[name]
    MODELS.register(GradientModel(name, network=network, **fields, **facts))


def _register_of_images(
    name: str, build: Callable[[Start], torch.nn.Module], size: int, channels: int, **fields: Any
) -> None:
    def network(rows: Array, start: Start) -> Network:
        return Network(build(start), None, _reader(size, channels))

    _register(name, network, input_size=size, **fields)


_pixels = functools.partial(
    flat_pixels, size=32
)  # side of the images that a linear head on pixels takes
_register("linear_head", head, input_size=None, rows=head_chunks, prepare=_pixels)
_register_of_images("probe", probe.probe, probe.INPUT_SIZE, 3, rows=_probe_chunks)
_register_of_images(
    "small_cnn", lambda start: networks.start_network(networks.small_cnn(), start), 28, 1
)
_register_of_images(
    "resnet20", lambda start: networks.start_network(networks.resnet20(), start), 32, 3
)
