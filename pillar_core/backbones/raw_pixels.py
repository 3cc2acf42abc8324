"""Raw pixels: every channel of every pixel, divided by 255, in one flat row."""

import numpy as np

from pillar_core.arrays import Array
from pillar_core.backbones.cards import BACKBONES, Encoder, card_of


def _flat(images: Array) -> Array:
    """(n, h · w[· 3]) float32 in [0, 1]."""
    rows = images.reshape(len(images), -1).astype(np.float32)
    rows /= np.float32(255)
    return rows


BACKBONES.register(card_of("raw_pixels", open=lambda name, work: Encoder(_flat)))
