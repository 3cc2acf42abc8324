"""Datasets, generators and the user's own data, checked."""

# The order of registration is the order of every list: real sets, those that come along first, then
# generators. isort: off
# isort: on
from pillar_core.data.arrays import checked_features, features
from pillar_core.data.cards import DATASETS, DatasetCard, NoSettings, load_dataset
from pillar_core.data.generators import disjunctions, drawn, gaussian_mixture, spiked_features
from pillar_core.data.images.loading import checked_images, load_candidate, read_images
from pillar_core.data.matching import duplicates
from pillar_core.data.places import forget, state_of
from pillar_core.data.reading import load, load_images, read_rows
from pillar_core.data.sets import embedded
