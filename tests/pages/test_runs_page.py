"""Runs: counted before it starts, filtered by the link, compared and exported; papers beside our
own."""

import dataclasses
import functools
import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import streamlit as st
import yaml

import pillar_core as pc
from page_reading import fill, links, metric, unexplained, words
from pages.frame import core, jobs
from pages.frame import settings as codec
from pages.frame.settings import Settings
from pages.parts.learners import comparison
from pages.parts.runs import jobs as runs_jobs
from pages.parts.runs import results as runs_exports
from pillar_core.data import uploads
from pillar_core.jobs.sweep import sweep as sweep_grid
from pillar_core.runs import records, sweep
from pillar_core.studies import papers

GRID = {
    "dataset": "digits",
    "method": ["pillar", "dp_sgd"],
    "epsilon": [0.5, 2.0],
    "k": [5],
    "public_fraction": 0.1,
    "seed": [0, 1],
}


@pytest.fixture
def runs(start):
    """Eight runs in the page's cache."""
    pc.sweep(GRID)
    return records.all_runs()


def test_an_empty_cache_says_so_and_plans_count_their_runs(start):
    app = start("runs")
    assert "The cache holds no runs yet; these came with the library" in words(app)
    assert len(app.dataframe[0].value) > 25
    app = start("runs", runs="view:plan")
    assert unexplained(app) == {}
    assert metric(app, "Runs") == "45"
    assert metric(app, "In the cache") == "9"  # the library brings them


def test_a_plan_has_the_sidebars_public_set_and_number(start, handed):
    """A grid of shares was counted and trained, whatever public table the sidebar named."""
    app = start("runs", runs="view:plan", data="digits", public="mnist", metric="accuracy")
    assert "as in the sidebar" in words(app)
    assert "local-widget.plan-share" not in [slider.key for slider in app.select_slider]
    grid = yaml.safe_load(handed["plan-yaml"])
    assert (grid["public"], grid["metric"]) == ("mnist", "accuracy")
    assert "public_fraction" not in grid
    shares = start("runs", runs="view:plan", data="digits")
    assert "local-widget.plan-share" in [slider.key for slider in shares.select_slider]
    assert yaml.safe_load(handed["plan-yaml"])["public_fraction"] == 0.1


def test_a_job_on_a_grid_counts_its_runs_and_no_tasks(start, monkeypatch):
    monkeypatch.setattr("pillar_core.jobs.api._start", lambda *_: None)
    job = pc.jobs.submit({"kind": "sweep", "grid": GRID | {"seed": list(range(10))}})
    half = dataclasses.replace(pc.jobs.status(job), done=1, total=2, fraction=0.5)
    assert runs_jobs._done(half) == "20 of 40 runs"
    assert runs_jobs._done(dataclasses.replace(half, job_id="0" * 32)) == "1 of 2 parts"


def test_seeds_are_no_rows_own_rows_bear_their_name_and_the_estimate_knows_the_cache(runs):
    lines = records.lines(runs)
    assert len(runs) == 8
    assert len(lines) == 4
    assert (lines["seeds"] == 2).all()
    assert ((lines["low"] <= lines["mean"]) & (lines["mean"] <= lines["high"])).all()
    found = records.estimate(GRID | {"seed": [0, 1, 2]}, runs)
    assert (found["cells"], found["cached"]) == (12, 8)
    assert found["bytes"] == 4 * records.BYTES_A_RUN
    assert records.estimate(GRID, runs)["seconds"] == 0
    assert 4 * records.SECONDS_BESIDE < found["seconds"] < math.inf
    assert math.isnan(records.estimate(GRID | {"dataset": "breast_cancer"}, runs)["seconds"]), (
        "nobody knows how long other rows take"
    )
    first = runs_exports.command(runs).splitlines()[0]
    assert first.startswith(f"# made with pillar_core {pc.__version__}, source ")
    assert "numpy" in first
    assert records.versions_of(["0" * 32]) == []
    features = dataclasses.replace(
        pc.load_features(pc.load_dataset("breast_cancer")), name="ward 7"
    )
    pc.sweep(GRID | {"dataset": features, "method": "pillar", "k": [2, 400]})
    again = records.all_runs()
    assert set(again["data"]) == {pc.DATASETS["digits"].short_title, "ward 7 (yours)"}
    assert set(records.refusals(again)["data"]) == {"ward 7 (yours)"}


def test_the_table_shows_settings_and_the_link_filters_them_hostile_or_not(start, runs):
    app = start("runs")
    assert "4 settings, 8 runs" in words(app)
    fill(app, "local-widget.runs-method", ["pillar"])
    assert "2 settings, 4 runs" in words(app)
    assert app.query_params["controls"] == "runs-method:pillar"
    again = start("runs", runs="method:pillar;epsilon:0.5")
    assert "1 settings, 2 runs" in words(again)
    hostile = "x:y;;:;method:<script>;dataset:__proto__;epsilon:nan;](javascript:1)" + "a," * 2000
    settings, _ = codec.from_query({"runs": hostile})
    assert set(settings.controls) <= set(
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:;,+-"
    )
    assert len(settings.controls) <= 600
    app = start("runs", runs=hostile)
    assert "4 settings, 8 runs" in words(app)


def test_exports_train_the_same_runs(runs, monkeypatch, tmp_path):
    grids = list(yaml.safe_load_all(runs_exports.grids(runs)))
    assert runs_exports.grids(runs) in runs_exports.command(runs)
    assert len(grids) == 4
    keys = {sweep.run_key(cell) for grid in grids for cell in sweep.specs_of(grid)}
    assert keys == set(runs["key"])
    monkeypatch.setenv("PILLAR_CACHE", str(tmp_path / "elsewhere"))
    assert sorted(pd.concat(map(pc.sweep, grids))["accuracy"]) == sorted(runs["accuracy"])


def test_a_chosen_setting_opens_on_curves_with_its_runs(start, runs, monkeypatch):
    """A chosen line led nowhere, and ε was "inf" beside "∞"."""
    pc.sweep(
        {
            "dataset": "digits",
            "method": "non_private",
            "k": [None, 5],
            "public_fraction": 0.2,
            "seed": 3,
            "delta": 1e-6,
        }
    )
    pc.sweep(GRID | {"method": "pillar", "k": None, "learning_rate": 0.5, "seed": [0, 2]})
    monkeypatch.setattr(
        st,
        "dataframe",
        lambda *_, key="", **__: SimpleNamespace(selection=SimpleNamespace(rows=list(range(9)))),
    )
    app = start("runs", epsilon="8", tuning="papers")
    opened = {
        label: codec.from_query(query)[0]
        for label, query in links(app).items()
        if label.startswith("Open on Curves: ")
    }
    assert len(opened) == 5
    assert {core.run_key(settings) for settings in opened.values()} <= set(
        records.all_runs()["key"]
    )
    assert {(settings.seed, settings.seeds, settings.controls) for settings in opened.values()} == {
        (0, 2, ""),
        (3, 1, ""),
    }
    assert [settings.method for label, settings in opened.items() if "ε = ∞" in label] == [
        "non_private"
    ]
    assert "k = 5, ε = ∞: Curves does not show such a run." in words(app)
    assert "Curves has no control for learning_rate = 0.5." in words(app)


def test_what_was_refused_stands_apart_with_its_cause(start, runs):
    pc.sweep(GRID | {"method": "pillar", "k": [400]})
    again = records.all_runs()
    assert len(records.lines(again)) == 4
    refused = records.refusals(again)
    assert refused["seeds"].tolist() == [2, 2]
    assert refused["error_message"].str.contains("k must be at most").all()
    app = start("runs")
    assert "4 settings, 8 runs" in words(app)
    assert any("4 runs were refused, in 2 settings" in item.label for item in app.expander)


def test_papers_stand_on_the_page_with_what_cannot_run(start, monkeypatch):
    monkeypatch.setattr(jobs, "FIRST_SECONDS", -math.inf)
    app = start("runs", runs="view:papers")
    fill(app, "local-widget.papers-item-pillar", "Table II")
    assert "the order is the paper's in" in words(app), (
        "real features that ship open with a verdict"
    )
    assert app.get("plotly_chart")
    table = next(frame.value for frame in app.dataframe if "ε = 0.1: order" in frame.value)
    assert list(table["ε = 0.7: order"]).count("best") == 1
    assert len(table) == len(set(papers.published("pillar-table-2", dataset="CIFAR-10")["method"]))
    assert not any("difference" in name for name in table), (
        "numbers of other rows are not subtracted"
    )
    fill(app, "local-widget.papers-rows-CIFAR-10", "")
    assert "stand in for CIFAR-10" in words(app)
    grid = papers.grid("pillar-table-2", dataset="CIFAR-10")
    sweep_grid(grid | {"method": ["pillar", "jl"], "epsilon": [0.1], "seed": 0})
    app.run()
    assert (
        "On simulated rows, the order is the paper's in 0 of 1 comparisons with its best learner,"
        " not told apart in 1" in words(app)
    )
    for paper, item in (
        ("gsd", "Table 1"),
        ("pillar", "Figure 3"),
        ("semi_private", "Figure 2"),
        ("pillar", "Figure 4"),
    ):
        app.session_state["local.papers-paper"] = paper
        app.session_state[f"local.papers-item-{paper}"] = item
        app.run()
        row = papers.catalogue().set_index(["paper", "item"]).loc[(paper, item)]
        assert row["words"] in words(app)
    for paper, item, seconds in (
        ("adamix", "Table 1", -math.inf),
        ("semi_private", "Figure 1", 0.5),
    ):
        monkeypatch.setattr(jobs, "FIRST_SECONDS", seconds)
        app.session_state["local.papers-paper"] = paper
        app.session_state[f"local.papers-item-{paper}"] = item
        assert app.run().get("plotly_chart"), "by records that ship, or by a moment of training"


def test_a_table_run_by_command_stands_on_the_page_with_the_same_numbers(
    start, tmp_path, monkeypatch
):
    monkeypatch.setattr(jobs, "FIRST_SECONDS", -math.inf)
    rows = pc.load_features(pc.load_dataset("digits"))
    path = tmp_path / "cifar10_resnet50_sl.npz"
    np.savez(
        path, x_train=rows.x_train, y_train=rows.y_train, x_test=rows.x_test, y_test=rows.y_test
    )
    measure = functools.partial(
        papers.run, "pillar-table-4", dataset="CIFAR-10", data=str(path), seeds=1
    )
    measured = {tuned: measure(tuned=tuned) for tuned in (False, True)}
    app = start("runs", runs="view:papers")
    fill(app, "local-widget.papers-item-pillar", "Table IV")
    (stored,) = set(records.all_runs()["dataset"])
    fill(app, "local-widget.papers-rows-CIFAR-10", stored)
    for tuned in measured:
        fill(app, "local-widget.papers-tuned", tuned)
        assert ("Random stopping after 16 runs" in words(app)) == tuned
        table = next(frame.value for frame in app.dataframe if "ε = 0.1: ours, %" in frame.value)
        columns = [name for name in table if "ours" in name]
        ours = {round(value, 3) for name in columns for value in table[name].dropna()}
        assert ours == {round(100 * value, 3) for value in measured[tuned]["measured"]}
        assert any("difference" in name for name in table)


def test_compare_shows_a_papers_number_where_the_names_match(start, monkeypatch):
    pillar_alone = {"method": "pillar", "accuracy": [0.5], "seed": 0}
    runs, settings = pd.DataFrame(pillar_alone), Settings(data="digits", epsilon=0.1)
    assert "published" not in comparison._with_published(runs, settings)
    named = dataclasses.replace(core.features(settings), name="cifar10_resnet50")
    monkeypatch.setattr(core, "features", lambda _: named)
    assert comparison._with_published(runs, settings)["published"].tolist() == pytest.approx(
        [0.812]
    )


@pytest.fixture
def absent(start):
    """The name of rows that are not on this machine, where records of their runs are."""
    generator = np.random.Generator(np.random.PCG64(3))
    labels = np.arange(600) % 3
    rows = (generator.normal(size=(600, 20)) + 2 * np.eye(3, 20)[labels]).astype("float32")
    stored = uploads.keep(
        pc.features(rows[:400], labels[:400], rows[400:], labels[400:]), title="ward"
    )
    grid = {
        "dataset": stored,
        "public_fraction": 0.1,
        "method": ["pillar", "dp_sgd"],
        "seed": [0, 1],
    }
    sweep_grid(grid | {"k": [5, 10], "epsilon": [0.5, 2.0]})
    sweep_grid(grid | {"k": [5], "epsilon": [0.5], "learning_rate": 0.01, "seed": 0})
    uploads.forget(stored)
    return stored


def test_sliders_of_curves_move_over_what_records_hold(start, absent):
    app = start("curves", data=absent, k="7", epsilon="1.7")
    assert not app.exception
    assert not app.error
    assert (app.session_state["set.k"], app.session_state["set.epsilon"]) == (5, 2.0)
    assert "are not on this machine. You see 12 records of them, trained on cpu" in words(app)
    assert app.get("plotly_chart")
    sliders = {slider.label: slider for slider in app.select_slider}
    assert sliders["k, directions kept"].options == ["5", "10"]
    assert sliders["ε, privacy budget"].options == ["0.5", "2"]
    fill(app, "control.view", "plane")
    assert app.get("plotly_chart")
    for view in ("epsilon", "odds", "why", "classes"):
        fill(app, "control.view", view)
        assert not app.error
    assert "records alone cannot feed this view" in words(app)
    assert any("Bring these rows" in label for label in links(app))


def test_learners_and_runs_open_on_records_alone(start, absent, monkeypatch):
    app = start("learners", data=absent, epsilon="2")
    assert not app.error
    assert len(app.get("plotly_chart")) == 2
    bars = app.get("plotly_chart")[0].proto.spec
    assert bars.count("n = 2") >= 2, "seeds of one k, and not of several, make an interval"
    chosen = SimpleNamespace(selection=SimpleNamespace(rows=list(range(8))))
    monkeypatch.setattr(st, "dataframe", lambda *_, key="", **__: chosen)
    app = start("runs", data=absent)
    assert sum("Open on Curves: " in label for label in links(app)) == 6, (
        "a step size has no control there"
    )
    app = start("why", data=absent)
    assert "are not here" in words(app)
