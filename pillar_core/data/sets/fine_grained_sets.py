"""Many classes of one kind, arranged by the sources' lists: birds, dogs, rooms, and things in six
domains.

CUB-200: Caltech-UCSD Birds, the edition of 2011 (images.txt, train_test_split.txt …) or of 2010
(lists/train.txt …). Stanford Dogs: 120 breeds out of ImageNet, with lists in MATLAB files. MIT-67:
67 kinds of indoor scenes, 80 train and 20 test images of each. DomainNet: 345 kinds of objects; one
domain is one data set, so that one can be private and another public.
"""

import dataclasses
import functools
import io
from pathlib import Path
from typing import Any

import numpy as np

from pillar_core.data import places
from pillar_core.data.images.folders import Layout
from pillar_core.data.images.tree import Entry, Tree
from pillar_core.data.places import RootSettings
from pillar_core.data.sets.listed_sets import by_lists, register
from pillar_core.errors import DataError
from pillar_core.params import declare


def _birds(files: Tree, _: RootSettings, seed: int) -> Layout:
    if files.find("train_test_split.txt") is None:
        sides = {False: files.lines("lists/train.txt"), True: files.lines("lists/test.txt")}
        entries = [
            Entry(path, _name_behind(".", path.split("/")[0]), in_test)
            for in_test, paths in sides.items()
            for path in paths
        ]
        return files.layout(entries, below="images", notes=("The edition of 2010.",))
    paths, in_train, code = (
        _pairs(files, name)
        for name in ("images.txt", "train_test_split.txt", "image_class_labels.txt")
    )
    birds = {
        number: _name_behind(".", name) for number, name in _pairs(files, "classes.txt").items()
    }
    entries = [
        Entry(path, birds[code[number]], in_train[number] == "0") for number, path in paths.items()
    ]
    return files.layout(
        entries, below="images", classes=tuple(birds.values()), notes=("The edition of 2011.",)
    )


def _pairs(files: Tree, name: str) -> dict[str, str]:
    return {number: rest for number, _, rest in (line.partition(" ") for line in files.lines(name))}


def _name_behind(sign: str, folder: str) -> str:
    return folder.partition(sign)[2].replace("_", " ") or folder


register("cub_200", _birds)


def _paths(files: Tree, name: str) -> list[str]:
    from scipy.io import loadmat

    member = files.find(name)
    if member is None:
        raise DataError(
            f"the data set's file {name} is missing: unpack lists.tar beside the images."
        )
    with places.readable(Path(member.path)):
        listed: Any = loadmat(io.BytesIO(member.read()))["file_list"]
        return [str(np.asarray(cell).ravel()[0]) for cell in np.ravel(listed)]


_DOGS: dict[str, Any] = {"paths": _paths, "label": functools.partial(_name_behind, "-")}
register(
    "stanford_dogs", lambda files, *_: by_lists(files, ("train_list.mat", "test_list.mat"), **_DOGS)
)


register("mit_67", lambda files, *_: by_lists(files, ("TrainImages.txt", "TestImages.txt")))


@dataclasses.dataclass(frozen=True)
class DomainNetSettings(RootSettings):
    """Where the files are, and which domain."""

    domain: str = declare(
        "painting",
        "Which of the six domains.",
        choices=("clipart", "infograph", "painting", "quickdraw", "real", "sketch"),
    )


def _domain(files: Tree, settings: DomainNetSettings, seed: int) -> Layout:
    entries, names = [], {}
    for in_test, name in (
        (False, f"{settings.domain}_train.txt"),
        (True, f"{settings.domain}_test.txt"),
    ):
        for line in files.lines(name):
            path, _, code = line.rpartition(" ")
            parts = path.split("/")
            if len(parts) != 3 or not code.isdecimal():
                raise DataError(
                    f"{name} must hold lines such as"
                    f" painting/aircraft_carrier/painting_001_000106.jpg 0; got {line[:80]!r}."
                )
            names[int(code)] = parts[1]
            entries.append(Entry("/".join(parts[1:]), parts[1], in_test))
    classes = tuple(names[code] for code in sorted(names))
    return files.layout(
        entries, below=settings.domain, classes=classes, notes=(f"The domain {settings.domain!r}.",)
    )


register("domainnet", _domain, settings=DomainNetSettings)
