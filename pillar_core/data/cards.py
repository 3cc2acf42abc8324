"""The card of a dataset, the registry of cards, and loading by name."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Literal

from pillar_core.errors import SettingError
from pillar_core.params import SEED, checked, params_of
from pillar_core.registry import Registry
from pillar_core.types import Dataset

Kind = Literal["tabular", "images", "generator"]
SPELLINGS = {"n_classes": "C"}


@dataclasses.dataclass(frozen=True)
class NoSettings:
    """The settings of a dataset that has none."""


@dataclasses.dataclass(frozen=True)
class DatasetCard:
    """What a dataset is and how to get it.

    `n_train`, `n_test`, `n_classes` and `d` are facts in words (a generator's depend on its settings). `settings` is a
    dataclass of parameters; `read(settings, seed, download)` returns the rows. Raise `version` whenever the rows change.
    """

    name: str
    title: str
    source: str
    licence: str
    kind: Kind
    n_train: str
    n_test: str
    n_classes: str
    d: str
    read: Callable[[Any, int, bool], Dataset]
    settings: type = NoSettings
    synthetic: bool = False
    version: int = 1

    def load(self, settings: Any = None, *, seed: int = 0, download: bool = False) -> Dataset:
        """The rows under `settings` (defaults where None), which are checked first.

        Raises:
            SettingError: a setting or the seed is out of range.
        """
        chosen = checked(self.settings() if settings is None else settings)
        dataset = self.read(chosen, _checked_seed(seed), download)
        return dataclasses.replace(dataset, name=self.name, title=self.title, synthetic=self.synthetic, version=self.version)


DATASETS: Registry[DatasetCard] = Registry("dataset")


def load_dataset(name: str, *, seed: int = 0, download: bool = False, **settings: Any) -> Dataset:
    """The dataset registered as `name`.

    Args:
        name: a key of `DATASETS`.
        seed: names the random streams: a generator's rows, or the train/test split where the source has none.
        download: whether the network may be used; the embedded sets never need it.
        settings: the generator's own (n, d, C …); `n_classes` is accepted for C.

    Raises:
        UnknownNameError: no such dataset.
        SettingError: a setting that the dataset does not have, or one out of range.
    """
    card = DATASETS[name]
    chosen = {SPELLINGS.get(key, key): value for key, value in settings.items()}
    known = params_of(card.settings)
    unknown = [key for key in chosen if key not in known]
    if unknown:
        valid = f"valid settings: {', '.join(known)}" if known else "it has no settings"
        raise SettingError(f"dataset {name!r} has no setting {', '.join(unknown)}; {valid}.")
    return card.load(card.settings(**chosen), seed=seed, download=download)


def _checked_seed(seed: int) -> int:
    value = SEED.check(seed)
    if not isinstance(value, int):
        raise SettingError("seed must be a whole number of at least 0 for a dataset, so that its rows can be had again; got None.")
    return value
