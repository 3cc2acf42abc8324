"""Real images that come with the library, read by the reader of a user's own npz: parts of Fashion-MNIST, PneumoniaMNIST and MNIST.

Rows, sources and licences: `data/embedded/README.md`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pillar_core.data.cards import DATASETS, Count, DatasetCard, NoSettings
from pillar_core.data.images.loading import checked_images
from pillar_core.data.npz import read_npz
from pillar_core.types import Dataset

__all__: list[str] = []

FOLDER = Path(__file__).resolve().parents[1] / "embedded"
NAMES = ("fashion_mnist", "pneumonia_mnist", "mnist")


def _reader(name: str) -> Callable[[NoSettings, int, bool], Dataset]:
    return lambda settings, seed, download: checked_images(read_npz(FOLDER / f"{name}.npz"), name=name)


for _name, _title, _source, _licence, _rows, _classes in (
    (
        "fashion_mnist",
        "Fashion-MNIST sample (clothes, 12,000 images)",
        "H. Xiao, K. Rasul, R. Vollgraf: Fashion-MNIST, 2017; the first 10,000 train and 2,000 test images",
        "MIT",
        (10_000, 2_000),
        10,
    ),
    (
        "pneumonia_mnist",
        "Chest x-rays (children's, 2,000 images of PneumoniaMNIST)",
        "J. Yang, R. Shi, D. Wei et al.: MedMNIST v2, Scientific Data, 2023; a part of the images",
        "CC BY 4.0",
        (1_500, 500),
        2,
    ),
    (
        "mnist",
        "MNIST sample (handwritten digits, 3,500 images)",
        "Y. LeCun, C. Cortes, C. J. C. Burges: MNIST, 1998; a part of the images",
        "CC BY-SA 3.0",
        (2_500, 1_000),
        10,
    ),
):
    DATASETS.register(
        DatasetCard(
            name=_name,
            title=_title,
            source=_source,
            licence=_licence,
            kind="images",
            n_train=Count(_rows[0]),
            n_test=Count(_rows[1]),
            n_classes=Count(_classes),
            d=Count(784, "28 × 28 pixels"),
            read=_reader(_name),
            backbone="efficientnet_lite0",
        )
    )
