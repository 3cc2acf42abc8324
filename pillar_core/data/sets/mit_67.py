"""MIT indoor scenes: 67 kinds of rooms; the source's lists name 80 train and 20 test images of each."""

from __future__ import annotations

from pillar_core.data.cards import DATASETS, Count, DatasetCard
from pillar_core.data.images import folders
from pillar_core.data.images.folders import Layout
from pillar_core.data.images.tree import Entry, Tree
from pillar_core.data.places import RootSettings
from pillar_core.data.sets.listed_sets import NO_LISTS, PHOTOGRAPHS, reader

__all__: list[str] = []


def _arranged(files: Tree, _: RootSettings) -> Layout:
    if files.find("TrainImages.txt") is None:
        found = folders.arranged(files.members)
        return Layout(found.members, (NO_LISTS, *found.notes))
    sides = {False: files.lines("TrainImages.txt"), True: files.lines("TestImages.txt")}
    entries = [Entry(path, path.split("/")[0], in_test) for in_test, paths in sides.items() for path in paths]
    return files.layout(entries, below="Images")


DATASETS.register(
    DatasetCard(
        name="mit_67",
        title="MIT-67 (indoor scenes)",
        source="A. Quattoni, A. Torralba: CVPR 2009",
        licence="not stated; for research",
        kind="images",
        n_train=Count(5_360),
        n_test=Count(1_340),
        n_classes=Count(67),
        d=PHOTOGRAPHS,
        read=reader("mit_67", _arranged),
        settings=RootSettings,
        papers=("AdaMix",),
        size="2.4 GB",
        by_hand="indoorCVPR_09.tar (unpacked), TrainImages.txt and TestImages.txt from web.mit.edu/torralba/www/indoor.html.",
    )
)
