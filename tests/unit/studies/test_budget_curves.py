"""Curves from three runs: known sigmoids come back, left-out budgets lie in the band, and nothing
is said below the smallest ε."""

import dataclasses
import math

import numpy as np
import pandas as pd
import pytest
from budget_curves import left_out

import pillar_core as pc
from pillar_core.errors import SettingError
from pillar_core.studies import budget_curves
from pillar_core.studies.budget_curves import RUNS, fit_budget_curve
from pillar_core.studies.one_training import TITLES, accuracy_costs, has_parts, stages


@pytest.mark.parametrize(
    ("top", "slope", "middle"),
    [(0.9, 1.0, math.log(0.2)), (0.75, 0.6, math.log(1.0)), (0.99, 2.0, math.log(0.5))],
)
def test_a_known_curve_comes_back_from_three_points(top, slope, middle):
    def accuracy(epsilon):
        return 0.1 + (top - 0.1) / (1 + math.exp(-slope * (math.log(epsilon) - middle)))

    curve = fit_budget_curve(RUNS, [accuracy(epsilon) for epsilon in RUNS], n_classes=10)
    table = curve.table([0.05, 0.1, 0.3, 0.5, 3.0, 8.0, 20.0])
    assert list(table["epsilon"]) == [0.1, 0.3, 0.5, 3.0, 8.0, 20.0]
    assert np.allclose(
        table["mean"], [accuracy(epsilon) for epsilon in table["epsilon"]], atol=0.002
    )
    assert (table["low"] < table["mean"]).all()
    assert (table["mean"] <= table["high"]).all()


def test_left_out_budgets_are_missed_by_what_the_documents_say():
    misses = left_out([RUNS, (1.0, 3.0, 8.0)]).set_index(["fitted", "side"])
    assert misses.loc[("0.1, 1, 8", "between"), "sigmoid"] == 1.3
    assert misses.loc[("0.1, 1, 8", "between"), "line"] == 2.5
    assert misses.loc[("1, 3, 8", "below"), "sigmoid"] == 12.8
    curve = fit_budget_curve(RUNS, [0.5, 0.7, 0.8], n_classes=10)
    sets = pd.read_csv(budget_curves.TABLE)["set"].nunique()
    assert (curve.sets, curve.inside) == (sets, sets - 1)
    misses = budget_curves.misses(RUNS)
    is_within = misses["sigmoid"].abs() <= curve.half_width
    assert is_within.groupby(misses["set"]).mean().min() == pytest.approx(0.95, abs=0.01)


def test_falling_accuracies_give_a_flat_curve_and_two_budgets_are_refused():
    flat = fit_budget_curve(RUNS, [0.8, 0.79, 0.78], n_classes=2).table(RUNS)["mean"]
    assert flat.max() - flat.min() < 0.03
    for epsilons in ((0.1, 1.0), (0.1, 1.0, 1.0), (0.1, 1.0, math.inf)):
        with pytest.raises(SettingError):
            fit_budget_curve(epsilons, [0.5] * len(epsilons), n_classes=2)


def test_stages_end_at_the_run_itself_and_leave_out_parts_that_it_lacks(split):
    record = pc.run("pillar", split, epsilon=0.5, batch_size=256, steps=10)
    parts = stages(record)
    assert list(parts) == list(TITLES)
    assert parts["projection"] == {"method": "non_private", "k": record.settings["k"]}
    assert parts["sampling"] == parts["clipping"] | {"batch_size": 256}
    assert parts["noise"] == parts["sampling"] | {
        "noise_multiplier": record.settings["noise_multiplier"]
    }
    grid = {"dataset": split.features, "public_fraction": 0.1, "seed": 0}
    accuracies = {
        part: list(pc.sweep({**grid, **axes})["accuracy"]) for part, axes in parts.items()
    }
    assert accuracies["noise"] == [record.accuracy]
    table = accuracy_costs(accuracies)
    assert table["mean"].sum() == pytest.approx(1 - record.accuracy)
    assert table["low"].isna().all()
    assert list(stages(pc.run("dp_sgd", split, epsilon=1.0))) == ["features", "clipping", "noise"]
    record = pc.run("pillar", split, epsilon=1.0)
    whole = dataclasses.replace(record, settings={**record.settings, "k": record.facts.d})
    assert "projection" not in stages(whole)
    assert [
        has_parts(name) for name in ("pillar", "adamix", "non_private", "pate", "from_scratch")
    ] == [True, True, False, False, False]


def test_costs_are_means_over_pairs_of_equal_seed():
    table = accuracy_costs({"features": [0.9, 0.8], "noise": [0.7, 0.6]}).set_index("part")
    assert table.loc["noise", "mean"] == pytest.approx(0.2)
    assert table.loc["noise", "low"] == pytest.approx(table.loc["noise", "high"])
    assert table.loc["features", ["mean", "left", "seeds"]].tolist() == pytest.approx(
        [0.15, 0.85, 2]
    )
