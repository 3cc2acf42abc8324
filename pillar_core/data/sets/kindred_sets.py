"""Images much like those of a well-known set, as public data for it: CIFAR-10.1 and MNIST-M.

CIFAR-10.1: new test images for CIFAR-10; the source has no train rows, so all rows are train rows.
MNIST-M: MNIST digits blended over patches of photographs, as Ganin et al. hand it out (images, and
lists of labels).
"""

import dataclasses

import numpy as np

from pillar_core.data import arrays, downloading, places
from pillar_core.data.cards import DATASETS, card_of
from pillar_core.data.images.folders import Layout
from pillar_core.data.images.tree import Entry, Tree
from pillar_core.data.sets.listed_sets import FILES, register
from pillar_core.errors import DataError
from pillar_core.params import declare
from pillar_core.registry import toml_tables
from pillar_core.types import Dataset


@dataclasses.dataclass(frozen=True)
class Cifar101Settings(places.RootSettings):
    """Where the files are, and which release."""

    release: str = declare(
        "v6", "v6: 2,000 images, class-balanced; v4: 2,021.", choices=("v4", "v6")
    )


def _read(settings: Cifar101Settings, seed: int, download: bool) -> Dataset:
    place, facts = places.home("cifar10_1", settings.root), toml_tables(FILES)["cifar10_1"]
    paths = [place / f"cifar10.1_{settings.release}_{part}.npy" for part in ("data", "labels")]
    card = DATASETS["cifar10_1"]

    def fetch() -> None:
        for path in (path for path in paths if not path.is_file()):
            downloading.get(
                f"{facts['address']}/{path.name}",
                path,
                checksum=facts["checksums"][path.name],
                size=card.n_bytes,
            )

    if download:
        card.fill(place, fetch, is_there=lambda: all(path.is_file() for path in paths))
    absent = [path.name for path in paths if not path.is_file()]
    if absent:
        raise DataError(f"{place} lacks {', '.join(absent)}. {card.how_to_get(settings.root)}")
    with places.readable(place):
        images, labels = (np.load(path, allow_pickle=False) for path in paths)
    if (
        images.dtype != np.uint8
        or images.shape[1:] != (32, 32, 3)
        or labels.shape != (len(images),)
    ):
        raise DataError(
            f"{paths[0]} must hold (n, 32, 32, 3) uint8 images and one label each; got"
            f" {images.dtype} {images.shape}, {labels.shape}."
        )
    checked = arrays.features(np.zeros((len(images), 1)), labels, classes=facts["classes"])
    notes = ("The source is one set of test images; as public data all rows count as train rows.",)
    return Dataset(
        "cifar10_1",
        np.ascontiguousarray(images),
        checked.y_train,
        classes=checked.classes,
        notes=notes,
    )


DATASETS.register(card_of("cifar10_1", _read, settings=Cifar101Settings))


def _arrange_mnist_m(files: Tree, settings: places.RootSettings, seed: int) -> Layout:
    entries = []
    for in_test, side in ((False, "train"), (True, "test")):
        for line in files.lines(f"mnist_m_{side}_labels.txt"):
            name, _, code = line.partition(" ")
            if not code.strip().isdecimal():
                raise DataError(
                    f"mnist_m_{side}_labels.txt must hold lines such as 00000000.png 5; got"
                    f" {line[:80]!r}."
                )
            entries.append(Entry(f"mnist_m_{side}/{name}", code.strip(), in_test))
    above = files.find("mnist_m_train_labels.txt")
    return files.layout(entries, below="" if above is None else str(above.path.parent))


register("mnist_m", _arrange_mnist_m)
