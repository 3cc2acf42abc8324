"""Figures, tested without pixels: what is drawn where, with which uncertainty and which words."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from pillar_core import geometry, plots, rng, theory
from pillar_core.accounting import TradeOff
from pillar_core.auditing.membership import FEWEST_ALARMS
from pillar_core.plots import accuracy, intervals, marks, theme
from pillar_core.plots.steps import training_in_steps
from pillar_core.studies import geometry as studies
from pillar_core.studies import lessons, privacy_tables
from pillar_core.studies.evidence.attacks import Attack
from pillar_core.studies.privacy_tables import GaussianSetting
from users import raises

KS = (2, 8, 32, 128)
BUDGETS = (0.1, 1.0)
PEAK = {0.1: 8, 1.0: 32}


def runs(seeds: int = 3) -> pd.DataFrame:
    """Runs with a known best k for each budget: accuracy falls with the distance from it, seeds
    spread by ±0.01."""
    rows: list[tuple[str, float | None, float, int, float]] = []
    for seed in range(seeds):
        wobble = 0.01 * (seed - (seeds - 1) / 2)
        rows += [
            (
                "pillar",
                k,
                epsilon,
                seed,
                0.7 - 0.05 * abs(math.log2(k / PEAK[epsilon])) + 0.1 * (epsilon == 1.0) + wobble,
            )
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
    pushes = pd.DataFrame({"step": [1, 2], "noisy_x": [2.0, 0.0], "clean_y": 0.0, "noise": 3.0})
    pushes[["clean_x", "noisy_y", "clean"]] = 1.0
    heads = np.array([[[1.0, 0.0], [-1.0, 0.0]]] * 2)
    return {
        "points": points,
        "heads": heads,
        "pushes": pushes,
        "noise": 1.0,
        "pushed": "a",
        "classes": ("a", "b"),
    }


def traces(figure: Any, **wanted: Any) -> list[Any]:
    return [
        trace
        for trace in figure.data
        if all(getattr(trace, name) == value for name, value in wanted.items())
    ]


def test_each_budget_gets_a_line_and_you_are_here_leaves_the_labels_free():
    figure = plots.accuracy_against_k(runs())
    lines = traces(figure, mode="lines+markers")
    assert [line.name for line in lines] == ["ε = 0.1", "ε = 1"]
    assert [line.line.color for line in lines] == [
        theme.epsilon_colour(epsilon) for epsilon in BUDGETS
    ]
    rings = [
        trace for trace in traces(figure, mode="markers") if trace.marker.symbol == "circle-open"
    ]
    assert [ring.x[0] for ring in rings] == [PEAK[epsilon] for epsilon in BUDGETS]
    assert len(traces(figure, fill="toself")) == len(BUDGETS) + 2
    assert "best k 8 with 70.0 percent" in figure.layout.meta["alt"]
    places = {}
    for k in (KS[0], KS[-1]):
        notes = plots.accuracy_against_k(runs(), present=plots.Here(k, 1.0, 0.7)).layout.annotations
        places[k] = next(note for note in notes if "you are here" in note.text).ax
    # The label is some 85 pixels wide: centred 70 aside it ends 27 before the star, and the ends'
    # labels begin 12 after it.
    assert places == {KS[0]: 70, KS[-1]: -70}


def test_the_band_is_the_t_interval_and_one_seed_draws_none():
    band = traces(plots.accuracy_against_k(runs()), fill="toself")[1]
    # Three seeds at −0.01, 0, +0.01 have standard deviation 0.01; k = 2 of ε = 0.1 has mean 0.6.
    half = stats.t.ppf(0.975, 2) * 0.01 / math.sqrt(3)
    assert band.y[0] == pytest.approx(100 * (0.6 + half), rel=1e-9)
    assert band.y[-1] == pytest.approx(100 * (0.6 - half), rel=1e-9)
    figure = plots.accuracy_against_k(runs(seeds=1))
    assert not traces(figure, fill="toself")
    assert "1 seed: no interval" in figure.layout.meta["caption"]
    figure = plots.accuracy_against_k(runs(seeds=2))
    assert not traces(figure, fill="toself"), "t of one degree of freedom fills the picture"
    assert "2 seeds: no interval" in figure.layout.meta["caption"]
    cells = plots.accuracy_heatmap(runs(seeds=2))
    assert not any("±" in cell for line in cells.data[0].text for cell in line)
    figure = plots.accuracy_against_k(runs().iloc[:0], present=plots.Here(4, 1.0, 0.5))
    assert [trace.marker.symbol for trace in figure.data] == ["star"]


def test_the_axis_ends_at_100_percent_and_a_run_below_the_curves_has_its_words_above_it():
    table = runs()
    table["accuracy"] = 0.9 + table["accuracy"] / 10
    figure = plots.accuracy_against_k(table, present=plots.Here(4, 1.0, 0.2))
    low, high = figure.layout.yaxis.range
    assert low < 20 < 99 < high <= 102
    note = next(note for note in figure.layout.annotations if "you are here" in note.text)
    assert note.ay < 0


def test_floor_and_class_names_are_lines_and_the_pinned_run_a_ghost():
    table = runs()
    table.loc[(table["method"] == "dp_sgd") & (table["epsilon"] == 1.0), "accuracy"] += 0.1
    texts = [
        note.text
        for note in plots.accuracy_against_k(
            table, present=plots.Here(8, 1.0, 0.7)
        ).layout.annotations
    ]
    assert "no projection, ε = 1: 50.0 %" in texts
    assert "no privacy: 90.0 %" in texts
    assert "no projection, ε = 0.1: 40.0 %" in [
        note.text for note in plots.accuracy_against_k(table).layout.annotations
    ]
    ghost = traces(
        plots.accuracy_against_k(table, pinned=table[table["epsilon"] == 0.1]), name="pinned A"
    )
    assert [trace.line.dash for trace in ghost] == ["dot"]
    assert ghost[0].error_y.array[0] > 0
    style = {"method": "pillar", "budget": 1.0, "pinned": None, "k_max": None}
    figure = accuracy.accuracy_curves(runs(), guesses=(None, 0.05), **style)
    assert [set(trace.y) for trace in traces(figure, name="class names alone")] == [{5.0}]
    assert not traces(accuracy.accuracy_curves(runs(), **style), name="class names alone")


def test_each_pin_has_its_colour_on_every_figure():
    table = runs()
    pins = table.assign(pin=table["epsilon"].map({0.1: "A", 1.0: "C"})).dropna(subset=["pin"])
    curves = {
        trace.name: trace.line.color
        for trace in plots.accuracy_against_k(table, pinned=pins).data
        if "pinned" in str(trace.name)
    }
    assert curves == {f"pinned {pin}": plots.pin_colour(pin) for pin in "AC"}
    lines = pd.DataFrame(
        {"method": ["pillar"], "title": "", "epsilon": 1.0, "mean": 0.7, "low": 0.6, "high": 0.8}
    ).assign(seeds=2)
    base = plots.error_against_epsilon(lines)
    assert not any(base.data[0].error_y.array), "two seeds draw no interval"
    places = pd.DataFrame(
        {"pin": ["A", "B", "C"], "epsilon": [1.0, np.inf, 0.3], "accuracy": [0.6, 0.9, None]}
    )
    marked = plots.mark_pins(base, places)
    [mark] = marked.data[len(base.data) :]
    assert (mark.text[0], mark.y[0], mark.marker.color) == (
        "A",
        40.0,
        plots.pin_colour("A"),
    )


def test_the_heatmap_frames_the_ridge():
    table = runs()
    table = table[~((table["k"] == 2) & (table["epsilon"] == 1.0))]
    figure = plots.accuracy_heatmap(table, present=(8, 1.0))
    heat = figure.data[0]
    assert math.isnan(heat.z[1][0])
    assert heat.z[0][1] == pytest.approx(70.0, rel=1e-9)
    frames = {
        (shape.x0 + shape.x1) / 2: (shape.y0 + shape.y1) / 2
        for shape in figure.layout.shapes
        if shape.line.color == "#FFFFFF"
    }
    assert frames == pytest.approx({1.0: 0.0, 2.0: 1.0})
    unseen = figure.data[1]
    points = {
        tuple(taken): said for said, taken in zip(unseen.hovertext, unseen.customdata, strict=True)
    }
    assert len(points) == np.size(heat.z) == len(unseen.x)
    assert points[2.0, 1.0] == "not run yet"
    assert (unseen.x[1], unseen.y[1], *unseen.customdata[1]) == ("8", "0.1", 8.0, 0.1)


@pytest.mark.parametrize("advantage", [0.0, 0.107, 1.0])
def test_odds_dots_add_up(advantage):
    figure = plots.odds_dots(pd.DataFrame({"advantage": [advantage]}))
    counts = [len(trace.x) for trace in figure.data]
    assert sum(counts) == 400
    assert counts[1] == math.ceil(400 * advantage / 2)


@pytest.mark.parametrize("advantage", [-0.1, 1.1, math.nan])
def test_odds_refuse_what_is_no_advantage(advantage):
    raises(ValueError, "advantage", plots.odds_dots, pd.DataFrame({"advantage": [advantage]}))


@pytest.mark.parametrize(("share", "learned"), [(0.0, 0), (0.0171, 7), (0.02, 8), (0.5, 200)])
def test_turned_guesses_are_rounded_up_and_said_in_one_sentence(share, learned):
    assert plots.turned(share) == learned
    assert f"at most {learned} become right" in plots.promise(share)


def test_what_epsilon_alone_allows_stands_below_the_dots():
    figure = plots.odds_dots(pd.DataFrame({"advantage": [0.04], "alone": [0.15]}))
    assert "at most 8 become right" in figure.layout.title.text
    assert "allow 30." in figure.layout.meta["caption"]


def test_classes_run_from_worst_to_best_with_wilson_intervals():
    figure = plots.per_class(classes())
    points = figure.data[0]
    assert list(points.y) == ["c1", "c2", "c0"]
    # Wilson (1927) for 25 of 50 at z = 1.959964: centre 0.5, half-width 0.13355.
    assert points.error_x.array[0] == pytest.approx(13.355, abs=2e-3)
    assert points.error_x.arrayminus[0] == pytest.approx(13.355, abs=2e-3)


def test_intervals_of_classes_hold_seeds_and_rows():
    """One seed's interval over rows missed every other seed."""
    table = pd.concat(
        [classes().assign(seed=seed, recall=[0.9, 0.5 + 0.2 * seed, 0.7]) for seed in range(3)]
    )
    figure = plots.per_class(pd.concat([table, classes().assign(model="no privacy", recall=0.95)]))
    ceiling, seeds, means = figure.data
    assert (ceiling.name, len(seeds.x)) == ("no privacy", 9)
    width = dict(zip(means.y, means.error_x.array, strict=True))
    assert (
        width["c1"] > 20 > width["c2"]
    )  # Student's t of 50, 70, 90 percent is 49.7 points wide; without spread Wilson's stays


def test_wilson_stays_inside_and_turned_guesses_refuse_what_is_no_share():
    assert plots.wilson(1.0, 10)[1] == pytest.approx(1.0, abs=1e-12)
    assert plots.wilson(0.0, 0) == (0.0, 1.0)
    low, high = plots.wilson(0.5, 50)
    assert high - low == pytest.approx(0.2671, abs=1e-4)
    for share in (0.6, math.nan):
        raises(ValueError, "share", plots.turned, share)
    figure = plots.spectrum_and_gaps(geometry.spectrum_of(np.array([4.0, 2.0, 1.0])), k=2)
    assert "At k = 2: 85.7 % of the energy" in figure.layout.meta["caption"]


def test_a_map_of_many_classes_greys_the_rest_and_a_sentence_says_which_k_are_alike():
    table = pd.DataFrame(
        {"x": range(120), "y": range(120), "class": [str(i % 15) for i in range(120)]}
    )
    rest, *coloured = plots.map_2d(table).data
    assert (rest.name, len(coloured)) == ("9 other classes", 6)
    few = table[:12]
    classes = [*few["class"][::-1]]
    assert [trace.name for trace in plots.map_2d(few, classes=classes).data] == classes
    (points,) = plots.map_2d(few.assign(**{"class": "", "text": "<u>no</u> paper " * 99})).data
    assert points.hovertemplate == "no label<br>%{text}<extra></extra>"
    assert points.text[0].startswith("&lt;u>no&lt;/u> paper")
    assert points.text[0].count("<br>") == 2
    curve = pd.DataFrame(
        {
            "k": [3, 10, 40],
            "mean": [0.5, 0.71, 0.72],
            "low": [0.48, 0.7, 0.7],
            "high": [0.52, 0.72, 0.74],
            "seeds": 5,
        }
    )
    words = intervals.compare_best_k(curve, ruled=19, predicted=13)
    assert words.startswith("Best measured k: 40; the rule chooses 19 and the model predicts 13. ")
    assert words.endswith(
        "The seeds do not tell k from 10 to 40 apart: their means differ by 1.0 points."
    )
    assert (
        intervals.compare_best_k(curve.iloc[[0, 2]])
        == "Best measured k: 40. No other k reaches it."
    )
    assert intervals.compare_best_k(curve.assign(high=math.nan)) == ""


def test_bars_are_sorted_and_levels_are_lines_and_the_shown_table_is_not_changed():
    table = runs()
    figure = plots.comparison(
        table[(table["epsilon"] != 0.1) & (table["k"].isna() | (table["k"] == 8))]
    )
    bar = figure.data[1]
    assert list(bar.y) == ["non_private", "pillar", "dp_sgd"]
    assert all(half > 0 for half in bar.error_x.array)
    assert bar.marker.line.color == tuple(theme.method_style(name).light for name in bar.y)
    before = table.copy(deep=True)
    plots.accuracy_against_k(table)
    plots.accuracy_heatmap(table)
    pd.testing.assert_frame_equal(table, before)
    figure = plots.comparison(runs(), levels={"largest class": 0.5, "public rows": 0.51})
    assert [line.x0 for line in figure.layout.shapes] == [50.0, 51.0]
    assert [note.text for note in figure.layout.annotations] == [
        "largest class: 50.0 %",
        "public rows: 51.0 %",
    ]
    assert figure.layout.annotations[1].yshift - figure.layout.annotations[0].yshift >= 16
    shares = pd.DataFrame({"method": "dp_sgd", "accuracy": [0.826, 0.826, 0.8275, 0.8305, 0.8225]})
    assert {
        intervals.over_seeds(rows, by=["method"], value="accuracy")["mean"].item()
        for rows in (shares, shares[::-1])
    } == {0.8265}


def test_the_training_plays_a_frame_a_step_and_leaves_the_rows_where_they_are():
    figure = training_in_steps(**steps())
    assert [frame.name for frame in figure.frames] == ["1", "2"]
    assert [trace.name for trace in figure.data[: figure.frames[0].traces[0]]] == ["a", "b"]
    drawn = [figure.data[place].type for place in figure.frames[0].traces]
    assert [trace.type for trace in figure.frames[0].data] == drawn
    assert [step.label for step in figure.layout.sliders[0].steps] == ["1", "2"]


FEW_KS = [1, 4, 16, 64]


def xi():
    rows = [(b, k, 0.5 / k, 0.2 / k, 0.9 / k, 3) for b in ("public_pca", "random") for k in FEW_KS]
    return pd.DataFrame(rows, columns=["basis", "k", "mean", "low", "high", "pairs"])


def line(figure, name):
    return next(trace for trace in figure.data if trace.name == name)


def test_xi_draws_the_mean_and_spans_the_pairs():
    figure = plots.xi_against_k(xi(), k=16)
    assert list(line(figure, "public directions").y) == [0.5 / k for k in FEW_KS]
    band = next(trace for trace in figure.data if trace.fill == "toself")
    assert max(band.y) == 0.9
    assert min(band.y) == 0.2 / 64
    assert "0.50 at k = 1" in figure.layout.meta["alt"]


def test_margins_rates_and_graphs_draw_what_there_is():
    table = pd.DataFrame(
        {
            "class": ["a", "a", "b", "b"],
            "whole": [0.2, 0.1, -0.1, -0.3],
            "projected": [0.2, -0.1, 0.0, -0.3],
        }
    )
    figure = plots.margin_histogram(table, k=3, d=9, classes=("a", "b"))
    assert figure.layout.title.text == "Wrong side: 2 of 4 rows with k = 3, 0 with all features"
    assert [sum(trace.y) for trace in figure.data] == [2, 2, 2, 2]
    names = {trace.name for trace in plots.rates(theory.rate_curves("k", [1, 10], gamma=0.0)).data}
    assert names == {"generic semi-private learner"}
    figure = plots.component_graph([0, 0, 1, 1, 2], np.array([[0, 1], [2, 3]]), k=2, n_unlabelled=5)
    assert np.isnan(np.array(figure.data[0].x, dtype=float)).sum() == 2
    assert "3 components" in figure.layout.title.text
    assert len(plots.component_table([0, 1], k=1)) == 2


def test_gains_lie_against_public_facts_with_the_present_place_marked():
    # (ε, δ) = (1, 1e-5) is μ = 0.268051 of a Gaussian, in closed form: ten classes of 180 rows in
    # 1,280 directions.
    ratio = studies.noise_ratio(n_private=1800, d=1280, classes=10, epsilon=1.0)
    assert ratio == pytest.approx(10 * math.sqrt(1280) / (1800 * 0.268051), rel=1e-4)
    table = studies.projection_gains()
    assert not table.duplicated(["set", "epsilon"]).any()
    figure = plots.projection_gains(table, spearman=table.attrs["spearman"], present=ratio)
    drawn = {trace.name: trace for trace in figure.data}
    assert set(drawn) == set(table["set"])
    digits = table[table["set"] == "Digits (pixels)"]
    assert list(drawn["Digits (pixels)"].y) == pytest.approx(list(digits["gain"]))
    assert list(drawn["Digits (pixels)"].error_y.array) == pytest.approx(
        list(digits["high"] - digits["gain"])
    )
    assert figure.layout.title.text == "Projection helps where noise is larger than the signal"
    unsure = plots.projection_gains(table.assign(low=-1.0), spearman=0.0)
    assert unsure.layout.title.text.endswith("?"), "a headline is computed"
    assert ratio in [shape.x0 for shape in figure.layout.shapes]
    assert (
        f"Rank correlation {table.attrs['spearman']:.2f} over {len(table)} cells"
        in figure.layout.meta["caption"]
    )


CURVE = TradeOff("gaussian", mu=0.9)
SETTING = GaussianSetting(2.0, 1.0, 4, 1e-5, "add_or_remove_one")


def test_accountants_agree_on_full_batches_below_the_ceiling_that_lies_above_the_coin():
    table = privacy_tables.trade_off(CURVE)
    assert (table["true_positive_rate"] >= table["false_positive_rate"] - 1e-12).all()
    # For a Gaussian curve the gap is widest at Φ(−μ/2) = 0.326; the grid is 0.006 fine.
    assert privacy_tables.widest(table) == pytest.approx(0.326, abs=0.01)
    table = privacy_tables.by_accountant(SETTING, privacy_tables.QUICK).set_index("name")
    # Exact ends of two codes agree to about 1e-10.
    assert table.loc["pillar", "epsilon"] <= table["epsilon"].min() * (1 + 1e-9)
    assert table.loc["rdp", "epsilon"] > table.loc["pillar", "epsilon"]
    assert not table.loc["gdp", "is_bound"]


def test_the_stated_delta_is_named_beside_its_line_on_the_logarithmic_axis():
    """Its name stood at δ = 1: plotly takes the place of words on such an axis as an exponent."""
    profile = privacy_tables.profile(SETTING)
    figure = plots.epsilon_against_delta(profile, delta=1e-5)
    (line,), (note,) = figure.layout.shapes, figure.layout.annotations
    assert (line.y0, note.y) == (1e-5, -5)


def test_choices_cost_and_what_has_no_bound_says_so():
    table = privacy_tables.composed_epsilons(SETTING, selection=0.1, trials=5)
    assert table["epsilon"].is_monotonic_increasing
    sampled = GaussianSetting(2.0, 0.1, 4, 1e-5, "replace_one")
    refused = privacy_tables.composed_epsilons(sampled, selection=0.1, trials=5).iloc[-1]
    assert np.isnan(refused["epsilon"])
    assert refused["event"] == privacy_tables.NO_SELECTION
    price = privacy_tables.tuning_price(2.0, delta=1e-5, means=(3.0, 10.0))
    assert price["epsilon"].is_monotonic_decreasing


def test_attacks_are_drawn_with_bands_from_the_rate_on_where_twenty_false_alarms_lie():
    draws = rng.stream(0, "attack")
    least = FEWEST_ALARMS / 400
    attack = Attack("an attack", 0.2 + draws.standard_normal(300), draws.standard_normal(400))
    figure = plots.membership_roc(
        attack.roc(),
        attack.band(),
        privacy_tables.trade_off(CURVE, logarithmic=True),
        epsilon=1.0,
        members=300,
        non_members=400,
        least=least,
    )
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
def test_the_headline_of_individual_losses_follows_the_numbers(values, said):
    figure = plots.individual_losses(pd.DataFrame({"epsilon": values}), stated=1.0, delta=1e-5)
    assert said in figure.layout.title.text


RUNS = pd.DataFrame({"k": [1, 1, 10, 10], "seed": [0, 1, 0, 1], "accuracy": [0.2, 0.4, 0.8, 0.9]})


def test_the_control_s_value_wears_the_star_in_the_colours_of_the_page():
    with plots.in_mode("dark"):
        figure = plots.accuracy_by(RUNS, x="k", label="k", title="t", present=10)
    star = figure.data[-1]
    assert star.marker.color == marks.MARKED["dark"]
    assert list(star.x) == [10]
    assert list(star.y) == pytest.approx([85.0])
    assert "30.0 percent at 1" in figure.layout.meta["alt"]
    assert "2 seeds" in figure.layout.meta["caption"]


def test_names_are_bars_in_the_order_given():
    table = RUNS.assign(source=["b", "b", "a", "a"]).drop(columns="k")
    words = {"b": "bees", "a": "ants"}
    figure = plots.accuracy_by(
        table, x="source", label="source", title="t", present="a", words=words
    )
    assert list(figure.layout.xaxis.categoryarray) == ["bees", "ants"]
    by_name = dict(zip(figure.data[0].x, figure.data[0].y, strict=True))
    assert by_name == {"ants": pytest.approx(85.0), "bees": pytest.approx(30.0)}


def test_ten_releases_cost_less_than_their_sum_and_scrambled_pixels_keep_every_value():
    table = lessons.releases((1, 10), epsilon=1.0).set_index("releases")
    # A Gaussian release of (1, 1e-5) has μ = 0.2684; ten compose to μ = 0.8487, which is (3.619,
    # 1e-5): δ(ε; μ) in closed form.
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
    assert noise.mean() == pytest.approx(
        parts.public_x.mean(), abs=0.06 * float(parts.public_x.std())
    )
    private = lessons._with_public("scrambled", 0)
    assert private.facts.n_private == parts.facts.n_private
    assert private.facts.n_public == parts.facts.n_public


def test_a_limit_is_a_dashed_line_and_other_values_keep_their_scale():
    table = pd.DataFrame({"epsilon": [1.0, 8.0], "certified": [0.0, 2.4], "limit": [1.0, 8.0]})
    figure = plots.accuracy_by(
        table,
        limit="the truth",
        present=8.0,
        x="epsilon",
        label="true ε",
        title="t",
        value="certified",
        scale=1,
        axis="ε proved",
        caption="c",
    )
    dashed = next(trace for trace in figure.data if trace.name == "the truth")
    assert list(dashed.y) == [1.0, 8.0]
    assert list(figure.data[-1].y) == [2.4]
    assert figure.layout.meta["alt"] == "Ε proved by true ε: 0 at 1; 2.4 at 8."
    assert figure.layout.meta["caption"] == "c", "nothing was repeated over seeds"


def test_settings_that_reach_the_same_stand_on_an_axis_that_can_be_read():
    """Two equal runs had ticks from 96.46017699115 to 96.4601769912: their means differed in the
    last bit."""
    lines = pd.DataFrame(
        {
            "group": ["a", "b"],
            "method": "pillar",
            "mean": [109 / 113, 109 / 113 + 1e-16],
            "low": math.nan,
            "high": math.nan,
        }
    )
    runs_of = pd.DataFrame({"group": ["a", "b"], "method": "pillar", "accuracy": 109 / 113})
    low, high = plots.overlay(runs_of, lines, labels={"a": "a", "b": "b"}).layout.xaxis.range
    assert (low, high) == pytest.approx((95.46, 97.46), abs=0.01)
    apart = lines.assign(mean=[0.9, 0.95])
    assert plots.overlay(runs_of, apart, labels={"a": "a", "b": "b"}).layout.xaxis.range is None
