"""Learn: guess before the reveal, one control a step, answers that are measured, links for a class."""

from __future__ import annotations

import pytest
import streamlit as st

from page_reading import Start, words
from pages.frame import settings as codec
from pages.frame import warming
from pages.frame.settings import Settings
from pages.parts.learn import teacher
from pages.parts.learn.steps import STEPS


def test_nothing_is_revealed_before_a_guess(start: Start) -> None:
    app = start("learn", lesson="1")
    assert not app.exception
    assert app.button(key="lesson-reveal").disabled
    app.radio(key="lesson-radio-1").set_value(2).run()
    app.button(key="lesson-reveal").click().run()
    assert not app.exception
    assert "Not quite" in "".join(item.value for item in app.info)
    assert len(app.select_slider) == 1 + 1  # the step's one control, and the teacher's choice of a step
    app.button(key="lesson-next").click().run()
    assert app.query_params["lesson"] == "2"
    app.button(key="lesson-back").click().run()
    assert app.radio(key="lesson-radio-1").value == 2


@pytest.mark.parametrize("place", range(1, len(STEPS) + 1))
def test_every_step_is_answered_by_what_is_measured(start: Start, place: int) -> None:
    # The stories say what comes out; a learner that changed must change them.
    expected = (0, 2, 2, 0, 2, 1)[place - 1]
    app = start("learn", lesson=str(place))
    app.session_state[f"local.lesson-guess-{place}"] = expected
    app.session_state[f"local.lesson-shown-{place}"] = 1
    app.run()
    assert not app.exception
    assert any(item.value.startswith("**Right:**") for item in app.success)
    assert STEPS[place - 1].moral in words(app)


def test_a_step_sends_its_task_to_the_explorer(start: Start) -> None:
    app = start("explore", lesson="3", epsilon="0.1", k="20")
    assert not app.exception
    assert STEPS[2].task in words(app)


@pytest.mark.parametrize("page", ["learn", "explore"])
def test_a_teachers_link_opens_the_step_with_few_controls(page: str) -> None:
    shared = teacher.shared(Settings(), page=page, step=3, hidden=["delta", "seed"])
    found, notes = codec.from_query(codec.to_query(shared))
    assert notes == []
    assert found.lesson == 3
    assert found.hidden == {"delta", "seed"}
    assert found.data == ("digits" if page == "explore" else Settings().data)


def test_the_ending_tells_the_score_and_starting_again_forgets_it(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warming, "begin", lambda: None)  # scipy looks into torch, and meets half of it while it is imported ahead
    app = start("learn", lesson="6")
    for place, guess in enumerate((0, 2, 2, 0, 0, 0), 1):
        app.session_state[f"local.lesson-guess-{place}"] = guess
        app.session_state[f"local.lesson-shown-{place}"] = 1
    app.run()
    assert not app.exception
    assert "You guessed 4 of 6 right" in words(app)
    app.button(key="lesson-reset").click().run()
    assert app.query_params["lesson"] == "1"
    assert app.radio(key="lesson-radio-1").value is None


def test_the_sheet_asks_everything_and_answers_on_a_page_of_its_own() -> None:
    asked, told = teacher.sheet().split('<div class="told">')
    assert all(step.options[0] in asked for step in STEPS)
    assert "<b>400 people</b>" in asked
    assert told.count("<h2>") == len(STEPS)
    assert "**" not in asked + told


def test_a_class_sees_its_guesses_side_by_side_where_its_teacher_asked_for_it(start: Start) -> None:
    teachers = start("learn", lesson="1")
    assert "lesson-class" not in teachers.query_params.get("controls", [""])[0]
    teachers.toggle(key="lesson-class-switch").set_value(True).run()
    controls = teachers.query_params["controls"]
    shown = []
    for guess in (0, 2, 2):
        student = start("learn", lesson="1", controls=controls, v="2")
        assert "**The class**" not in words(student), "nobody sees the others' guesses before the own one"
        student.radio(key="lesson-radio-1").set_value(guess).run()
        shown.append(words(student.button(key="lesson-reveal").click().run()))
    assert "**The class** (3 guesses)" in shown[-1]
    stranger = start("learn", lesson="1", controls="lesson-class:ffffffff", v="2")
    stranger.radio(key="lesson-radio-1").set_value(1).run()
    assert "**The class**" not in words(stranger.button(key="lesson-reveal").click().run())


def test_a_lively_class_outlives_others_that_are_opened_and_streamlits_caches(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pages.parts.learn.classroom._CLASSES", {}, raising=False)
    teachers = start("learn", lesson="1")
    teachers.toggle(key="lesson-class-switch").set_value(True).run()
    controls = teachers.query_params["controls"]
    for shown in ("(1 guess)", "(2 guesses)"):
        student = start("learn", lesson="1", controls=controls, v="2")
        student.radio(key="lesson-radio-1").set_value(0).run()
        assert f"**The class** {shown}" in words(student.button(key="lesson-reveal").click().run())
        monkeypatch.setattr("pages.parts.learn.classroom._MOST", 2)
        for _ in range(3):
            start("learn", lesson="1").toggle(key="lesson-class-switch").set_value(True).run()
        st.cache_resource.clear()
