"""PILLAR explorer: semi-private learning, from public data and projections to certified budgets.

>>> import pillar_core as pc
>>> split = pc.split(pc.load_dataset("digits"), public_fraction=0.1)
>>> record = pc.run("pillar", split, epsilon=2.0)
>>> record.guarantee.epsilon.upper <= 2.0
True
"""

from pillar_core import accounting, auditing, geometry, jobs, plots, screening, store, theory
from pillar_core.accounting import ACCOUNTANTS, noise_multiplier
from pillar_core.accounting import epsilon_of_gaussian as epsilon
from pillar_core.backbones import BACKBONES
from pillar_core.data import DATASETS, load_dataset, load_images
from pillar_core.jobs import kinds as kinds  # registers what jobs can do
from pillar_core.jobs.sweep import sweep
from pillar_core.methods import METHODS
from pillar_core.runs import versions
from pillar_core.runs.loading import load_features
from pillar_core.runs.models import load_model, save_model
from pillar_core.runs.run import run
from pillar_core.runs.splitting import split
from pillar_core.screening import SCORES, gsd, screen
from pillar_core.studies import papers
from pillar_core.studies.geometry import margins, xi
from pillar_core.studies.recommend import recommend

from pillar_core.data import features  # isort: skip  # last: the function takes the name of the package `features`

__version__ = versions.VERSION

__all__ = [
    "ACCOUNTANTS",
    "BACKBONES",
    "DATASETS",
    "METHODS",
    "SCORES",
    "accounting",
    "auditing",
    "epsilon",
    "features",
    "geometry",
    "gsd",
    "jobs",
    "load_dataset",
    "load_features",
    "load_images",
    "load_model",
    "margins",
    "noise_multiplier",
    "papers",
    "plots",
    "recommend",
    "run",
    "save_model",
    "screen",
    "screening",
    "split",
    "store",
    "sweep",
    "theory",
    "xi",
]
