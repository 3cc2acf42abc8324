"""The report of collected figures: one page of HTML that holds all it needs, in which names of data
are text."""

import json
import re
from types import SimpleNamespace

import pandas as pd
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from page_reading import press, unfold
from pages.frame import exports
from pages.frame import settings as codec
from pages.frame.settings import Settings
from pillar_core import plots
from pillar_core.data import uploads
from pillar_core.plots import theme
from pillar_core.runs import splitting
from pillar_core.types import Provenance

EVIL = '</script><img src="https://evil.example/x.png" onerror="alert(1)">'


@pytest.fixture
def session(monkeypatch):
    state = {}
    monkeypatch.setattr(st, "session_state", state)
    return state


def added(name: str = "bars", data: str = "digits", sets: tuple[str, ...] = ()) -> None:
    table = pd.DataFrame(
        {"source": [EVIL, "b"], "set": name, "seed": [0, 0], "accuracy": [0.5, 0.25], EVIL: [1, 2]}
    )
    figure = plots.accuracy_by(
        table, x="source", label="k", title="A figure", words={EVIL: EVIL, "b": "b"}
    )
    settings = Settings(data=data, controls="<b>")
    info = exports.FigureInfo(name, settings, [Provenance.NON_PRIVATE], sets=sets)
    exports._add(figure, table, info)


def counted(app: AppTest) -> list[str]:
    return [
        item.proto.label
        for item in app.get("download_button")
        if item.proto.label.startswith("Report")
    ]


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_figures_and_the_report_wear_the_colours_that_the_browser_asks_for(
    session, monkeypatch, mode
):
    monkeypatch.setattr(st, "context", SimpleNamespace(theme=SimpleNamespace(type=mode)))
    added()
    (entry,) = map(json.loads, exports._figures())
    assert entry["surface"] == theme.INK[mode].surface
    assert theme.INK[mode].text in entry["drawn"]


def test_the_report_is_text_that_loads_nothing_and_takes_the_pins(session, monkeypatch):
    added()
    added("more")
    page = exports.report_page(exports._figures())
    own = page.replace(re.search(r"<script>(/\*\*.*?)</script>", page, re.DOTALL)[1], "", 1)  # type: ignore[index]  # without Plotly itself
    assert "<img" not in own
    assert own.count("</script>") == own.count("<script")
    assert not re.search(r"<[^>]*\s(src|href)=", own)
    assert "default-src 'none'" in own
    assert page.count("plotly.js v") == 1, "Plotly lies in it once"
    assert own.count("<section>") == 2
    assert "non-private diagnostic" in own
    assert "2 of 2 rows" in own
    assert all(isinstance(value, str) for value in session.values())
    settings = Settings(data="digits", a=codec.pin(Settings(k=7)))
    monkeypatch.setattr(
        exports, "pins", lambda _: pd.DataFrame({"pin": ["A", "C"], "k": [7, 0], "data": EVIL})
    )
    figure = plots.accuracy_by(
        pd.DataFrame({"s": [1.0], "seed": 0, "accuracy": 0.5}), x="s", label="k", title="T"
    )
    exports._add(figure, pd.DataFrame(), exports.FigureInfo("x", settings, []))
    page = exports.report_page(exports._figures()).rpartition("<section>")[2]
    assert "Pinned settings" in page
    assert "<td>7</td>" in page
    assert "<img" not in page


def test_a_figure_is_added_with_its_run_s_ledger_and_assumptions(start):
    app = start("curves", epsilon="1", k="10")
    unfold(app, "below-accuracy_against_k")
    assert counted(app) == []
    press(app, "report-accuracy_against_k")
    kept = app.session_state["report.figures"]
    assert "It holds if" in kept
    assert "Releases charged:" in kept
    assert counted(app) == ["Report (1)"]
    assert counted(press(app, "report-empty")) == []


def test_a_report_forgets_figures_of_rows_that_were_brought(session, monkeypatch, tmp_path):
    """By the settings, by what a figure shows beside what they name, and by its name."""
    monkeypatch.setenv("PILLAR_CACHE", str(tmp_path))
    names = ("digits", "breast_cancer", "pneumonia_mnist")
    private, candidate, listed = (
        uploads.keep(splitting.load_named_features(name)) for name in names
    )
    added(data=private)
    added(sets=("part", f"{candidate}+drawn_noise"))
    added(name=listed)
    added()
    for name, count in ((private, 3), (candidate, 2), (listed, 1)):
        uploads.forget(name)
        assert len(exports._figures()) == count
    added()
    assert len(exports._figures()) == 2
