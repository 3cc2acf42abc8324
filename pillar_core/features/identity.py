"""Numbers as they are: for tables and for features that were extracted elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np

from pillar_core.errors import DataError, SettingError
from pillar_core.features.cards import BACKBONES, Backbone, Features, Work
from pillar_core.types import Dataset

__all__: list[str] = []


def _run(dataset: Dataset, work: Work) -> Features:
    if work.weights is not None:
        raise SettingError(f"weights must be none for the backbone identity, which has none; got {str(work.weights)!r}.")
    if dataset.is_images:
        raise DataError(f"the backbone identity takes numbers (n, d); {dataset.name!r} holds images. Choose raw_pixels or a network.")
    return _rows(dataset.x_train), None if dataset.x_test is None else _rows(dataset.x_test)


def _rows(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.ascontiguousarray(x, dtype=np.float32)


BACKBONES.register(
    Backbone(
        name="identity",
        title="Identity (numbers as given)",
        source="none",
        licence="none needed",
        width="as the data",
        pretraining="none",
        overlap="none: nothing was pre-trained here",
        run=_run,
    )
)
