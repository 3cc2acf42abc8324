"""The other networks of the paper's tables at their random start: the small CNN, and ResNet20 with group normalisation."""

from __future__ import annotations

import math

import torch
from torch import nn

from pillar_core.rng import stream
from pillar_core.screening.batches import LABEL_CLASSES

GROUPS = 4
TOKEN_SCALE = 0.02


def small_cnn() -> nn.Module:
    """The Fashion-MNIST network (gsd, Table 5a) on 1 × 28 × 28: about 26,000 parameters."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 8, stride=2, padding=3),
        nn.ReLU(),
        nn.MaxPool2d(2, stride=1),
        nn.Conv2d(16, 32, 4, stride=2),
        nn.ReLU(),
        nn.MaxPool2d(2, stride=1),
        nn.Flatten(),
        nn.Linear(512, 32),
        nn.ReLU(),
        nn.Linear(32, LABEL_CLASSES),
    )


def resnet20() -> nn.Module:
    """ResNet20 (He et al. 2016, section 4.2) on 3 × 32 × 32 with group in place of batch normalisation: 269,722 parameters,
    its shortcuts padded with zeros."""
    layers: list[nn.Module] = [nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.GroupNorm(GROUPS, 16), nn.ReLU()]
    for width_in, width in ((16, 16), (16, 32), (32, 64)):
        layers += [Block(width_in, width), Block(width, width), Block(width, width)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, LABEL_CLASSES))


class Block(nn.Module):
    """Two convolutions and a shortcut that is subsampled and padded with zero channels where the width grows."""

    def __init__(self, width_in: int, width: int) -> None:
        super().__init__()
        self.stride = 1 if width_in == width else 2
        self.extra = width - width_in
        self.one = nn.Conv2d(width_in, width, 3, stride=self.stride, padding=1, bias=False)
        self.norm_one = nn.GroupNorm(GROUPS, width)
        self.two = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.norm_two = nn.GroupNorm(GROUPS, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Maps of half the size where the width doubles."""
        inside = self.norm_two(self.two(torch.relu(self.norm_one(self.one(x)))))
        shortcut = nn.functional.pad(x[:, :, :: self.stride, :: self.stride], (0, 0, 0, 0, self.extra // 2, self.extra - self.extra // 2))
        result: torch.Tensor = torch.relu(inside + shortcut)
        return result


def started(module: nn.Module, *, seed: int, repeat: int = 0, part: int = 0) -> nn.Module:
    """`module` with every weight matrix and its bias drawn anew, uniform in ±1/√fan-in, named by (seed, repeat, part); tokens and
    positions of a transformer normal at 0.02; norms as they are."""
    generator = stream(seed, "network start", repeat, *((part,) if part else ()))
    for layer in module.modules():
        if isinstance(layer, nn.Conv2d | nn.Linear):
            width = 1.0 / math.sqrt(layer.weight[0].numel())
            for values in (layer.weight, layer.bias):
                if values is not None:
                    values.data = torch.from_numpy(generator.uniform(-width, width, tuple(values.shape))).float()
        elif any(layer.children()):
            for values in layer.parameters(recurse=False):
                values.data = torch.from_numpy(TOKEN_SCALE * generator.standard_normal(tuple(values.shape))).float()
    return module.eval()
