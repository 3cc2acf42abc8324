"""A trained network on rows of pixels, rebuilt from names and arrays; and which of its parameters
are trained: all, the head, biases, named layers, or low-rank additions (LoRA, through peft).
"""

import dataclasses
import math
import warnings
from functools import cached_property
from typing import Any

import numpy as np

from pillar_core.arrays import Array
from pillar_core.deferred import torch
from pillar_core.engine.device import training_device
from pillar_core.errors import DataError, SettingError
from pillar_core.extras import needed
from pillar_core.methods.parts.deep import networks
from pillar_core.methods.parts.deep.networks import Built
from pillar_core.methods.parts.deep.pixels import Input, channels_of
from pillar_core.rng import stream
from pillar_core.threads import threads_for

ROWS_AT_A_TIME = 256


@dataclasses.dataclass(frozen=True)
class Design:
    """What decides a network's structure: its name, what is trained, the images' shape (h, w[, c])
    and the number of classes."""

    network: str
    trainable: str
    layers: str
    lora_rank: int
    shape: tuple[int, ...]
    n_classes: int

    def build(
        self, *, seed: int | None, is_filled: bool = True
    ) -> "tuple[torch.nn.Module, str, Input]":
        """(the network at its start, the name of its head, how rows become its input); not
        `is_filled`: without the file of its weights."""
        channels = channels_of(self.shape)
        network = networks.build(
            self.network,
            channels=channels,
            n_classes=self.n_classes,
            seed=seed,
            is_filled=is_filled,
        )
        module = choose(
            network,
            trainable=self.trainable,
            layers=self.layers,
            lora_rank=self.lora_rank,
            seed=seed,
        )
        return module, network.head, Input.of(self.shape, network)


@dataclasses.dataclass(frozen=True, eq=False)
class NetworkClassifier:
    """scores(x) = network(pixels x). names, arrays: the network's whole state, so that nothing else
    is needed but its design."""

    design: Design
    names: tuple[str, ...]
    arrays: tuple[Array, ...]

    @classmethod
    def of(cls, design: Design, module: "torch.nn.Module") -> "NetworkClassifier":
        """The classifier of a trained module."""
        state = module.state_dict()
        return cls(
            design,
            tuple(state),
            tuple(np.array(value.detach().cpu().numpy()) for value in state.values()),
        )

    @property
    def width(self) -> int:
        """h·w·c, the numbers of a row."""
        return int(np.prod(self.design.shape))

    def scores(self, x: Array) -> Array:
        """(n, C) float32 logits of rows of pixels x (n, h·w·c) in [0, 1]. Raises DataError for rows
        of another width."""
        if x.ndim != 2 or x.shape[1] != self.width:
            raise DataError(
                f"rows must be the pixels of images {self.design.shape}, shape (n, {self.width});"
                f" got {x.shape}."
            )
        module, form, where = self._network
        with (
            torch.inference_mode(),
            threads_for(100.0 * len(x) * sum(array.size for array in self.arrays)),
        ):
            parts = [
                module(
                    form.ready(
                        form.images(
                            torch.from_numpy(np.ascontiguousarray(rows, dtype=np.float32)).to(where)
                        )
                    )
                ).cpu()
                for rows in np.array_split(x, max(1, -(-len(x) // ROWS_AT_A_TIME)))
            ]
        return np.asarray(torch.cat(parts).numpy())

    def predict(self, x: Array) -> Array:
        """(n,) int64 labels, ties to the lower one."""
        return np.asarray(np.argmax(self.scores(x), axis=1))

    @cached_property
    def _network(self) -> "tuple[torch.nn.Module, Input, torch.device]":
        module, _, form = self.design.build(seed=0, is_filled=False)
        module.load_state_dict(
            {
                name: torch.from_numpy(array.copy())
                for name, array in zip(self.names, self.arrays, strict=True)
            }
        )
        where = training_device()
        return module.eval().to(where), form, where

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}


CHOICES = ("all", "head", "bias", "layers", "lora")


def choose(
    built: Built, *, trainable: str, layers: str, lora_rank: int, seed: int | None
) -> "torch.nn.Module":
    """The network with `requires_grad` on the chosen parameters alone; the head is always among
    them.

    `layers`: names of parts, separated by commas: those that train (layers), or that get low-rank
    additions (lora; none means every linear layer and ungrouped convolution).
    Raises SettingError for no such part, or no part named where parts are asked for. Raises
    MissingDependencyError where peft is not installed.
    """
    module = built.module
    named = tuple(part.strip() for part in layers.split(",") if part.strip())
    if trainable == "layers" and not named:
        raise SettingError(
            "trainable='layers' needs the names of parts in layers; this network has"
            f" {_parts(module)}."
        )
    absent = [
        part
        for part in named
        if not any(_below(name, part) for name, _ in module.named_parameters())
    ]
    if absent:
        raise SettingError(
            f"layers names {', '.join(absent)}, which this network does not have; its parts are"
            f" {_parts(module)}."
        )
    if trainable == "lora":
        _add_low_rank(module, built.head, named, rank=lora_rank, seed=seed)
    for name, parameter in module.named_parameters():
        parameter.requires_grad_(_below(name, built.head) or _is_chosen(name, trainable, named))
    return module


def _is_chosen(name: str, trainable: str, named: tuple[str, ...]) -> bool:
    match trainable:
        case "all":
            return True
        case "bias":
            return name.endswith(".bias")
        case "layers":
            return any(_below(name, part) for part in named)
        case "lora":
            return ".lora_" in name
    return False


def _below(name: str, part: str) -> bool:
    return name == part or name.startswith(part + ".")


def _parts(module: "torch.nn.Module") -> str:
    """Names of the parts one and two levels down, for messages."""
    names = [
        name
        for name, part in module.named_modules()
        if name and name.count(".") < 2 and any(True for _ in part.parameters())
    ]
    return ", ".join(names[:24]) + (" …" if len(names) > 24 else "")


def _add_low_rank(
    module: "torch.nn.Module", head: str, named: tuple[str, ...], *, rank: int, seed: int | None
) -> None:
    """Adds B·A of `rank` to the chosen layers (Hu et al. 2022, α = rank): A normal with variance
    1/fan-in named by seed, B zero."""
    targets = [
        name
        for name, layer in module.named_modules()
        if isinstance(layer, torch.nn.Linear)
        or (isinstance(layer, torch.nn.Conv2d) and layer.groups == 1)
        if not _below(name, head)
    ]
    if named:
        targets = [name for name in targets if any(_below(name, part) for part in named)]
    if not targets:
        raise SettingError(
            "trainable='lora' finds no linear layer or ungrouped convolution below layers; name"
            " other parts."
        )
    with needed("trainable='lora'"):
        from peft import LoraConfig, inject_adapter_in_model
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        inject_adapter_in_model(LoraConfig(r=rank, lora_alpha=rank, target_modules=targets), module)
    generator = stream(seed, "low rank")
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if ".lora_A." in name:
                drawn = generator.standard_normal(tuple(parameter.shape)) / math.sqrt(
                    parameter[0].numel()
                )
                parameter.copy_(torch.from_numpy(drawn))
