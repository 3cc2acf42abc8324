"""Which learner and which public set, and what accuracy to expect: from public facts alone, or paid
for on private rows."""

from pillar_core.studies.advice.choice import Choice, choose
from pillar_core.studies.advice.free import Advice, advise
from pillar_core.studies.advice.prediction import Prediction

__all__ = ["Advice", "Choice", "Prediction", "advise", "choose"]
