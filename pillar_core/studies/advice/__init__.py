"""Which learner and which public set, and what accuracy to expect: from public facts alone, or paid for on private rows."""

from pillar_core.studies.advice.choice import Choice, choose
from pillar_core.studies.advice.free import Advice, Prediction, advise

__all__ = ["Advice", "Choice", "Prediction", "advise", "choose"]
