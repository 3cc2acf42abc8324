"""20 newsgroups: posts of 1993 by group, split by date; the tar file that scikit-learn fetches,
too, read without its pickled copy.

A post is what follows its headers, which name the group. Quotes and signatures stay, and both may
name people.
"""

import dataclasses
import tarfile
from pathlib import PurePosixPath

import numpy as np

from pillar_core.data import downloading, places
from pillar_core.data.cards import DATASETS, card_of
from pillar_core.data.places import RootSettings
from pillar_core.data.sets.embedded import encode_texts
from pillar_core.data.sets.listed_sets import FILES
from pillar_core.errors import DataError
from pillar_core.registry import toml_tables
from pillar_core.types import Dataset

NAME, ARCHIVE = "20newsgroups", "20news-bydate.tar.gz"


def _read(settings: RootSettings, seed: int, download: bool) -> Dataset:
    place, card, facts = places.home(NAME, settings.root), DATASETS[NAME], toml_tables(FILES)[NAME]
    path = place if place.is_file() else place / ARCHIVE
    if download:

        def get() -> None:
            downloading.get(facts["address"], path, checksum=facts["checksum"], size=card.n_bytes)

        card.fill(place, get, is_there=path.is_file)
    if not path.is_file():
        raise DataError(f"{place} lacks {ARCHIVE}. {card.how_to_get(settings.root)}")
    sides: dict[str, list[tuple[str, str]]] = {"train": [], "test": []}
    with places.readable(path), tarfile.open(path) as archive:
        for member in archive:
            folder, group = PurePosixPath(member.name).parts[-3:-1] if member.isfile() else ("", "")
            side = folder.rpartition("-")[2]
            if side in sides and (file := archive.extractfile(member)) is not None:
                sides[side].append(
                    (
                        group,
                        file.read().decode("latin-1").replace("\r\n", "\n").partition("\n\n")[2],
                    )
                )
    if not all(sides.values()):
        raise DataError(
            f"{path} holds no posts below folders of train and test rows: it is another file."
        )
    posts = sides["train"] + sides["test"]
    groups, texts = zip(*posts, strict=True)
    rows, n_train = encode_texts(NAME, texts, groups), len(sides["train"])
    x, y = rows.x_train, np.asarray(rows.y_train)
    return dataclasses.replace(
        rows, x_train=x[:n_train], y_train=y[:n_train], x_test=x[n_train:], y_test=y[n_train:]
    )


DATASETS.register(card_of(NAME, _read))
