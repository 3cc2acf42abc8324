"""Pre-trained networks of timm: frozen features, gradients of chosen layers, and low-rank additions
(LoRA) to transformers.

timm and peft are imported where they are used. `weights=random` takes a network at a random start
instead of a file: for a look at cost and memory, and where only the architecture is at hand.
"""

import copy
import dataclasses
import functools
from pathlib import Path
from typing import Any

from pillar_core.arrays import Array, Json
from pillar_core.backbones.devices import chosen_device
from pillar_core.backbones.names import address, literal
from pillar_core.backbones.timm_models import build_model
from pillar_core.backbones.weights import fill
from pillar_core.deferred import torch
from pillar_core.errors import SettingError
from pillar_core.extras import needed
from pillar_core.rng import stream
from pillar_core.screening import networks
from pillar_core.screening.batches import LABEL_CLASSES, Start, image_batches

INPUT_SIZE = 128
"""Side of the images where the name gives none: large enough for features of small sources, a third
of the cost of 224."""
RANDOM = "random"
NOISE_IMAGES = 8
LORA_LAYERS = ("qkv",)
"""The attention's one matrix for queries, keys and values in timm's vision transformers."""


@dataclasses.dataclass(frozen=True)
class Trunk:
    """A network: its timm name, a local safetensors file (None: a random start), the side of its
    images, options of timm, and what is differentiated beside the head: `layers` of its own, or
    additions of rank `lora` (0: none; scale α/r = 1).
    """

    name: str
    weights: Path | None
    size: int = INPUT_SIZE
    options: tuple[tuple[str, Json], ...] = ()
    layers: tuple[str, ...] = ()
    lora: int = 0

    @property
    def title(self) -> str:
        """The name for people."""
        more = f"LoRA (r = {self.lora})" if self.lora else ", ".join(self.layers)
        start = "" if self.weights else ", random weights"
        return (
            f"{self.name}{start}, {more} and head" if more else f"{self.name}{start}, linear head"
        )


def parse_trunk(name: str) -> Trunk:
    """The network that `timm:<name>?weights=<file or
    random>[&layers=a,b][&lora=8][&size=224][&option=value]` names.

    Raises SettingError: no weights file, an option that cannot be read, or a number that is none.
    """
    spot = address(name)
    options, source = dict(spot.options), spot.weights or ""
    weights = None if source == RANDOM else Path(source).expanduser()
    if weights is not None and not weights.is_file():
        raise SettingError(
            "a pre-trained model needs its weights as a local safetensors file:"
            f" {spot.base}?weights=FILE (or weights=random for a random start); got {source!r}."
        )
    layers = tuple(part for part in options.pop("layers", "").split(",") if part)
    size, lora = (
        _number(options.pop(key, default), key)
        for key, default in (("size", str(INPUT_SIZE)), ("lora", "0"))
    )
    if layers and lora:
        raise SettingError(
            "choose layers or lora, not both: LoRA leaves the network's own layers frozen."
        )
    arguments = tuple((option, literal(text)) for option, text in options.items())
    return Trunk(spot.model, weights, size, arguments, layers, lora)


def features(trunk: Trunk, rows: Array) -> Array:
    """(m, width) float32 features of uint8 images by the frozen network, its classifier left out,
    on the device that extraction takes."""
    device = chosen_device("auto")
    network, batches = _network(trunk, device), image_batches(rows, trunk.size, batch=32)
    with torch.inference_mode():
        return torch.cat([network(images.to(device)).float().cpu() for images in batches]).numpy()


def with_head(trunk: Trunk, start: Start) -> "tuple[torch.nn.Module, list[str]]":
    """(the network with a fresh head of ten classes, the names of the parameters that are
    differentiated).

    Raises SettingError: a layer that the network does not have.
    """
    network = _network(trunk)
    head = networks.start_network(torch.nn.Linear(int(network.num_features), LABEL_CLASSES), start)
    model = torch.nn.Sequential(_with_lora(network, trunk, start) if trunk.lora else network, head)
    names = [
        name
        for name, _ in model.named_parameters()
        if name.startswith("1.") or ".lora_" in name or _is_of(name, trunk.layers)
    ]
    absent = [layer for layer in trunk.layers if not any(_is_of(name, (layer,)) for name in names)]
    if absent:
        parts = ", ".join(name for name, _ in network.named_children())
        raise SettingError(f"{trunk.name} has no layer {', '.join(absent)}; its parts are {parts}.")
    return model, names


def _is_of(parameter: str, layers: tuple[str, ...]) -> bool:
    """Whether a parameter is one of the layers' or inside one: `layer3.3` is not in `layer3.32`."""
    return any(parameter == f"0.{layer}" or parameter.startswith(f"0.{layer}.") for layer in layers)


def _number(text: str, name: str) -> int:
    if not text.isdecimal():
        raise SettingError(f"{name} must be a whole number; got {text!r}.")
    return int(text)


def _with_lora(network: "torch.nn.Module", trunk: Trunk, start: Start) -> "torch.nn.Module":
    """A copy of the network, its weights shared, with low-rank additions that change nothing yet: A
    at random, B at 0.

    Raises MissingDependencyError: no peft. SettingError: a network without such attention.
    """
    with needed("lora"):
        from peft import LoraConfig, inject_adapter_in_model
    if not any(
        module_name.split(".")[-1] in LORA_LAYERS for module_name, _ in network.named_modules()
    ):
        raise SettingError(
            f"lora is for vision transformers with {', '.join(LORA_LAYERS)} layers; {trunk.name}"
            " has none. Choose layers."
        )
    config = LoraConfig(r=trunk.lora, lora_alpha=trunk.lora, target_modules=list(LORA_LAYERS))
    frozen: dict[int, object] = {
        id(value): value for value in (*network.parameters(), *network.buffers())
    }
    changed: torch.nn.Module = inject_adapter_in_model(config, copy.deepcopy(network, frozen))
    for part, (name, module) in enumerate(changed.named_modules()):
        if name.endswith("lora_A.default"):
            networks.start_network(module, start, part=part)
    return changed.eval()


@functools.lru_cache(maxsize=2)
def _network(trunk: Trunk, device: str = "cpu") -> Any:
    size = {"img_size": trunk.size} if "vit" in trunk.name else {}
    network = build_model(trunk.name, dict(trunk.options) | size)
    for module in network.modules():
        if hasattr(module, "fused_attn"):
            setattr(module, "fused_attn", False)  # noqa: B010  # per-example gradients of the fused kernel fall back to a loop
    if trunk.weights is not None:
        fill(network, trunk.weights, title=f"timm:{trunk.name}")
        return network.eval().requires_grad_(False).to(device)
    networks.start_network(network)
    norms = [
        module for module in network.modules() if isinstance(module, torch.nn.BatchNorm2d)
    ]  # from noise images, so no layer fades
    for norm in norms:
        norm.momentum, norm.training = 1.0, True
    images = torch.from_numpy(
        stream(0, "noise images").uniform(-1, 1, (NOISE_IMAGES, 3, trunk.size, trunk.size))
    ).float()
    with torch.inference_mode(False), torch.no_grad():
        network(images)
    return network.eval().requires_grad_(False).to(device)
