"""CIFAR-10.1: new test images for CIFAR-10, here as public data; the source has no train rows, so all rows are train rows."""

from __future__ import annotations

import dataclasses

import numpy as np

from pillar_core.data import arrays, places
from pillar_core.data.cards import DATASETS, Count, DatasetCard
from pillar_core.errors import DataError
from pillar_core.params import Param, setting
from pillar_core.types import Dataset

__all__: list[str] = []

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")


@dataclasses.dataclass(frozen=True)
class Cifar101Settings(places.RootSettings):
    """Where the files are, and which release."""

    release: str = setting(Param("release", str, "v6", "v6: 2,000 images, class-balanced; v4: 2,021.", choices=("v4", "v6")))


def _read(settings: Cifar101Settings, seed: int, download: bool) -> Dataset:
    place = places.home("cifar10_1", settings.root)
    paths = [place / f"cifar10.1_{settings.release}_{what}.npy" for what in ("data", "labels")]
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


DATASETS.register(
    DatasetCard(
        name="cifar10_1",
        title="CIFAR-10.1",
        source="B. Recht, R. Roelofs, L. Schmidt, V. Shankar: Do CIFAR-10 classifiers generalize to CIFAR-10?, 2018",
        licence="MIT",
        kind="images",
        n_train=Count(2_000),
        n_test=Count(0),
        n_classes=Count(10),
        d=Count(3_072, "32 × 32 pixels, colour"),
        read=_read,
        settings=Cifar101Settings,
        papers=("PILLAR",),
        size="6 MB",
        by_hand="cifar10.1_v6_data.npy and cifar10.1_v6_labels.npy from github.com/modestyachts/CIFAR-10.1 (folder datasets).",
    )
)
