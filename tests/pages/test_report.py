"""The report of collected figures: one page of HTML that holds all it needs, in which names of data are text."""

from __future__ import annotations

import re
from typing import Any

import pandas as pd
import pytest
import streamlit as st

from page_reading import Start
from pages.frame import report
from pages.frame.settings import Settings
from pillar_core import plots
from pillar_core.types import Provenance

EVIL = '</script><img src="https://evil.example/x.png" onerror="alert(1)">'


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    state: dict[str, Any] = {}
    monkeypatch.setattr(st, "session_state", state)
    monkeypatch.setattr(report.theme, "mode", lambda: "light")
    return state


def added(name: str = "bars") -> None:
    table = pd.DataFrame({"source": [EVIL, "b"], "seed": [0, 0], "accuracy": [0.5, 0.25], EVIL: [1, 2]})
    figure = plots.accuracy_by(table, x="source", label="k", title="A figure", words={EVIL: EVIL, "b": "b"})
    report._add(figure, table, name=name, settings=Settings(data="digits", screen="<b>"), badges=[Provenance.NON_PRIVATE])


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
    assert "Report (1)" not in [item.proto.label for item in app.get("download_button")]
    app.button(key="report-accuracy_against_k").click().run()
    assert not app.exception
    kept = app.session_state["report.000001"]
    assert "It holds if:" in kept
    assert "Released:" in kept
    assert "Report (1)" in [item.proto.label for item in app.get("download_button")]
    app.button(key="report-empty").click().run()
    assert "Report (1)" not in [item.proto.label for item in app.get("download_button")]
