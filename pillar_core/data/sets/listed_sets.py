"""What data sets share whose files are arranged by the source's lists, and those with several
findings of one chest x-ray as a label."""

import dataclasses
import functools
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pillar_core.arrays import Array
from pillar_core.data import places
from pillar_core.data.cards import DATASETS, DatasetCard, card_of
from pillar_core.data.images import arranging, tree
from pillar_core.data.images.folders import Layout
from pillar_core.data.images.loading import assemble
from pillar_core.data.images.tree import Entry, Tree
from pillar_core.data.places import RootSettings
from pillar_core.errors import UnknownNameError
from pillar_core.params import declare
from pillar_core.types import Dataset

FILES = Path(__file__).with_name("files.toml")
NO_LISTS = (
    "The source's lists of train and test images are not there; classes are those of the folders."
)


def register(
    name: str,
    arrange: Callable[[Tree, Any, int], Layout],
    *,
    settings: type = places.RootSettings,
    names_persons: bool = False,
) -> None:
    """Makes the data set `name` known: the files at its place, arranged by `arrange(tree, settings,
    seed)`, decoded.

    names_persons: the layout says whose the images are; `<name>:<m>` is then the set of which m
    images of a person count, and ε a person's.
    """

    def read(chosen: Any, seed: int, download: bool, most: int | None = None) -> Dataset:
        with tree.open_tree(places.home(name, chosen.root)) as files:
            return assemble(
                dataclasses.replace(arrange(files, chosen, seed), rows_per_person=most),
                name=name,
                seed=seed,
            )

    def of_persons(asked_name: str) -> DatasetCard:
        most = asked_name.partition(":")[2]
        if not re.fullmatch("[1-9][0-9]?", most):
            raise UnknownNameError(
                f"{name}:<m> takes m of 1 to 99 images a person; got {asked_name!r}."
            )
        title = f"{card.title}, {most} images a person"
        read_some = functools.partial(read, most=int(most))
        return dataclasses.replace(
            card, name=asked_name, title=title, read=read_some, rows_per_person=int(most)
        )

    card = card_of(name, read, settings=settings)
    DATASETS.register(card)
    if names_persons:
        DATASETS.register_family(name, of_persons)


def by_lists(
    files: Tree,
    names: tuple[str, str],
    *,
    paths: Callable[[Tree, str], Iterable[str]] = Tree.lines,
    label: Callable[[str], str] = str,
) -> Layout:
    """The images of Images/ that the lists `names` hold (train, test); their class is
    `label(folder)`. Without lists: the folders."""
    if files.find(names[0]) is None:
        arranged = arranging.arrange(files.members)
        return Layout(arranged.members, (NO_LISTS, *arranged.notes))
    sides = [(path, in_test) for in_test, name in enumerate(names) for path in paths(files, name)]
    return files.layout(
        [Entry(path, label(path.split("/")[0]), bool(in_test)) for path, in_test in sides],
        below="Images",
    )


FINDINGS = {"pleural": "pleural thickening"}
"""Words that a source uses for a finding, where another says more."""


@dataclasses.dataclass(frozen=True)
class FindingsSettings(RootSettings):
    """Where the files are, and how several findings of one image become one label."""

    labels: str = declare(
        "any",
        "One label from several findings: any (a finding or none), or one (only images with"
        " exactly one finding, named).",
        choices=("any", "one"),
    )


@dataclasses.dataclass(frozen=True)
class Findings:
    """How rows of marks, one column for each of the findings `names`, become one label."""

    names: Sequence[str]
    how: str

    @property
    def classes(self) -> list[str]:
        """The names of the labels, in the order of their codes."""
        return ["no finding", "finding"] if self.how == "any" else list(self.names)

    def of(self, marks: Array) -> tuple[Array, Array]:
        """((m,) int64 labels of the rows kept, (n,) bool which those are) from (n, findings) bool
        marks."""
        counts = marks.sum(axis=1)
        keep = np.ones(len(marks), dtype=bool) if self.how == "any" else counts == 1
        labels = (
            (counts > 0).astype(np.int64)
            if self.how == "any"
            else marks.argmax(axis=1).astype(np.int64)
        )
        return labels[keep], keep

    def notes(self, n_left_out: int) -> tuple[str, ...]:
        """What was decided, in words."""
        if self.how == "any":
            return ("An image may show several findings; the label says whether it shows any.",)
        return (
            (
                f"Only images with exactly one finding are kept; {n_left_out:,} with none or"
                " several were left out."
            ),
        )
