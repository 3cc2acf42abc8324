"""Images that the project draws itself: families to screen against each other, at a chosen
distance, without any download.

Digits and letters in the font that comes with Pillow, shapes, textures, digits on textures (in the
manner of MNIST-M) and noise. `shift` in [0, 1] moves a family away from its plain form: more
rotation, thinner contrast, blur and speckle.
"""

import dataclasses
import functools
import math
from collections.abc import Callable

import numpy as np

from pillar_core import rng
from pillar_core.arrays import Array
from pillar_core.data.cards import DATASETS, card_of
from pillar_core.data.partition import stratify
from pillar_core.params import declare
from pillar_core.types import Dataset

Painter = Callable[[np.random.Generator, int, float], Array]
SIZE = 28
LETTERS = tuple("ABCDEFGHJK")
SHAPES = ("disc", "ring", "square", "frame", "triangle", "diamond", "cross", "bar", "half", "dots")
TEXTURES = (
    "stripes",
    "checks",
    "waves",
    "rings",
    "blobs",
    "gradient",
    "dots",
    "weave",
    "marble",
    "grain",
)


@dataclasses.dataclass(frozen=True)
class DrawnSettings:
    """How many images, and how far they are shifted."""

    n: int = declare(
        2500, "Images, train and test together.", low=50, high=100_000, unit="images", log=True
    )
    shift: float = declare(0.0, "How far the images move from their plain form.", low=0, high=1)


def _shape(generator: np.random.Generator, code: int, shift: float) -> Array:
    """A filled form of random size, place and rotation."""
    angle = generator.normal(0, 0.15 + shift)
    centre, radius = generator.uniform(11, 17, 2), generator.uniform(6, 10)
    y, x = np.mgrid[0:SIZE, 0:SIZE] - centre[:, None, None]
    u, v = (
        (math.cos(angle) * x + math.sin(angle) * y) / radius,
        (-math.sin(angle) * x + math.cos(angle) * y) / radius,
    )
    far, square = np.hypot(u, v), np.maximum(abs(u), abs(v))
    forms = {
        "disc": far - 1,
        "ring": abs(far - 0.8) - 0.22,
        "square": square - 0.85,
        "frame": abs(square - 0.75) - 0.2,
        "triangle": np.maximum(
            np.maximum(v - 0.7, -0.5 * v + 0.9 * u - 0.5), -0.5 * v - 0.9 * u - 0.5
        ),
        "diamond": abs(u) + abs(v) - 1,
        "cross": np.minimum(
            np.maximum(abs(u) - 0.28, abs(v) - 1), np.maximum(abs(v) - 0.28, abs(u) - 1)
        ),
        "bar": np.maximum(abs(u) - 1.1, abs(v) - 0.3),
        "half": np.maximum(far - 1, v),
        "dots": np.hypot(abs(u) - 0.55, abs(v) - 0.55) - 0.33,
    }
    return _shift(
        generator,
        np.clip(0.5 - forms[SHAPES[code]] * radius, 0, 1) * generator.uniform(0.75, 1),
        shift,
    )


def _digit_on_texture(generator: np.random.Generator, code: int, shift: float) -> Array:
    """The glyph inverts the ground that it lies on, as MNIST-M does with photographs."""
    ground = _pattern(generator, TEXTURES[generator.integers(len(TEXTURES))])
    return _shift(generator, abs(ground - _glyph(generator, str(code), shift)), shift)


def _pattern(generator: np.random.Generator, name: str) -> Array:
    """(28, 28) float64 in [0, 1]: one texture at a random scale, direction and phase."""
    angle, period, phase = (
        generator.uniform(0, math.pi),
        generator.uniform(4, 9),
        generator.uniform(0, 2 * math.pi),
    )
    y, x = np.mgrid[0:SIZE, 0:SIZE].astype(np.float64)
    u, v = math.cos(angle) * x + math.sin(angle) * y, -math.sin(angle) * x + math.cos(angle) * y
    along, across = (
        np.sin(2 * math.pi * u / period + phase),
        np.sin(2 * math.pi * v / period + phase),
    )
    rough = _smooth(generator.random((SIZE, SIZE)), 2.0)
    patterns = {
        "stripes": along,
        "checks": np.sign(along) * np.sign(across),
        "waves": np.sin(2 * math.pi * (u + 2 * np.sin(2 * math.pi * v / 14)) / period + phase),
        "rings": np.sin(
            2 * math.pi * np.hypot(x - 14 + 3 * math.cos(phase), y - 14) / period + phase
        ),
        "blobs": np.tanh(5 * rough),
        "gradient": 2 * (u - u.min()) / (u.max() - u.min()) - 1,
        "dots": along * across,
        "weave": np.maximum(along, across),
        "marble": np.sin(2 * math.pi * u / period + 5 * rough),
        "grain": generator.uniform(-1, 1, (SIZE, SIZE)),
    }
    return np.asarray(0.5 + 0.5 * generator.uniform(0.5, 1.0) * np.clip(patterns[name], -1, 1))


def _glyph(generator: np.random.Generator, text: str, shift: float) -> Array:
    """(28, 28) float64 in [0, 1]: one character, bright on dark, turned, scaled and moved a
    little."""
    from PIL import Image

    size = int(generator.integers(17, 26))
    mask = Image.fromarray(_character(text, size)).rotate(
        float(generator.normal(0, 7 + 25 * shift)),
        resample=Image.Resampling.BILINEAR,
        translate=tuple(generator.integers(-2, 3, 2).tolist()),
    )
    return np.asarray(mask, dtype=np.float64) / 255 * generator.uniform(0.8, 1.0)


@functools.lru_cache(maxsize=256)
def _character(text: str, size: int) -> Array:
    from PIL import Image, ImageDraw, ImageFont

    canvas = Image.new("L", (SIZE, SIZE))
    ImageDraw.Draw(canvas).text(
        (SIZE / 2, SIZE / 2), text, fill=255, font=ImageFont.load_default(size), anchor="mm"
    )
    return np.asarray(canvas)


def _shift(generator: np.random.Generator, image: Array, shift: float) -> Array:
    """Lower contrast, blur and speckle, in proportion to `shift`; a little of each at 0, as scans
    have."""
    blurred = image + (_smooth(image, 1.2) * 0.5 + 0.5 - image) * 0.8 * shift if shift else image
    faint = 0.5 * shift + (1 - shift * 0.7) * (blurred - 0.5 * shift)
    return np.asarray(
        np.clip(faint + (0.02 + 0.12 * shift) * generator.standard_normal(image.shape), 0, 1)
    )


def _smooth(image: Array, width: float) -> Array:
    """Gaussian smoothing, then scaled to [−1, 1]."""
    from scipy.ndimage import gaussian_filter

    soft = gaussian_filter(image, width)
    return np.asarray(2 * (soft - soft.min()) / max(float(np.ptp(soft)), 1e-9) - 1)


def _reader(
    name: str, painter: Painter, classes: tuple[str, ...]
) -> Callable[[DrawnSettings, int, bool], Dataset]:
    def read(settings: DrawnSettings, seed: int, download: bool) -> Dataset:
        generator = rng.stream(seed, "drawn", name)
        labels = generator.permutation(np.arange(settings.n) % len(classes)).astype(np.int64)
        images = np.stack([painter(generator, int(code), settings.shift) for code in labels])
        pixels = np.rint(255 * images).astype(np.uint8)
        train, test = stratify(labels, seed=seed, name=name)
        return Dataset(
            name, pixels[train], labels[train], pixels[test], labels[test], classes=classes
        )

    return read


DIGITS = tuple("0123456789")
for _name, _title, _painter, _classes in (
    (
        "digits",
        "Drawn digits",
        lambda generator, code, shift: _shift(
            generator, _glyph(generator, str(code), shift), shift
        ),
        DIGITS,
    ),
    (
        "letters",
        "Drawn letters",
        lambda generator, code, shift: _shift(
            generator, _glyph(generator, LETTERS[code], shift), shift
        ),
        LETTERS,
    ),
    ("shapes", "Drawn shapes", _shape, SHAPES),
    (
        "textures",
        "Drawn textures",
        lambda generator, code, shift: _shift(
            generator, _pattern(generator, TEXTURES[code]), shift
        ),
        TEXTURES,
    ),
    ("digits_on_textures", "Drawn digits on textures", _digit_on_texture, DIGITS),
    (
        "noise",
        "Noise images",
        lambda generator, code, shift: generator.random((SIZE, SIZE)),
        DIGITS,
    ),
):
    _reads = _reader(f"drawn_{_name}", _painter, _classes)
    DATASETS.register(
        card_of(f"drawn_{_name}", _reads, settings=DrawnSettings, entry="drawn", title=_title)
    )
