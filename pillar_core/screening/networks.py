"""The other networks of the paper's tables at their random start: the small CNN, and ResNet20 with
group normalisation."""

import math

from pillar_core.deferred import torch
from pillar_core.rng import stream
from pillar_core.screening.batches import LABEL_CLASSES, Start

TOKEN_SCALE = 0.02
FIRST_START = Start()


def small_cnn() -> "torch.nn.Module":
    """The Fashion-MNIST network (gsd, Table 5a) on 1 × 28 × 28: about 26,000 parameters."""
    return torch.nn.Sequential(
        torch.nn.Conv2d(1, 16, 8, stride=2, padding=3),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2, stride=1),
        torch.nn.Conv2d(16, 32, 4, stride=2),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2, stride=1),
        torch.nn.Flatten(),
        torch.nn.Linear(512, 32),
        torch.nn.ReLU(),
        torch.nn.Linear(32, LABEL_CLASSES),
    )


def resnet20() -> "torch.nn.Module":
    """ResNet20 (He et al. 2016, section 4.2) on 3 × 32 × 32 with group normalisation: 269,722
    parameters, shortcuts padded with zeros."""
    from pillar_core.screening.residual import GROUPS, Block

    layers: list[torch.nn.Module] = [
        torch.nn.Conv2d(3, 16, 3, padding=1, bias=False),
        torch.nn.GroupNorm(GROUPS, 16),
        torch.nn.ReLU(),
    ]
    for width_in, width in ((16, 16), (16, 32), (32, 64)):
        layers += [Block(width_in, width), Block(width, width), Block(width, width)]
    return torch.nn.Sequential(
        *layers,
        torch.nn.AdaptiveAvgPool2d(1),
        torch.nn.Flatten(),
        torch.nn.Linear(64, LABEL_CLASSES),
    )


def start_network(
    module: "torch.nn.Module", start: Start = FIRST_START, *, part: int = 0
) -> "torch.nn.Module":
    """`module` with every weight matrix and its bias drawn anew, uniform in ±1/√fan-in, named by
    (start, part).

    Tokens and positions of a transformer are normal at 0.02; norms stay as they are."""
    generator = stream(start.seed, "network start", start.repeat, *((part,) if part else ()))
    for layer in module.modules():
        if isinstance(layer, torch.nn.Conv2d | torch.nn.Linear):
            width = 1.0 / math.sqrt(layer.weight[0].numel())
            for values in (layer.weight, layer.bias):
                if values is not None:
                    values.data = torch.from_numpy(
                        generator.uniform(-width, width, tuple(values.shape))
                    ).float()
        elif any(layer.children()):
            for values in layer.parameters(recurse=False):
                values.data = torch.from_numpy(
                    TOKEN_SCALE * generator.standard_normal(tuple(values.shape))
                ).float()
    return module.eval()
