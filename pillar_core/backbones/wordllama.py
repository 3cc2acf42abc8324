"""Encoders of texts, as `pillar_core.texts` makes them: for columns and lists of texts, without a device."""

import numpy as np

from pillar_core import texts
from pillar_core.arrays import Array
from pillar_core.backbones.cards import BACKBONES, Backbone, Encoder, card_of

BACKBONES.register(card_of(texts.NAME, sha256=texts.SHA256[texts.WEIGHTS], open=lambda name, work: Encoder(texts.encode)))


def _card(name: str) -> Backbone:
    def encode(rows: Array) -> Array:
        return np.concatenate(list(texts.blocks(rows, texts.identity_of(name, network=True))))

    return card_of(name, open=lambda name, work: Encoder(encode))


BACKBONES.register_family(texts.FAMILY, _card, linkable=lambda name: False)
