"""Audits against another project's numbers: one-run and f-DP bounds, Clopper–Pearson, areas; and the price of tuning."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pillar_core import accounting, ledger
from pillar_core.auditing import hypothesis_test, membership, one_run

TOLERANCE = 1e-6
"""Both sides bisect; theirs stops near 1e-9 in ε and ours in μ, whose ε slope is below 10."""


@pytest.fixture(scope="module")
def oracle(shared: Path) -> dict[str, Any]:
    return json.loads((shared / "oracles" / "auditing.json").read_text())


@pytest.fixture(scope="module")
def scores() -> tuple[np.ndarray, np.ndarray]:
    """The oracle's own sample, by its own seed."""
    generator = np.random.default_rng(0)
    return generator.normal(1, 1, 400).round(6), generator.normal(0, 1, 400).round(6)


def counts(row: dict[str, Any]) -> dict[str, Any]:
    return {"canaries": row["m"], "guesses": row["guesses"], "correct": row["correct"]}


def test_one_run(oracle: dict[str, Any]) -> None:
    for row in oracle["one_run"]:
        found = one_run.epsilon_lower_bound(**counts(row), delta=row["delta"], significance=row["significance"])
        assert found == pytest.approx(row["eps"], abs=TOLERANCE)
        assert one_run.p_value(1.0, **counts(row), delta=row["delta"]) == pytest.approx(row["p_value_at_eps1"], rel=1e-6)


def test_one_run_fdp(oracle: dict[str, Any]) -> None:
    for row in oracle["one_run_fdp"]:
        found = one_run.epsilon_lower_bound_fdp(**counts(row), delta=row["delta"], significance=row["significance"])
        assert found == pytest.approx(row["eps"], rel=1e-5)


def test_areas(oracle: dict[str, Any], scores: tuple[np.ndarray, np.ndarray]) -> None:
    for row in oracle["auroc"]:
        inside, outside = np.array(row["in_scores"]), np.array(row["out_scores"])
        assert membership.hull_auc(inside, outside) == pytest.approx(row["pareto_frontier_auroc"], abs=1e-12)
    assert membership.hull_auc(*scores) == pytest.approx(oracle["auroc_dataset"], abs=1e-12)
    assert membership.auc(*scores) == pytest.approx(oracle["sklearn_auc_dataset"], abs=1e-12)


def test_rates_at_low_false_positive_rates(oracle: dict[str, Any], scores: tuple[np.ndarray, np.ndarray]) -> None:
    fpr, tpr = membership.hull(*scores)
    assert np.interp([0.01, 0.1], fpr, tpr) == pytest.approx(oracle["tpr_at_fpr_0.01_0.1"], abs=1e-12)


def test_clopper_pearson_at_a_threshold_fixed_beforehand(oracle: dict[str, Any], scores: tuple[np.ndarray, np.ndarray]) -> None:
    row = next(row for row in oracle["clopper_pearson"] if row["threshold"] == 1.0)
    found, _ = hypothesis_test.epsilon_from_thresholds(*scores, thresholds=[1.0], delta=row["delta"], significance=row["significance"])
    assert found == pytest.approx(row["eps"], rel=1e-9)


def test_all_thresholds_at_once_cost_a_correction(oracle: dict[str, Any], scores: tuple[np.ndarray, np.ndarray]) -> None:
    """Theirs chooses its thresholds otherwise, so the last digits differ; both correct for as many tests as there are scores."""
    row = next(row for row in oracle["clopper_pearson"] if row["threshold"] == "bonferroni")
    thresholds = np.unique(scores[1]).tolist()
    found, mu = hypothesis_test.epsilon_from_thresholds(
        *scores, thresholds=thresholds, delta=row["delta"], significance=row["significance"]
    )
    assert found == pytest.approx(row["eps"], rel=2e-2)
    # what the Gaussian curve certifies: more than one (ε, δ) point, never more than the truth, nor than counts taken at their word
    [gaussian] = oracle["gdp"]
    assert found < accounting.epsilon_of_mu(mu, gaussian["delta"]) < gaussian["eps"] < gaussian["true_eps_mu1"]
    assert found < oracle["raw_counts"]["eps"]
    assert accounting.epsilon_of_mu(1.0, gaussian["delta"]) == pytest.approx(gaussian["true_eps_mu1"], rel=1e-9)


LAWS = {"logarithmic": 0.0, "geometric": 1.0, "poisson": math.inf, "neg_binomial": 0.5}


def test_the_price_of_tuning(shared: Path) -> None:
    for row in json.loads((shared / "oracles" / "hyperparam_tuning.json").read_text()):
        noise = float(row["base"].split("sigma=")[1].split()[0])
        shape, gamma = LAWS[row["repetition"]], row["params"].get("gamma", 0.5)
        means = {
            "logarithmic": (1 / gamma - 1) / math.log(1 / gamma),
            "geometric": 1 / gamma,
            "poisson": row["params"].get("tau"),
            "neg_binomial": 0.5 * (1 - gamma) / (gamma * (1 - math.sqrt(gamma))),
        }
        event = ledger.selected(ledger.gaussian(noise), mean_trials=means[row["repetition"]], shape=shape)
        found = accounting.epsilon(event, delta=1e-5, relation="add_or_remove_one").upper
        # The oracle takes the best of 18 orders, the accountant of 160: within a few tenths of a percent either way.
        assert found == pytest.approx(row["eps_tuned_delta1e5"], rel=0.01)
        assert found > row["eps_single_run_delta1e5"]
