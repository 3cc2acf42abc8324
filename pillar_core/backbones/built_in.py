"""What needs no weights of its own: numbers as they are, the pixels of images, and texts as
`pillar_core.texts` makes them numbers."""

import numpy as np

from pillar_core import texts
from pillar_core.arrays import Array
from pillar_core.backbones.cards import BACKBONES, Backbone, Encoder, Work, card_of


def as_numbers(name: str, work: Work) -> Encoder:
    """Opens what leaves numbers as they are."""
    return Encoder(lambda x: np.ascontiguousarray(x, dtype=np.float32))


BACKBONES.register(card_of("identity", open=as_numbers))


def _flat(images: Array) -> Array:
    """(n, h · w[· 3]) float32 in [0, 1]."""
    rows = images.reshape(len(images), -1).astype(np.float32)
    rows /= np.float32(255)
    return rows


BACKBONES.register(card_of("raw_pixels", open=lambda name, work: Encoder(_flat)))


def _of_texts(name: str, sha256: str = "") -> Backbone:
    def encode(rows: Array) -> Array:
        return texts.encode(rows, texts.identity_of(name, network=True))

    return card_of(
        name,
        sha256=sha256,
        open=lambda name, work: Encoder(encode),
        is_kept=name != texts.NAME,  # whose means are sooner made than read
    )


for _name, _identity in texts.OWN.items():
    BACKBONES.register(_of_texts(_name, _identity["sha256"]))
BACKBONES.register_family(texts.FAMILY, _of_texts, linkable=lambda name: False)
