"""The layers of the deep learners' networks that torch lacks. They are classes of torch, so
importing this imports torch."""

from typing import Any

import torch
from torch import nn

WRN_GROUPS = 16


class Pooled(nn.Module):
    """Means over size × size nearly equal parts of a map, as matrix products: torch's adaptive
    pooling does not repeat on a GPU."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(n, channels, size, size)."""
        rows, columns = (self._means(length, x) for length in x.shape[-2:])
        return rows @ x @ columns.T

    def _means(self, length: int, like: torch.Tensor) -> torch.Tensor:
        """(size, length), each row the mean over its part ⌊i·length/size⌋ … ⌈(i + 1)·length/size⌉ −
        1."""
        part, place = (
            torch.arange(self.size, device=like.device)[:, None],
            torch.arange(length, device=like.device),
        )
        inside = (place >= part * length // self.size) & (
            place < -(-(part + 1) * length // self.size)
        )
        return (inside / inside.sum(1, keepdim=True)).to(like.dtype)


class StandardisedConv2d(nn.Conv2d):
    """A convolution whose kernels are standardised to mean 0 and variance 1/fan-in each time (Qiao
    et al. 2019)."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The convolution with the standardised kernels."""
        maps: torch.Tensor = self._conv_forward(x, standardise_kernels(self.weight), self.bias)
        return maps


def standardise_kernels(weight: torch.Tensor) -> torch.Tensor:
    """(out, in, h, w) kernels, each less its mean and divided by its standard deviation times
    √fan-in."""
    centred, scale = _centred(weight)
    return centred * scale


def before_standardisation(gradients: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """(n, out, in, h, w) rows' gradients by `weight`, from those by its standardised kernels."""
    centred, scale = _centred(weight)
    kernels = centred * scale
    inside = gradients.addcmul(
        (gradients * kernels).sum((2, 3, 4), keepdim=True), kernels, value=-1
    )
    return inside.sub_(inside.mean((2, 3, 4), keepdim=True)).mul_(scale)


def _centred(weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    centred = weight - weight.mean(dim=(1, 2, 3), keepdim=True)
    return centred, torch.rsqrt(
        centred.square().mean(dim=(1, 2, 3), keepdim=True) * weight[0].numel() + 1e-10
    )


class WideResNet(nn.Module):
    """WRN-16-4 of De et al. 2022: group normalisation with 16 groups, standardised kernels, 2.75
    million parameters at 10 classes."""

    def __init__(
        self,
        channels: int,
        n_classes: int,
        *,
        widths: tuple[int, ...] = (64, 128, 256),
        depth: int = 2,
    ) -> None:
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
    """Normalise, relu, convolve, twice; the shortcut is convolved after the first relu where width
    or size change."""

    def __init__(self, before: int, width: int, *, stride: int) -> None:
        super().__init__()
        self.norm_one, self.norm_two = (
            nn.GroupNorm(WRN_GROUPS, before),
            nn.GroupNorm(WRN_GROUPS, width),
        )
        self.one = StandardisedConv2d(before, width, 3, stride=stride, padding=1)
        self.two = StandardisedConv2d(width, width, 3, padding=1)
        self.shortcut = (
            StandardisedConv2d(before, width, 1, stride=stride)
            if before != width or stride > 1
            else None
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Maps of `width` channels."""
        inside = torch.relu(self.norm_one(x))
        shortcut = x if self.shortcut is None else self.shortcut(inside)
        result: torch.Tensor = shortcut + self.two(torch.relu(self.norm_two(self.one(inside))))
        return result


class FixedNorm(nn.Module):
    """Batch normalisation at test time: (x − mean)/√(variance + ε) · weight + bias, channel by
    channel.

    The statistics are constants of the pre-trained network, folded into one scale and one bias,
    which can be trained.
    """

    def __init__(self, norm: Any) -> None:
        super().__init__()
        scale = norm.weight.detach().float() * torch.rsqrt(
            norm.running_var.detach().float() + norm.eps
        )
        self.scale = nn.Parameter(scale)
        self.bias = nn.Parameter(
            norm.bias.detach().float() - norm.running_mean.detach().float() * scale
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Maps of the shape of x, (n, channels, h, w)."""
        return x * self.scale[:, None, None] + self.bias[:, None, None]


class Copy(nn.Module):
    """What goes in, in memory of its own."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """A copy of x."""
        return x.clone()
