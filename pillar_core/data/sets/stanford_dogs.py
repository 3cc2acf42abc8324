"""Stanford Dogs: 120 breeds out of ImageNet, with the source's lists in MATLAB files."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

from pillar_core.data import places
from pillar_core.data.cards import DATASETS, Count, DatasetCard
from pillar_core.data.images import folders
from pillar_core.data.images.folders import Layout
from pillar_core.data.images.tree import Entry, Tree
from pillar_core.data.places import RootSettings
from pillar_core.data.sets.listed_sets import NO_LISTS, PHOTOGRAPHS, reader
from pillar_core.errors import DataError

__all__: list[str] = []


def _arranged(files: Tree, _: RootSettings) -> Layout:
    if files.find("train_list.mat") is None:
        found = folders.arranged(files.members)
        return Layout(found.members, (NO_LISTS, *found.notes))
    sides = {False: _paths(files, "train_list.mat"), True: _paths(files, "test_list.mat")}
    entries = [Entry(path, _breed(path.split("/")[0]), in_test) for in_test, paths in sides.items() for path in paths]
    return files.layout(entries, below="Images")


def _paths(files: Tree, name: str) -> list[str]:
    from scipy.io import loadmat

    member = files.find(name)
    if member is None:
        raise DataError(f"the data set's file {name} is missing: unpack lists.tar beside the images.")
    with places.readable(Path(member.path)):
        listed: Any = loadmat(io.BytesIO(member.read()))["file_list"]
        return [str(np.asarray(cell).ravel()[0]) for cell in np.ravel(listed)]


def _breed(folder: str) -> str:
    return folder.partition("-")[2].replace("_", " ") or folder


DATASETS.register(
    DatasetCard(
        name="stanford_dogs",
        title="Stanford Dogs",
        source="A. Khosla, N. Jayadevaprakash, B. Yao, L. Fei-Fei: FGVC workshop, CVPR 2011",
        licence="not stated; images of ImageNet, for research",
        kind="images",
        n_train=Count(12_000),
        n_test=Count(8_580),
        n_classes=Count(120),
        d=PHOTOGRAPHS,
        read=reader("stanford_dogs", _arranged),
        settings=RootSettings,
        papers=("AdaMix",),
        size="780 MB",
        by_hand="unpack images.tar and lists.tar from vision.stanford.edu/aditya86/ImageNetDogs (Images, train_list.mat, test_list.mat).",
    )
)
