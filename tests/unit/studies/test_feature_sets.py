"""Curves of several feature sets from cached runs, and their figure."""

import pandas as pd
import pytest

from pillar_core import plots
from pillar_core.studies import feature_sets


def runs() -> pd.DataFrame:
    shared = {"delta": 1e-5, "relation": "add_or_remove_one", "public": None, "name": None}
    rows = []
    for dataset, backbone, gain in (("digits", None, 0.0), ("digits", "raw_pixels", 0.1), ("iris", None, 0.2)):
        own = shared | {"dataset": dataset, "backbone": backbone, "public_fraction": 0.1}
        for k in (2, 4, 8) if dataset == "digits" else (2,):
            run = own | {"method": "pillar", "k": k, "epsilon": 1.0, "accuracy": 0.5 + gain + k / 100}
            rows += [run | {"seed": seed} for seed in (0, 1)]
        rows.append(own | {"method": "pillar", "k": 2, "epsilon": 2.0, "seed": 0, "accuracy": 0.9})
        rows.append(own | {"method": "non_private", "k": None, "epsilon": None, "seed": 0, "accuracy": 0.95})
    rows.append(own | {"method": "pillar", "k": 4, "epsilon": 1.0, "seed": 0, "accuracy": None})
    return pd.DataFrame(rows)


def test_each_set_with_a_curve_is_there_with_its_runs_without_privacy() -> None:
    table = feature_sets.curves_of_sets(runs(), method="pillar", epsilon=1.0, delta=1e-5, relation="add_or_remove_one")
    assert list(dict.fromkeys(table["set"])) == ["digits through raw_pixels, 10 % public", "digits, 10 % public"]
    first = table[table["set"] == "digits, 10 % public"]
    assert sorted(first[first["private"]]["k"]) == [2, 2, 4, 4, 8, 8]
    assert list(first[~first["private"]]["accuracy"]) == [0.95]
    assert feature_sets.curves_of_sets(pd.DataFrame(), method="pillar", epsilon=1.0, delta=1e-5, relation="x").empty
    assert feature_sets.curves_of_sets(runs(), method="pillar", epsilon=3.0, delta=1e-5, relation="add_or_remove_one").empty


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_the_figure_names_each_sets_best_k(mode: plots.Mode) -> None:
    table = feature_sets.curves_of_sets(runs(), method="pillar", epsilon=1.0, delta=1e-5, relation="add_or_remove_one")
    figure = plots.accuracy_of_sets(table, epsilon=1.0, mode=mode, k=4)
    assert "digits, 10 % public 58.0 percent at k 8" in figure.layout.meta["alt"]
    assert "digits through raw_pixels, 10 % public 68.0 percent at k 8" in figure.layout.meta["alt"]
    assert {trace.name for trace in figure.data if trace.name} == set(table["set"])
