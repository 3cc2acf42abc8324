"""The networks that deep learners train, by name: small_cnn, wrn_16_4, or
`timm:<name>?weights=<file>[&option=value]`.

No layer looks across rows, else no row would have a gradient of its own. Networks with a random
start have group normalisation. Pre-trained batch normalisation is kept as what it is at test time,
a fixed affine map (`FixedNorm`): converting it to group normalisation would throw away what the
weights were trained with. timm is imported where it is used.
"""

from __future__ import annotations

import dataclasses
import math
from collections import OrderedDict
from pathlib import Path
from urllib.parse import quote, urlencode

from pillar_core.backbones.names import address, literal
from pillar_core.backbones.timm_models import build_model
from pillar_core.backbones.weights import fill
from pillar_core.deferred import torch
from pillar_core.errors import DataError, MachineError, SettingError, UnknownNameError
from pillar_core.params import Param
from pillar_core.rng import stream

GROUPS = 8
TIMM = "timm:"
TIMM_SIDE = 128
"""Side of the images that a network of timm gets unless the name says `&size=224`."""
_SIDE = Param("size", int, TIMM_SIDE, "Side of the images that a network gets.", low=1)
_SIDE_IN_A_FILE = dataclasses.replace(_SIDE, low=8, high=1024)


@dataclasses.dataclass(frozen=True)
class Built:
    """A network whose last layer, `head`, is linear and zero; images (n, `channels`, side, side) in
    [−1, 1] go in."""

    module: torch.nn.Module
    head: str
    channels: int
    side: int | None


def build(
    name: str, *, channels: int, n_classes: int, seed: int | None, is_filled: bool = True
) -> Built:
    """The network called `name` at its start, for images with `channels` channels: random weights
    named by `seed`, or those of the file.

    is_filled: False leaves the file alone, for a network whose whole state is set afterwards.
    Raises UnknownNameError for an unknown network, SettingError for a timm name without its weights
    file or with an option that it does not take, DataError where the file does not hold this
    network, MissingDependencyError where timm is not installed.
    """
    if name.startswith(TIMM):
        return _build_pretrained(name, n_classes, is_filled)
    if name == "small_cnn":
        return Built(draw_start(small_cnn(channels, n_classes), seed), "head", channels, None)
    if name == "wrn_16_4":
        from pillar_core.methods.parts.deep.layers import WideResNet

        return Built(draw_start(WideResNet(channels, n_classes), seed), "head", channels, None)
    raise UnknownNameError(
        "network must be small_cnn, wrn_16_4 or timm:<name>?weights=<safetensors file>; got"
        f" {name!r}."
    )


def draw_start(module: torch.nn.Module, seed: int | None) -> torch.nn.Module:
    """`module` with every kernel drawn anew, normal with variance 2/fan-in (He et al. 2015), biases
    and the last layer zero."""
    generator = stream(seed, "network start")
    linear = [layer for layer in module.modules() if isinstance(layer, torch.nn.Linear)]
    with torch.no_grad():
        for layer in module.modules():
            if isinstance(layer, torch.nn.Conv2d | torch.nn.Linear):
                spread = 0.0 if layer is linear[-1] else math.sqrt(2.0 / layer.weight[0].numel())
                layer.weight.copy_(
                    torch.from_numpy(spread * generator.standard_normal(tuple(layer.weight.shape)))
                )
                if layer.bias is not None:
                    layer.bias.zero_()
    return module


def small_cnn(channels: int, n_classes: int) -> torch.nn.Module:
    """Two convolutions with group normalisation, pooled to 4 × 4, and a linear head: about 10,000
    parameters."""
    from pillar_core.methods.parts.deep.layers import Pooled

    layers: dict[str, torch.nn.Module] = {
        "first": torch.nn.Conv2d(channels, 16, 3, padding=1),
        "norm": torch.nn.GroupNorm(GROUPS, 16),
        "after_first": torch.nn.ReLU(),
        "second": torch.nn.Conv2d(16, 32, 3, stride=2, padding=1),
        "after_second": torch.nn.ReLU(),
        "pool": Pooled(4),
        "flat": torch.nn.Flatten(),
        "head": torch.nn.Linear(512, n_classes),
    }
    return torch.nn.Sequential(OrderedDict(layers))


def set_training_mode(module: torch.nn.Module) -> torch.nn.Module:
    """`module` in training mode but for its dropout, whose draws would tie rows to each other's
    places in the batch."""
    module.train()
    for child in module.modules():
        if "drop" in type(child).__name__.lower():
            child.eval()
    return module


def portable(name: str) -> str:
    """The name with the folder of its weights left out: what an exported model may say of it.

    Raises SettingError for a timm name that no other machine should build from a file that it was
    given: not of timm's own list, or with options besides `weights` and `size`.
    """
    if not name.startswith(TIMM):
        return name
    import timm

    spot = address(name)
    options = {option: literal(text) for option, text in spot.options.items()}
    if spot.model not in timm.list_models() or not set(options) <= {"size"}:
        raise SettingError(
            "only networks of timm's list without options besides weights and size leave as a"
            f" file; got {spot.base}."
        )
    public_options = {"weights": Path(spot.weights or "").name}
    public_options |= {key: str(_SIDE_IN_A_FILE.check(side)) for key, side in options.items()}
    return f"{spot.base}?{urlencode(public_options, quote_via=quote)}"


def _build_pretrained(name: str, n_classes: int, is_filled: bool) -> Built:
    spot = address(name)
    options = {option: literal(text) for option, text in spot.options.items()}
    side = int(_SIDE.number(options.pop("size", TIMM_SIDE)))
    weights = Path(spot.weights or "").expanduser()
    if is_filled and not weights.is_file():
        raise MachineError(
            f"network {spot.base} needs its weights as a local file, {spot.base}?weights=FILE; got"
            f" {str(weights)!r}."
        )
    trunk = build_model(spot.model, options)
    if is_filled:
        try:
            fill(trunk, weights, title=spot.model)
        except DataError as error:  # of this machine's file, which no record's key knows
            raise MachineError(str(error)) from error
    head = torch.nn.Linear(int(trunk.num_features), n_classes)
    torch.nn.init.zeros_(head.weight)
    torch.nn.init.zeros_(head.bias)
    trunk = with_fixed_norms(trunk)
    if is_filled and not keeps_rows_apart(
        trunk, torch.from_numpy(stream(0, "rows apart").standard_normal((1, 3, side, side))).float()
    ):
        raise SettingError(
            f"network {spot.base} with these options looks across the rows of a batch; leave out"
            " norm_layer and the like."
        )
    return Built(torch.nn.Sequential(trunk, head), "1", 3, side)


def keeps_rows_apart(module: torch.nn.Module, image: torch.Tensor) -> bool:
    """Whether, as it trains, `module` gives `image` (1, c, h, w) the same beside one row as beside
    another, and keeps nothing of them.

    Clipping bounds what a row does only where this holds: statistics of a batch (EvoNorm-B's, say)
    would let a row move the gradients of all others, and running ones would carry private rows into
    what is returned.
    """
    before = {name: value.clone() for name, value in set_training_mode(module).state_dict().items()}
    with torch.no_grad():
        beside_signs, beside_zeros = (
            module(torch.cat([image, neighbour]))[:1]
            for neighbour in (torch.sign(image), torch.zeros_like(image))
        )
    is_same = torch.allclose(
        beside_signs, beside_zeros, rtol=1e-3, atol=1e-3 * float(beside_signs.abs().max())
    )
    return is_same and all(
        torch.equal(value, before[name]) for name, value in module.state_dict().items()
    )


def with_fixed_norms(module: torch.nn.Module) -> torch.nn.Module:
    """`module` with every batch normalisation replaced by the affine map that it is at test time,
    and nothing done in place.

    What is done in place (activations, `x += shortcut`) would overwrite what per-example gradients
    are computed from.
    """
    from pillar_core.methods.parts.deep.layers import Copy, FixedNorm

    for name, child in module.named_children():
        if isinstance(child, torch.nn.modules.batchnorm._BatchNorm):
            setattr(
                module,
                name,
                torch.nn.Sequential(
                    FixedNorm(child), Copy(), getattr(child, "act", torch.nn.Identity())
                ),
            )
        else:
            with_fixed_norms(child)
    for child in module.modules():
        if hasattr(child, "inplace"):
            setattr(child, "inplace", False)  # noqa: B010
    return module
