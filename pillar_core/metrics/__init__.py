"""Numbers about a classifier's scores, and their interval over seeds."""

from pillar_core.metrics.classification import METRICS, RAREST, Metric, by_class, evaluate, interval, over_runs
