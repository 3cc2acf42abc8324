"""Real images that come with the library, read by the reader of a user's own npz: parts of Fashion-MNIST, PneumoniaMNIST and MNIST.

Rows, sources and licences: `data/embedded/README.md`.
"""

import dataclasses
from collections.abc import Callable
from pathlib import Path

from pillar_core.data.cards import DATASETS, NoSettings, card_of
from pillar_core.data.images.loading import checked_images
from pillar_core.data.npz import read_npz
from pillar_core.types import Dataset

FOLDER = Path(__file__).resolve().parents[1] / "embedded"
PARTS = {"fashion_mnist_2k": ("fashion_mnist", 2000)}
"""Sets that are the first train rows of another one, with all its test rows: what a smaller data holder has."""
NAMES = (*PARTS, "fashion_mnist", "pneumonia_mnist", "mnist")


def _reader(name: str) -> Callable[[NoSettings, int, bool], Dataset]:
    file, n_train = PARTS.get(name, (name, None))

    def read(settings: NoSettings, seed: int, download: bool) -> Dataset:
        rows = read_npz(FOLDER / f"{file}.npz")
        return checked_images(
            dataclasses.replace(rows, x_train=rows.x_train[:n_train], y_train=None if rows.y_train is None else rows.y_train[:n_train]),
            name=name,
        )

    return read


def are_parts(one: str, other: str) -> bool:
    """Whether one of two data sets is a part of the other, so that neither is public data for the other."""
    return any({one, other} == {part, whole} for part, (whole, _) in PARTS.items())


for _name in NAMES:
    DATASETS.register(card_of(_name, _reader(_name), settings=NoSettings))
