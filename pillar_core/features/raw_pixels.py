"""Raw pixels: every channel of every pixel, divided by 255, in one flat row."""

from __future__ import annotations

from typing import Any

import numpy as np

from pillar_core.errors import DataError, SettingError
from pillar_core.features.cards import BACKBONES, Backbone, Features, Work
from pillar_core.types import Dataset

__all__: list[str] = []


def _run(dataset: Dataset, work: Work) -> Features:
    if work.weights is not None:
        raise SettingError(f"weights must be none for the backbone raw_pixels, which has none; got {str(work.weights)!r}.")
    if not dataset.is_images:
        raise DataError(f"the backbone raw_pixels takes images; {dataset.name!r} holds numbers (n, d). Choose identity.")
    return _flat(dataset.x_train), None if dataset.x_test is None else _flat(dataset.x_test)


def _flat(images: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """(n, h · w[· 3]) float32 in [0, 1]."""
    rows = images.reshape(len(images), -1).astype(np.float32)
    rows /= np.float32(255)
    return rows


BACKBONES.register(
    Backbone(
        name="raw_pixels",
        title="Raw pixels",
        source="none",
        licence="none needed",
        width="height × width × channels",
        pretraining="none",
        overlap="none: nothing was pre-trained",
        run=_run,
    )
)
