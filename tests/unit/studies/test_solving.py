"""From a target accuracy to ε, k and n: interpolation between measured runs, and no step beyond them."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from pillar_core import accounting
from pillar_core.errors import DataError
from pillar_core.studies import solving

RELATIVE = 1e-12
"""A handful of float64 operations on numbers of order one."""


def runs() -> pd.DataFrame:
    """Accuracy 0.5 + 0.1·log2(ε) + 0.05·log2(k) over ε in 1, 2, 4 and k in 1, 2, 4; seeds at ±0.01 leave the means alone."""
    rows = [
        ("pillar", k, epsilon, seed, 0.5 + 0.1 * math.log2(epsilon) + 0.05 * math.log2(k) + 0.01 * (2 * seed - 1))
        for k in (1, 2, 4)
        for epsilon in (1.0, 2.0, 4.0)
        for seed in (0, 1)
    ]
    return pd.DataFrame([*rows, ("non_private", None, math.inf, 0, 0.99)], columns=["method", "k", "epsilon", "seed", "accuracy"])


def test_epsilon_is_read_between_measured_budgets_at_the_best_k() -> None:
    # At k = 4 accuracy is 0.6 + 0.1·log2 ε, so 0.65 needs ε = √2; at k = 1 it needs 2^1.5.
    assert solving.epsilon_for(runs(), target=0.65).value == pytest.approx(math.sqrt(2), rel=RELATIVE)
    assert solving.epsilon_for(runs(), target=0.65, k=1).value == pytest.approx(2**1.5, rel=RELATIVE)


def test_k_is_read_at_the_largest_measured_budget_within_the_one_asked() -> None:
    # At ε = 2 accuracy is 0.6 + 0.05·log2 k.
    assert solving.k_for(runs(), target=0.625, epsilon=3.9).value == pytest.approx(math.sqrt(2), rel=RELATIVE)
    with pytest.raises(DataError, match=r"ε = 0\.5"):
        solving.k_for(runs(), target=0.6, epsilon=0.5)


def test_n_keeps_the_product_of_mu_and_n() -> None:
    answer = solving.n_for(runs(), target=0.65, epsilon=1.0, delta=1e-5, n_private=1000)
    wanted = 1000 * accounting.mu_of(math.sqrt(2), 1e-5) / accounting.mu_of(1.0, 1e-5)
    assert answer.value == math.ceil(wanted)
    assert answer.value > 1000


def test_the_smallest_measured_value_is_the_answer_where_it_already_reaches_the_target() -> None:
    assert solving.epsilon_for(runs(), target=0.3).value == 1.0
    assert solving.k_for(runs(), target=0.3, epsilon=1.0).value == 1.0


def test_nothing_is_extrapolated() -> None:
    answer = solving.epsilon_for(runs(), target=0.9)
    assert answer.value is None
    assert (answer.best, answer.best_at) == (pytest.approx(0.8, rel=RELATIVE), 4.0)
    assert solving.n_for(runs(), target=0.9, epsilon=1.0, delta=1e-5, n_private=1000).value is None


def test_without_runs_there_is_no_answer() -> None:
    with pytest.raises(DataError, match="measure the curves"):
        solving.epsilon_for(runs().iloc[:0], target=0.5)
    with pytest.raises(DataError, match="measure the curves"):
        solving.epsilon_for(runs(), target=0.5, method="jl")
