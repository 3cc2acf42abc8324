"""Figures, tested without pixels: what is drawn where, with which uncertainty and which words."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from pillar_core import geometry, plots
from pillar_core.plots import accuracy, k_curves, theme
from pillar_core.plots.steps import training_in_steps

KS = (2, 8, 32, 128)
BUDGETS = (0.1, 1.0)
PEAK = {0.1: 8, 1.0: 32}


def runs(seeds: int = 3) -> pd.DataFrame:
    """Runs with a known best k for each budget: accuracy falls with the distance from it, seeds spread by ±0.01."""
    rows: list[tuple[str, float | None, float, int, float]] = []
    for seed in range(seeds):
        wobble = 0.01 * (seed - (seeds - 1) / 2)
        rows += [
            ("pillar", k, epsilon, seed, 0.7 - 0.05 * abs(math.log2(k / PEAK[epsilon])) + 0.1 * (epsilon == 1.0) + wobble)
            for epsilon in BUDGETS
            for k in KS
        ]
        rows += [("dp_sgd", None, epsilon, seed, 0.4 + wobble) for epsilon in BUDGETS]
        rows.append(("non_private", None, math.inf, seed, 0.9 + wobble))
    return pd.DataFrame(rows, columns=["method", "k", "epsilon", "seed", "accuracy"])


def classes(count: int = 3) -> pd.DataFrame:
    recalls = {"class": [f"c{i}" for i in range(count)], "recall": [0.9, 0.5, 0.7][:count]}
    return pd.DataFrame({"model": "private", "seed": 0, **recalls, "rows": [50] * count})


def steps() -> dict[str, Any]:
    points = pd.DataFrame({"x": [0.5, -1.0], "y": [1.0, 0.0], "class": ["a", "b"]})
    pushes = pd.DataFrame(
        {"step": [1, 2], "clean_x": 1.0, "clean_y": 0.0, "noisy_x": [2.0, 0.0], "noisy_y": 1.0, "clean": 1.0, "noise": 3.0}
    )
    heads = np.array([[[1.0, 0.0], [-1.0, 0.0]]] * 2)
    return {"points": points, "heads": heads, "pushes": pushes, "noise": 1.0, "pushed": "a", "classes": ("a", "b")}


def traces(figure: Any, **wanted: Any) -> list[Any]:
    return [trace for trace in figure.data if all(getattr(trace, name) == value for name, value in wanted.items())]


def test_each_budget_gets_a_line_a_band_and_a_ring_at_its_best_k() -> None:
    figure = plots.accuracy_against_k(runs())
    lines = traces(figure, mode="lines+markers")
    assert [line.name for line in lines] == ["ε = 0.1", "ε = 1"]
    assert [line.line.color for line in lines] == [theme.epsilon_colour(epsilon, "light") for epsilon in BUDGETS]
    rings = [trace for trace in traces(figure, mode="markers") if trace.marker.symbol == "circle-open"]
    assert [ring.x[0] for ring in rings] == [PEAK[epsilon] for epsilon in BUDGETS]
    assert len(traces(figure, fill="toself")) == len(BUDGETS) + 2
    assert "best k 8 with 70.0 percent" in figure.layout.meta["alt"]


def test_the_band_is_the_t_interval_and_one_seed_draws_none() -> None:
    band = traces(plots.accuracy_against_k(runs()), fill="toself")[1]
    # Three seeds at −0.01, 0, +0.01 have standard deviation 0.01; k = 2 of ε = 0.1 has mean 0.6.
    half = stats.t.ppf(0.975, 2) * 0.01 / math.sqrt(3)
    assert band.y[0] == pytest.approx(100 * (0.6 + half), rel=1e-9)
    assert band.y[-1] == pytest.approx(100 * (0.6 - half), rel=1e-9)
    figure = plots.accuracy_against_k(runs(seeds=1))
    assert not traces(figure, fill="toself")
    assert "1 seed: no interval" in figure.layout.meta["caption"]
    figure = plots.accuracy_against_k(runs().iloc[:0], present=plots.Here(4, 1.0, 0.5))
    assert [trace.marker.symbol for trace in figure.data] == ["star"]


def test_floor_and_class_names_are_lines_and_the_pinned_run_a_ghost() -> None:
    table = runs()
    table.loc[(table["method"] == "dp_sgd") & (table["epsilon"] == 1.0), "accuracy"] += 0.1
    texts = [note.text for note in plots.accuracy_against_k(table, present=plots.Here(8, 1.0, 0.7)).layout.annotations]
    assert "no projection, ε = 1: 50.0 %" in texts
    assert "no privacy: 90.0 %" in texts
    assert "no projection, ε = 0.1: 40.0 %" in [note.text for note in plots.accuracy_against_k(table).layout.annotations]
    ghost = traces(plots.accuracy_against_k(table, pinned=table[table["epsilon"] == 0.1]), name="pinned A")
    assert [trace.line.dash for trace in ghost] == ["dot"]
    assert ghost[0].error_y.array[0] > 0
    style = {"mode": "light", "method": "pillar", "budget": 1.0, "pinned": None, "k_max": None}
    figure = accuracy.accuracy_curves(runs(), guesses=(None, 0.05), **style)
    assert [set(trace.y) for trace in traces(figure, name="class names alone")] == [{5.0}]
    assert not traces(accuracy.accuracy_curves(runs(), **style), name="class names alone")


def test_each_pin_has_its_colour_on_every_figure() -> None:
    table = runs()
    pins = pd.concat([table[table["epsilon"] == epsilon].assign(pin=pin) for pin, epsilon in (("A", 0.1), ("C", 1.0))])
    curves = {trace.name: trace.line.color for trace in plots.accuracy_against_k(table, pinned=pins).data if "pinned" in str(trace.name)}
    assert curves == {f"pinned {pin}": plots.pin_colour(pin, "light") for pin in "AC"}
    lines = pd.DataFrame(
        [("pillar", "PILLAR", 1.0, 0.7, 0.6, 0.8, 3)], columns=["method", "title", "epsilon", "mean", "low", "high", "seeds"]
    )
    base = plots.error_against_epsilon(lines)
    places = pd.DataFrame({"pin": ["A", "B", "C"], "epsilon": [1.0, np.inf, 0.3], "accuracy": [0.6, 0.9, None]})
    marked = plots.mark_pins(base, places)
    [mark] = marked.data[len(base.data) :]
    assert (mark.text[0], mark.y[0], mark.marker.color) == ("A", 40.0, plots.pin_colour("A", "light"))


def test_you_are_here_leaves_the_labels_at_the_ends_free() -> None:
    table = runs()
    ks = sorted(table["k"].dropna().unique())
    places = {}
    for k in (int(ks[0]), int(ks[-1])):
        notes = plots.accuracy_against_k(table, present=plots.Here(k, 1.0, 0.7)).layout.annotations
        places[k] = next(note for note in notes if "you are here" in note.text).ax
    # The label is some 85 pixels wide: centred 70 to the left it ends 27 before the star, and the ends' labels begin 10 after it.
    assert places == {int(ks[0]): 0, int(ks[-1]): -70}


def test_the_heatmap_frames_the_ridge_and_leaves_unrun_cells_empty() -> None:
    table = runs()
    table = table[~((table["k"] == 2) & (table["epsilon"] == 1.0))]
    figure = plots.accuracy_heatmap(table, present=(8, 1.0))
    heat = figure.data[0]
    assert heat.z[1][0] is None
    assert heat.hovertext[1][0] == "not run yet"
    assert heat.z[0][1] == pytest.approx(70.0, rel=1e-9)
    frames = {(shape.x0 + shape.x1) / 2: (shape.y0 + shape.y1) / 2 for shape in figure.layout.shapes if shape.line.color == "#FFFFFF"}
    assert frames == pytest.approx({1.0: 0.0, 2.0: 1.0})
    assert tuple(heat.customdata[0][1]) == (8.0, 0.1)


def test_the_hero_tells_the_gain_over_no_projection() -> None:
    figure = plots.learning_hero(runs(), data="Synthetic rows")
    texts = " ".join(note.text for note in figure.layout.annotations)
    assert "70 % at k = 8" in texts
    assert "+30 points" in texts
    assert "Synthetic rows" in figure.layout.meta["caption"]
    assert "does not help" not in figure.layout.meta["caption"]
    level = pd.DataFrame({"method": ["dp_sgd", "only_public"], "epsilon": [min(BUDGETS), 0.0], "seed": [0, 0], "accuracy": [0.9, 0.8]})
    rivals = plots.learning_hero(pd.concat([runs().query("method != 'dp_sgd'"), level])).layout.meta["caption"]
    assert "projecting does not help" in rivals
    assert "the public rows alone reach 80 %: where yours have labels, use them" in rivals


@pytest.mark.parametrize("advantage", [0.0, 0.107, 1.0])
def test_odds_dots_add_up(advantage: float) -> None:
    figure = plots.odds_dots(pd.DataFrame({"advantage": [advantage]}))
    counts = [len(trace.x) for trace in figure.data]
    assert sum(counts) == 400
    assert counts[1] == round(400 * advantage / 2)


@pytest.mark.parametrize("advantage", [-0.1, 1.1, math.nan])
def test_odds_refuse_what_is_no_advantage(advantage: float) -> None:
    with pytest.raises(ValueError, match="advantage"):
        plots.odds_dots(pd.DataFrame({"advantage": [advantage]}))


@pytest.mark.parametrize(
    ("share", "words"),
    [(0.0535, "1 in 18."), (0.5, "1 in 2.0."), (0.0012, "1 in 830."), (0.1007, "1 in 9.9."), (1 / 57.4, "1 in 57."), (0.0, "Not one.")],
)
def test_odds_in_words(share: float, words: str) -> None:
    assert plots.one_in(share) == words


def test_classes_run_from_worst_to_best_with_wilson_intervals() -> None:
    figure = plots.per_class(classes())
    points = figure.data[0]
    assert list(points.y) == ["c1", "c2", "c0"]
    # Wilson (1927) for 25 of 50 at z = 1.959964: centre 0.5, half-width 0.13355.
    assert points.error_x.array[0] == pytest.approx(13.355, abs=2e-3)
    assert points.error_x.arrayminus[0] == pytest.approx(13.355, abs=2e-3)


def test_intervals_of_classes_hold_seeds_and_rows() -> None:
    """One seed's interval over rows missed every other seed."""
    table = pd.concat([classes().assign(seed=seed, recall=[0.9, 0.5 + 0.2 * seed, 0.7]) for seed in range(3)])
    figure = plots.per_class(pd.concat([table, classes().assign(model="no privacy", recall=0.95)]))
    ceiling, seeds, means = figure.data
    assert (ceiling.name, len(seeds.x)) == ("no privacy", 9)
    width = dict(zip(means.y, means.error_x.array, strict=True))
    assert width["c1"] > 20 > width["c2"]  # Student's t of 50, 70, 90 percent is 49.7 points wide; without spread Wilson's stays


def test_wilson_stays_inside_and_right_guesses_are_rounded_up() -> None:
    assert plots.wilson(1.0, 10)[1] == pytest.approx(1.0, abs=1e-12)
    assert plots.wilson(0.0, 0) == (0.0, 1.0)
    low, high = plots.wilson(0.5, 50)
    assert high - low == pytest.approx(0.2671, abs=1e-4)
    assert [plots.guessed_right(share) for share in (0.0, 0.0171, 0.02, 0.5)] == ["50.0 %", "51.8 %", "52.0 %", "100.0 %"]
    with pytest.raises(ValueError, match="share"):
        plots.guessed_right(0.6)
    figure = plots.spectrum_and_gaps(geometry.spectrum_of(np.array([4.0, 2.0, 1.0])), k=2)
    assert "At k = 2: 85.7 % of the energy" in figure.layout.meta["caption"]


def test_a_map_of_many_classes_colours_six_and_greys_the_rest() -> None:
    table = pd.DataFrame({"x": range(120), "y": range(120), "class": [str(i % 15) for i in range(120)]})
    names = [trace.name for trace in plots.map_2d(table).data]
    assert names[0] == "9 other classes"
    assert len(names) == 7
    few = pd.DataFrame({"x": range(12), "y": range(12), "class": [str(i) for i in range(12)]})
    assert len(plots.map_2d(few).data) == 12
    (points,) = plots.map_2d(few.assign(**{"class": "", "text": "<u>no</u> paper " * 99})).data
    assert points.hovertemplate == "no label<br>%{text}<extra></extra>"
    assert points.text[0].startswith("&lt;u>no&lt;/u> paper")
    assert points.text[0].count("<br>") == 2


def test_bars_are_sorted_and_levels_are_lines_and_the_shown_table_is_not_changed() -> None:
    table = runs()
    figure = plots.comparison(table[(table["epsilon"] != 0.1) & (table["k"].isna() | (table["k"] == 8))])
    bar = figure.data[0]
    assert list(bar.y) == ["non_private", "pillar", "dp_sgd"]
    assert all(half > 0 for half in bar.error_x.array)
    assert bar.marker.line.color == tuple(theme.method_style(name).light for name in bar.y)
    before = table.copy(deep=True)
    plots.accuracy_against_k(table)
    plots.accuracy_heatmap(table)
    pd.testing.assert_frame_equal(table, before)
    figure = plots.comparison(runs(), levels={"largest class": 0.5, "public rows": 0.51})
    assert [line.x0 for line in figure.layout.shapes] == [50.0, 51.0]
    assert [note.text for note in figure.layout.annotations] == ["largest class: 50.0 %", "public rows: 51.0 %"]
    assert figure.layout.annotations[1].yshift - figure.layout.annotations[0].yshift >= 16


def test_the_training_plays_a_frame_a_step_and_leaves_the_rows_where_they_are() -> None:
    figure = training_in_steps(**steps())
    assert [frame.name for frame in figure.frames] == ["1", "2"]
    assert all(0 not in frame.traces for frame in figure.frames)
    drawn = [figure.data[place].type for place in figure.frames[0].traces]
    assert [trace.type for trace in figure.frames[0].data] == drawn
    assert [step.label for step in figure.layout.sliders[0].steps] == ["1", "2"]


def test_a_sentence_says_which_k_the_seeds_cannot_tell_apart() -> None:
    curve = pd.DataFrame({"k": [3, 10, 40], "mean": [0.5, 0.71, 0.72], "low": [0.48, 0.7, 0.7], "high": [0.52, 0.72, 0.74], "seeds": 5})
    words = k_curves.compare_best_k(curve, ruled=19, predicted=13)
    assert words.startswith("Best measured k: 40; the rule chooses 19 and the model predicts 13. ")
    assert words.endswith("The seeds do not tell k from 10 to 40 apart: their means differ by 1.0 points.")
    assert k_curves.compare_best_k(curve.iloc[[0, 2]]) == "Best measured k: 40. No other k reaches it."
    assert k_curves.compare_best_k(curve.assign(high=math.nan)) == ""
