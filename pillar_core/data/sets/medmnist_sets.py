"""Medical images of MedMNIST by name: `medmnist:pneumoniamnist`, `medmnist:dermamnist` …, 28 × 28 pixels as published.

The package medmnist knows checksums and addresses; the npz is read here, without pickle. Validation images are left out: the
split carves its own.
"""

from __future__ import annotations

import dataclasses
import difflib
import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from pillar_core.data import places
from pillar_core.data.cards import DATASETS, Count, DatasetCard
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


@dataclasses.dataclass(frozen=True)
class Facts:
    """Title, train and test rows, classes, whether in colour, size of the npz, and papers that use the original images."""

    title: str
    rows: tuple[str, str]
    n_classes: int
    is_colour: bool
    size: str
    papers: tuple[str, ...] = ()


FACTS = {
    "pneumoniamnist": Facts("PneumoniaMNIST (chest x-rays)", (Count(4_708), Count(624)), 2, False, "4 MB", ("PILLAR", "GSD")),
    "dermamnist": Facts("DermaMNIST (skin lesions, HAM10000)", (Count(7_007), Count(2_005)), 7, True, "20 MB", ("GSD",)),
    "chestmnist": Facts(
        "ChestMNIST (ChestX-ray14)",
        (Count(78_468, "fewer with labels=one"), Count(22_433, "fewer with labels=one")),
        14,
        False,
        "83 MB",
        ("GSD",),
    ),
    "pathmnist": Facts("PathMNIST (colon pathology)", (Count(89_996), Count(7_180)), 9, True, "206 MB"),
    "octmnist": Facts("OCTMNIST (retinal OCT)", (Count(97_477), Count(1_000)), 4, False, "55 MB"),
    "retinamnist": Facts("RetinaMNIST (fundus images)", (Count(1_080), Count(400)), 5, True, "3 MB"),
    "breastmnist": Facts("BreastMNIST (ultrasound)", (Count(546), Count(156)), 2, False, "1 MB"),
    "bloodmnist": Facts("BloodMNIST (blood cells)", (Count(11_959), Count(3_421)), 8, True, "35 MB"),
    "tissuemnist": Facts("TissueMNIST (kidney cells)", (Count(165_466), Count(47_280)), 8, False, "125 MB"),
    "organamnist": Facts("OrganAMNIST (abdominal CT, axial)", (Count(34_561), Count(17_778)), 11, False, "38 MB"),
    "organcmnist": Facts("OrganCMNIST (abdominal CT, coronal)", (Count(12_975), Count(8_216)), 11, False, "15 MB"),
    "organsmnist": Facts("OrganSMNIST (abdominal CT, sagittal)", (Count(13_932), Count(8_827)), 11, False, "16 MB"),
}
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
    is_whole = path.is_file() and _md5(path) == info["MD5"]
    if not is_whole and download:
        with places.fetching(card.title, path.parent, card.by_hand):
            from torchvision.datasets.utils import download_url

            download_url(info["url"], str(path.parent), filename=path.name, md5=info["MD5"])
    elif not is_whole:
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


def _md5(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def _card(name: str) -> DatasetCard:
    facts = FACTS[name]
    return DatasetCard(
        name=f"{PREFIX}:{name}",
        title=facts.title,
        source=f"{SOURCE}; the papers use the original images" if facts.papers else SOURCE,
        licence=DERMA_LICENCE if name == "dermamnist" else LICENCE,
        kind="images",
        n_train=facts.rows[0],
        n_test=facts.rows[1],
        n_classes=Count(facts.n_classes) if name != "chestmnist" else Count(2, "or 14, setting labels"),
        d=Count(2_352, "28 × 28 pixels, colour") if facts.is_colour else Count(784, "28 × 28 pixels"),
        read=lambda settings, seed, download: _read(name, settings, seed, download),
        settings=FindingsSettings if name == "chestmnist" else places.RootSettings,
        papers=facts.papers,
        size=facts.size,
        by_hand=f"{name}.npz from zenodo.org/records/10519652 (MedMNIST).",
        can_fetch=True,
    )


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
