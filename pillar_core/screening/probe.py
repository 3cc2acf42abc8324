"""The probe network's per-example gradients without autograd: it has no hidden non-linearity but
max-pooling.

Layers (gsd, Table 5b) on 3 × 224 × 224: convolution to 64 (8 × 8, stride 5), max-pool 2,
convolution to 16 (4 × 4, stride 3), max-pool 2, linear 144 → 10, sigmoid, cross-entropy on top:
30,202 parameters. A max-pool passes a gradient back to the place of its maximum, so each weight
gradient is one product of a sparse map with the layer's input patches. The three channels of grey
images are equal, so one is read, through the sum of the kernels, and its gradient counts three
times.
"""

from __future__ import annotations

import numpy as np

from pillar_core.deferred import torch
from pillar_core.rng import stream
from pillar_core.screening.batches import LABEL_CLASSES, Start

INPUT_SIZE = 224
PARAMETERS = 30_202
_FIRST_STRIDE, _SECOND_STRIDE = 5, 3


def probe(start: Start) -> torch.nn.Module:
    """The network at its random start, float32: each layer uniform in ±1/√fan-in, weights and
    biases, as these networks usually start."""
    first = torch.nn.Conv2d(3, 64, 8, _FIRST_STRIDE)
    second = torch.nn.Conv2d(64, 16, 4, _SECOND_STRIDE)
    dense, pool = torch.nn.Linear(144, LABEL_CLASSES), torch.nn.MaxPool2d(2)
    generator = stream(start.seed, "probe network", start.repeat)
    for layer in (first, second, dense):
        width = np.float32(np.sqrt(layer.weight[0].numel()))
        for parameter in layer.parameters():
            drawn = generator.uniform(-1.0, 1.0, tuple(parameter.shape)).astype(np.float32)
            parameter.data = torch.from_numpy(drawn / width)
    layers = (first, pool, second, pool, torch.nn.Flatten(), dense, torch.nn.Sigmoid())
    return torch.nn.Sequential(*layers).requires_grad_(False)


def forward(net: torch.nn.Module, images: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """(first pool, its places, second pool, its places, logits' sigmoid (b, 10)) of images (b, 3 or
    for grey ones 1, 224, 224)."""
    functional = torch.nn.functional
    colours, first_bias, second_kernels, second_bias, dense, dense_bias = net.parameters()
    kernels = colours if images.shape[1] == 3 else colours.sum(dim=1, keepdim=True)
    first, at_first = _max_pool(functional.conv2d(images, kernels, first_bias, _FIRST_STRIDE))
    maps = functional.conv2d(first, second_kernels, second_bias, _SECOND_STRIDE)
    second, at_second = functional.max_pool2d(maps, 2, return_indices=True)
    outputs = torch.sigmoid(functional.linear(second.flatten(1), dense, dense_bias))
    return first, at_first, second, at_second, outputs


def probe_rows(net: torch.nn.Module, images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """(b, 30202) float32 gradients of each image's own cross-entropy, in the order of the
    network's parameters."""
    _, _, kernels, _, dense, _ = net.parameters()
    first, at_first, second, at_second, outputs = forward(net, images)
    residual = torch.softmax(outputs, dim=1) - torch.nn.functional.one_hot(labels, LABEL_CLASSES)
    on_logits = residual * outputs * (1 - outputs)
    on_second = _unpool((on_logits @ dense).view(second.shape), at_second, (7, 7))
    on_pool = torch.nn.functional.conv_transpose2d(
        on_second.view(-1, 16, 7, 7), kernels, stride=_SECOND_STRIDE
    )
    on_first = _unpool(on_pool, at_first, (44, 44))
    on_kernels = (on_first @ _patches(images, 8, _FIRST_STRIDE)).view(len(images), 64, -1, 64)
    return torch.cat(
        [
            on_kernels.expand(-1, -1, 3, -1).flatten(1),
            on_first.sum(dim=2),
            (on_second @ _patches(first, 4, _SECOND_STRIDE)).flatten(1),
            on_second.sum(dim=2),
            (on_logits.unsqueeze(2) * second.flatten(1).unsqueeze(1)).flatten(1),
            on_logits,
        ],
        dim=1,
    )


def _max_pool(maps: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The result of max_pool2d(maps, 2, return_indices=True) for an even side, in a fifth of its
    time."""
    side = maps.shape[3]
    upper, lower = maps[:, :, ::2], maps[:, :, 1::2]
    above = torch.maximum(upper[..., ::2], upper[..., 1::2])
    below = torch.maximum(lower[..., ::2], lower[..., 1::2])
    is_right = torch.where(
        below > above, lower[..., 1::2] > lower[..., ::2], upper[..., 1::2] > upper[..., ::2]
    )
    corners = torch.arange(side * side).view(side, side)[::2, ::2]
    return torch.maximum(above, below), corners + is_right + side * (below > above)


def _unpool(gradient: torch.Tensor, places: torch.Tensor, shape: tuple[int, int]) -> torch.Tensor:
    """(b, channels, height · width): each number at the place that its pool took the maximum
    from."""
    flat = torch.zeros(*gradient.shape[:2], shape[0] * shape[1])
    return flat.scatter_(2, places.flatten(2), gradient.flatten(2))


def _patches(maps: torch.Tensor, kernel: int, stride: int) -> torch.Tensor:
    """(b, places, channels · kernel²) input patches of a convolution."""
    windows = maps.unfold(2, kernel, stride).unfold(
        3, kernel, stride
    )  # faster than torch's unfold, which copies in another order
    return (
        windows.permute(0, 1, 4, 5, 2, 3)
        .reshape(len(maps), maps.shape[1] * kernel**2, -1)
        .transpose(1, 2)
    )
