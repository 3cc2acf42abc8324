"""Rows of pixels as a network's input: clamped, perhaps moved and mirrored, resized, in [−1, 1].

Every row is mapped by itself. How a row is moved in a step depends on its own number and on the
step, never on which other rows are in the batch.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from pillar_core.arrays import Array
from pillar_core.deferred import torch
from pillar_core.methods.parts.deep.networks import Built


@dataclasses.dataclass(frozen=True)
class Input:
    """How rows (n, h·w·c) in [0, 1] become what a network takes: `channels` channels of `side` ×
    `side` (None: as they are)."""

    shape: tuple[int, ...]
    channels: int
    side: int | None

    @classmethod
    def of(cls, shape: tuple[int, ...], built: Built) -> Input:
        """For images of `shape` (h, w[, c]) and this network."""
        return cls(tuple(shape), built.channels, built.side)

    def images(self, rows: torch.Tensor) -> torch.Tensor:
        """(n, c, h, w) float32 in [0, 1] from rows (n, h·w·c); what is not a number becomes 0, the
        rest is clamped."""
        height, width, *channels = self.shape
        clean = torch.nan_to_num(rows, nan=0.0, posinf=1.0, neginf=0.0).clamp(0.0, 1.0)
        return clean.view(-1, height, width, channels[0] if channels else 1).permute(0, 3, 1, 2)

    def ready(self, images: torch.Tensor) -> torch.Tensor:
        """(n, channels, side, side) in [−1, 1]: grey becomes equal channels, sizes change by
        bilinear interpolation."""
        if images.shape[1] != self.channels:
            images = images.mean(dim=1, keepdim=True).expand(-1, self.channels, -1, -1)
        if self.side is not None and images.shape[-2:] != (self.side, self.side):
            images = torch.nn.functional.interpolate(
                images, size=(self.side, self.side), mode="bilinear", antialias=True
            )
        return images.contiguous() * 2.0 - 1.0


def channels_of(shape: tuple[int, ...]) -> int:
    """1 for grey images (h, w), else the last number of (h, w, c)."""
    return int(shape[2]) if len(shape) > 2 else 1


def draw_moves(generator: np.random.Generator, n_rows: int, copies: int) -> Array:
    """(n_rows, copies, 3) int64: a row's shifts down and right in units of 1/2¹⁶ of their range,
    and whether it is mirrored.

    Row i's numbers are the same however many rows follow, so every step needs a generator of its
    own.
    """
    return generator.integers(0, 1 << 16, size=(n_rows, copies, 3))


def augment(images: torch.Tensor, drawn: torch.Tensor, *, mirror: bool) -> torch.Tensor:
    """(n · copies, c, h, w): for each image its copies, shifted with reflected borders and
    mirrored. drawn: (n, copies, 3)."""
    height, width = images.shape[-2:]
    copies = drawn.shape[1]
    down, right, flip = drawn.reshape(-1, 3).unbind(1)
    rows = _reflected_places(height, down)
    columns = _reflected_places(width, right)
    if mirror:
        columns = torch.where((flip < 1 << 15)[:, None], columns.flip(1), columns)
    picked = images.repeat_interleave(copies, dim=0)
    picked = picked.gather(2, rows[:, None, :, None].expand(-1, picked.shape[1], -1, width))
    return picked.gather(3, columns[:, None, None, :].expand(-1, picked.shape[1], height, -1))


def _reflected_places(size: int, drawn: torch.Tensor) -> torch.Tensor:
    """(m, size) places after a shift by up to size/8 that `drawn` decides, reflected at the
    borders."""
    reach = (
        size // 8
        # images are moved by up to an eighth of their side each way: 4 of 32 pixels, as De et al.
        # 2022 do
    )
    places = (
        torch.arange(size, device=drawn.device)
        + (drawn * (2 * reach + 1) // (1 << 16) - reach)[:, None]
    )
    return (size - 1) - ((size - 1) - places.abs()).abs()
