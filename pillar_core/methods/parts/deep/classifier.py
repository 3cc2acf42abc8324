"""A trained network on rows of pixels: its classifier rebuilds the network from names and arrays."""

import dataclasses
from functools import cached_property
from typing import Any

import numpy as np

from pillar_core.arrays import Array
from pillar_core.deferred import torch
from pillar_core.engine.device import training_device
from pillar_core.errors import DataError
from pillar_core.methods.parts.deep import choice, networks
from pillar_core.methods.parts.deep.pixels import Input, channels_of
from pillar_core.threads import threads_for

ROWS_AT_A_TIME = 256


@dataclasses.dataclass(frozen=True)
class Design:
    """What decides a network's structure: its name, what is trained, the images' shape (h, w[, c]) and the number of classes."""

    network: str
    trainable: str
    layers: str
    lora_rank: int
    shape: tuple[int, ...]
    n_classes: int

    def built(self, *, seed: int | None, is_filled: bool = True) -> "tuple[torch.nn.Module, str, Input]":
        """(the network at its start, the name of its head, how rows become its input); not `is_filled`: without the file of its weights."""
        channels = channels_of(self.shape)
        network = networks.build(self.network, channels=channels, n_classes=self.n_classes, seed=seed, is_filled=is_filled)
        module = choice.choose(network, trainable=self.trainable, layers=self.layers, lora_rank=self.lora_rank, seed=seed)
        return module, network.head, Input.of(self.shape, network)


@dataclasses.dataclass(frozen=True, eq=False)
class NetworkClassifier:
    """scores(x) = network(pixels x). names, arrays: the network's whole state, so that nothing else is needed but its design."""

    design: Design
    names: tuple[str, ...]
    arrays: tuple[Array, ...]

    @classmethod
    def of(cls, design: Design, module: "torch.nn.Module") -> "NetworkClassifier":
        """The classifier of a trained module."""
        state = module.state_dict()
        return cls(design, tuple(state), tuple(np.array(value.detach().cpu().numpy()) for value in state.values()))

    @property
    def width(self) -> int:
        """h·w·c, the numbers of a row."""
        return int(np.prod(self.design.shape))

    def scores(self, x: Array) -> Array:
        """(n, C) float32 logits of rows of pixels x (n, h·w·c) in [0, 1].

        Raises:
            DataError: rows of another width.
        """
        if x.ndim != 2 or x.shape[1] != self.width:
            raise DataError(f"rows must be the pixels of images {self.design.shape}, shape (n, {self.width}); got {x.shape}.")
        module, taken, where = self._loaded
        with torch.inference_mode(), threads_for(100.0 * len(x) * sum(array.size for array in self.arrays)):
            parts = [
                module(taken.ready(taken.images(torch.from_numpy(np.ascontiguousarray(rows, dtype=np.float32)).to(where)))).cpu()
                for rows in np.array_split(x, max(1, -(-len(x) // ROWS_AT_A_TIME)))
            ]
        scores: Array = torch.cat(parts).numpy()
        return scores

    def predict(self, x: Array) -> Array:
        """(n,) int64 labels, ties to the lower one."""
        labels: Array = np.argmax(self.scores(x), axis=1)
        return labels

    @cached_property
    def _loaded(self) -> "tuple[torch.nn.Module, Input, torch.device]":
        module, _, taken = self.design.built(seed=0, is_filled=False)
        module.load_state_dict({name: torch.from_numpy(array.copy()) for name, array in zip(self.names, self.arrays, strict=True)})
        where = training_device()
        return module.eval().to(where), taken, where

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
