"""Numbers about a classifier's scores, and their interval over seeds."""

from pillar_core.metrics.classes import RAREST, by_class
from pillar_core.metrics.classification import METRICS, Metric, evaluate
from pillar_core.metrics.intervals import interval, over_runs
