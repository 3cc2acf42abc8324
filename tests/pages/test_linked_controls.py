"""Controls of single pages travel in the link, hostile ones fall back, and what nobody moved stays
out of it."""

import urllib.parse
from typing import Any

import pytest
import streamlit as st
from streamlit.runtime.state.common import TESTING_KEY
from streamlit.testing.v1 import AppTest

from page_reading import fill
from pages.frame import jobs, navigation, session
from pages.frame import settings as codec
from pages.frame.settings import Settings


def test_what_nobody_moved_stays_out_of_the_link_and_hostile_controls_fall_back(start):
    app = start("why", k="8")
    assert "controls" not in app.query_params
    fill(app, "local-widget.geometry-view", "spectrum")
    assert app.query_params["controls"] == "geometry-view:spectrum"
    hostile = (
        "geometry-view:nowhere;quantile:nan;n_public:1e999;;::;:x;k:5;evidence-lira:run;lesson-guess-1:3"
        + ";which:<b>;bases:a,b" * 500
    )
    app = start("why", k="8", controls=hostile)
    assert not app.error
    assert "local.evidence-lira" not in app.session_state
    assert "local.lesson-guess-1" not in app.session_state


def test_the_word_is_read_back_as_written(monkeypatch):
    state = {
        "local.mixture.sigma": 0.3,
        "local.graph.d": 40,
        "local.bases": "random,identity",
    }
    monkeypatch.setattr(st, "session_state", state)
    for name in ("mixture.sigma", "graph.d", "bases"):
        session.claim(name)
    state["local.evidence-lira"] = "x"
    word = session.current().controls
    assert word == "bases:random,identity;graph.d:40;mixture.sigma:0.3"
    other = {"local.mixture.d": 8, "local.lesson-shown": 1}
    monkeypatch.setattr(st, "session_state", other)
    session.claim("mixture.d")
    session.put(Settings(controls=word))
    assert session.current().controls == word
    for name in ("bases", "graph.d", "mixture.sigma", "mixture.d"):
        session.claim(name)
    mine = {key: value for key, value in other.items() if key.startswith("local.")}
    assert mine == {
        "local.lesson-shown": 1,
        "local.bases": "random,identity",
        "local.graph.d": "40",
        "local.mixture.sigma": "0.3",
    }
    assert codec.parse_value(other["local.graph.d"], 10) == 40
    assert codec.parse_value("x", 0.5) == 0.5
    found, notes = codec.from_query(codec.to_query(Settings(controls=word)))
    assert (found.controls, notes) == (word, [])


PLACES = {
    "answer": ["data=digits"],
    "lessons": ["", "lesson=2"],
    "curves": ["", "view=noise"],
    "learners": ["", "compare=shift&public=part"],
    "runs": ["runs=view:plan", "runs=view:papers"],
    "public_data": [
        "screen=p:digits;c:drawn_textures,drawn_letters,drawn_noise;n:100;k:4;m:linear_head"
    ],
    "why": [f"controls=geometry-view:{name}" for name in ("xi", "margins")],
    "playgrounds": (
        [f"controls=theory-view:{name}" for name in ("mixture", "disjunctions")]
        + [
            f"controls=theory-view:theorems;theorem:{name}"
            for name in ("pillar_theorem_1", "pillar_table_v")
        ]
    ),
    "check": [
        "",
        "controls=check-steps:steps;check-epsilon:epsilon",
        "controls=check-start:script",
        "controls=check-start:model",
    ],
    "count": [
        f"controls=accounting-from:{start}"
        for start in ("epsilon", "noise;accounting-view:sum", "risk")
    ],
    "audit": [
        "controls=evidence-view:audit",
        "controls=evidence-view:sabotage",
        "controls=evidence-view:image",
    ],
}
"""Links that between them show every control of a page, where it takes more than the page alone."""
KINDS = (
    "button_group",
    "selectbox",
    "multiselect",
    "select_slider",
    "slider",
    "number_input",
    "toggle",
    "text_input",
    "text_area",
    "radio",
)


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page, _, _ in navigation.PAGES])
def test_a_moved_control_is_in_the_link_or_says_why_not(start, page, monkeypatch):
    """Each is moved under the first of the page's links that shows it, beside all others there;
    what these hide, in a round of its own."""
    moved = set()
    monkeypatch.setattr(jobs, "FIRST_SECONDS", -1.0)
    for link in PLACES.get(page, [""]):
        app = start(page, **dict(urllib.parse.parse_qsl(link)))
        while waiting := [key for key in shown(app, page) if key not in moved]:
            still = [key for key in waiting if not move(shown(app, page)[key])]
            app.run()
            there = [key for key in waiting if key in shown(app, page)]
            moved.update(there or waiting, still)
            opened = start(page, **dict(app.query_params))
            for key in there:
                if f"unlinked.{key}" in app.session_state:
                    assert len(app.session_state[f"unlinked.{key}"].split()) > 2, key
                else:
                    is_kept = shown(opened, page)[key].value == shown(app, page)[key].value
                    assert is_kept, f"the link forgets {key}, and nobody says why"
            if moved.issuperset(waiting):
                break
            app = start(page, **dict(urllib.parse.parse_qsl(link)))


def shown(app: AppTest, page: str) -> dict[str, Any]:
    """The controls of a page by key; the sidebar's on Curves alone, because they are the same
    everywhere."""
    place = app if page == "curves" else app.main
    return {
        str(item.key).partition("~")[0]: item
        for kind in KINDS
        for item in place.get(kind)
        if not item.disabled
    }


def move(item: Any) -> bool:
    """Gives a control another value; false where it offers no other."""
    options = getattr(item, "options", ())
    if options:
        form = item.format_func
        several = isinstance(item.value, list)
        taken = {
            str(form(value))
            for value in (item.value if several else [item.value])
            if value is not None
        }
        other = next((option for option in options if option not in taken), None)
        item.root.session_state[TESTING_KEY][item.id] = (
            str  # it now takes its options by the words that it shows
        )
        item.set_value([other] if several else other)
        return other is not None
    match item.type:
        case "toggle":
            item.set_value(not item.value)
        case "text_input" | "text_area":
            item.set_value("a: 1")
        case "slider":
            item.set_value(item.min if item.value != item.min else item.max)
        case "number_input" if item.value is None:
            item.set_value(1)
        case _:
            item.set_value(item.value / 2 if item.value != int(item.value) else item.value + 1)
    return True
