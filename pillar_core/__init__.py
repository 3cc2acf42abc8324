"""PILLAR explorer: semi-private learning, from public data and projections to certified budgets.

>>> import pillar_core as pc
>>> split = pc.split(pc.load_dataset("digits"), public_fraction=0.1)
>>> record = pc.run("pillar", split, epsilon=2.0)
>>> record.guarantee.epsilon.upper <= 2.0
True

Names are resolved when they are first used (PEP 562): what needs no torch imports none.
"""

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pillar_core import accounting, auditing, geometry, jobs, plots, screening, store, theory
    from pillar_core.accounting import ACCOUNTANTS, noise_multiplier
    from pillar_core.accounting import epsilon_of_gaussian as epsilon
    from pillar_core.backbones import BACKBONES
    from pillar_core.data import DATASETS, features, load_dataset, load_images
    from pillar_core.jobs.sweep import sweep
    from pillar_core.methods import METHODS
    from pillar_core.runs.loaded import load_model
    from pillar_core.runs.loading import load_features
    from pillar_core.runs.models import save_model
    from pillar_core.runs.run import run
    from pillar_core.runs.splitting import split
    from pillar_core.runs.statement import statement
    from pillar_core.screening import SCORES
    from pillar_core.screening.gsd import gsd
    from pillar_core.screening.screen import screen
    from pillar_core.studies import papers
    from pillar_core.studies.advice import advise, choose
    from pillar_core.studies.check import check_run
    from pillar_core.studies.estimator import PrivateClassifier
    from pillar_core.studies.geometry import margins, xi
    from pillar_core.studies.private_test import private_test

    __version__: str


_NAMES = {
    "accounting": "ACCOUNTANTS noise_multiplier",
    "backbones": "BACKBONES",
    "data": "DATASETS features load_dataset load_images",
    "jobs.sweep": "sweep",
    "methods": "METHODS",
    "runs.loading": "load_features",
    "runs.loaded": "load_model",
    "runs.models": "save_model",
    "runs.run": "run",
    "runs.splitting": "split",
    "runs.statement": "statement",
    "screening": "SCORES gsd screen",
    "studies.advice": "advise choose",
    "studies.check": "check_run",
    "studies.estimator": "PrivateClassifier",
    "studies.geometry": "margins xi",
    "studies.private_test": "private_test",
}
_PLACES = {
    **{name: (module, name) for module, names in _NAMES.items() for name in names.split()},
    **{
        name: (name, "")
        for name in (
            "accounting",
            "auditing",
            "geometry",
            "jobs",
            "plots",
            "screening",
            "store",
            "theory",
        )
    },
    "epsilon": ("accounting", "epsilon_of_gaussian"),
    "papers": ("studies.papers", ""),
    "__version__": ("runs.versions", "VERSION"),
}
"""The module of each public name, and what it is called there; empty for the module itself."""
__all__ = sorted(_PLACES.keys() - {"__version__"})


logging.getLogger(__name__).addHandler(logging.NullHandler())  # silent unless a program listens


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module 'pillar_core' has no attribute {name!r}")
    from pillar_core.checks import guarded
    from pillar_core.deferred import import_whole

    module, attribute = _PLACES[name]
    source = import_whole(f"pillar_core.{module}")
    globals()[name] = value = (
        guarded(getattr(source, attribute), __name__, name) if attribute else source
    )
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_PLACES})
