"""Subspaces of gradients: per-example rows, their top directions, and the angles between two such spaces."""

from pillar_core.subspace.anchors import anchor_coefficients, rank_one_gram
from pillar_core.subspace.angles import cosines, projection_distance, random_distance
from pillar_core.subspace.directions import GRAM_PARAMETERS, Directions, gram, singular_values, streamed_directions, top_directions
from pillar_core.subspace.per_example import LARGEST_CHUNK, gradient_chunks
