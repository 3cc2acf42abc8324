"""The report of collected figures: one page of HTML that holds all it needs, in which names of data are text."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from page_reading import Start, linked
from pages.frame import report
from pages.frame.settings import Settings
from pillar_core import plots, store
from pillar_core.data import features, uploads
from pillar_core.runs import splitting
from pillar_core.types import Provenance

EVIL = '</script><img src="https://evil.example/x.png" onerror="alert(1)">'


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    state: dict[str, Any] = {}
    monkeypatch.setattr(st, "session_state", state)
    monkeypatch.setattr(report.theme, "mode", lambda: "light")
    return state


def added(name: str = "bars", data: str = "digits", sets: tuple[str, ...] = ()) -> None:
    table = pd.DataFrame({"source": [EVIL, "b"], "set": name, "seed": [0, 0], "accuracy": [0.5, 0.25], EVIL: [1, 2]})
    figure = plots.accuracy_by(table, x="source", label="k", title="A figure", words={EVIL: EVIL, "b": "b"})
    badges = [Provenance.NON_PRIVATE]
    report._add(figure, table, name=name, settings=Settings(data=data, screen="<b>"), badges=badges, sets=sets)


def counted(app: AppTest) -> list[str]:
    return [item.proto.label for item in app.get("download_button") if item.proto.label.startswith("Report")]


def test_what_came_from_data_is_text_and_nothing_is_loaded(session: dict[str, Any]) -> None:
    added()
    added("more")
    page = report.page(list(session.values()))
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


def test_a_figure_is_added_with_its_run_s_ledger_and_assumptions(start: Start) -> None:
    app = start("explore", epsilon="1", k="10")
    app.session_state["below-accuracy_against_k"] = True
    app.run()
    assert counted(app) == []
    app.button(key="report-accuracy_against_k").click().run()
    assert not app.exception
    kept = app.session_state["report.01"]
    assert "It holds if:" in kept
    assert "Releases charged:" in kept
    assert counted(app) == ["Report (1)"]
    assert counted(start("home")) == ["Report (1)"], "a reload keeps it"
    again = start("home")
    again.button(key="report-empty").click().run()
    assert counted(again) == counted(start("home")) == []


def reloaded(session: dict[str, Any]) -> int:
    session.clear()
    report._recall()
    return len(session) - 1


def test_a_report_is_bounded_and_forgets_rows_that_were_brought(
    session: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PILLAR_CACHE", str(tmp_path))
    brought = uploads.keep(splitting.named_features("digits"))
    added(data=brought)
    added(name=brought)
    added()
    assert reloaded(session) == 3
    uploads.forget(brought)
    assert reloaded(session) == 1
    for _ in range(20):
        added()
    assert reloaded(session) == 12
    report._empty()
    monkeypatch.setattr(report, "_LARGEST", 100)
    added()
    assert "too large for the report" in session["url.notes"]
    assert reloaded(session) == 0


def test_figures_of_other_sets_than_the_settings_name_are_forgotten_with_them(
    session: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PILLAR_CACHE", str(tmp_path))
    candidate, listed = (uploads.keep(splitting.named_features(name)) for name in ("digits", "breast_cancer"))
    added(sets=("part", f"{candidate}+drawn_noise"))
    added(name=listed)
    added()
    for name, count in ((candidate, 2), (listed, 1)):
        uploads.forget(name)
        report._recall()
        assert len(report._names()) == count, "in this tab"
        assert reloaded(session) == count


def test_a_figure_on_answer_is_forgotten_with_every_candidate(start: Start) -> None:
    rows = splitting.named_features("breast_cancer")
    for scale in (1.01, 1.02):
        others = features(rows.x_train * np.float32(scale), rows.y_train, rows.x_test, rows.y_test, rows.classes)
        uploads.keep(others)
    app = start("answer", data="breast_cancer", epsilon="1")
    app.button(key="answer-go").click().run()
    app.session_state["below-answer_public"] = True
    app.run()
    app.button(key="report-answer_public").click().run()
    assert not app.exception
    assert counted(app) == counted(start("home")) == ["Report (1)"]
    uploads.forget(next(one.name for one in uploads.listed() if one.name != linked(app)["public"]))
    assert counted(app.run()) == counted(start("home")) == []


def test_a_tab_offers_no_figure_of_a_set_that_was_forgotten(start: Start) -> None:
    app = start("data")
    rows = "a,b,label\n" + "\n".join(f"{index % 2 + 0.01 * index:.2f},{(index % 2) * 2 - 1},{index % 2}" for index in range(60))
    app.file_uploader(key="upload").set_value([("ward.csv", rows.encode(), "text/csv")]).run()
    app.radio(key="upload-public").set_value(app.radio(key="upload-public").options[0]).run()
    app.button(key="use-upload").click().run()
    app.switch_page("pages/explore.py")
    app.session_state["below-accuracy_against_k"] = True
    app.run()
    app.button(key="report-accuracy_against_k").click().run()
    assert counted(app) == ["Report (1)"]
    app.switch_page("pages/data.py").run()
    app.button(key="forget").click().run()
    assert not app.exception
    assert counted(app) == []


def test_a_public_server_keeps_no_visitor_s_report(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PILLAR_PUBLIC", "1")
    app = start("explore", epsilon="1", k="10")
    app.session_state["below-accuracy_against_k"] = True
    app.run().button(key="report-accuracy_against_k").click().run()
    assert counted(app) == ["Report (1)"]
    assert counted(start("home")) == []
    assert store.default().keys("blob", prefix="report-") == []
