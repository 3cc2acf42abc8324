"""Medical images of MedMNIST by name: `medmnist:pneumoniamnist`, `medmnist:dermamnist` …, 28 × 28 pixels as published.

The package medmnist knows checksums and addresses; the npz is read here, without pickle. Validation images are left out: the
split carves its own.
"""

from __future__ import annotations

import dataclasses
import difflib
from typing import Any

import numpy as np

from pillar_core.data import downloading, places
from pillar_core.data.cards import DATASETS, Count, DatasetCard, Facts
from pillar_core.data.images import loading as images
from pillar_core.data.npz import read_npz
from pillar_core.data.parts import Parts
from pillar_core.data.sets.findings import FINDINGS, LABELS, Findings
from pillar_core.errors import DataError, UnknownNameError
from pillar_core.params import setting
from pillar_core.types import Dataset

__all__: list[str] = []

PREFIX = "medmnist"
LICENCE, DERMA_LICENCE = "CC BY 4.0", "CC BY-NC 4.0"
SOURCE = "J. Yang, R. Shi, D. Wei et al.: MedMNIST v2, Scientific Data, 2023"
GREY, COLOUR = Count(784, "28 × 28 pixels"), Count(2_352, "28 × 28 pixels, colour")


def _facts(title: str, *, rows: tuple[str, str], n_classes: int, d: str, size: str, papers: tuple[str, ...] = ()) -> Facts:
    """The facts of one set; papers are those that use the original images."""
    name = title.partition(" ")[0].lower()
    return Facts(
        title,
        f"{SOURCE}; the papers use the original images" if papers else SOURCE,
        DERMA_LICENCE if name == "dermamnist" else LICENCE,
        rows,
        Count(n_classes) if name != "chestmnist" else Count(2, "or 14, setting labels"),
        d,
        size,
        f"{name}.npz from zenodo.org/records/10519652 (MedMNIST).",
        papers,
    )


_ALL = (
    _facts("PneumoniaMNIST (chest x-rays)", rows=(Count(4_708), Count(624)), n_classes=2, d=GREY, size="4 MB", papers=("PILLAR", "GSD")),
    _facts("DermaMNIST (skin lesions, HAM10000)", rows=(Count(7_007), Count(2_005)), n_classes=7, d=COLOUR, size="20 MB", papers=("GSD",)),
    _facts(
        "ChestMNIST (ChestX-ray14)",
        rows=(Count(78_468, "fewer with labels=one"), Count(22_433, "fewer with labels=one")),
        n_classes=14,
        d=GREY,
        size="83 MB",
        papers=("GSD",),
    ),
    _facts("PathMNIST (colon pathology)", rows=(Count(89_996), Count(7_180)), n_classes=9, d=COLOUR, size="206 MB"),
    _facts("OCTMNIST (retinal OCT)", rows=(Count(97_477), Count(1_000)), n_classes=4, d=GREY, size="55 MB"),
    _facts("RetinaMNIST (fundus images)", rows=(Count(1_080), Count(400)), n_classes=5, d=COLOUR, size="3 MB"),
    _facts("BreastMNIST (ultrasound)", rows=(Count(546), Count(156)), n_classes=2, d=GREY, size="1 MB"),
    _facts("BloodMNIST (blood cells)", rows=(Count(11_959), Count(3_421)), n_classes=8, d=COLOUR, size="35 MB"),
    _facts("TissueMNIST (kidney cells)", rows=(Count(165_466), Count(47_280)), n_classes=8, d=GREY, size="125 MB"),
    _facts("OrganAMNIST (abdominal CT, axial)", rows=(Count(34_561), Count(17_778)), n_classes=11, d=GREY, size="38 MB"),
    _facts("OrganCMNIST (abdominal CT, coronal)", rows=(Count(12_975), Count(8_216)), n_classes=11, d=GREY, size="15 MB"),
    _facts("OrganSMNIST (abdominal CT, sagittal)", rows=(Count(13_932), Count(8_827)), n_classes=11, d=GREY, size="16 MB"),
)
FACTS = {facts.title.partition(" ")[0].lower(): facts for facts in _ALL}
LISTED = ("pneumoniamnist", "dermamnist", "chestmnist", "pathmnist")


@dataclasses.dataclass(frozen=True)
class FindingsSettings(places.RootSettings):
    """Where the files are, and how several findings of one image become one label."""

    labels: str = setting(LABELS)


def _read(name: str, settings: Any, seed: int, download: bool) -> Dataset:
    card = DATASETS[f"{PREFIX}:{name}"]
    place = places.home(card.name, settings.root)
    path = place if place.suffix == ".npz" else place / f"{name}.npz"
    info = _info(name)
    checksum = f"md5:{info['MD5']}"
    if download and not downloading.has(path, checksum):
        with places.fetching(card.title, path.parent, card.by_hand):
            if not downloading.has(path, checksum):
                downloading.get(info["url"], path, checksum=checksum, size=card.n_bytes)
    elif not download and not downloading.has(path, checksum):
        what = "has another checksum than the source's: it is damaged, half fetched, or another file" if path.is_file() else "is not there"
        raise DataError(f"{path} {what}. {card.how_to_get(settings.root)} A npz of your own goes through load_images.")
    parts = read_npz(path)
    names = [str(info["label"][str(code)]) for code in range(len(info["label"]))]
    if name == "chestmnist":
        return _one_label(parts, names, settings.labels)
    return images.checked_images(dataclasses.replace(parts, classes=names, notes=()), name=name)


def _one_label(parts: Parts, names: list[str], how: str) -> Dataset:
    findings = Findings([FINDINGS.get(name, name) for name in names], how)
    sides = [findings.of(np.asarray(labels, dtype=bool)) for labels in (parts.y_train, parts.y_test)]
    rows = [np.asarray(images)[keep] for images, (_, keep) in zip((parts.x_train, parts.x_test), sides, strict=True)]
    single = Parts(
        rows[0], sides[0][0], rows[1], sides[1][0], findings.classes, findings.notes(sum(int((~keep).sum()) for _, keep in sides))
    )
    return images.checked_images(single, name="chestmnist")


def _info(name: str) -> dict[str, Any]:
    from medmnist import INFO

    return dict(INFO[name])


def _card(name: str) -> DatasetCard:
    settings = FindingsSettings if name == "chestmnist" else places.RootSettings
    return FACTS[name].card(f"{PREFIX}:{name}", lambda settings, seed, download: _read(name, settings, seed, download), settings=settings)


def _family(name: str) -> DatasetCard:
    member = name.removeprefix(f"{PREFIX}:")
    if member in FACTS:
        return _card(member)
    if member.endswith("3d"):
        raise UnknownNameError(f"{name!r} holds volumes, not images; the two-dimensional sets are {', '.join(FACTS)}.")
    near = difflib.get_close_matches(member.lower(), FACTS, n=3, cutoff=0.5)
    raise UnknownNameError(f"There is no dataset named {name!r}. Known: {', '.join(f'{PREFIX}:{match}' for match in near or FACTS)}.")


DATASETS.register_family(PREFIX, _family)
for _name in LISTED:
    DATASETS.register(_card(_name))
