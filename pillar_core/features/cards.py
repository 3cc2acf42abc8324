"""The card of a backbone, the registry of backbones, and extraction with its settings checked."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from pillar_core.params import Param
from pillar_core.registry import Registry
from pillar_core.types import Dataset

Array = np.ndarray[Any, Any]
Features = tuple[Array, Array | None]
DEVICE = Param("device", str, "auto", "Where the backbone runs.", choices=("auto", "cpu", "cuda", "mps"))
BATCH_SIZE = Param("batch_size", int, 64, "Images at a time through the backbone; bounds its memory.", low=1, high=65_536, unit="images")


@dataclasses.dataclass(frozen=True)
class Work:
    """What an extraction may use: a local weights file (None: the backbone's own), a device and a batch size."""

    weights: Path | None = None
    device: str = "auto"
    batch_size: int = 64


@dataclasses.dataclass(frozen=True)
class Backbone:
    """What a backbone is and how it runs: `run(dataset, work)` returns train and test features (n, width) float32.

    `width`, `pretraining` and `overlap` are facts in words; `overlap` warns where private classes may have been seen in
    pre-training. Raise `version` whenever the features change.
    """

    name: str
    title: str
    source: str
    licence: str
    width: str
    pretraining: str
    overlap: str
    run: Callable[[Dataset, Work], Features]
    version: int = 1


BACKBONES: Registry[Backbone] = Registry("backbone")


def extract(dataset: Dataset, *, backbone: str, weights: str | Path | None = None, device: str = "auto", batch_size: int = 64) -> Features:
    """(train, test) features of a dataset, each (n, width) float32 C-contiguous; test is None without test rows.

    Raises:
        UnknownNameError: no such backbone.
        SettingError: device or batch size out of range.
        DataError: rows that the backbone cannot take.
    """
    chosen = BACKBONES[backbone]
    size = BATCH_SIZE.check(batch_size)
    work = Work(None if weights is None else Path(weights), str(DEVICE.check(device)), size if isinstance(size, int) else 1)
    return chosen.run(dataset, work)
