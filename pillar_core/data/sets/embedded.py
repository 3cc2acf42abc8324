"""Real images that come with the library, read by the reader of a user's own npz: parts of Fashion-MNIST, PneumoniaMNIST and MNIST.

Rows, sources and licences: `data/embedded/README.md`.
"""

from collections.abc import Callable
from pathlib import Path

from pillar_core.data.cards import DATASETS, NoSettings, card_of
from pillar_core.data.images.loading import checked_images
from pillar_core.data.npz import read_npz
from pillar_core.types import Dataset

FOLDER = Path(__file__).resolve().parents[1] / "embedded"
NAMES = ("fashion_mnist", "pneumonia_mnist", "mnist")


def _reader(name: str) -> Callable[[NoSettings, int, bool], Dataset]:
    return lambda settings, seed, download: checked_images(read_npz(FOLDER / f"{name}.npz"), name=name)


for _name in NAMES:
    DATASETS.register(card_of(_name, _reader(_name), settings=NoSettings))
