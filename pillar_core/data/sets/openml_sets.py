"""Tables of OpenML by name or number: `openml:guillermo`, `openml:riccardo`, `openml:41159` …

scikit-learn fetches them and compares checksums; a fetched table lies in the same place, in its
cache. By hand: the csv or parquet file of the table. OpenML has no test rows: a stratified fifth is
set apart, by the seed.
"""

import dataclasses
import functools
import gzip
import json
import re
import shutil
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from pillar_core.data import arrays, downloading, places, raw
from pillar_core.data.cards import DATASETS, DatasetCard, card_of
from pillar_core.data.frames import frame_of
from pillar_core.data.partition import SET_APART, with_test_rows, without_drawn_test
from pillar_core.data.places import RootSettings
from pillar_core.data.tables import numbers_of
from pillar_core.errors import DataError, UnknownNameError
from pillar_core.types import Dataset, FeatureSet

PREFIX = "openml"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.()\-]{0,127}")
NUMBERS = {"guillermo": 41159, "riccardo": 41161}
ENDINGS = (".csv", ".parquet")


def _read(table: str, settings: RootSettings, seed: int, download: bool) -> Dataset:
    card = DATASETS[f"{PREFIX}:{table}"]
    place = places.home(card.name, settings.root)
    candidates = [place, *(place / f"{table}{ending}" for ending in ENDINGS)]
    path = next(
        (path for path in candidates if path.is_file() and path.suffix.lower() in ENDINGS), None
    )
    if path is not None:
        with places.readable(path):
            rows = _from_file(path)
    else:
        number = _cached_number(place, table)
        if number is None and not download:
            raise DataError(
                f"{place} holds neither {table}.csv or .parquet nor a fetched copy."
                f" {card.how_to_get(settings.root)}"
            )
        if number is None:
            card.fill(
                place,
                lambda: _fetch(place, table),
                is_there=lambda: _cached_number(place, table) is not None,
            )
            number = _cached_number(place, table)
        with places.readable(place):
            rows = _from_frame(_fetch(place, table if number is None else str(number)))
    sides = (rows.x_train, rows.y_train, rows.x_test, rows.y_test)
    return with_test_rows(Dataset(table, *sides, rows.classes, notes=rows.notes), seed=seed)


def _from_file(path: Path) -> FeatureSet:
    table = raw.plain_features(frame_of(path, path.suffix.lower()), name="table")
    notes = tuple(note for note in table.notes if note != SET_APART)
    return dataclasses.replace(without_drawn_test(table), notes=notes)


def _fetch(place: Path, table: str) -> Any:
    """scikit-learn's bunch; from its cache below `place` where it lies there."""
    from sklearn.datasets import fetch_openml

    number = int(table) if table.isdecimal() else NUMBERS.get(table)
    chosen = {"name": table} if number is None else {"data_id": number}
    try:
        with warnings.catch_warnings(), downloading.for_openml(place):
            warnings.filterwarnings("ignore", "Invalid cache")  # what it takes a broken line for
            return fetch_openml(
                **chosen, data_home=str(place), as_frame=True, parser="pandas", n_retries=1
            )
    except (
        ValueError
    ):  # a checksum that differs, or what is no table: reading it again would fetch it again
        shutil.rmtree(place / "openml", ignore_errors=True)
        raise


def _from_frame(bunch: Any) -> FeatureSet:
    if bunch.target is None:
        raise DataError("this table of OpenML names no label column.")
    frame, labels = bunch.data, np.asarray(bunch.target.astype(str).str.strip('"' + "'"), dtype=str)
    frame.columns = [str(column) for column in frame.columns]
    return arrays.features(numbers_of(frame, list(frame.columns)), labels)


def _cached_number(place: Path, table: str) -> int | None:
    """The number of the table, if every file that reading it needs lies in scikit-learn's cache;
    else None, so no network is touched."""
    number = int(table) if table.isdecimal() else NUMBERS.get(table)
    host = place / "openml" / "openml.org"
    api = host / "api" / "v1" / "json" / "data"
    try:
        if number is None:
            listing = _json(next((api / "list" / "data_name" / table.lower()).rglob("*.gz")))
            number = int(listing["data"]["dataset"][0]["did"])
        url = str(_json(api / f"{number}.gz")["data_set_description"]["url"])
    except (OSError, ValueError, KeyError, IndexError, StopIteration, EOFError):
        return None
    rows = host / (url.split("://")[-1].partition("/")[2] + ".gz")
    needed = (api / "features" / f"{number}.gz", api / "qualities" / f"{number}.gz", rows)
    return number if all(path.is_file() for path in needed) else None


def _json(path: Path) -> Any:
    return json.loads(gzip.decompress(path.read_bytes()))


def _card(table: str) -> DatasetCard:
    return card_of(f"{PREFIX}:{table}", functools.partial(_read, table))


def _family(name: str) -> DatasetCard:
    table = name.removeprefix(f"{PREFIX}:")
    if not NAME.fullmatch(table) or ".." in table:
        raise UnknownNameError(
            f"an OpenML table is called by its name or number, such as {PREFIX}:guillermo or"
            f" {PREFIX}:41159; got {name!r}."
        )
    return _card(table)


DATASETS.register_family(PREFIX, _family)
for _name in NUMBERS:
    DATASETS.register(_card(_name))
