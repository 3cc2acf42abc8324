"""CIFAR-10.1: new test images for CIFAR-10, here as public data; the source has no train rows, so all rows are train rows."""

import dataclasses

import numpy as np

from pillar_core.data import arrays, downloading, places
from pillar_core.data.cards import DATASETS, card_of
from pillar_core.errors import DataError
from pillar_core.params import Param, setting
from pillar_core.types import Dataset

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
ADDRESS = "https://raw.githubusercontent.com/modestyachts/CIFAR-10.1/d9982abb0bfc4846b8d13a11e66b887d946205d0/datasets"
CHECKSUMS = {
    "cifar10.1_v4_data.npy": "git:1094f59a54cf768f7b1ca5029eb4a94b8c635ebe",
    "cifar10.1_v4_labels.npy": "git:64acdcc7ba98d0554f9c9fe00c5483d9247e61df",
    "cifar10.1_v6_data.npy": "git:24349cc5f3fb59648d75cd8015b5a184b1f5c250",
    "cifar10.1_v6_labels.npy": "git:e713b09cecf2ecd933970001909fcdec7c907ab0",
}


@dataclasses.dataclass(frozen=True)
class Cifar101Settings(places.RootSettings):
    """Where the files are, and which release."""

    release: str = setting(Param("release", str, "v6", "v6: 2,000 images, class-balanced; v4: 2,021.", choices=("v4", "v6")))


def _read(settings: Cifar101Settings, seed: int, download: bool) -> Dataset:
    place = places.home("cifar10_1", settings.root)
    paths = [place / f"cifar10.1_{settings.release}_{what}.npy" for what in ("data", "labels")]
    if download and not all(path.is_file() for path in paths):
        card = DATASETS["cifar10_1"]
        with places.fetching(card.title, place, card.by_hand):
            for path in paths:
                if not path.is_file():
                    downloading.get(f"{ADDRESS}/{path.name}", path, checksum=CHECKSUMS[path.name], size=card.n_bytes)
    absent = [path.name for path in paths if not path.is_file()]
    if absent:
        raise DataError(f"{place} lacks {', '.join(absent)}. {DATASETS['cifar10_1'].how_to_get(settings.root)}")
    with places.readable(place):
        images, labels = (np.load(path, allow_pickle=False) for path in paths)
    if images.dtype != np.uint8 or images.shape[1:] != (32, 32, 3) or labels.shape != (len(images),):
        raise DataError(
            f"{paths[0]} must hold (n, 32, 32, 3) uint8 images and one label each; got {images.dtype} {images.shape}, {labels.shape}."
        )
    checked = arrays.features(np.zeros((len(images), 1)), labels, classes=CLASSES)
    notes = ("The source is one set of test images; as public data all rows count as train rows.",)
    return Dataset("cifar10_1", np.ascontiguousarray(images), checked.y_train, classes=CLASSES, notes=notes)


DATASETS.register(card_of("cifar10_1", _read, settings=Cifar101Settings))
