"""The scattering transform against sums over pixels, and what it must be blind and open to."""

import math

import numpy as np
import torch

from pillar_core.backbones import extract
from pillar_core.backbones.scattering import ANGLES, SCALES, maps, wavelets, windows
from pillar_core.types import Dataset


def _kernel(reach: int, sigma: float, frequency: float, angle: float, slant: float) -> np.ndarray:
    """A Gabor wave on the pixels −reach … reach, from its formula."""
    row, column = np.mgrid[-reach : reach + 1, -reach : reach + 1].astype(float)
    along = math.cos(angle) * row + math.sin(angle) * column
    across = math.cos(angle) * column - math.sin(angle) * row
    return np.exp(-(along**2) / (2 * sigma**2) - slant**2 * across**2 / (2 * sigma**2)) * np.exp(
        1j * frequency * along
    )


def _wavelet(scale: int, angle: int) -> np.ndarray:
    sigma, turn = 0.8 * 2.0**scale, math.pi * angle / ANGLES
    wave, envelope = (
        _kernel(24, sigma, frequency, turn, 0.5) for frequency in (0.75 * math.pi / 2**scale, 0.0)
    )
    return (wave - envelope * wave.sum() / envelope.sum()) * 0.5 / (2 * math.pi * sigma**2)


def _convolved(image: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """Convolution on a grid whose ends meet, as a sum over its pixels; a kernel that is larger than
    the grid goes round it."""
    around, reach = np.zeros(image.shape, complex), len(kernel) // 2
    np.add.at(
        around, np.ix_(*(np.arange(-reach, reach + 1) % side for side in image.shape)), kernel
    )
    return sum(
        around[place] * np.roll(image, place, axis=(0, 1)) for place in np.ndindex(image.shape)
    )


def test_maps_equal_sums_over_pixels():
    image = np.random.default_rng(5).random((8, 12))
    padded = np.pad(image, 4, mode="symmetric")
    low = _kernel(24, 1.6, 0.0, 0.0, 1.0).real
    low /= low.sum()
    first = [
        np.abs(_convolved(padded, _wavelet(scale, angle)))
        for scale in range(SCALES)
        for angle in range(ANGLES)
    ]
    second = [
        np.abs(_convolved(one, _wavelet(1, angle)))
        for one in first[:ANGLES]
        for angle in range(ANGLES)
    ]
    wanted = np.stack(
        [
            _convolved(one, low).real[4:-4:4, 4:-4:4]
            for one in (padded, *first[:ANGLES], *second, *first[ANGLES:])
        ]
    )
    found = maps(torch.from_numpy(image[None]).float())[0].numpy()
    assert found.shape == wanted.shape == (81, 2, 3)
    # float32 transforms of a few hundred pixels against float64 sums: a few units in the seventh
    # digit of the largest value.
    np.testing.assert_allclose(found, wanted, atol=2e-6)


def test_wavelets_ignore_the_mean_and_windows_keep_it():
    assert wavelets(40, 40)[:, :, 0, 0].abs().max() < 1e-6
    np.testing.assert_allclose(windows(40).sum(dim=1), 1, atol=1e-6)
    flat = maps(torch.full((1, 9, 9), 0.7))
    np.testing.assert_allclose(flat[0, 0], 0.7, atol=1e-6)
    assert flat[0, 1:].abs().max() < 1e-6


def test_an_edge_answers_in_its_own_direction():
    """A vertical edge varies along columns: angle 4 of 8 (π/2) answers most, angle 0 least."""
    edge = torch.zeros(1, 32, 32)
    edge[:, :, 16:] = 1
    answers = maps(edge)[0, 1 : 1 + ANGLES].sum(dim=(1, 2))
    assert int(answers.argmax()) == 4
    assert int(answers.argmin()) == 0


def test_features_of_any_size_and_colour_have_the_promised_width():
    rng = np.random.default_rng(0)
    for shape, width in (
        ((3, 8, 8), 81 * 4),
        ((3, 28, 28), 81 * 49),
        ((2, 9, 30, 3), 81 * 3 * 8 * 3),
        ((2, 64, 48), 81 * 8 * 6),
    ):
        images = rng.integers(0, 256, shape, dtype=np.uint8)
        train, test, _ = extract(Dataset("x", images, None, images[:1]), backbone="scattering")
        assert train.shape == (shape[0], width)
        assert train.dtype == np.float32
        np.testing.assert_array_equal(test, train[:1])
