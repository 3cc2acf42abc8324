"""Backbones: images or numbers to features."""

from pillar_core.features import identity, raw_pixels
from pillar_core.features.cards import BACKBONES, Backbone, extract

__all__ = ["BACKBONES", "Backbone", "extract", "identity", "raw_pixels"]
