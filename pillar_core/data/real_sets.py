"""The real data sets that lie in files: importing one registers its cards. Listed after what the library brings along."""

from pillar_core.data import (
    chest_xray14,
    chexpert,
    cifar10_1,
    cub_200,
    domainnet,
    folder_sets,
    ham10000,
    hub_sets,
    medmnist_sets,
    mit_67,
    mnist_m,
    openml_sets,
    sprxray,
    stanford_dogs,
    torchvision_sets,
)
from pillar_core.data.cards import DATASETS

NAMES = tuple(name for name, card in DATASETS.items() if card.needs_files)
"""Their names, in the order of registration."""

__all__ = [
    "NAMES",
    "chest_xray14",
    "chexpert",
    "cifar10_1",
    "cub_200",
    "domainnet",
    "folder_sets",
    "ham10000",
    "hub_sets",
    "medmnist_sets",
    "mit_67",
    "mnist_m",
    "openml_sets",
    "sprxray",
    "stanford_dogs",
    "torchvision_sets",
]
