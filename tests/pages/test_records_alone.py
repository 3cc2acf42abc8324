"""Runs of other machines on pages: records without their rows."""

from types import SimpleNamespace

import numpy as np
import pytest
import streamlit as st

import pillar_core as pc
from page_reading import fill, words
from pillar_core.data import uploads
from pillar_core.jobs.sweep import sweep


@pytest.fixture
def name(start):
    """The name of rows that left this machine; the records of their runs stayed."""
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
    sweep(grid | {"k": [5, 10], "epsilon": [0.5, 2.0]})
    uploads.forget(stored)
    return stored


def test_sliders_of_curves_move_over_what_records_hold(start, name):
    app = start("curves", data=name, k="7", epsilon="1.7")
    assert not app.exception
    assert not app.error
    assert (app.session_state["set.k"], app.session_state["set.epsilon"]) == (5, 2.0)
    assert "are not on this machine. You see 12 records of them, trained on cpu" in words(app)
    assert app.get("plotly_chart")
    sliders = {slider.label: slider for slider in app.select_slider}
    assert sliders["k, directions kept"].options == ["5", "10"]
    assert sliders["ε, privacy budget"].options == ["0.5", "2"]
    fill(app, "segmented_control", "control.view", "plane")
    assert app.get("plotly_chart")
    for view in ("epsilon", "odds", "why", "classes"):
        fill(app, "segmented_control", "control.view", view)
        assert not app.error
    assert "records alone cannot feed this view" in words(app)
    assert any("Bring these rows" in link.proto.label for link in app.get("page_link"))


def test_learners_and_runs_open_on_records_alone(start, name, monkeypatch):
    app = start("learners", data=name, epsilon="2")
    assert not app.error
    assert len(app.get("plotly_chart")) == 2
    chosen = SimpleNamespace(selection=SimpleNamespace(rows=list(range(6))))
    monkeypatch.setattr(st, "dataframe", lambda *_, key="", **__: chosen)
    app = start("runs", data=name)
    links = [link.proto.label for link in app.get("page_link")]
    assert sum("Open on Curves: " in label for label in links) == 6
    app = start("why", data=name)
    assert "are not here" in words(app)
