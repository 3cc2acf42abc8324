"""Figures of evidence and accounting: captions, alt texts and what they draw, without pixels."""

import numpy as np
import pandas as pd
import pytest

from pillar_core import plots, rng
from pillar_core.accounting import TradeOff
from pillar_core.auditing.membership import FEWEST_ALARMS
from pillar_core.studies import privacy_tables
from pillar_core.studies.evidence.attacks import Attack
from pillar_core.studies.privacy_tables import GaussianSetting

CURVE = TradeOff("gaussian", mu=0.9)
SETTING = GaussianSetting(2.0, 1.0, 4, 1e-5, "add_or_remove_one")


def test_accountants_agree_on_full_batches_below_the_ceiling_that_lies_above_the_coin() -> None:
    table = privacy_tables.trade_off(CURVE)
    assert (table["true_positive_rate"] >= table["false_positive_rate"] - 1e-12).all()
    # For a Gaussian curve the gap is widest at Φ(−μ/2) = 0.326; the grid is 0.006 fine.
    assert privacy_tables.widest(table) == pytest.approx(0.326, abs=0.01)
    table = privacy_tables.by_accountant(SETTING, privacy_tables.QUICK).set_index("name")
    # Exact ends of two codes agree to about 1e-10.
    assert table.loc["pillar", "epsilon"] <= table["epsilon"].min() * (1 + 1e-9)
    assert table.loc["rdp", "epsilon"] > table.loc["pillar", "epsilon"]
    assert not table.loc["gdp", "is_bound"]


def test_choices_cost_and_what_has_no_bound_says_so() -> None:
    table = privacy_tables.composed_epsilons(SETTING, selection=0.1, trials=5)
    assert table["epsilon"].is_monotonic_increasing
    sampled = GaussianSetting(2.0, 0.1, 4, 1e-5, "replace_one")
    refused = privacy_tables.composed_epsilons(sampled, selection=0.1, trials=5).iloc[-1]
    assert np.isnan(refused["epsilon"])
    assert refused["event"] == privacy_tables.NO_SELECTION
    price = privacy_tables.tuning_price(2.0, delta=1e-5, means=(3.0, 10.0))
    assert price["epsilon"].is_monotonic_decreasing


def test_attacks_are_drawn_with_bands_from_the_rate_on_where_twenty_false_alarms_lie() -> None:
    draws, least = rng.stream(0, "attack"), FEWEST_ALARMS / 400
    attack = Attack("an attack", 0.2 + draws.standard_normal(300), draws.standard_normal(400))
    sizes = {"members": 300, "non_members": 400, "least": least}
    figure = plots.membership_roc(attack.roc(), attack.band(), privacy_tables.trade_off(CURVE, logarithmic=True), epsilon=1.0, **sizes)
    low, high, curve = (trace for trace in figure.data if trace.legendgroup == "an attack")
    assert (low.line.shape, high.line.shape, high.fill) == ("hv", "vh", "tonexty")
    assert min(curve.x) == pytest.approx(10 ** figure.layout.xaxis.range[0]) == pytest.approx(least)
    assert all(a < b for a, b in zip(low.y, high.y, strict=True))


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
