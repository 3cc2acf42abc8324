"""Odds from the whole trade-off curve: closed forms, an ideal attack that meets them, and no
understatement."""

import math

import numpy as np
import pytest
from scipy import stats

from costs import ADD, REPLACE, cost_of, cost_of_steps, steps_of
from pillar_core import accounting, events, ledger
from pillar_core.accounting.risk import turned_guesses
from pillar_core.errors import SettingError, UnsupportedError
from users import raises

RATES = np.array([0.0, 1e-4, 1e-3, 0.01, 0.1, 0.3, 0.5, 0.9, 1.0])


def test_gaussian_and_pure_curves_are_the_likelihood_ratio_test_and_the_hyperbolic_tangent():
    event = ledger.repeat(ledger.gaussian(8.0), 16)
    curve = accounting.trade_off(event)
    assert curve.kind == "gaussian"
    assert curve.mu == pytest.approx(0.5, rel=1e-15)
    assert curve.miss_rate(RATES) == pytest.approx(
        stats.norm.cdf(stats.norm.isf(RATES) - 0.5), abs=1e-14
    )
    assert accounting.advantage(curve) == pytest.approx(2 * stats.norm.cdf(0.25) - 1, rel=1e-13)
    assert accounting.tpr_at(curve, 0.01) == pytest.approx(
        stats.norm.cdf(stats.norm.ppf(0.01) + 0.5), rel=1e-12
    )
    assert accounting.trade_off(event, relation=REPLACE).mu == pytest.approx(1.0, rel=1e-15)
    curve = accounting.trade_off(events.PureEvent(1.0, 2.0))
    assert accounting.advantage(curve) == pytest.approx(math.tanh(0.5), rel=1e-15)
    assert accounting.advantage(curve) == pytest.approx(0.462, abs=5e-4)
    # randomised response at ε = 1 attains it: FPR 1/(1+e), miss rate the same
    corner = 1 / (1 + math.e)
    assert float(curve.miss_rate(corner)) == pytest.approx(corner, rel=1e-12)
    assert (
        accounting.trade_off(events.ExponentialMechanismEvent(1.0, 2.0), relation=REPLACE).epsilon
        == 2.0
    )


@pytest.mark.parametrize(("sigma", "q", "steps"), [(2.0, 0.1, 50), (0.7, 0.01, 500)])
def test_profile_curve_lies_below_every_attack_and_near_the_best(sigma, q, steps):
    """The ideal attack on a sampled run thresholds the summed loss; its rates by simulation, at two
    standard errors and more."""
    event = steps_of(sigma, q, steps)
    curve = accounting.trade_off(event)
    assert curve.kind == "profile"
    generator = np.random.default_rng(11)
    trials = 8000

    def losses(included):
        x = generator.normal(0, sigma, (trials, steps)) + included * (
            generator.random((trials, steps)) < q
        )
        return np.log1p(q * np.expm1((2 * x - 1) / (2 * sigma**2))).sum(axis=1)

    absent, present = losses(False), losses(True)
    for rate in (0.05, 0.2, 0.5):
        threshold = np.quantile(absent, 1 - rate)
        missed = float((present <= threshold).mean())
        bound = float(curve.miss_rate(rate))
        # binomial error of the miss rate and of the threshold's false-positive rate, each below
        # 0.0056 at 8,000 trials: 7 of them
        assert bound <= missed + 0.04
        assert bound >= missed - 0.04
    # a curve with half the noise is seen to be another one
    half = accounting.trade_off(steps_of(sigma / 2, q, steps))
    assert float(half.miss_rate(0.2)) < float((present <= np.quantile(absent, 0.8)).mean()) - 0.04


def test_profile_of_a_gaussian_run_meets_its_exact_curve():
    """The same run through its (ε, δ) pairs: never above the exact curve, and close to it."""
    event = ledger.gaussian(1.0)
    exact = accounting.trade_off(event)
    epsilons, deltas = accounting.profile(event)
    assert epsilons[0] == 0
    assert np.all(np.diff(epsilons) >= 0)
    assert np.all(np.diff(deltas) < 0)
    for epsilon, delta in zip(epsilons, deltas, strict=True):
        assert accounting.delta_of(float(epsilon), 1.0) <= delta * (1 + 1e-9)
    curve = accounting.TradeOff("profile", epsilons=tuple(epsilons), deltas=tuple(deltas))
    inner = RATES[1:-1]
    assert np.all(curve.miss_rate(inner) <= exact.miss_rate(inner) + 1e-12)
    assert curve.miss_rate(inner) == pytest.approx(exact.miss_rate(inner), abs=5e-3)
    assert accounting.advantage(curve) == pytest.approx(accounting.advantage(exact), rel=2e-3)
    assert accounting.advantage(curve) >= accounting.advantage(exact)


def test_one_pair_overstates_and_epsilon_alone_allows_more_than_the_gaussian_run_that_meets_it():
    """Why risk never comes from one (ε, δ) point: at ε = 2, δ = 1e-5, TPR at 1 % is 7.4 % by the
    point, 3.5 % by the curve."""
    curve = accounting.trade_off(ledger.gaussian(accounting.noise_multiplier(2.0)))
    point = accounting.TradeOff("profile", epsilons=(2.0,), deltas=(1e-5,))
    assert accounting.tpr_at(point, 0.01) == pytest.approx(0.01 * math.exp(2) + 1e-5, rel=1e-9)
    assert accounting.tpr_at(point, 0.01) > 2 * accounting.tpr_at(curve, 0.01)
    assert accounting.advantage(point) > 3 * accounting.advantage(curve)
    alone, gaussian = turned_guesses(1.0, 1e-5)
    assert (round(400 * alone), round(400 * gaussian)) == (92, 21)
    alone, gaussian = turned_guesses(0.3, 1e-5)
    assert (int(1 / alone), int(1 / gaussian)) == (13, 56)


def test_ends_and_profiles_of_other_bounds():
    nothing = accounting.trade_off(ledger.compose())
    assert nothing.miss_rate(RATES) == pytest.approx(1 - RATES, abs=1e-15)
    assert accounting.advantage(nothing) == 0
    everything = accounting.trade_off(ledger.gaussian(0.0))
    assert np.all(everything.miss_rate(RATES) == 0)
    assert accounting.advantage(everything) == 1
    unknown_delta = accounting.trade_off(events.PureEvent(0.5, 0.5, 1e-3))
    assert unknown_delta.kind == "profile"
    assert accounting.advantage(unknown_delta) >= 1e-3 + (1 - 1e-3) * math.tanh(0.25) - 1e-9
    raises(SettingError, "false_positive_rate", nothing.miss_rate, math.nan)
    raises(SettingError, "candidates", accounting.reconstruction, nothing, 1)
    with pytest.raises(UnsupportedError, match="approximation"):
        accounting.trade_off(steps_of(1.0, 0.1, 3), accountant="gdp")
    event = steps_of(3.0, 0.02, 300)
    ours, _ = accounting.profile(event)
    epsilons, deltas = accounting.profile(event, accountant="rdp")
    assert len(epsilons) > 20
    assert np.all(np.diff(epsilons) >= 0)
    tight = [cost_of(event, delta=float(delta)).lower for delta in deltas[::8]]
    assert np.all(epsilons[::8] >= np.array(tight) * (1 - 1e-9))
    assert ours[-1] < epsilons[-1]


def test_odds_are_sentences_that_never_understate():
    curve = accounting.trade_off(ledger.gaussian(accounting.noise_multiplier(0.5)))
    bet, accusation, pick = accounting.odds(curve)
    assert bet.chance == pytest.approx((1 + accounting.advantage(curve)) / 2)
    assert bet.baseline == 0.5
    assert (
        "52.9 bets of 100" in bet.sentence
    )  # advantage 2Φ(μ/2) − 1 at μ = 0.1422: 52.84 → rounded up
    assert accusation.chance == accounting.tpr_at(curve, 1e-3)
    stated = int(accusation.sentence.rsplit("at most 1 in ", 1)[1].split(" ")[0].replace(",", ""))
    assert 1 / stated >= accusation.chance
    assert "1 in 1,000" in accusation.sentence
    assert "1 in 1,000" in pick.sentence
    assert pick.chance >= pick.baseline
    strong = accounting.odds(accounting.trade_off(ledger.gaussian(0.2)))
    assert "in 100" in strong[1].sentence


def test_samplers_name_what_is_known():
    rows = {
        (row.sampler, row.relation): row
        for row in accounting.samplers(2.0, sampling_probability=0.02, steps=500)
    }
    poisson = rows["poisson", ADD].epsilon.upper
    assert (
        poisson < rows["poisson", REPLACE].epsilon.upper < rows["fixed_size", REPLACE].epsilon.upper
    )
    assert rows["shuffled", ADD].epsilon.upper == cost_of_steps(2.0, steps=10).upper
    assert (
        rows["shuffled", REPLACE].epsilon.upper
        == cost_of_steps(2.0, steps=10, relation=REPLACE).upper
    )
    assert "bug" in rows["shuffled", ADD].known
    assert accounting.epochs(sampling_probability=0.02, steps=501) == 11
    assert accounting.epochs(sampling_probability=0.3, steps=4) == 2
    whole = accounting.samplers(2.0, sampling_probability=1.0, steps=5)
    assert whole[0].epsilon.upper == whole[3].epsilon.upper


@pytest.mark.parametrize("relation", [ADD, REPLACE])
@pytest.mark.parametrize(
    ("sigma", "q", "steps"), [(3.0, 0.02276, 1000), (0.8, 0.001, 1000), (1.0, 0.05, 1)]
)
def test_the_quick_profile_agrees_with_one_delta_at_a_time(sigma, q, steps, relation):
    event = steps_of(sigma, q, steps)
    epsilons, deltas = accounting.profile(event, relation=relation)
    assert epsilons[0] == 0
    for epsilon, delta in list(zip(epsilons, deltas, strict=True))[1::20]:
        single = cost_of(event, delta=float(delta), relation=relation)
        assert single.lower <= epsilon * (1 + 1e-9) + 1e-12
        # the single answer is refined until its ends are within 0.4 %
        assert epsilon <= single.upper * 1.01 + 1e-4
    # δ at ε = 0 is tight: half a percent less is not enough
    assert cost_of(event, delta=float(deltas[0]) * 0.99, relation=relation).upper > 0


@pytest.mark.parametrize("floor", [1e-2, 1e-3])
def test_a_conservative_mu_lies_below_the_curve_and_close_to_it(floor):
    curve = accounting.trade_off(steps_of(1.0, 0.02, 1000))
    found = accounting.gaussian_summary(curve, floor=floor)
    rates = stats.norm.cdf(np.linspace(stats.norm.ppf(floor), -stats.norm.ppf(floor), 5_003))
    own, simple = curve.miss_rate(rates), stats.norm.cdf(stats.norm.isf(rates) - found.mu)
    inside = own >= floor
    assert np.all(simple[inside] <= own[inside] + 1e-12)
    assert np.max(own[inside] - simple[inside]) <= found.overstated < 0.03
    # 0.01 less would promise more than the run keeps
    assert np.any(stats.norm.cdf(stats.norm.isf(rates) - found.mu + 0.01)[inside] > own[inside])


def test_a_lower_floor_needs_a_larger_mu_and_one_above_a_half_is_refused():
    curve = accounting.trade_off(steps_of(0.8, 0.01, 500))
    mus = [accounting.gaussian_summary(curve, floor=floor).mu for floor in (1e-1, 1e-2, 1e-3, 1e-4)]
    assert mus == sorted(mus)
    assert mus[-1] > mus[0]
    exact = accounting.gaussian_summary(accounting.trade_off(ledger.gaussian(2.0)))
    assert (exact.mu, exact.overstated) == (0.5, 0.0)
    assert accounting.gaussian_summary(accounting.trade_off(events.PureEvent(1.0, 2.0))).mu > 1.0
    assert accounting.gaussian_summary(accounting.trade_off(ledger.gaussian(0.0))).mu == math.inf
    # No curve has both rates above a half: it ended in numpy's "Number of samples, -100, must be
    # non-negative".
    curve = accounting.trade_off(steps_of(1.0, 0.1, 10))
    with pytest.raises(SettingError):
        accounting.gaussian_summary(curve, floor=0.6)
    raises(SettingError, "blind guessing", accounting.noise_for_risk, 0.6)
    with pytest.raises(SettingError, match="blind guessing"):
        accounting.noise_for_risk(0.01, false_positive_rate=0.05)


@pytest.mark.parametrize("false_positive_rate", [None, 0.01])
@pytest.mark.parametrize(("share", "steps"), [(1.0, 100), (0.02, 500)])
def test_noise_chosen_by_risk_meets_it_and_little_less_does_not(false_positive_rate, share, steps):
    noise = accounting.noise_for_risk(
        0.05, false_positive_rate=false_positive_rate, sampling_probability=share, steps=steps
    )

    def risk(noise_multiplier):
        curve = accounting.trade_off(steps_of(noise_multiplier, share, steps))
        return (
            accounting.advantage(curve) / 2
            if false_positive_rate is None
            else accounting.tpr_at(curve, false_positive_rate)
        )

    assert risk(noise) <= 0.05 < risk(noise / 1.002)
