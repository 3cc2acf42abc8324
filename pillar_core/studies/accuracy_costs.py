"""What each part of a private training costs in accuracy: features, projection, clipping and steps, sampling, noise.

Every stage is a run of the same split and seed with one part more; a part costs what pairs of equal seed lose by it. All but the last
stage train without noise: nothing here is private.
"""

import math
from collections.abc import Mapping, Sequence

import pandas as pd

from pillar_core import metrics
from pillar_core.methods import METHODS
from pillar_core.params import params_of
from pillar_core.types import Form, RunRecord

TITLES = {
    "features": "Features and head",
    "projection": "Projection to k",
    "clipping": "Clipping and steps",
    "sampling": "Sampling",
    "noise": "Noise",
}
_PROJECTING = ("pillar", "pillar_kalman", "dp_raft_pillar")
"""Learners whose k directions are the public rows' first ones, as those of the stage without noise are."""
_PINNED = ("k", "steps", "learning_rate", "l2_clip_norm", "momentum", "bias", "standardise", "centre", "normalise", "sampling")


def has_parts(method: str) -> bool:
    """Whether a learner of heads clips and adds noise that can be left out."""
    names = set(params_of(METHODS[method].settings))
    return METHODS[method].is_private and {"noise_multiplier", "l2_clip_norm"} <= names and "network" not in names


def stages(record: RunRecord) -> dict[str, Form]:
    """The axes of a sweep for each stage, by the part that it adds; parts that the run lacks are left out.

    The settings are those that the record's rules chose.
    """
    chosen = {name: value for name, value in record.settings.items() if value is not None}
    pinned = {"method": record.method, **{name: chosen[name] for name in _PINNED if name in chosen}}
    batches = {"batch_size": chosen["batch_size"]} if "batch_size" in chosen else {}
    parts: dict[str, Form] = {"features": {"method": "non_private"}}
    if record.method in _PROJECTING and chosen.get("k", record.facts.d) < record.facts.d:
        parts["projection"] = {"method": "non_private", "k": chosen["k"]}
    parts["clipping"] = pinned | {"noise_multiplier": 0.0}
    if batches:
        parts["sampling"] = pinned | batches | {"noise_multiplier": 0.0}
    parts["noise"] = pinned | batches | {"noise_multiplier": chosen["noise_multiplier"]}
    return parts


def accuracy_costs(accuracies: Mapping[str, Sequence[float]]) -> pd.DataFrame:
    """A row a part: columns part, mean, low, high (what it costs, in [−1, 1], with 95 % intervals over seeds), left (mean accuracy), seeds.

    accuracies: of each stage, in order, by seed; the first is compared with 1.
    """
    rows, before = [], [1.0] * len(next(iter(accuracies.values())))
    for part, after in accuracies.items():
        mean, low, high = metrics.interval([previous - accuracy for previous, accuracy in zip(before, after, strict=True)])
        ends = (low, high) if math.isfinite(low) else (math.nan, math.nan)
        rows.append((part, mean, *ends, sum(after) / len(after), len(after)))
        before = list(after)
    return pd.DataFrame(rows, columns=["part", "mean", "low", "high", "left", "seeds"])
