"""MNIST-M: MNIST digits blended over patches of photographs, as Ganin et al. hand it out (images, and lists of labels)."""

from pillar_core.data.images.folders import Layout
from pillar_core.data.images.tree import Entry, Tree
from pillar_core.data.places import RootSettings
from pillar_core.data.sets.listed_sets import register
from pillar_core.errors import DataError


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


register("mnist_m", _arranged)
