"""The reader of a data set whose files are arranged by the source's own lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pillar_core.data import places
from pillar_core.data.images import tree
from pillar_core.data.images.folders import Layout
from pillar_core.data.images.loading import assembled
from pillar_core.data.images.tree import Tree
from pillar_core.types import Dataset

NO_LISTS = "The source's lists of train and test images are not there; classes are those of the folders."
PHOTOGRAPHS = "photographs (shorter side at most 256)"


def reader(name: str, arrange: Callable[[Tree, Any], Layout]) -> Callable[[Any, int, bool], Dataset]:
    """A card's `read`: the files at the data set's place, arranged by `arrange(tree, settings)`, decoded."""

    def read(settings: Any, seed: int, download: bool) -> Dataset:
        with tree.opened(places.home(name, settings.root)) as files:
            return assembled(arrange(files, settings), name=name, seed=seed)

    return read
