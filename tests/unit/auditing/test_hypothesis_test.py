"""The exact test of a claimed curve: its level at the claim, its power beyond it, its bounds by
brute force."""

import math

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import binom

from pillar_core import rng
from pillar_core.accounting import TradeOff
from pillar_core.auditing import BLIND_SPOTS, Counts, hypothesis_test, one_run
from pillar_core.errors import DataError, SettingError

CURVE = TradeOff("gaussian", mu=0.9)


def exact(excess, n, alarm, hit):
    """P(hits − false alarms ≥ excess) for independent binomials, summed over all outcomes."""
    alarms = np.arange(n + 1)
    return float(binom.pmf(alarms, n, alarm) @ binom.sf(alarms + excess - 1, n, hit))


@pytest.mark.parametrize("excess", [0, 10, 25])
def test_the_p_value_bounds_every_attack_on_the_curve_and_is_near_the_worst(excess):
    n = 50
    found = hypothesis_test.p_value(Counts(excess + 10, 10, n), CURVE)
    worst = max(
        exact(excess, n, alarm, 1 - float(CURVE.miss_rate(alarm)))
        for alarm in np.linspace(0, 1, 301)
    )
    assert found >= worst - 1e-12
    # The grid's cells are 0.008 wide in the middle, a tenth of a standard error of the excess over
    # 50.
    assert found <= worst * 1.25 + 1e-9


def test_the_level_holds_at_the_claim_and_the_power_is_as_computed():
    """α = 5 %, 20,000 audits: at the claim at most 5 % + 6 standard errors reject; at 1.5 times μ
    as often as `power` says."""
    n, audits, alpha = 200, 20_000, 0.05
    generator = rng.stream(0, "claims")

    def rejections(mu):
        hits, alarms = (
            generator.binomial(n, ndtr(mu / 2), audits),
            generator.binomial(n, ndtr(-mu / 2), audits),
        )
        least = hypothesis_test.rejecting_excess(CURVE, trials=n, significance=alpha)
        return float((hits - alarms >= least).mean())

    assert rejections(0.9) <= alpha + 6 * math.sqrt(alpha / audits)
    wanted = hypothesis_test.power(CURVE, true_mu=1.35, trials=n, significance=alpha)
    assert wanted > 0.7
    assert abs(rejections(1.35) - wanted) < 6 * math.sqrt(wanted * (1 - wanted) / audits)


def test_bounds_cover_and_what_could_be_noticed_shrinks_with_the_trials():
    bounds = []
    for n in (100, 1000):
        counts = Counts(round(n * ndtr(0.5)), round(n * ndtr(-0.5)), n)
        bounds.append(hypothesis_test.mu_lower_bound(counts))
    assert 0 < bounds[0] < bounds[1] < 1.0
    assert hypothesis_test.mu_lower_bound(Counts(50, 50, 100)) == 0.0
    noticed = [
        hypothesis_test.noticed_epsilon(CURVE, trials=n, significance=0.05, delta=1e-5)
        for n in (50, 400)
    ]
    claim = 3.87
    assert noticed[0] > noticed[1] > claim


def test_impossible_counts_and_scores_are_refused():
    with pytest.raises(SettingError):
        Counts(3, 0, 2)
    with pytest.raises(DataError):
        hypothesis_test.counts_of(np.array([math.nan]), np.array([0.0]), threshold=0.0)


def test_one_run_certifies_by_brute_force_and_a_coin_nothing():
    found = one_run.p_value(1.0, canaries=40, guesses=20, correct=17, delta=0.0)
    share = math.e / (1 + math.e)
    assert found == pytest.approx(
        sum(math.comb(20, v) * share**v * (1 - share) ** (20 - v) for v in range(17, 21)), rel=1e-9
    )
    assert one_run.p_value(1.0, canaries=40, guesses=20, correct=17, delta=1e-3) > found
    counts = {"canaries": 1000, "guesses": 1000, "correct": 500}
    assert one_run.epsilon_lower_bound(**counts, delta=1e-5) == 0.0
    assert one_run.mu_lower_bound(**counts) == 0.0
    with pytest.raises(SettingError):
        one_run.mu_lower_bound(canaries=10, guesses=11, correct=3)
    plain, curve = one_run.most_certifiable(0.5, canaries=1000, delta=1e-5)
    assert plain <= curve < 0.5
    plain, curve = one_run.most_certifiable(8.0, canaries=1000, delta=1e-5)
    assert 0 < plain < curve < 8.0


def test_each_blind_spot_names_what_catches_it():
    assert all(
        spot.why and ("contract test" in spot.caught_by or "ledger" in spot.caught_by)
        for spot in BLIND_SPOTS
    )
