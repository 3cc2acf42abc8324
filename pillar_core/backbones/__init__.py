"""Backbones: images, texts or numbers to features."""

from pillar_core.backbones import (
    efficientnet_lite0,
    identity,
    open_clip_towers,
    own_files,
    raw_pixels,
    scattering,
    self_supervised,
    timm_models,
    wordllama,
)
from pillar_core.backbones.cards import BACKBONES, Backbone, revision
from pillar_core.backbones.extraction import extract, forget, is_ready
