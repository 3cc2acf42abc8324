"""Backbones: images, texts or numbers to features."""

from pillar_core.backbones import (
    built_in,
    columns,
    efficientnet_lite0,
    open_clip_towers,
    own_files,
    scattering,
    self_supervised,
    timm_models,
)
from pillar_core.backbones.cards import BACKBONES, Backbone, revision
from pillar_core.backbones.extraction import extract, forget, is_ready
