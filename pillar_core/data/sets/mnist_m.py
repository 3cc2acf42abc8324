"""MNIST-M: MNIST digits blended over patches of photographs, as Ganin et al. hand it out (images, and lists of labels)."""

from __future__ import annotations

from pillar_core.data.cards import DATASETS, Count, DatasetCard
from pillar_core.data.images.folders import Layout
from pillar_core.data.images.tree import Entry, Tree
from pillar_core.data.places import RootSettings
from pillar_core.data.sets.listed_sets import reader
from pillar_core.errors import DataError

__all__: list[str] = []


def _arranged(files: Tree, settings: RootSettings) -> Layout:
    entries = []
    for in_test, side in ((False, "train"), (True, "test")):
        for line in files.lines(f"mnist_m_{side}_labels.txt"):
            name, _, code = line.partition(" ")
            if not code.strip().isdecimal():
                raise DataError(f"mnist_m_{side}_labels.txt must hold lines such as 00000000.png 5; got {line[:80]!r}.")
            entries.append(Entry(f"mnist_m_{side}/{name}", code.strip(), in_test))
    above = files.find("mnist_m_train_labels.txt")
    return files.layout(entries, below="" if above is None else str(above.path.parent))


DATASETS.register(
    DatasetCard(
        name="mnist_m",
        title="MNIST-M (digits on photographs)",
        source="Y. Ganin, E. Ustinova, H. Ajakan et al.: JMLR 17, 2016",
        licence="not stated; made from MNIST and BSDS500",
        kind="images",
        n_train=Count(59_001),
        n_test=Count(9_001),
        n_classes=Count(10),
        d=Count(3_072, "32 × 32 pixels, colour"),
        read=reader("mnist_m", _arranged),
        settings=RootSettings,
        papers=("GSD",),
        size="60 MB",
        by_hand="unpack mnist_m.tar.gz from the authors' page (mnist_m_train, mnist_m_test and their _labels.txt); "
        "the pickled edition (keras_mnistm.pkl.gz) is never read.",
    )
)
