"""The block of residual networks. It is a class of torch, so importing this imports torch."""

import torch
from torch import nn

GROUPS = 4


class Block(nn.Module):
    """Two convolutions and a shortcut that is subsampled and padded with zero channels where the
    width grows."""

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
        shortcut = nn.functional.pad(
            x[:, :, :: self.stride, :: self.stride],
            (0, 0, 0, 0, self.extra // 2, self.extra - self.extra // 2),
        )
        result: torch.Tensor = torch.relu(inside + shortcut)
        return result
