"""A scattering transform: two layers of wavelets and absolute values, averaged over small windows.
No weights, no download.

x ⋆ φ, |x ⋆ ψ₁| ⋆ φ and ||x ⋆ ψ₁| ⋆ ψ₂| ⋆ φ for Morlet wavelets ψ at J = 2 scales and L = 8 angles
(Bruna & Mallat 2013, sections 2 and 3), a Gaussian φ of width 0.8 · 2^(J−1), and ψ₂ of a larger
scale than ψ₁: 1 + JL + L²J(J−1)/2 = 81 maps a channel, one value every 4 pixels. Tramèr & Boneh
2021 found these features hard to beat for private training without public data. Images are mirrored
at their borders; those above 32 pixels are reduced to 32 on the longer side, so that the width
stays usable.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from pillar_core.arrays import Array
from pillar_core.backbones.cards import BACKBONES, Encoder, card_of
from pillar_core.deferred import torch

SCALES, ANGLES = 2, 8
STEP = 2**SCALES
LARGEST_SIDE = 32
_SHIFTS = range(-2, 3)


def maps(images: torch.Tensor) -> torch.Tensor:
    """(b, 81, ⌈h/4⌉, ⌈w/4⌉) float32 from (b, h, w) float32."""
    mirrored = (  # with the border pixel repeated, however small the image is
        np.pad(np.arange(extent), (STEP, STEP + -extent % STEP), mode="symmetric")
        for extent in images.shape[-2:]
    )
    down, right = (torch.from_numpy(places).to(images.device) for places in mirrored)
    padded = images[:, down][:, :, right]
    rows, columns = (windows(extent).to(images.device) for extent in padded.shape[-2:])
    waves = wavelets(*padded.shape[-2:]).to(images.device)
    spectrum = torch.fft.fft2(padded)
    channels = [padded[:, None]]
    for scale in range(SCALES):
        first = torch.fft.ifft2(spectrum[:, None] * waves[scale]).abs()
        channels.append(first)
        for larger in range(scale + 1, SCALES):
            second = torch.fft.ifft2(torch.fft.fft2(first)[:, :, None] * waves[larger]).abs()
            channels.append(second.flatten(1, 2))
    averaged: torch.Tensor = rows @ torch.cat(channels, dim=1) @ columns.T
    return averaged


@functools.lru_cache(maxsize=8)
def wavelets(height: int, width: int) -> torch.Tensor:
    """(J, L, h, w) complex64: the Fourier transforms of ψ on this grid."""
    waves = np.stack(
        [[_wave(height, width, scale, angle) for angle in range(ANGLES)] for scale in range(SCALES)]
    )
    return torch.from_numpy(np.fft.fft2(waves)).to(torch.complex64)


@functools.lru_cache(maxsize=16)
def windows(extent: int) -> torch.Tensor:
    """(extent/4 − 2, extent) float32: φ along one axis, round every fourth pixel inside the border;
    each row sums to 1."""
    sigma = 0.8 * 2 ** (SCALES - 1)
    places, pixels = np.arange(STEP, extent - STEP, STEP)[:, None], np.arange(extent)[None]
    weights = sum(
        np.exp(-((pixels - places + turn * extent) ** 2) / (2 * sigma**2)) for turn in _SHIFTS
    )
    return torch.from_numpy(weights / weights.sum(axis=1, keepdims=True)).float()


def _wave(height: int, width: int, scale: int, angle: int) -> Array:
    """The Morlet wavelet of a scale and an angle: a Gabor wave less its mean, so that its sum over
    the grid is zero."""
    sigma, frequency, slant, turn = (
        0.8 * 2**scale,
        0.75 * math.pi / 2**scale,
        4 / ANGLES,
        math.pi * angle / ANGLES,
    )
    wave = _gabor(height, width, sigma, frequency, turn, slant=slant)
    envelope = _gabor(height, width, sigma, 0.0, turn, slant=slant)
    return np.asarray(
        (wave - wave.sum() / envelope.sum() * envelope) * slant / (2 * math.pi * sigma**2)
    )


def _gabor(
    height: int, width: int, sigma: float, frequency: float, angle: float, *, slant: float
) -> Array:
    """A plane wave under a Gaussian, wrapped round the grid so that its centre lies at (0, 0)."""
    cos, sin = math.cos(angle), math.sin(angle)
    total = np.zeros((height, width), dtype=complex)
    for down in _SHIFTS:
        for right in _SHIFTS:
            row, column = np.mgrid[
                down * height : (down + 1) * height, right * width : (right + 1) * width
            ].astype(float)
            along, across = cos * row + sin * column, cos * column - sin * row
            total += np.exp(
                -(along**2 + (slant * across) ** 2) / (2 * sigma**2) + 1j * frequency * along
            )
    return total


def _encoder(device: str) -> Encoder:
    place = torch.device(device)

    def encode(rows: Array) -> Array:
        pixels = torch.from_numpy(np.ascontiguousarray(rows)).to(place).float() / 255
        pixels = pixels.unsqueeze(1) if pixels.ndim == 3 else pixels.permute(0, 3, 1, 2)
        longer = max(pixels.shape[-2:])
        if longer > LARGEST_SIDE:
            size = [max(1, round(extent * LARGEST_SIDE / longer)) for extent in pixels.shape[-2:]]
            pixels = torch.nn.functional.interpolate(pixels, size, mode="bilinear", antialias=True)
        with torch.inference_mode():
            flat: Array = maps(pixels.flatten(0, 1)).reshape(len(rows), -1).cpu().numpy()
        return flat

    return Encoder(encode)


BACKBONES.register(card_of("scattering", open=lambda name, work: _encoder(work.device)))
