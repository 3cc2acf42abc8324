"""What a run's recalls say of two classes and of rare ones, each number with its 95 % interval over the test rows, within [0, 1]."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from pillar_core.numerics import wilson

RAREST = "Rarest quarter of the classes"
Measure = tuple[float, float, float]
"""Value, low and high; ends are NaN where rows give no interval."""


def by_class(found: Mapping[str, Any], rows: Sequence[int], classes: Sequence[str]) -> dict[str, Measure]:
    """By title: accuracy, balanced accuracy, AUC, of two classes sensitivity and specificity, of more the rarest quarter.

    found: a run's metrics, or {} without test rows. rows: test rows of each class.

    Of a mean of recalls each class's Wilson interval is brought together by the square-and-add rule (Zou & Donner 2008), of an AUC the
    variance is at most A(1 − A)/min(n₀, n₁) (Birnbaum & Klose 1957): no end passes 0 or 1.
    """
    recalls = [math.nan if recall is None else float(recall) for recall in found.get("per_class") or []]
    if not recalls:
        return {}
    accuracy = float(found["accuracy"])
    measures = {"Accuracy": (accuracy, *wilson(accuracy, sum(rows))), "Balanced accuracy": _mean(recalls, rows, range(len(recalls)))}
    if found.get("auc") is not None:
        ends = wilson(found["auc"], min(rows)) if len(rows) == 2 else (math.nan, math.nan)
        measures["AUC"] = (float(found["auc"]), *ends)
    if len(recalls) == 2:
        for name, other, recall, count in zip(classes, reversed(classes), recalls, rows, strict=True):
            if count:
                measures[f"Sensitivity to {name} (specificity for {other})"] = (recall, *wilson(recall, count))
        return measures
    return measures | {RAREST: _mean(recalls, rows, _rarest(rows))}


def _rarest(rows: Sequence[int]) -> list[int]:
    """The quarter of the classes (at least one) with the fewest rows, among those that have any; of equals the first."""
    present = sorted((count, label) for label, count in enumerate(rows) if count)
    return [label for _, label in present[: math.ceil(len(present) / 4)]]


def _mean(recalls: Sequence[float], rows: Sequence[int], labels: Sequence[int]) -> Measure:
    present = [(recalls[label], *wilson(recalls[label], rows[label])) for label in labels if rows[label]]
    mean = math.fsum(recall for recall, _, _ in present) / len(present)
    below = math.sqrt(math.fsum((recall - low) ** 2 for recall, low, _ in present)) / len(present)
    above = math.sqrt(math.fsum((high - recall) ** 2 for recall, _, high in present)) / len(present)
    return mean, mean - below, mean + above
