"""Learners: the view in the link, seeds that are counted and not assumed, and words where a view
cannot be drawn."""

import math
import shlex

import numpy as np
import pandas as pd
import pytest

import pillar_core as pc
from page_reading import charts, labelled, linked, look, words
from pages.frame import jobs
from pages.frame.settings import BUDGETS, Settings
from pages.parts.learners import comparison
from pillar_core.__main__ import main
from pillar_core.data import uploads
from pillar_core.runs import sweep
from pillar_core.studies.compare import views as compare_views
from pillar_core.studies.compare.views import COMPARE_VIEWS

SMALL = {"dataset": "digits", "public_fraction": 0.1, "delta": 1e-5}


@pytest.mark.parametrize("name", list(COMPARE_VIEWS))
def test_a_link_opens_every_view_with_question_figure_and_run_button(start, monkeypatch, name):
    monkeypatch.setattr(jobs, "FIRST_SECONDS", math.inf)
    data = "drawn_digits" if name == "shift" else "breast_cancer"
    app = start("learners", compare=name, data=data)
    assert not app.error
    assert COMPARE_VIEWS[name].question in words(app)
    assert app.get("plotly_chart")
    assert app.button(key="job-run")
    assert linked(app)["compare"] == name


def test_a_partly_finished_view_says_how_many_seeds_it_has(start):
    app = start("learners", compare="few_rows", epsilon="1.0", seed="40")
    pc.sweep({**SMALL, "method": ["pillar", "dp_sgd"], "epsilon": 1.0, "seed": [40]})
    pc.sweep({**SMALL, "method": ["pillar"], "epsilon": 1.0, "seed": [41, 42]})
    app.run()
    assert "1 to 3 seeds" in str(charts(app))
    assert "seed" not in app.expander[0].label, (
        "a label that changes would close the box while a curve fills"
    )
    assert app.button(key="job-run")
    assert comparison.seeds_of(pd.DataFrame({"seeds": [0, 2, 3]})) == (2, 3)
    assert comparison.seeds_of(pd.DataFrame({"seeds": [0]})) == (0, 0)


def test_a_partly_finished_comparison_counts_seeds_line_by_line(start):
    app = start("learners", data="breast_cancer", learners="pillar,dp_sgd", epsilon="0.7")
    shared = {**SMALL, "dataset": "breast_cancer", "epsilon": 0.7}
    pc.sweep({**shared, "method": "pillar", "seed": [0, 1]})
    pc.sweep({**shared, "method": "dp_sgd", "seed": [0]})
    app.run()
    assert "1 to 2 seeds" in str(charts(app))
    lines = next(
        item.value for item in app.dataframe if {"seeds", "title"} <= {*item.value.columns}
    )
    assert lines.set_index("title")["seeds"].to_dict() == {"PILLAR": 2, "DP-SGD": 1}


def test_public_rows_from_elsewhere_are_sets_of_the_same_width(start):
    app = start("learners", compare="shift", data="breast_cancer")
    assert "No other data set here has 30 features" in words(app)
    rows = np.random.default_rng(0).normal(size=(60, 3_072)).astype(np.float32)
    app = start(
        "learners", compare="shift", data=uploads.keep(pc.features(rows, np.arange(60) % 2))
    )
    offered = labelled(look(app), "selectbox", "Public rows from").options
    assert pc.DATASETS["mnist_m"].short_title in offered
    assert pc.DATASETS["torchvision:fashionmnist"].short_title not in offered


@pytest.mark.parametrize("name", [BUDGETS, "noise", "shift"])
def test_the_command_under_a_figure_asks_for_the_same_runs(start, name, monkeypatch):
    data, other = ("drawn_digits", "drawn_letters") if name == "shift" else ("digits", None)
    settings = Settings(
        data=data, seed=2, seeds=1, epsilon=2.0, relation="replace_one", compare=name
    )
    more = {"methods": "pillar,dp_sgd"} if name == BUDGETS else {"view": name, "other": other}
    line = shlex.split(comparison.command(settings, {"public_fraction": 0.1}, [2.0], **more))
    asked = []

    def note(group, **_):
        asked.extend(sweep.run_key(cell) for cell in group)
        return [
            {"cell": cell.form, "error": "not trained here", "cause": "SettingError"}
            for cell in group
        ]

    monkeypatch.setattr(sweep, "run_group", note)
    assert main(line[3:]) == 1
    shared = {"dataset": data, "delta": 1e-5, "relation": "replace_one", "accountant": "auto"}
    if name == BUDGETS:
        grid = {**comparison.read(settings, ["pillar", "dp_sgd"])[0], "epsilon": [2.0]}
        cells = sweep.specs_of(grid)
    else:
        split = pc.split(pc.load_dataset(data), public_fraction=0.1, seed=2)
        setup = compare_views.Setup(shared, {"public_fraction": 0.1}, split, [2.0], [2], other)
        cells = compare_views.specs_of(COMPARE_VIEWS[name], setup)
    assert set(asked) == {sweep.run_key(cell) for cell in cells}
