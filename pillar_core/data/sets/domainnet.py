"""DomainNet: 345 kinds of objects in six domains; one domain is one data set, so that one can be private and another public."""

from __future__ import annotations

import dataclasses

from pillar_core.data.cards import DATASETS, Count, DatasetCard
from pillar_core.data.images.folders import Layout
from pillar_core.data.images.tree import Entry, Tree
from pillar_core.data.places import RootSettings
from pillar_core.data.sets.listed_sets import PHOTOGRAPHS, reader
from pillar_core.errors import DataError
from pillar_core.params import Param, setting

__all__: list[str] = []

DOMAINS = ("clipart", "infograph", "painting", "quickdraw", "real", "sketch")


@dataclasses.dataclass(frozen=True)
class DomainNetSettings(RootSettings):
    """Where the files are, and which domain."""

    domain: str = setting(Param("domain", str, "painting", "Which of the six domains.", choices=DOMAINS))


def _arranged(files: Tree, settings: DomainNetSettings) -> Layout:
    entries, names = [], {}
    for in_test, name in ((False, f"{settings.domain}_train.txt"), (True, f"{settings.domain}_test.txt")):
        for line in files.lines(name):
            path, _, code = line.rpartition(" ")
            parts = path.split("/")
            if len(parts) != 3 or not code.isdecimal():
                raise DataError(f"{name} must hold lines such as painting/aircraft_carrier/painting_001_000106.jpg 0; got {line[:80]!r}.")
            names[int(code)] = parts[1]
            entries.append(Entry("/".join(parts[1:]), parts[1], in_test))
    classes = tuple(names[code] for code in sorted(names))
    return files.layout(entries, below=settings.domain, classes=classes, notes=(f"The domain {settings.domain!r}.",))


DATASETS.register(
    DatasetCard(
        name="domainnet",
        title="DomainNet (one domain)",
        source="X. Peng, Q. Bai, X. Xia, Z. Huang, K. Saenko, B. Wang: ICCV 2019",
        licence="fair use; non-commercial research",
        kind="images",
        n_train=Count(50_416, "paintings; setting domain"),
        n_test=Count(21_850, "paintings; setting domain"),
        n_classes=Count(345),
        d=PHOTOGRAPHS,
        read=reader("domainnet", _arranged),
        settings=DomainNetSettings,
        papers=("AdaMix",),
        size="0.4 to 5.6 GB a domain",
        by_hand="the zip of a domain (unpacked) and its two lists, such as painting_train.txt and painting_test.txt, from ai.bu.edu/M3SDA.",
    )
)
