"""Audits against another project's numbers: one-run and f-DP bounds, Clopper–Pearson, areas; and
the price of tuning."""

import json
import math

import numpy as np
import pytest

from costs import cost_of
from pillar_core import ledger
from pillar_core.auditing import membership, one_run

TOLERANCE = 1e-6
"""Both sides bisect; theirs stops near 1e-9 in ε and ours in μ, whose ε slope is below 10."""


@pytest.fixture(scope="module")
def oracle(shared):
    return json.loads((shared / "oracles" / "auditing.json").read_text())


@pytest.fixture(scope="module")
def scores():
    """The oracle's own sample, by its own seed."""
    generator = np.random.default_rng(0)
    return generator.normal(1, 1, 400).round(6), generator.normal(0, 1, 400).round(6)


def counts(row):
    return {"canaries": row["m"], "guesses": row["guesses"], "correct": row["correct"]}


def test_one_run_and_areas(oracle, scores):
    for row in oracle["one_run"]:
        found = one_run.epsilon_lower_bound(
            **counts(row), delta=row["delta"], significance=row["significance"]
        )
        assert found == pytest.approx(row["eps"], abs=TOLERANCE)
        assert one_run.p_value(1.0, **counts(row), delta=row["delta"]) == pytest.approx(
            row["p_value_at_eps1"], rel=1e-6
        )
    for row in oracle["one_run_fdp"]:
        found = one_run.epsilon_lower_bound_fdp(
            **counts(row), delta=row["delta"], significance=row["significance"]
        )
        assert found == pytest.approx(row["eps"], rel=1e-5)
    assert membership.auc(*scores) == pytest.approx(oracle["sklearn_auc_dataset"], abs=1e-12)


@pytest.mark.parametrize(
    ("canaries", "guesses", "correct", "delta", "significance", "plain", "curve"),
    [
        (1000, 1000, 600, 1e-5, 0.05, 0.297227, 0.583540),
        (1000, 200, 190, 1e-5, 0.05, 2.393618, 3.916104),
        (1000, 200, 200, 1e-5, 0.05, 4.166490, 7.256823),
        (5000, 500, 450, 1e-6, 0.05, 1.946576, 3.122742),
        (500, 500, 400, 1e-5, 0.10, 1.237685, 2.667528),
        (100, 50, 49, 1e-3, 0.05, 2.106593, 3.398853),
        (10000, 100, 100, 1e-5, 0.05, 3.202304, 4.336346),
    ],
)
def test_one_run_equals_jax_privacy(canaries, guesses, correct, delta, significance, plain, curve):
    """`_epsilon_one_run` and `_epsilon_one_run_fdp` of jax_privacy 2.0.0, which solve to 1e-6."""
    seen = {"canaries": canaries, "guesses": guesses, "correct": correct, "delta": delta}
    for bound, theirs in (
        (one_run.epsilon_lower_bound, plain),
        (one_run.epsilon_lower_bound_fdp, curve),
    ):
        assert bound(**seen, significance=significance) == pytest.approx(theirs, abs=1e-5)


def test_clopper_pearson_at_a_threshold_fixed_beforehand(oracle, scores):
    row = next(row for row in oracle["clopper_pearson"] if row["threshold"] == 1.0)
    share = row["significance"] / 2
    inside, outside = (int((one >= 1.0).sum()) for one in scores)
    hits = membership.lower_end(inside, len(scores[0]), share)
    alarms = membership.upper_end(outside, len(scores[1]), share)
    found = max(
        math.log((right - row["delta"]) / wrong)
        for right, wrong in ((hits, alarms), (1 - alarms, 1 - hits))
    )
    assert found == pytest.approx(row["eps"], rel=1e-9)


LAWS = {"logarithmic": 0.0, "geometric": 1.0, "poisson": math.inf, "neg_binomial": 0.5}


def test_the_price_of_tuning(shared):
    for row in json.loads((shared / "oracles" / "hyperparam_tuning.json").read_text()):
        noise = float(row["base"].split("sigma=")[1].split()[0])
        shape, gamma = LAWS[row["repetition"]], row["params"].get("gamma", 0.5)
        means = {
            "logarithmic": (1 / gamma - 1) / math.log(1 / gamma),
            "geometric": 1 / gamma,
            "poisson": row["params"].get("tau"),
            "neg_binomial": 0.5 * (1 - gamma) / (gamma * (1 - math.sqrt(gamma))),
        }
        event = ledger.best_of(
            ledger.gaussian(noise), mean_trials=means[row["repetition"]], shape=shape
        )
        found = cost_of(event, "rdp").upper
        # The oracle takes the best of 18 orders, the accountant of 160: within a few tenths of a
        # percent either way.
        assert found == pytest.approx(row["eps_tuned_delta1e5"], rel=0.01)
        assert found > cost_of(event).upper > row["eps_single_run_delta1e5"]
