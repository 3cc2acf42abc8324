"""From uint8 images to what a network takes: resized, cropped, scaled and normalised, on the
network's own device.

Images whose shorter side is at most the input size are brought straight to it, so that no border of
a small image is lost (the papers upscale 28 and 32 pixels to 224); larger ones are resized to input
size / crop and cropped in the middle. Of a long image the middle is taken first: no network sees
the rest, and a row of 60,000 pixels would take 8 GB on its way.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

from pillar_core.backbones import names
from pillar_core.deferred import torch
from pillar_core.errors import SettingError

Numbers = tuple[float, float, float]
LONGEST, AT_ONCE = 4, 2**25
"""How many times its shorter side an image is long, at most, before it is resized; and numbers of
images that are resized together."""


@dataclasses.dataclass(frozen=True)
class Preparing:
    """What a network wants: side of its square input, mean and std of channels in [0, 1],
    interpolation and crop."""

    input_size: int = 224
    mean: Numbers = (0.485, 0.456, 0.406)
    std: Numbers = (0.229, 0.224, 0.225)
    interpolation: str = "bicubic"
    crop: float = 0.875

    def with_options(self, options: Mapping[str, str]) -> Preparing:
        """This with the options of a backbone's name. Raises SettingError: an option out of
        range."""
        return dataclasses.replace(
            self,
            **{name: _READ[name](options[name]) for name in names.PREPARING if name in options},
        )

    def __call__(self, images: torch.Tensor) -> torch.Tensor:
        """(b, 3, input_size, input_size) float32 from (b, h, w) or (b, h, w, 3) uint8."""
        extents = images.shape[1:3]
        resized = (
            3
            * min(LONGEST, max(extents) / max(min(extents), 1))
            * (self.input_size / self.crop) ** 2
        )
        parts = torch.split(
            images, max(1, int(AT_ONCE / max(math.prod(images.shape[1:]), resized)))
        )
        return (
            self.prepare(images)
            if len(parts) == 1
            else torch.cat([self.prepare(part) for part in parts])
        )

    def prepare(self, images: torch.Tensor) -> torch.Tensor:
        """The same, of all images at once."""
        pixels = images.unsqueeze(1) if images.ndim == 3 else images.permute(0, 3, 1, 2)
        short = min(pixels.shape[-2:])
        pixels = _middle(pixels, LONGEST * short).float()
        height, width = pixels.shape[-2:]
        side = self.input_size if short <= self.input_size else round(self.input_size / self.crop)
        if short != side:
            target = (
                max(side, round(height * side / short)),
                max(side, round(width * side / short)),
            )
            pixels = self._resize(pixels, target)
        pixels = _middle(pixels, self.input_size).expand(-1, 3, -1, -1) / 255
        mean, std = (
            torch.tensor(values, device=pixels.device).view(1, 3, 1, 1)
            for values in (self.mean, self.std)
        )
        normal: torch.Tensor = (pixels - mean) / std
        return normal

    def _resize(self, pixels: torch.Tensor, target: tuple[int, int]) -> torch.Tensor:
        if self.interpolation == "nearest":
            return torch.nn.functional.interpolate(pixels, target, mode="nearest-exact")
        return torch.nn.functional.interpolate(
            pixels, target, mode=self.interpolation, antialias=True
        ).clamp(0, 255)


def _middle(pixels: torch.Tensor, most: int) -> torch.Tensor:
    """The middle of images (b, c, h, w), at most so long on either side."""
    top, left = (max(0, extent - most) // 2 for extent in pixels.shape[-2:])
    return pixels[..., top : top + most, left : left + most]


IMAGENET = Preparing()


def three(values: Sequence[float]) -> Numbers:
    """Three channels' values from one or three. Raises SettingError: another number of them."""
    if len(values) not in (1, 3):
        raise SettingError(
            f"mean and std are one number or three, for red, green and blue; got {len(values)}."
        )
    red, green, blue = values if len(values) == 3 else (values[0],) * 3
    return float(red), float(green), float(blue)


def _channels(text: str, *, low: float, name: str) -> Numbers:
    try:
        values = three([float(part) for part in text.split(",")])
    except ValueError as error:
        raise SettingError(
            f"{name} must be one number or three with commas, such as 0.5 or 0.485,0.456,0.406; got"
            f" {text!r}."
        ) from error
    if not all(low < value <= 1 for value in values):
        raise SettingError(
            f"{name} must lie in ({low:g}, 1], for pixels scaled to [0, 1]; got {text!r}."
        )
    return values


_READ: dict[str, Any] = {
    "input_size": lambda text: names.INPUT_SIZE.check(names.literal(text)),
    "mean": lambda text: _channels(text, low=-1, name="mean"),
    "std": lambda text: _channels(text, low=0, name="std"),
    "interpolation": names.INTERPOLATION.check,
    "crop": lambda text: names.CROP.check(names.literal(text)),
}
