"""The real data sets, those that come with the library first: importing one registers its cards.

The order of the imports is the order of every list: embedded ones, well-known images, medical
images, fine-grained classes, tables, hubs.
"""

# isort: off
from pillar_core.data.sets import embedded
from pillar_core.data.sets import torchvision_sets
from pillar_core.data.sets import kindred_sets
from pillar_core.data.sets import medmnist_sets
from pillar_core.data.sets import medical_sets
from pillar_core.data.sets import fine_grained_sets
from pillar_core.data.sets import newsgroups
from pillar_core.data.sets import openml_sets
from pillar_core.data.sets import hub_sets

# isort: on
