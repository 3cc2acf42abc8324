"""Numbers about a classifier's scores, and their interval over seeds."""

from pillar_core.metrics.boost import performance_boost
from pillar_core.metrics.classification import METRICS, Metric, evaluate
from pillar_core.metrics.intervals import interval

__all__ = ["METRICS", "Metric", "evaluate", "interval", "performance_boost"]
