"""Raw pixels: every channel of every pixel, divided by 255, in one flat row."""

from __future__ import annotations

import numpy as np

from pillar_core.arrays import Array
from pillar_core.backbones.cards import BACKBONES, NO_OVERLAP, Backbone, Encoder, Work

__all__: list[str] = []


def _flat(images: Array) -> Array:
    """(n, h · w[· 3]) float32 in [0, 1]."""
    rows = images.reshape(len(images), -1).astype(np.float32)
    rows /= np.float32(255)
    return rows


def _open(name: str, work: Work) -> Encoder:
    return Encoder(_flat)


BACKBONES.register(
    Backbone(
        name="raw_pixels",
        title="Raw pixels",
        source="none",
        licence="none needed",
        width="height × width × channels",
        pretraining="none",
        overlap=NO_OVERLAP,
        open=_open,
        is_kept=False,
    )
)
