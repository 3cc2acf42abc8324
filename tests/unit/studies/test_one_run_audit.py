"""The audit from one run: sound on honest learners, and it certifies much where much is spent."""

import math

import numpy as np
import pytest
import torch
from scipy.special import expit
from scipy.stats import binom

import pillar_core as pc
from pillar_core import rng
from pillar_core.accounting import mu_of
from pillar_core.auditing import Rows, one_run, trajectory
from pillar_core.engine import HeadPlan
from pillar_core.errors import SettingError, UnsupportedError
from pillar_core.studies.evidence.attacks import canary_audit
from pillar_core.studies.evidence.one_run import one_run_audit
from pillar_core.types import RunSpec
from users import raises


@pytest.fixture(scope="module")
def split():
    return pc.split(pc.load_dataset("digits"), public_fraction=0.3)


@pytest.mark.parametrize("method", ["pillar", "noisy_gd"])
def test_honest_runs_are_not_rejected_and_large_budgets_show(split, method):
    honest = [
        one_run_audit(RunSpec.of(method, epsilon=2.0, seed=seed), split, significance=1e-7)
        for seed in range(6)
    ]
    assert not any(found.is_rejected for found in honest)
    loud = [
        one_run_audit(RunSpec.of(method, epsilon=200.0, seed=seed), split, canaries=50)
        for seed in range(4)
    ]
    assert all(one.certified[1] > 2.5 for one in loud)
    assert sum(one.correct for one in loud) > 0.9 * sum(one.guesses for one in loud)
    # the curve certifies more than the point, on Gaussian runs
    assert all(one.certified[1] >= one.certified[0] for one in loud)


def test_a_claim_for_persons_is_tested_on_persons():
    """Canaries of one row would move the sums by a third of what is claimed: 176 of 200 coins were
    called rightly, and 0.07 proved."""
    data = pc.load_features(pc.load_dataset("digits"))
    split = pc.split(
        data, public_fraction=0.3, persons=np.arange(len(data.x_train)) // 3, rows_per_person=3
    )
    loud = [
        one_run_audit(RunSpec.of("noisy_gd", epsilon=60.0, seed=seed), split, canaries=50)
        for seed in range(4)
    ]
    assert sum(one.correct for one in loud) >= 196
    audit = canary_audit(RunSpec.of("noisy_gd", epsilon=4.0, steps=8), split, trials=400)
    assert audit.certified_epsilon > 0.8
    assert min(audit.finding.p_value, audit.noise_p_value) > 1e-7


def test_the_number_of_guesses_comes_from_the_claim_alone_and_what_cannot_be_audited_is_refused(
    split,
):
    first, second = (
        one_run_audit(RunSpec.of("pillar", epsilon=4.0, seed=seed), split) for seed in (0, 1)
    )
    assert (
        first.guesses
        == second.guesses
        == one_run.best_guesses(first.claimed_epsilon, canaries=200, delta=1e-5)
    )
    assert first.expected == one_run.most_certifiable(
        first.claimed_epsilon, canaries=200, delta=1e-5
    )
    with pytest.raises(SettingError, match="at least 10"):
        one_run_audit(RunSpec.of("pillar", epsilon=1.0), split, canaries=5)
    raises(UnsupportedError, "descent", one_run_audit, RunSpec.of("adamix", epsilon=1.0), split)
    with pytest.raises(UnsupportedError, match="lower ε"):
        one_run_audit(RunSpec.of("noisy_gd", epsilon=math.inf), split)


def test_single_clipped_gradients_add_up_to_the_engines_sum():
    draws = rng.stream(0, "rows")
    rows = Rows.of(draws.standard_normal((9, 5)), np.arange(9) % 3)
    for bias in (False, True):
        plan = HeadPlan(
            steps=1,
            learning_rate=1.0,
            noise_multiplier=1.0,
            l2_clip_norm=0.7,
            n_private=9,
            bias=bias,
        )
        state = torch.from_numpy(draws.standard_normal((3, 5 + bias))).float()
        single = trajectory.clipped_rows(rows, state, plan)
        assert float(torch.linalg.vector_norm(single, dim=1).max()) <= 0.7 * (1 + 1e-9)
        total = trajectory.clipped_gradient(rows, state[None], plan)[0].double().flatten()
        torch.testing.assert_close(single.sum(0), total, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_the_curve_bound_holds_where_one_draw_decides_how_well_all_coins_are_seen(epsilon):
    """Each coin's curve is the claimed one given all others, but their losses are equal: a bound
    for independent ones fails."""
    canaries, mu = 1000, mu_of(epsilon, 1e-5)
    z = np.linspace(-8, 8, 4001)
    weight = np.exp(-z * z / 2) / np.exp(-z * z / 2).sum()
    right = expit(np.abs(mu * z + mu * mu / 2))

    def passed(cut):
        return float(weight @ binom.sf(cut - 1, canaries, right))

    low, high = canaries // 2, canaries
    while low < high:
        middle = (low + high) // 2
        found = one_run.epsilon_lower_bound_fdp(
            canaries=canaries, guesses=canaries, correct=middle, delta=1e-5
        )
        low, high = (low, middle) if found > epsilon else (middle + 1, high)
    assert passed(low) <= 0.05
    independent = int(binom.isf(0.05, canaries, weight @ right)) + 1
    assert passed(independent) > 0.2
