"""Subspaces of gradients: per-example rows, their top directions, and the angles between two such spaces."""

from pillar_core.subspace.anchors import anchor_coefficients, rank_one_gram
from pillar_core.subspace.directions import (
    GRAM_PARAMETERS,
    LARGEST_CHUNK,
    Directions,
    cosines,
    gradient_chunks,
    gram,
    projection_distance,
    random_distance,
    singular_values,
    streamed_directions,
    top_directions,
)
