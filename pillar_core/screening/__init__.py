"""Screening public data: how near are candidate sets to a private one, what does finding out cost,
and how sure is it?

>>> sets = [pc.load_dataset("drawn_digits"), pc.load_dataset("drawn_shapes")]
>>> len(pc.screening.mixture(sets, name="both", size=10).x_train) > 0
True
"""

from pillar_core import checks
from pillar_core.screening.batches import mixture
from pillar_core.screening.gsd import gsd
from pillar_core.screening.inspection import (
    angles,
    order_kept,
    over_training,
    pairwise,
    reconstruction,
    spectra,
)
from pillar_core.screening.models import MODELS, GradientModel
from pillar_core.screening.ranking import interval
from pillar_core.screening.rivals import bures_wasserstein, otdd, task2vec_distance
from pillar_core.screening.scores import SCORES, Need, Score
from pillar_core.screening.screen import screen
from pillar_core.screening.trim import Trimmed, trim

__all__ = checks.guarded_names(__name__)
