"""Numbers about scores (n, C) and labels (n,), within [0, 1] (percent only in pages), and their 95
% intervals over test rows or seeds."""

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from pillar_core.arrays import Array
from pillar_core.errors import DataError
from pillar_core.numerics import half_width, wilson
from pillar_core.registry import Registry
from pillar_core.types import Values

Value = float | list[float | None] | None


@dataclasses.dataclass(frozen=True)
class Metric:
    """A number about scores: its direction, unit, and `function(scores, y)`; None where it is
    undefined."""

    name: str
    title: str
    direction: Literal["higher", "lower"]
    unit: str
    function: Callable[[Array, Array], Value]


METRICS: Registry[Metric] = Registry("metric")
FIGURES = ("accuracy", "balanced_accuracy", "auc")
"""Those that may be asked for, expected and tested."""


def evaluate(scores: Array, y: Array, *, n_classes: int) -> dict[str, Value]:
    """Every registered metric of the scores, by name; a value is None where the rows do not define
    it.

    Args:
        scores: (n, C) finite, higher for likelier classes; ties are predicted as the first class.
        y: (n,) int64 labels in 0 … C − 1.
        n_classes: C, at least 2.

    Raises DataError for shapes that do not fit, labels out of range, or scores that are not finite.
    """
    scores, y = np.asarray(scores), np.asarray(y)
    if n_classes < 2 or scores.shape != (len(y), n_classes) or not len(y):
        raise DataError(
            f"scores must have shape (rows, classes) = ({len(y)}, {n_classes}), with rows and two"
            f" classes; got {scores.shape}."
        )
    if not (y.min() >= 0 and y.max() < n_classes):
        raise DataError(f"labels must lie in 0 … {n_classes - 1}; got {y.min()} … {y.max()}.")
    bad = len(scores) - int(np.isfinite(scores).all(axis=1).sum())
    if bad:
        raise DataError(
            f"scores must be finite; {bad} of {len(scores)} rows are not. Training diverged: lower"
            " the learning rate."
        )
    return {name: metric.function(scores, y) for name, metric in METRICS.items()}


def accuracy(scores: Array, y: Array) -> float:
    """Fraction of rows whose best score is their label's."""
    return float(np.mean(scores.argmax(axis=1) == y))


def error(scores: Array, y: Array) -> float:
    """One minus the accuracy."""
    return 1.0 - accuracy(scores, y)


def recalls(scores: Array, y: Array) -> list[float | None]:
    """Accuracy within each class; None for a class without rows."""
    classes = scores.shape[1]
    rows = np.bincount(y, minlength=classes)
    hits = np.bincount(y[scores.argmax(axis=1) == y], minlength=classes)
    return [float(hit / row) if row else None for hit, row in zip(hits, rows, strict=True)]


def balanced_accuracy(scores: Array, y: Array) -> float:
    """Mean recall over the classes that have rows."""
    present = [value for value in recalls(scores, y) if value is not None]
    return sum(present) / len(present)


def guess(metric: str, n_classes: int) -> float:
    """What guessing among equally likely classes reaches."""
    return 0.5 if metric == "auc" else 1 / n_classes


def auc(scores: Array, y: Array) -> float | None:
    """Macro one-versus-rest area under the ROC curve, ties counted half (Mann & Whitney, 1947);
    None if a class is absent.

    Each row's scores are centred first: what is added to all classes of a row changes no prediction
    and should change no ranking. With two classes both areas are equal, that of the score
    difference (so of the probability of class 1); with probabilities nothing changes.
    """
    sizes = np.bincount(y, minlength=scores.shape[1])
    if not sizes.all():
        return None
    centred = scores - scores.mean(axis=1, dtype=np.float64, keepdims=True)
    columns = np.ascontiguousarray(centred.T, dtype=np.float32)
    return float(np.mean([_area(column, column[y == code]) for code, column in enumerate(columns)]))


def _area(column: Array, positive: Array) -> float:
    """P(positive above negative) + ½ P(tie), from mid-ranks: both lookups count rows of either
    kind."""
    ordered = np.sort(column)
    below = np.searchsorted(ordered, positive, side="left") + np.searchsorted(
        ordered, positive, side="right"
    )
    n_positive = len(positive)
    return float((below.sum() / 2 - n_positive**2 / 2) / (n_positive * (len(column) - n_positive)))


METRICS.register(Metric("accuracy", "Accuracy", "higher", "fraction", accuracy))
METRICS.register(Metric("error", "Error", "lower", "fraction", error))
METRICS.register(
    Metric("balanced_accuracy", "Balanced accuracy", "higher", "fraction", balanced_accuracy)
)
METRICS.register(
    Metric("auc", "Area under the ROC curve (one versus rest)", "higher", "fraction", auc)
)
METRICS.register(Metric("per_class", "Recall per class", "higher", "fraction", recalls))


def interval(values: Sequence[float]) -> tuple[float, float, float]:
    """(mean, low, high): the mean and its two-sided 95 % Student interval over independent seeds.

    One value says nothing about its spread: low and high are then −inf and inf.
    Raises DataError for no values, or values that are not finite.
    """
    numbers = np.asarray(values, dtype=np.float64)
    if not numbers.size or not np.isfinite(numbers).all():
        raise DataError(
            f"an interval needs at least one value, all finite; got {numbers.tolist()}."
        )
    mean = float(numbers.mean())
    if numbers.size == 1:
        return mean, -math.inf, math.inf
    half = half_width(float(numbers.std(ddof=1)), numbers.size)
    return mean, mean - half, mean + half


def over_runs(
    values: Sequence[float], *, low: float = 0.0, high: float = 1.0
) -> tuple[float, float, float]:
    """`interval` of the runs that have a value, its ends cut to [`low`, `high`]: for tables, NaN
    where too few runs say nothing."""
    known = [value for value in values if not math.isnan(value)]
    if not known:
        return math.nan, math.nan, math.nan
    mean, first, last = (
        round(value, 12) for value in interval(known)
    )  # as `plots` does, so that pages agree to the digit
    return (
        (mean, max(first, low), min(last, high)) if len(known) > 1 else (mean, math.nan, math.nan)
    )


RAREST = "Rarest quarter of the classes"
Measure = tuple[float, float, float]
"""Value, low and high; ends are NaN where rows give no interval."""


def by_class(metrics: Values, rows: Sequence[int], classes: Sequence[str]) -> dict[str, Measure]:
    """By title: accuracy, balanced accuracy, AUC, of two classes sensitivity and specificity, of
    more the rarest quarter.

    found: a run's metrics, or {} without test rows. rows: test rows of each class.

    Of a mean of recalls each class's Wilson interval is brought together by the square-and-add rule
    (Zou & Donner 2008), of an AUC the variance is at most A(1 − A)/min(n₀, n₁) (Birnbaum & Klose
    1957): no end passes 0 or 1. The mean of several AUCs, however they hang together, deviates by
    no more than the mean of their deviations, so the rarest class bounds its interval.
    """
    recalls = [
        math.nan if recall is None else float(recall) for recall in metrics.get("per_class") or []
    ]
    if not recalls:
        return {}
    accuracy = float(metrics["accuracy"])
    measures = {
        "Accuracy": (accuracy, *wilson(accuracy, sum(rows))),
        "Balanced accuracy": _mean(recalls, rows, range(len(recalls))),
    }
    if metrics.get("auc") is not None:
        measures["AUC"] = (float(metrics["auc"]), *wilson(metrics["auc"], min(rows)))
    if len(recalls) == 2:
        for name, opposite, recall, count in zip(
            classes, reversed(classes), recalls, rows, strict=True
        ):
            if count:
                measures[f"Sensitivity to {name} (specificity for {opposite})"] = (
                    recall,
                    *wilson(recall, count),
                )
        return measures
    present = sorted(
        (count, label) for label, count in enumerate(rows) if count
    )  # of classes with as many rows the first
    return measures | {
        RAREST: _mean(recalls, rows, [label for _, label in present[: math.ceil(len(present) / 4)]])
    }


def threshold_at(
    p: Array, is_positive: Array, sensitivity: float
) -> tuple[float, Measure, Measure]:
    """(the largest threshold of four digits that finds so large a share of the positive rows, the
    share, the specificity), each share with the 95 % interval of other rows drawn alike.

    The threshold is the k-th highest of n probabilities, so the share of all positive rows above it
    has the law Beta(k, n − k + 1) (David & Nagaraja 2003, 2.1). The other class has no say in it:
    its interval is Wilson's.
    """
    from scipy.stats import beta

    positive = np.sort(p[is_positive])[::-1]
    threshold = (
        math.floor(1e4 * positive[max(math.ceil(sensitivity * len(positive) - 1e-9), 1) - 1]) / 1e4
    )
    count, found = len(positive), int((positive >= threshold).sum())
    low, high = beta.interval(0.95, found, count - found + 1)
    specificity = float((p[~is_positive] < threshold).mean())
    return (
        threshold,
        (found / count, float(low), float(high)),
        (specificity, *wilson(specificity, len(p) - count)),
    )


def _mean(recalls: Sequence[float], rows: Sequence[int], labels: Sequence[int]) -> Measure:
    present = [
        (recalls[label], *wilson(recalls[label], rows[label])) for label in labels if rows[label]
    ]
    mean = math.fsum(recall for recall, _, _ in present) / len(present)
    below = math.sqrt(math.fsum((recall - low) ** 2 for recall, low, _ in present)) / len(present)
    above = math.sqrt(math.fsum((high - recall) ** 2 for recall, _, high in present)) / len(present)
    return mean, mean - below, mean + above
