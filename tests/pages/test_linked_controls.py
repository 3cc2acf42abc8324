"""Controls of single pages travel in the link, hostile ones fall back, and what nobody moved stays out of it."""

from __future__ import annotations

import pytest

from page_reading import Start, words
from pages.frame import controls
from pages.frame import settings as codec
from pages.frame.settings import Settings


def test_a_link_restores_a_pages_controls(start: Start) -> None:
    app = start("theory", controls="theory-view:theorems;theorem:pillar_theorem_1;pillar_theorem_1.epsilon:0.5;pillar_theorem_1.k:10")
    assert not app.exception
    assert "Theorem 1" in words(app)
    assert app.number_input(key="local-widget.pillar_theorem_1.epsilon").value == 0.5
    assert app.number_input(key="local-widget.pillar_theorem_1.k").value == 10
    app.number_input(key="local-widget.pillar_theorem_1.k").set_value(20).run()
    assert "pillar_theorem_1.k:20" in app.query_params["controls"]
    assert "theory-view:theorems" in app.query_params["controls"]


def test_what_nobody_moved_stays_out_of_the_link(start: Start) -> None:
    app = start("geometry", k="8")
    assert app.query_params["controls"] == ""
    app.segmented_control(key="local-widget.geometry-view").set_value("spectrum").run()
    assert app.query_params["controls"] == "geometry-view:spectrum"


@pytest.mark.parametrize(
    "word",
    ["geometry-view:nowhere;quantile:nan;n_public:1e999", ";;::;:x;k:5", "evidence-lira:run;lesson-guess-1:3", "which:<b>;bases:a,b" * 500],
)
def test_hostile_controls_fall_back(start: Start, word: str) -> None:
    app = start("geometry", k="8", controls=word)
    assert not app.exception
    assert not app.error
    assert "local.evidence-lira" not in app.session_state
    assert "local.lesson-guess-1" not in app.session_state


def test_the_word_is_read_back_as_written() -> None:
    state: dict[str, object] = {"local.mixture.sigma": 0.3, "local.graph.d": 40, "local.bases": "random,identity"}
    for name in ("mixture.sigma", "graph.d", "bases"):
        controls.claim(name, state)
    state["local.evidence-lira"] = "x"
    word = controls.written(state)
    assert word == "bases:random,identity;graph.d:40;mixture.sigma:0.3"
    other: dict[str, object] = {"local.shift.k": 8, "local.lesson-shown": 1}
    controls.claim("shift.k", other)
    controls.take(word, other)
    assert controls.written(other) == word
    for name in ("bases", "graph.d", "mixture.sigma", "shift.k"):
        controls.claim(name, other)
    mine = {key: value for key, value in other.items() if key.startswith("local.")}
    assert mine == {"local.lesson-shown": 1, "local.bases": "random,identity", "local.graph.d": "40", "local.mixture.sigma": "0.3"}
    assert controls.typed(other["local.graph.d"], 10) == 40
    assert controls.typed("x", 0.5) == 0.5
    found, notes = codec.from_query(codec.to_query(Settings(controls=word)))
    assert (found.controls, notes) == (word, [])
