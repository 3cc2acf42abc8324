"""Which learner and which public set, and what accuracy to expect: from public facts, public rows and measured errors alone."""

from pillar_core.studies.advice.free import Advice, Prediction, advise

__all__ = ["Advice", "Prediction", "advise"]
