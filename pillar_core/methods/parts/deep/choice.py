"""Which parameters of a network are trained: all, the head, biases, named layers, or low-rank additions (LoRA, through peft)."""

import math
import warnings
from typing import Any

from pillar_core.deferred import torch
from pillar_core.errors import SettingError
from pillar_core.extras import needed
from pillar_core.methods.parts.deep.networks import Built
from pillar_core.rng import stream

CHOICES = ("all", "head", "bias", "layers", "lora")


def choose(built: Built, *, trainable: str, layers: str, lora_rank: int, seed: int | None) -> "torch.nn.Module":
    """The network with `requires_grad` on the chosen parameters alone; the head is always among them.

    `layers`: names of parts, separated by commas: those that train (layers), or that get low-rank additions (lora; none means
    every linear layer and ungrouped convolution).

    Raises:
        SettingError: no such part, or no part named where parts are asked for.
        MissingDependencyError: peft is not installed.
    """
    module = built.module
    named = tuple(part.strip() for part in layers.split(",") if part.strip())
    if trainable == "layers" and not named:
        raise SettingError(f"trainable='layers' needs the names of parts in layers; this network has {_parts(module)}.")
    absent = [part for part in named if not any(_below(name, part) for name, _ in module.named_parameters())]
    if absent:
        raise SettingError(f"layers names {', '.join(absent)}, which this network does not have; its parts are {_parts(module)}.")
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
    names = [name for name, part in module.named_modules() if name and name.count(".") < 2 and any(True for _ in part.parameters())]
    return ", ".join(names[:24]) + (" …" if len(names) > 24 else "")


def _add_low_rank(module: "torch.nn.Module", head: str, named: tuple[str, ...], *, rank: int, seed: int | None) -> None:
    """Adds B·A of `rank` to the chosen layers (Hu et al. 2022, α = rank): A normal with variance 1/fan-in named by seed, B zero."""
    targets = [name for name, layer in module.named_modules() if _takes_low_rank(layer) and not _below(name, head)]
    if named:
        targets = [name for name in targets if any(_below(name, part) for part in named)]
    if not targets:
        raise SettingError("trainable='lora' finds no linear layer or ungrouped convolution below layers; name other parts.")
    with needed("trainable='lora'"):
        from peft import LoraConfig, inject_adapter_in_model
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        inject_adapter_in_model(LoraConfig(r=rank, lora_alpha=rank, target_modules=targets), module)
    generator = stream(seed, "low rank")
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if ".lora_A." in name:
                drawn = generator.standard_normal(tuple(parameter.shape)) / math.sqrt(parameter[0].numel())
                parameter.copy_(torch.from_numpy(drawn))


def _takes_low_rank(layer: Any) -> bool:
    return isinstance(layer, torch.nn.Linear) or (isinstance(layer, torch.nn.Conv2d) and layer.groups == 1)
