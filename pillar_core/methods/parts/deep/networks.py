"""The networks that deep learners train, by name: small_cnn, wrn_16_4, or `timm:<name>?weights=<file>[&option=value]`.

No layer looks across rows, else no row would have a gradient of its own. Networks with a random start have group
normalisation. Pre-trained batch normalisation is kept as what it is at test time, a fixed affine map (`FixedNorm`): converting it to
group normalisation would throw away what the weights were trained with. timm is imported where it is used.
"""

from __future__ import annotations

import dataclasses
import math
from collections import OrderedDict
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import torch
from torch import nn

from pillar_core.backbones.weights import fill
from pillar_core.errors import MissingDependencyError, SettingError, UnknownNameError
from pillar_core.rng import stream

GROUPS, WRN_GROUPS = 8, 16
TIMM = "timm:"
TIMM_SIDE = 128
"""Side of the images that a network of timm gets unless the name says `&size=224`."""


@dataclasses.dataclass(frozen=True)
class Built:
    """A network whose last layer, `head`, is linear and zero; images (n, `channels`, side, side) in [−1, 1] go in."""

    module: nn.Module
    head: str
    channels: int
    side: int | None


def build(name: str, *, channels: int, n_classes: int, seed: int | None) -> Built:
    """The network called `name` at its start, for images with `channels` channels: random weights named by `seed`, or those of the file.

    Raises:
        UnknownNameError: no such network. SettingError: a timm name without its weights file.
        DataError: the file does not hold this network. MissingDependencyError: timm is not installed.
    """
    if name.startswith(TIMM):
        return _pretrained(name, n_classes)
    if name == "small_cnn":
        return Built(started(small_cnn(channels, n_classes), seed), "head", channels, None)
    if name == "wrn_16_4":
        return Built(started(WideResNet(channels, n_classes), seed), "head", channels, None)
    raise UnknownNameError(f"network must be small_cnn, wrn_16_4 or timm:<name>?weights=<safetensors file>; got {name!r}.")


def started(module: nn.Module, seed: int | None) -> nn.Module:
    """`module` with every kernel drawn anew, normal with variance 2/fan-in (He et al. 2015), biases and the last layer zero."""
    generator = stream(seed, "network start")
    linear = [layer for layer in module.modules() if isinstance(layer, nn.Linear)]
    with torch.no_grad():
        for layer in module.modules():
            if isinstance(layer, nn.Conv2d | nn.Linear):
                spread = 0.0 if layer is linear[-1] else math.sqrt(2.0 / layer.weight[0].numel())
                layer.weight.copy_(torch.from_numpy(spread * generator.standard_normal(tuple(layer.weight.shape))))
                if layer.bias is not None:
                    layer.bias.zero_()
    return module


def small_cnn(channels: int, n_classes: int) -> nn.Module:
    """Two convolutions with group normalisation, pooled to 4 × 4, and a linear head: about 10,000 parameters."""
    layers: dict[str, nn.Module] = {
        "first": nn.Conv2d(channels, 16, 3, padding=1),
        "norm": nn.GroupNorm(GROUPS, 16),
        "after_first": nn.ReLU(),
        "second": nn.Conv2d(16, 32, 3, stride=2, padding=1),
        "after_second": nn.ReLU(),
        "pool": Pooled(4),
        "flat": nn.Flatten(),
        "head": nn.Linear(512, n_classes),
    }
    return nn.Sequential(OrderedDict(layers))


class Pooled(nn.Module):
    """Means over size × size nearly equal parts of a map, as matrix products: torch's adaptive pooling does not repeat on a GPU."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(n, channels, size, size)."""
        rows, columns = (self._means(length, x) for length in x.shape[-2:])
        return rows @ x @ columns.T

    def _means(self, length: int, like: torch.Tensor) -> torch.Tensor:
        """(size, length), each row the mean over its part ⌊i·length/size⌋ … ⌈(i + 1)·length/size⌉ − 1."""
        part, place = torch.arange(self.size, device=like.device)[:, None], torch.arange(length, device=like.device)
        inside = (place >= part * length // self.size) & (place < -(-(part + 1) * length // self.size))
        return (inside / inside.sum(1, keepdim=True)).to(like.dtype)


class StandardisedConv2d(nn.Conv2d):
    """A convolution whose kernels are standardised to mean 0 and variance 1/fan-in each time (Qiao et al. 2019)."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The convolution with the standardised kernels."""
        maps: torch.Tensor = self._conv_forward(x, standardised(self.weight), self.bias)
        return maps


def standardised(weight: torch.Tensor) -> torch.Tensor:
    """(out, in, h, w) kernels, each less its mean and divided by its standard deviation times √fan-in."""
    fan_in = weight[0].numel()
    centred = weight - weight.mean(dim=(1, 2, 3), keepdim=True)
    return centred * torch.rsqrt(centred.square().mean(dim=(1, 2, 3), keepdim=True) * fan_in + 1e-10)


class WideResNet(nn.Module):
    """WRN-16-4 of De et al. 2022: group normalisation with 16 groups, standardised kernels, 2.75 million parameters at 10 classes."""

    def __init__(self, channels: int, n_classes: int, *, widths: tuple[int, ...] = (64, 128, 256), depth: int = 2) -> None:
        super().__init__()
        blocks: list[nn.Module] = []
        before = 16
        for stage, width in enumerate(widths):
            for place in range(depth):
                blocks.append(WideBlock(before, width, stride=2 if stage and not place else 1))
                before = width
        self.first = StandardisedConv2d(channels, 16, 3, padding=1)
        self.blocks = nn.Sequential(*blocks)
        self.norm = nn.GroupNorm(WRN_GROUPS, before)
        self.head = nn.Linear(before, n_classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(n, classes) logits."""
        maps = torch.relu(self.norm(self.blocks(self.first(x))))
        logits: torch.Tensor = self.head(maps.mean(dim=(2, 3)))
        return logits


class WideBlock(nn.Module):
    """Normalise, relu, convolve, twice; the shortcut is convolved after the first relu where width or size change."""

    def __init__(self, before: int, width: int, *, stride: int) -> None:
        super().__init__()
        self.norm_one, self.norm_two = nn.GroupNorm(WRN_GROUPS, before), nn.GroupNorm(WRN_GROUPS, width)
        self.one = StandardisedConv2d(before, width, 3, stride=stride, padding=1)
        self.two = StandardisedConv2d(width, width, 3, padding=1)
        self.shortcut = StandardisedConv2d(before, width, 1, stride=stride) if before != width or stride > 1 else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Maps of `width` channels."""
        inside = torch.relu(self.norm_one(x))
        kept = x if self.shortcut is None else self.shortcut(inside)
        result: torch.Tensor = kept + self.two(torch.relu(self.norm_two(self.one(inside))))
        return result


class FixedNorm(nn.Module):
    """Batch normalisation at test time: (x − mean)/√(variance + ε) · weight + bias, channel by channel.

    The statistics are constants of the pre-trained network, folded into one scale and one bias, which can be trained.
    """

    def __init__(self, norm: Any) -> None:
        super().__init__()
        scale = norm.weight.detach().float() * torch.rsqrt(norm.running_var.detach().float() + norm.eps)
        self.scale = nn.Parameter(scale)
        self.bias = nn.Parameter(norm.bias.detach().float() - norm.running_mean.detach().float() * scale)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Maps of the shape of x, (n, channels, h, w)."""
        return x * self.scale[:, None, None] + self.bias[:, None, None]


class Copy(nn.Module):
    """What goes in, in memory of its own."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """A copy of x."""
        return x.clone()


def learning(module: nn.Module) -> nn.Module:
    """`module` in training mode but for its dropout, whose draws would tie rows to each other's places in the batch."""
    module.train()
    for child in module.modules():
        if "drop" in type(child).__name__.lower():
            child.eval()
    return module


def _pretrained(name: str, n_classes: int) -> Built:
    title, _, query = name.removeprefix(TIMM).partition("?")
    given: dict[str, Any] = dict(parse_qsl(query))
    weights, side = Path(given.pop("weights", "")).expanduser(), int(given.pop("size", TIMM_SIDE))
    if not weights.is_file():
        raise SettingError(f"network {TIMM}{title} needs its weights as a local file, {TIMM}{title}?weights=FILE; got {str(weights)!r}.")
    try:
        import timm
    except ImportError as cause:
        raise MissingDependencyError("networks named timm:… need timm: pip install timm.") from cause
    trunk: Any = timm.create_model(title, pretrained=False, num_classes=0, **given)
    fill(trunk, weights, what=title)
    head = nn.Linear(int(trunk.num_features), n_classes)
    nn.init.zeros_(head.weight)
    nn.init.zeros_(head.bias)
    trunk = with_fixed_norms(trunk)
    if not keeps_rows_apart(trunk, torch.from_numpy(stream(0, "rows apart").standard_normal((1, 3, side, side))).float()):
        raise SettingError(f"network {TIMM}{title} with these options looks across the rows of a batch; leave out norm_layer and the like.")
    return Built(nn.Sequential(trunk, head), "1", 3, side)


def keeps_rows_apart(module: nn.Module, image: torch.Tensor) -> bool:
    """Whether, as it trains, `module` gives `image` (1, c, h, w) the same beside one row as beside another, and keeps nothing of them.

    Clipping bounds what a row does only where this holds: statistics of a batch (EvoNorm-B's, say) would let a row move the gradients
    of all others, and running ones would carry private rows into what is returned.
    """
    before = {name: value.clone() for name, value in learning(module).state_dict().items()}
    with torch.no_grad():
        found, other = (module(torch.cat([image, beside]))[:1] for beside in (torch.sign(image), torch.zeros_like(image)))
    is_same = torch.allclose(found, other, rtol=1e-3, atol=1e-3 * float(found.abs().max()))
    return is_same and all(torch.equal(value, before[name]) for name, value in module.state_dict().items())


def with_fixed_norms(module: nn.Module) -> nn.Module:
    """`module` with every batch normalisation replaced by the affine map that it is at test time, and nothing done in place.

    What is done in place (activations, `x += shortcut`) would overwrite what per-row gradients are computed from.
    """
    for name, child in module.named_children():
        if isinstance(child, nn.modules.batchnorm._BatchNorm):
            setattr(module, name, nn.Sequential(FixedNorm(child), Copy(), getattr(child, "act", nn.Identity())))
        else:
            with_fixed_norms(child)
    for child in module.modules():
        if hasattr(child, "inplace"):
            setattr(child, "inplace", False)  # noqa: B010
    return module
