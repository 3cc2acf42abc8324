"""Directories as torchvision lays them out: which data set lies there, and how to read it without
any network.

torchvision parses the sources' own lists and formats; image files are decoded here, one size for a
set (see `decoding`).
"""

import dataclasses
import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pillar_core.arrays import Array
from pillar_core.data import scratch
from pillar_core.data.images import arranging, cifar, folders
from pillar_core.data.images.cifar import Version
from pillar_core.data.images.folders import Layout, Member
from pillar_core.data.places import readable
from pillar_core.errors import DataError
from pillar_core.extras import hidden
from pillar_core.registry import toml_tables
from pillar_core.types import Dataset

Split = Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class TorchvisionLayout:
    """One class of torchvision: what marks its directory, and the arguments of its train and test
    parts.

    `marker` is a path below torchvision's root. `files` and `labels` are the attributes that list
    image files and their codes ("" where rows lie in arrays). `version` is set for CIFAR, which is
    read here. torchvision needs `package` to read it.
    """

    name: str
    torchvision_class: str
    marker: str
    train: Sequence[Split] = ()
    test: Sequence[Split] = ()
    files: str = ""
    labels: str = ""
    version: Version | None = None
    package: str = ""


LAYOUTS = {
    name: TorchvisionLayout(name, version=cifar.VERSIONS.get(fields["marker"]), **fields)
    for name, fields in toml_tables(Path(__file__).with_suffix(".toml")).items()
}
NO_CLASS = frozenset({"BACKGROUND_Google", "257.clutter"})


def recognise(path: Path) -> tuple[TorchvisionLayout, Path] | None:
    """(layout, torchvision's root) where `path` is that root or the data set's own folder in it,
    else None."""
    roots = (
        ((layout, root_of(layout, path)) for layout in LAYOUTS.values()) if path.is_dir() else ()
    )
    return next(((layout, root) for layout, root in roots if root is not None), None)


def root_of(layout: TorchvisionLayout, path: Path) -> Path | None:
    """torchvision's root for this layout, if `path` is that, or a folder below it on the way to the
    marker."""
    parts = Path(layout.marker).parts
    for depth in range(min(len(parts), len(path.parents)) + 1):
        root = path.parents[depth - 1] if depth else path
        if (
            path.parts[len(path.parts) - depth :] == parts[:depth]
            and (root / layout.marker).exists()
        ):
            return root
    return None


def read(layout: TorchvisionLayout, root: Path, *, official: bool = False) -> Dataset | Layout:
    """The rows below torchvision's `root`: arrays, or image files to decode.

    Args:
        official: compare CIFAR's files with the sums that the source publishes (torchvision
        compares its own for most sets).

    Raises DataError: files are missing, damaged or arranged differently. MissingDependencyError: a
    package is absent.
    """
    place = root / layout.marker
    if layout.version is not None:
        return cifar.read_cifar(place, layout.version, official=official)
    with readable(place):
        if not layout.train:
            with folders.listing(place, filename="") as members:
                return arranging.arrange(
                    [member for member in members if member.path.parts[0] not in NO_CLASS]
                )
        dataset_class = class_of(layout)
        train, test = (
            [dataset_class(str(root), **split) for split in splits]
            for splits in (layout.train, layout.test)
        )
        if layout.files:
            return _layout_of_lists(layout, root, train, test)
        names = getattr(train[0], "classes", None)
        rows = _pcam if layout.name == "pcam" else _arrays
        (x_train, y_train), (x_test, y_test) = rows(train[0]), rows(test[0])
        return Dataset(layout.name, x_train, y_train, x_test, y_test, tuple(names or ()))


def class_of(layout: TorchvisionLayout) -> Any:
    """torchvision's class. Raises ImportError: a package that it needs is absent."""
    import torchvision.datasets

    if layout.package:
        importlib.import_module(layout.package)
    return getattr(torchvision.datasets, layout.torchvision_class)


def _layout_of_lists(
    layout: TorchvisionLayout, root: Path, train: list[Any], test: list[Any]
) -> Layout:
    members: list[Member] = []
    names = tuple(str(name) for name in getattr(train[0], "classes", ()))
    absent = []
    for in_test, sources in ((False, train), (True, test)):
        for source in sources:
            files = hidden("torchvision", source, layout.files)
            coded = (
                zip(files, hidden("torchvision", source, layout.labels), strict=True)
                if layout.labels
                else files
            )
            for path, code in coded:
                if not Path(path).is_file():
                    absent.append(path)
                    continue
                label = names[int(code)] if names else f"{int(code):02d}"
                members.append(folders.on_disk(Path(path), root, label=label, in_test=in_test))
    return folders.complete(members, absent, classes=names)


def _arrays(source: Any) -> tuple[Array, Array]:
    rows = np.asarray(source.data)
    labels = np.asarray(source.labels if hasattr(source, "labels") else source.targets)
    if rows.ndim == 4 and rows.shape[1] == 3:
        rows = rows.transpose(0, 2, 3, 1)
    return np.ascontiguousarray(rows.astype(np.uint8, copy=False)), labels.astype(np.int64)


def _pcam(source: Any) -> tuple[Array, Array]:
    """PatchCamelyon's patches go to disk as they are read: 262,144 of 27 kB each."""
    h5py = importlib.import_module("h5py")
    names = hidden("torchvision", source, "_FILES")[hidden("torchvision", source, "_split")]
    folder = hidden("torchvision", source, "_base_folder")
    with h5py.File(folder / names["targets"][0]) as file:
        labels = np.asarray(file["y"][:, 0, 0, 0], dtype=np.int64)
    with h5py.File(folder / names["images"][0]) as file:
        rows = file["x"]
        if len(rows) != len(labels):
            raise DataError(
                f"{names['images'][0]} holds {len(rows)} images and {names['targets'][0]}"
                f" {len(labels)} labels."
            )
        pieces = (
            np.ascontiguousarray(rows[start : start + 1024], dtype=np.uint8).data
            for start in range(0, len(rows), 1024)
        )
        return scratch.on_disk(pieces, np.uint8, tuple(rows.shape)), labels
