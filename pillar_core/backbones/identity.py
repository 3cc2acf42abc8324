"""Numbers as they are: for tables and for features that were extracted elsewhere."""

from __future__ import annotations

import numpy as np

from pillar_core.arrays import Array
from pillar_core.backbones.cards import BACKBONES, NO_OVERLAP, Backbone, Encoder, Work

__all__: list[str] = []


def _rows(x: Array) -> Array:
    return np.ascontiguousarray(x, dtype=np.float32)


def _open(name: str, work: Work) -> Encoder:
    return Encoder(_rows)


BACKBONES.register(
    Backbone(
        name="identity",
        title="Identity (numbers as given)",
        source="none",
        licence="none needed",
        width="as the data",
        pretraining="none",
        overlap=NO_OVERLAP,
        open=_open,
        takes="numbers",
        is_kept=False,
    )
)
