"""Data sets whose files are arranged by the source's own lists: what their modules share."""

from collections.abc import Callable, Iterable
from typing import Any

from pillar_core.data import places
from pillar_core.data.cards import DATASETS, card_of
from pillar_core.data.images import folders, tree
from pillar_core.data.images.folders import Layout
from pillar_core.data.images.loading import assembled
from pillar_core.data.images.tree import Entry, Tree
from pillar_core.types import Dataset

NO_LISTS = "The source's lists of train and test images are not there; classes are those of the folders."


def register(name: str, arrange: Callable[[Tree, Any], Layout], *, settings: type = places.RootSettings) -> None:
    """Makes the data set `name` known: the files at its place, arranged by `arrange(tree, settings)`, decoded."""

    def read(chosen: Any, seed: int, download: bool) -> Dataset:
        with tree.opened(places.home(name, chosen.root)) as files:
            return assembled(arrange(files, chosen), name=name, seed=seed)

    DATASETS.register(card_of(name, read, settings=settings))


def by_lists(
    files: Tree, names: tuple[str, str], *, paths: Callable[[Tree, str], Iterable[str]] = Tree.lines, label: Callable[[str], str] = str
) -> Layout:
    """The images of Images/ that the lists `names` hold (train, test); their class is `label(folder)`. Without lists: the folders."""
    if files.find(names[0]) is None:
        found = folders.arranged(files.members)
        return Layout(found.members, (NO_LISTS, *found.notes))
    sides = [(path, in_test) for in_test, name in enumerate(names) for path in paths(files, name)]
    return files.layout([Entry(path, label(path.split("/")[0]), bool(in_test)) for path, in_test in sides], below="Images")
