"""The mean of the vectors of a text's tokens, as `pillar_core.texts` makes it: for columns and lists of texts, without a device."""

from pillar_core import texts
from pillar_core.backbones.cards import BACKBONES, Encoder, card_of

BACKBONES.register(card_of(texts.NAME, sha256=texts.SHA256[texts.WEIGHTS], open=lambda name, work: Encoder(texts.encode)))
