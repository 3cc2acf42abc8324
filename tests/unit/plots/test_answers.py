"""The lesson's figures: what is marked, in which order, with words for everybody."""

from __future__ import annotations

import pandas as pd
import pytest

from pillar_core import plots
from pillar_core.studies import lessons

RUNS = pd.DataFrame({"k": [1, 1, 10, 10], "seed": [0, 1, 0, 1], "accuracy": [0.2, 0.4, 0.8, 0.9]})


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_the_control_s_value_wears_the_star(mode: plots.Mode) -> None:
    figure = plots.accuracy_by(RUNS, x="k", label="k", title="t", present=10, mode=mode)
    star = figure.data[-1]
    assert list(star.x) == [10]
    assert list(star.y) == pytest.approx([85.0])
    assert "30.0 percent at 1" in figure.layout.meta["alt"]
    assert "2 seeds" in figure.layout.meta["caption"]


def test_names_are_bars_in_the_order_given() -> None:
    table = RUNS.assign(source=["b", "b", "a", "a"]).drop(columns="k")
    words = {"b": "bees", "a": "ants"}
    figure = plots.accuracy_by(table, x="source", label="source", title="t", present="a", words=words)
    assert list(figure.layout.xaxis.categoryarray) == ["bees", "ants"]
    by_name = dict(zip(figure.data[0].x, figure.data[0].y, strict=True))
    assert by_name == {"ants": pytest.approx(85.0), "bees": pytest.approx(30.0)}


def test_ten_releases_cost_less_than_their_sum_and_scrambled_pixels_keep_every_value() -> None:
    table = lessons.releases((1, 10), epsilon=1.0).set_index("releases")
    # A Gaussian release of (1, 1e-5) has μ = 0.2684; ten compose to μ = 0.8487, which is (3.619, 1e-5): δ(ε; μ) in closed form.
    assert table["total"][1] == pytest.approx(1.0, abs=1e-6)
    assert 3.0 < table["total"][10] < 4.0 < table["sum"][10]
    figure = plots.total_budget(table.reset_index(), present=10)
    assert "instead of 10" in figure.layout.meta["alt"]
    parts = lessons._parts(0)
    mixed = lessons.SOURCES["scrambled"](parts.public_x, 0)
    assert mixed.shape == parts.public_x.shape
    assert (mixed != parts.public_x).any()
    assert sorted(mixed[0]) == sorted(parts.public_x[0])
    noise = lessons.SOURCES["noise"](parts.public_x, 0)
    # 144 × 64 normal draws: their mean's standard error is a hundredth of their spread.
    assert noise.mean() == pytest.approx(parts.public_x.mean(), abs=0.05 * float(parts.public_x.std()))
    private = lessons._with_public("scrambled", 0)
    assert private.facts.n_private == parts.facts.n_private
    assert private.facts.n_public == parts.facts.n_public


def test_a_limit_is_a_dashed_line_and_other_values_keep_their_scale() -> None:
    table = pd.DataFrame({"epsilon": [1.0, 8.0], "certified": [0.0, 2.4], "limit": [1.0, 8.0]})
    shared = {"x": "epsilon", "label": "true ε", "title": "t", "value": "certified", "scale": 1, "axis": "ε proved", "caption": "c"}
    figure = plots.accuracy_by(table, limit="the truth", present=8.0, **shared)
    dashed = next(trace for trace in figure.data if trace.name == "the truth")
    assert list(dashed.y) == [1.0, 8.0]
    assert list(figure.data[-1].y) == [2.4]
    assert figure.layout.meta["alt"] == "Ε proved by true ε: 0 at 1; 2.4 at 8."
    assert figure.layout.meta["caption"] == "c", "nothing was repeated over seeds"
