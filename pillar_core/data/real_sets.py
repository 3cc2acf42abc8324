"""The real data sets that lie in files: importing one registers its cards. Listed after what the library brings along.

The order of the imports is the order of every list: well-known images, medical images, fine-grained classes, tables, hubs.
"""

# isort: off
from pillar_core.data import torchvision_sets
from pillar_core.data import cifar10_1
from pillar_core.data import mnist_m
from pillar_core.data import medmnist_sets
from pillar_core.data import folder_sets
from pillar_core.data import ham10000
from pillar_core.data import chest_xray14
from pillar_core.data import chexpert
from pillar_core.data import sprxray
from pillar_core.data import cub_200
from pillar_core.data import stanford_dogs
from pillar_core.data import mit_67
from pillar_core.data import domainnet
from pillar_core.data import openml_sets
from pillar_core.data import hub_sets

# isort: on
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
