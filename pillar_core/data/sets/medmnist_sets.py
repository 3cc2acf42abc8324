"""Medical images of MedMNIST by name: `medmnist:pneumoniamnist`, `medmnist:dermamnist` …, 28 × 28
pixels as published.

The package medmnist knows checksums and addresses; the npz is read here, without pickle. Validation
images are left out: the split carves its own.
"""

import dataclasses
import functools
from typing import Any

import numpy as np

from pillar_core.data import downloading, places
from pillar_core.data.cards import DATASETS, DatasetCard, card_of, listed_members, member_of
from pillar_core.data.images import loading as images
from pillar_core.data.npz import read_npz
from pillar_core.data.sets.listed_sets import FINDINGS, Findings, FindingsSettings
from pillar_core.errors import DataError, UnknownNameError
from pillar_core.types import Dataset

PREFIX = "medmnist"
NAMES = listed_members(PREFIX)


def _read(name: str, settings: Any, seed: int, download: bool) -> Dataset:
    from medmnist import INFO

    card = DATASETS[f"{PREFIX}:{name}"]
    place = places.home(card.name, settings.root)
    path = place if place.suffix == ".npz" else place / f"{name}.npz"
    info: dict[str, Any] = INFO[name]
    checksum = f"md5:{info['MD5']}"
    if download:
        fetch = functools.partial(
            downloading.get, info["url"], path, checksum=checksum, size=card.n_bytes
        )
        card.fill(path.parent, fetch, is_there=lambda: downloading.has(path, checksum))
    elif not downloading.has(path, checksum):
        state = (
            "has another checksum than the source's: it is damaged, half fetched, or another file"
            if path.is_file()
            else "is not there"
        )
        raise DataError(
            f"{path} {state}. {card.how_to_get(settings.root)} A npz of your own goes through"
            " load_images."
        )
    parts = read_npz(path)
    names = [str(info["label"][str(code)]) for code in range(len(info["label"]))]
    if name == "chestmnist":
        return _one_label(parts, names, settings.labels)
    return images.checked_images(
        dataclasses.replace(parts, classes=tuple(names), notes=()), name=name
    )


def _one_label(parts: Dataset, names: list[str], how: str) -> Dataset:
    findings = Findings([FINDINGS.get(name, name) for name in names], how)
    sides = [
        findings.of(np.asarray(labels, dtype=bool)) for labels in (parts.y_train, parts.y_test)
    ]
    rows = [
        np.asarray(images)[keep]
        for images, (_, keep) in zip((parts.x_train, parts.x_test), sides, strict=True)
    ]
    single = Dataset(
        "chestmnist",
        rows[0],
        sides[0][0],
        rows[1],
        sides[1][0],
        tuple(findings.classes),
        notes=findings.notes(sum(int((~keep).sum()) for _, keep in sides)),
    )
    return images.checked_images(single, name="chestmnist")


def _card(name: str) -> DatasetCard:
    settings = FindingsSettings if name == "chestmnist" else places.RootSettings
    return card_of(f"{PREFIX}:{name}", functools.partial(_read, name), settings=settings)


def _family(name: str) -> DatasetCard:
    if name.endswith("3d"):
        raise UnknownNameError(
            f"{name!r} holds volumes, not images; the two-dimensional sets are {', '.join(NAMES)}."
        )
    return _card(member_of(PREFIX, name))


DATASETS.register_family(PREFIX, _family)
for _name in ("pneumoniamnist", "dermamnist", "chestmnist", "pathmnist"):
    DATASETS.register(_card(_name))
