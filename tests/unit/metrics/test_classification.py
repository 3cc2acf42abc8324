"""Metrics by hand-made cases, their refusals, and the interval over seeds."""

import math

import numpy as np
import pytest
from scipy.stats import binom

from pillar_core.metrics import (
    METRICS,
    RAREST,
    by_class,
    evaluate,
    interval,
    over_runs,
    threshold_at,
)
from pillar_core.numerics import wilson
from users import refuses

SCORES = np.array([[3, 1, 0], [0, 2, 1], [5, 0, 1], [0, 1, 4]], dtype=np.float32)


def test_counts_by_hand_and_of_absent_classes_or_constant_scores():
    found = evaluate(SCORES, np.array([0, 1, 1, 2]), n_classes=3)
    assert found["accuracy"] == 0.75
    assert found["error"] == 0.25
    assert found["per_class"] == [1.0, 0.5, 1.0]
    assert found["balanced_accuracy"] == pytest.approx(2.5 / 3, abs=1e-15)
    assert set(found) == set(METRICS)
    found = evaluate(SCORES, np.array([0, 1, 1, 0]), n_classes=3)
    assert found["auc"] is None
    assert found["per_class"] == [0.5, 0.5, None]
    assert found["balanced_accuracy"] == 0.5
    assert (
        evaluate(np.zeros((6, 2), np.float32), np.array([0, 1, 0, 1, 1, 1]), n_classes=2)["auc"]
        == 0.5
    )
    generator = np.random.default_rng(0)
    scores, y = generator.integers(0, 9, (50, 4)).astype(np.float32), generator.integers(0, 4, 50)
    shifted = scores + generator.integers(-1000, 1000, (50, 1)).astype(np.float32)
    assert evaluate(scores, y, n_classes=4) == evaluate(shifted, y, n_classes=4)


@pytest.mark.parametrize(
    ("scores", "y", "n_classes", "message"),
    [
        (SCORES, [0, 1, 2], 3, "shape"),
        (SCORES, [0, 1, 1, 2], 4, "shape"),
        (SCORES[:0], [], 3, "shape"),
        (SCORES, [0, 1, 3, 2], 3, "0 … 2"),
        (SCORES, [0, 1, -1, 2], 3, "0 … 2"),
        (np.where(SCORES == 5, np.nan, SCORES), [0, 1, 1, 2], 3, "1 of 4 rows"),
        (np.where(SCORES == 5, np.inf, SCORES), [0, 1, 1, 2], 3, "1 of 4 rows"),
    ],
)
def test_bad_scores_are_refused(scores, y, n_classes, message):
    refuses(message, evaluate, scores, np.array(y, dtype=np.int64), n_classes=n_classes)


def test_intervals_have_known_values_and_cover_as_often_as_they_say():
    mean, low, high = interval([1.0, 2.0, 3.0])
    # t with 2 degrees of freedom at 97.5 %: 4.30265 (any table); standard error 1/√3.
    assert mean == 2.0
    assert high - mean == pytest.approx(4.302652729911275 / math.sqrt(3), rel=1e-9)
    assert mean - low == pytest.approx(high - mean, rel=1e-12)
    assert interval([0.5]) == (0.5, -math.inf, math.inf)
    assert interval([0.5, 0.5]) == (0.5, 0.5, 0.5)
    generator = np.random.default_rng(3)
    inside = [
        low <= 0 <= high
        for _, low, high in (interval(generator.standard_normal(5).tolist()) for _ in range(2_000))
    ]
    # Binomial(2000, 0.95): five standard deviations are 0.024. A normal quantile instead of
    # Student's covers 0.878.
    assert abs(np.mean(inside) - 0.95) < 0.024
    assert over_runs([0.99, 1.0, 0.9])[2] == 1.0  # Student's end is 1.099
    assert over_runs([0.01, 0.0, 0.1])[1] == 0.0
    assert over_runs([1.0, 5.0, math.nan], low=-math.inf, high=math.inf)[0] == 3.0
    assert np.isnan(over_runs([0.5])[1:]).all()
    assert np.isnan(over_runs([])).all()


@pytest.mark.parametrize("values", [[], [math.nan], [1.0, math.inf]])
def test_interval_refuses_what_is_not_finite(values):
    refuses("finite", interval, values)


def test_two_classes_have_sensitivity_and_specificity_and_the_rarest_quarter_counts_by_test_rows():
    y = np.array([0] * 40 + [1] * 10)
    says = np.array([0] * 40 + [1] * 8 + [0] * 2)
    found = by_class(evaluate(np.eye(2)[says], y, n_classes=2), [40, 10], ["well", "ill"])
    assert found["Accuracy"][0] == pytest.approx(0.96)
    assert found["Sensitivity to ill (specificity for well)"][0] == pytest.approx(0.8)
    assert found["Sensitivity to well (specificity for ill)"] == (1.0, *wilson(1.0, 40))
    assert found["Balanced accuracy"][0] == pytest.approx(0.9)
    assert found["AUC"] == (pytest.approx(0.9), *wilson(0.9, 10))
    for value, low, high in found.values():
        assert 0 <= low <= value <= high <= 1
        assert low < high
    y = np.repeat(np.arange(5), [50, 3, 30, 2, 20])
    says = np.where(y == 3, 0, y)
    found = by_class(evaluate(np.eye(5)[says], y, n_classes=5), [50, 3, 30, 2, 20], list("abcde"))
    assert found[RAREST][0] == 0.5  # classes 3, of which no row is right, and 1
    assert found["AUC"][1:] == wilson(found["AUC"][0], 2)
    assert by_class({}, [], ["a", "b"]) == {}


def test_the_interval_of_a_balanced_accuracy_covers_as_often_as_it_says():
    generator = np.random.default_rng(5)
    rows, truth = [200, 12], (0.95, 0.7)
    inside = 0
    for _ in range(1_000):
        recalls = [
            generator.binomial(count, share) / count
            for count, share in zip(rows, truth, strict=True)
        ]
        _, low, high = by_class({"per_class": recalls, "accuracy": 0.9}, rows, ["a", "b"])[
            "Balanced accuracy"
        ]
        inside += low <= sum(truth) / 2 <= high
    # Binomial(1000, 0.95): five standard deviations are 0.034.
    assert abs(inside / 1_000 - 0.95) < 0.034


def test_a_threshold_finds_at_least_the_share_that_is_wanted_and_no_larger_one_of_four_digits_does():
    draw = np.random.default_rng(0)
    is_positive = draw.uniform(size=500) < 0.3
    p = np.clip(draw.normal(0.4 + 0.2 * is_positive, 0.15), 0, 1)
    for wanted in (0.5, 0.9, 1.0):
        threshold, sensitivity, specificity = threshold_at(p, is_positive, wanted)
        assert sensitivity[0] == (p[is_positive] >= threshold).mean() >= wanted
        assert specificity[0] == (p[~is_positive] < threshold).mean()
        assert (p[is_positive] >= threshold + 1e-4).mean() < wanted


def test_a_threshold_of_few_rows_says_how_little_it_rests_on():
    """92.6 % were promised on 27 rows, where others had 83.9 %."""
    p = np.r_[np.linspace(0.9, 0.2, 20), np.linspace(0.21, 0.0, 27)]
    is_positive = np.arange(47) < 20
    _, (found, low, high), (right, *ends) = threshold_at(p, is_positive, 0.9)
    assert (found, round(right, 3)) == (0.9, 1.0)
    # The share beyond the 18th of 20 is below x exactly where at least 18 of 20 fall below x.
    assert binom.sf(17, 20, low) == pytest.approx(0.025)
    assert binom.sf(17, 20, high) == pytest.approx(0.975)
    assert tuple(ends) == wilson(1.0, 27)
    assert low < 0.75 < 0.9 < high
