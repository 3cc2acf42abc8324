"""Figures of evidence and accounting: captions, alt texts and what they draw, without pixels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from pillar_core import plots, rng
from pillar_core.accounting import TradeOff
from pillar_core.studies import privacy_tables
from pillar_core.studies.privacy_tables import GaussianSetting

CURVE = TradeOff("gaussian", mu=0.9)
SETTING = GaussianSetting(2.0, 1.0, 4, 1e-5, "add_or_remove_one")


def figures(mode: Any) -> dict[str, Any]:
    generator = rng.stream(0, "figures")
    losses = pd.DataFrame({"class": ["a", "b"] * 20, "epsilon": generator.random(40)})
    worlds = pd.DataFrame({"world": ["without", "with the canary"] * 50, "score": generator.standard_normal(100)})
    roc = pd.DataFrame({"attack": "loss threshold", "false_positive_rate": [0, 0.1, 1.0], "true_positive_rate": [0, 0.2, 1.0]})
    table = privacy_tables.trade_off(CURVE)
    bars = pd.DataFrame({"label": ["one", "two"], "epsilon": [1.0, 2.0], "is_bound": [True, False]})
    reach = pd.DataFrame({"epsilon": [1.0, 2.0], "plain": [0.2, 0.6], "curve": [0.3, 0.9]})
    guesses = pd.DataFrame({"attacker": ["all", "half"], "sees": "it", "success": [1.0, 0.6], "low": [0.9, 0.5], "high": [1.0, 0.7]})
    noise = pd.DataFrame({"epsilon": [1.0, 2.0], "noise_multiplier": [3.0, 1.0]})
    return {
        "roc": plots.membership_roc(roc, privacy_tables.trade_off(CURVE, logarithmic=True), mode=mode, epsilon=4.0, members=9, others=9),
        "losses": plots.individual_losses(losses, mode=mode, stated=2.0, delta=1e-5),
        "classes": plots.individual_by_class(losses, mode=mode, stated=2.0),
        "worlds": plots.two_worlds(worlds, mode=mode, threshold=0.4, claimed_mu=0.9, title="Two worlds"),
        "power": plots.audit_power(
            privacy_tables.power(CURVE, trials=(50, 200), significance=0.05, delta=1e-5, top=8.0),
            mode=mode,
            claimed=4.0,
            significance=0.05,
        ),
        "guesses": plots.right_guesses(guesses, mode=mode, published=0.503, title="Guesses"),
        "reach": plots.one_run_reach(reach, mode=mode, canaries=100),
        "steps": plots.epsilon_against_steps(privacy_tables.against_steps(SETTING, ("pillar", "gdp")), mode=mode, delta=1e-5, here=4),
        "profile": plots.epsilon_against_delta(privacy_tables.profile(SETTING), mode=mode, delta=1e-5),
        "trade-off": plots.trade_off_curve(table, mode=mode, advantage=0.35, best=privacy_tables.widest(table)),
        "noise": plots.noise_against_epsilon(noise, mode=mode, here=(1.0, 3.0)),
        "bars": plots.bars_of_epsilon(bars, mode=mode, title="Bars", caption="Two bars."),
    }


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_every_figure_says_what_it_shows(mode: Any) -> None:
    for name, figure in figures(mode).items():
        assert figure.layout.meta["alt"].endswith("."), name
        assert figure.layout.meta["caption"], name
        assert figure.layout.title.text, name


def test_the_ceiling_lies_above_the_coin_and_its_widest_gap_is_in_the_middle() -> None:
    table = privacy_tables.trade_off(CURVE)
    assert (table["true_positive_rate"] >= table["false_positive_rate"] - 1e-12).all()
    # For a Gaussian curve the gap is widest at Φ(−μ/2) = 0.326; the grid is 0.006 fine.
    assert privacy_tables.widest(table) == pytest.approx(0.326, abs=0.01)


def test_all_accountants_agree_on_full_batches_but_for_their_looseness() -> None:
    table = privacy_tables.by_accountant(SETTING, privacy_tables.QUICK).set_index("name")
    # Exact ends of two codes agree to about 1e-10.
    assert table.loc["pillar", "epsilon"] <= table["epsilon"].min() * (1 + 1e-9)
    assert table.loc["rdp", "epsilon"] > table.loc["pillar", "epsilon"]
    assert not table.loc["gdp", "is_bound"]


def test_choices_cost_and_what_has_no_bound_says_so() -> None:
    table = privacy_tables.composed(SETTING, selection=0.1, trials=5)
    assert table["epsilon"].is_monotonic_increasing
    sampled = GaussianSetting(2.0, 0.1, 4, 1e-5, "replace_one")
    refused = privacy_tables.composed(sampled, selection=0.1, trials=5).iloc[-1]
    assert np.isnan(refused["epsilon"])
    assert refused["event"] == privacy_tables.NO_SELECTION
    price = privacy_tables.tuning_price(2.0, delta=1e-5, means=(3.0, 10.0))
    assert price["epsilon"].is_monotonic_decreasing


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([0.1, 0.1, 0.1, 1.0], "75 % of the rows reveal at most half of the ε stated for all"),
        ([0.1, 1.0, 0.96, 1.0], "75 % of the rows reveal 95 % or more of the ε stated for all"),
        ([0.1, 0.6, 0.8, 1.0], "Half of the rows reveal 70 % or more of the ε stated for all"),
    ],
)
def test_the_headline_of_individual_losses_follows_the_numbers(values: list[float], said: str) -> None:
    figure = plots.individual_losses(pd.DataFrame({"epsilon": values}), stated=1.0, delta=1e-5)
    assert said in figure.layout.title.text
