"""Lessons: guess before the reveal, one control a step, answers that are measured, links for a
class."""

import re
import time
from urllib.parse import parse_qsl

import pandas as pd
import pytest
import segno
import streamlit as st
from streamlit.testing.v1 import AppTest

from page_reading import fill, links, markup, press, unexplained, widget, words
from pages.frame import settings as codec
from pages.frame import warming
from pages.frame.settings import Settings
from pages.parts.lessons import classroom, teacher
from pages.parts.lessons import lesson as lesson_part
from pages.parts.lessons.steps import LESSONS, of_number, step_of
from pillar_core.studies.lessons import MEASURES


def opened(app: AppTest) -> AppTest:
    """The page with its teacher's panel open."""
    app.session_state["teachers"] = True
    return app.run()


def test_nothing_is_revealed_before_a_guess(start):
    app = start("lessons", lesson="1")
    assert app.button(key="lesson-reveal").disabled
    fill(app, "lesson-radio-1", 2)
    press(app, "lesson-reveal")
    assert "Not quite" in words(app, "info")
    link = links(app)["Try it live in the explorer"]
    assert (link["lesson"], link["data"]) == ("1", "digits")
    assert (
        len(opened(app).select_slider) == 1 + 1
    )  # the step's one control, and the teacher's choice of a step
    press(app, "lesson-next")
    assert app.query_params["lesson"] == "2"
    press(app, "lesson-back")
    assert app.radio(key="lesson-radio-1").value == 2


# The stories say what comes out; a learner that changed must change them.
EXPECTED = {1: (0, 2, 2, 0, 2, 1, 1, 2), 11: (0, 2, 2, 2, 0, 2), 21: (0, 1, 2, 1, 0, 1, 1)}


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_every_step_is_answered_by_what_is_measured(start, lesson):
    app = start("lessons", lesson=str(lesson.first))
    assert unexplained(app) == {}
    for place, step, expected in zip(
        lesson.numbers, lesson.steps, EXPECTED[lesson.first], strict=True
    ):
        app.session_state["set.lesson"] = place
        app.session_state[f"lesson-radio-{place}"] = expected
        app.session_state[f"local.lesson-shown-{place}"] = 1
        app.run()
        assert app.query_params["lesson"] == str(place)
        assert any(item.value.startswith("**Right:**") for item in app.success), place
        assert step.moral in words(app)
        assert not [each for each in app.select_slider[0].options if each.endswith(".0")]


def test_the_step_about_noise_shows_a_training_with_the_step_s_k(start):
    app = start("lessons", lesson="3")
    app.session_state["local.lesson-shown-3"] = 1
    app.run()
    assert "standard deviation" not in words(app)
    fill(app, "local-widget.lesson-watch", True)
    assert "k = 40 public directions" in words(
        app
    )  # all 64 pixels have no directions: the explorer's k is shown
    fill(app, "local-widget.lesson-control-3", 5)
    assert "k = 5 public directions" in words(app)
    assert app.select_slider(key="local-widget.noise-step").options
    assert "lesson-watch:True" in app.query_params["controls"]


@pytest.mark.parametrize("page", ["lessons", "task"])
def test_a_teachers_link_opens_the_step_with_few_controls(page):
    shared = teacher.class_settings(Settings(), page=page, step=3, hidden=["delta", "seed"])
    found, notes = codec.from_query(codec.to_query(shared))
    assert notes == []
    assert found.lesson == 3
    assert found.hidden == {"delta", "seed"}
    assert found.data == ("digits" if page == "task" else Settings().data)


def test_the_ending_tells_the_score_and_starting_again_forgets_it(start, monkeypatch):
    monkeypatch.setattr(
        warming, "begin", lambda: None
    )  # scipy looks into torch, and meets half of it while it is imported ahead
    app = start("lessons", lesson="8")
    for place, guess in enumerate((0, 2, 2, 0, 0, 0, 0, 0), 1):
        app.session_state[f"lesson-radio-{place}"] = guess
        app.session_state[f"local.lesson-shown-{place}"] = 1
    app.run()
    assert "You guessed 4 of 8 right" in words(app)
    press(app, "lesson-reset")
    assert app.query_params["lesson"] == "1"
    assert app.radio(key="lesson-radio-1").value is None


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_the_sheet_asks_everything_and_answers_on_a_page_of_its_own(lesson, monkeypatch):
    monkeypatch.setattr(lesson_part, "right", lambda number: number % 2)
    asked, told = teacher.sheet(lesson).split('<div class="told">')
    assert all(step.options[0] in asked for step in lesson.steps)
    assert lesson.title in asked
    assert "<b>400 people</b>" in asked or lesson.first > 1
    answers = [
        step.options[number % 2] for number, step in zip(lesson.numbers, lesson.steps, strict=True)
    ]
    assert re.findall(r"<h2>(\d+)\. (.*?)</h2>", told) == [
        (str(place), teacher._html(said)) for place, said in enumerate(answers, 1)
    ]
    assert "**" not in asked + told


def test_a_link_s_number_opens_its_step_and_another_lesson_is_chosen_at_the_top(start):
    steps = {0: 1, 1: 1, 6: 6, 8: 8, 9: 8, 10: 11, 11: 11, 26: 26, 77: 27, 99: 27}
    assert {link: of_number(link)[1] for link in steps} == steps
    app = start("lessons", lesson="2")
    fill(app, "lesson-radio-2", 1)
    fill(app, "lesson-choice", LESSONS[2].name)
    assert app.query_params["lesson"] == "21"
    assert LESSONS[2].steps[0].story in words(app)
    fill(app, "lesson-choice", LESSONS[0].name)
    press(app, "lesson-next")
    assert app.radio(key="lesson-radio-2").value == 1


def test_the_command_below_a_figure_prints_its_table():
    printed = re.search(r"print\((.*)\)\"$", step_of(6).command)[1]
    pd.testing.assert_frame_equal(eval(printed, {"MEASURES": MEASURES}), step_of(6).table())
    assert all("MEASURES" in step.command for lesson in LESSONS for step in lesson.steps)


def test_a_step_of_auditing_sends_its_task_to_evidence_and_keeps_the_class():
    settings = Settings(controls="lesson-class:0123abcd")
    changed = lesson_part.explore_settings(step_of(22), settings)
    assert changed["controls"] == "lesson-class:0123abcd;evidence-view:audit"


@pytest.mark.parametrize("number", [1, 7, 14, 26])
def test_a_task_stands_on_the_page_that_its_step_sends_to_and_on_no_other(start, number):
    """Why had none of the step that sends there, and Count said what to see on Curves."""
    step = step_of(number)
    link = {"data": step.explore["data"], "lesson": str(number)}
    assert step.task in words(start(step.page, **link))
    assert step.task not in words(start("audit" if step.page == "count" else "count", **link))


def answered(app: AppTest, when: str, chosen: tuple[int, ...]) -> AppTest:
    for place, option in enumerate(chosen):
        app.radio(key=f"1-{when}-{place}").set_value(option)
    return next(button for button in app.button if button.label == "Answer").click().run()


def test_the_questions_come_before_and_after_and_the_class_sees_the_shares(start):
    lesson = LESSONS[0]
    right = tuple(question.answer for question in lesson.questions)
    teachers = opened(start("lessons", lesson="1"))
    assert "What the class learnt" not in words(fill(teachers, "lesson-class-switch", True))
    controls = teachers.query_params["controls"]
    for first in ((1, 0, 0), (right[0], 0, 0)):
        app = answered(start("lessons", lesson="1", controls=controls, v="2"), "before", first)
        assert "They come again" in words(app)
        assert "**2 of 3 right**" not in words(app), "nothing is told before the lesson"
        for place in lesson.numbers:
            app.session_state[f"lesson-radio-{place}"] = 0
            app.session_state[f"local.lesson-shown-{place}"] = 1
        app.session_state["set.lesson"] = len(lesson.steps)
        app = answered(app.run(), "after", right)
        assert f"**3 of 3 right**, {int(first[0] == right[0])} before the lesson." in words(app)
    teachers.run()
    shares = teachers.table[0].value
    assert list(shares["before"]) == ["50% of 2", "0% of 2", "0% of 2"]
    assert list(shares["after"]) == ["100% of 2"] * 3


def test_the_class_s_link_is_drawn_under_the_address_that_the_browser_shows_where_phones_reach_it(
    start, monkeypatch
):
    drawn = []
    made = segno.make("code")
    monkeypatch.setattr(segno, "make", lambda address, **_: drawn.append(address) or made)
    app = opened(start("lessons", lesson="12", v="2"))
    for url in ("http://class.example:8501/lessons", "https://class.example/pillar/lessons"):
        monkeypatch.setattr(type(st.context), "url", url)
        app.run()
        assert "QR code of the class's link" in markup(app)
        address, _, query = drawn[-1].partition("?")
        assert address == url
        found, notes = codec.from_query(dict(parse_qsl(query)))
        assert (found.lesson, notes) == (12, [])
        assert "delta" in found.hidden
    for url in (
        "http://127.0.0.1:8501/lessons",
        "http://localhost:8501/lessons",
        "http://[::1]:8501/lessons",
    ):
        monkeypatch.setattr(type(st.context), "url", url)
        app.run()
        assert "QR code" not in markup(app)
        assert any("pillar-explorer --demo" in info.value for info in app.info)


@pytest.mark.parametrize("url", ["http://class.example:8501/lessons", "http://["])
def test_a_link_that_no_code_holds_leaves_the_page(start, monkeypatch, url):
    monkeypatch.setattr(type(st.context), "url", url)
    app = opened(start("lessons", v="2", controls="z:" + "a," * 900))
    assert not app.error
    assert any("too long for a QR code" in caption.value for caption in app.caption)


def test_a_class_sees_its_guesses_side_by_side_where_its_teacher_asked_for_it(start):
    teachers = opened(start("lessons", lesson="1"))
    assert "lesson-class" not in teachers.query_params.get("controls", "")
    fill(teachers, "lesson-class-switch", True)
    controls = teachers.query_params["controls"]
    shown = []
    for guess in (0, 2, 2):
        student = start("lessons", lesson="1", controls=controls, v="2")
        assert "**The class**" not in words(student), (
            "nobody sees the others' guesses before the own one"
        )
        fill(student, "lesson-radio-1", guess)
        shown.append(words(press(student, "lesson-reveal")))
    assert "**The class** (3 guesses)" in shown[-1]
    stranger = start("lessons", lesson="1", controls="lesson-class:ffffffff", v="2")
    fill(stranger, "lesson-radio-1", 1)
    assert "**The class**" not in words(press(stranger, "lesson-reveal"))


def test_classes_of_others_stay_and_those_that_nobody_uses_make_room(start, monkeypatch):
    """A session's next class closes its last; where there is no room one without answers leaves
    after an hour, and all after a day."""
    monkeypatch.setattr(classroom, "_CLASSES", {})
    monkeypatch.setattr(classroom, "_MOST", 3)
    now = time.time()

    def switched_on(token):
        return (
            opened(start("lessons", lesson="1", token=token))
            .toggle(key="lesson-class-switch")
            .set_value(True)
            .run()
        )

    def is_open(link):
        return link.removeprefix("lesson-class:") in classroom._CLASSES

    answered, first, idle = (switched_on(token).query_params["controls"] for token in "abc")
    again = switched_on("b").query_params["controls"]
    assert [is_open(link) for link in (answered, first, idle, again)] == [True, False, True, True]
    student = start("lessons", lesson="1", controls=answered, v="2", token="s")
    fill(student, "lesson-radio-1", 0)
    press(student, "lesson-reveal")
    refused = switched_on("d")
    assert "3 classes" in words(refused)
    assert not widget(refused, "lesson-class-switch").value
    monkeypatch.setattr("time.time", lambda: now + 3000)
    start("lessons", lesson="1", controls=again, v="2", token="s")
    monkeypatch.setattr("time.time", lambda: now + 4000)
    assert "lesson-class" in switched_on("d").query_params["controls"]
    assert [is_open(link) for link in (answered, idle, again)] == [True, False, True]
    monkeypatch.setattr("time.time", lambda: now + 25 * 3600)
    switched_on("e")
    assert not is_open(answered)
