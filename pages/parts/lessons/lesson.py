"""The lesson: guess, reveal, move the one control, go on; and on another page the task that a step
sends along. Before and after it, three questions show what the class learnt about the risk that an
ε leaves.

After Nanayakkara et al., "What are the chances? Explaining the epsilon parameter in differential
privacy", USENIX Security 2023, who measure objective risk comprehension; the items are our own."""

import dataclasses
from typing import Any, Literal

import pandas as pd
import streamlit as st

from pages.frame import badges, browser, local, memory, navigation, session, theme
from pages.frame.figures import FigureInfo, show_figure
from pages.frame.settings import Settings
from pages.parts.curves import panels
from pages.parts.lessons import classroom
from pages.parts.lessons.steps import LESSONS, Lesson, Step, of_number, step_of
from pillar_core.types import Form

_NONE = -1
_TITLES = {"before": "Three questions before you start", "after": "The same three questions again"}
_SOURCE = (
    "Questions of our own, after [Nanayakkara et al."
    " 2023](https://www.usenix.org/conference/usenixsecurity23/presentation/nanayakkara)."
)


def ask(lesson: Lesson, when: str) -> None:
    """The questions `when`, "before" or "after", until they are answered; open in a class."""
    with st.expander(
        _TITLES[when], icon=":material/quiz:", expanded=when == "after" or classroom.is_open()
    ):
        if local.value(_done_key(lesson, when), 0):
            _show_answers(lesson, when)
            return
        with st.form(f"questions-{when}-{lesson.first}", border=False):
            for place, question in enumerate(lesson.questions):
                key = local.unlinked_key(
                    classroom.answer_name(lesson, when, place),
                    "Answers stay in each student's own tab.",
                )
                st.radio(
                    question.ask,
                    range(len(question.options)),
                    index=None,
                    format_func=question.options.__getitem__,
                    key=key,
                )
            st.form_submit_button(
                "Answer",
                on_click=_keep,
                args=(lesson, when),
                help="What is left open counts as not known.",
            )
        st.caption(_SOURCE)


def _show_answers(lesson: Lesson, when: str) -> None:
    if when == "before":
        st.markdown("Noted. They come again at the end of the lesson.")
        return
    for place, question in enumerate(lesson.questions):
        mark = "check" if _given(lesson, when, place) == question.answer else "lightbulb"
        st.markdown(f":material/{mark}: {question.ask} **{question.options[question.answer]}**")
    before, after = (
        sum(
            _given(lesson, when, place) == question.answer
            for place, question in enumerate(lesson.questions)
        )
        for when in classroom.WHEN
    )
    asked_first = local.value(_done_key(lesson, "before"), 0)
    st.markdown(
        f"**{after} of {len(lesson.questions)} right**"
        + (f", {before} before the lesson." if asked_first else ".")
    )


def _keep(lesson: Lesson, when: str) -> None:
    for place in range(len(lesson.questions)):
        name = classroom.answer_name(lesson, when, place)
        chosen = st.session_state.get(name)
        local.put(name, _NONE if chosen is None else chosen)
        classroom.count(name, local.value(name, _NONE))
    local.put(_done_key(lesson, when), 1)


def _given(lesson: Lesson, when: str, place: int) -> int:
    return int(local.value(classroom.answer_name(lesson, when, place), _NONE))


def _done_key(lesson: Lesson, when: str) -> str:
    return f"lesson-asked-{lesson.first}-{when}"


Kind = Literal["primary", "secondary", "tertiary"]


def choose(settings: Settings) -> None:
    """The lessons by name."""
    now, _ = of_number(settings.lesson)
    key = local.unlinked_key("lesson-choice", "The link has the number of the lesson's step.")
    firsts = {lesson.name: lesson.first for lesson in LESSONS}
    session.draw(
        st.segmented_control,
        now.name,
        lambda name: session.change(lesson=firsts[name]),
        key=key,
        label="Lesson",
        options=list(firsts),
        required=True,
        label_visibility="collapsed",
    )


def contents(settings: Settings) -> None:
    """The steps by name: in the sidebar, and on a phone in a box that closes once a step is chosen,
    for its label is new."""
    lesson, current = of_number(settings.lesson)
    with (
        st.expander(f"All steps; this is step {lesson.numbers.index(current) + 1}")
        if theme.is_narrow()
        else st.sidebar
    ):
        st.markdown(f"**{lesson.name}**, {len(lesson.steps)} steps")
        for place, (number_, step) in enumerate(zip(lesson.numbers, lesson.steps, strict=True), 1):
            kind: Kind = "primary" if number_ == current else "tertiary"
            _button(f"{place}. {step.title}", number_, key=f"lesson-open-{place}", kind=kind)
        st.caption(
            "Guess before you look: it is more fun, and it sticks. A reload forgets your guesses."
        )
        st.button(
            label="Start again",
            key="lesson-reset",
            icon=":material/replay:",
            type="tertiary",
            on_click=_reset,
            args=(lesson,),
        )


def step(settings: Settings) -> None:
    """The step: story, guess and, once revealed, the answer with its control."""
    lesson, current = of_number(settings.lesson)
    this = step_of(current)
    place = lesson.numbers.index(current) + 1
    if place == 1:
        ask(lesson, "before")
    st.progress(place / len(lesson.steps), text=f"Step {place} of {len(lesson.steps)}")
    st.header(this.title, anchor=False)
    st.markdown(this.story)
    guess = _guess(this, current)
    if local.value(f"lesson-shown-{current}", 0):
        _answer(this, current, guess, settings)
    if place == len(lesson.steps):
        _ending(lesson)
    with st.container(horizontal=True):
        if place > 1:
            _button("Back", current - 1, key="lesson-back")
        if place < len(lesson.steps):
            _button("Next step", current + 1, key="lesson-next", kind="primary")
        else:
            navigation.link("curves", "Open the explorer", changes={"lesson": 0})


def banner(page: str, settings: Settings) -> None:
    """On the page that a step sends to: the task of the step that the link carries, a way back and
    a way out."""
    lesson, current = of_number(settings.lesson)
    this = step_of(current)
    is_shown = (this.page, this.explore["data"]) == (page, settings.data)
    if settings.lesson != current or not is_shown:
        return
    with st.container(border=True, key="lesson"):
        st.markdown(
            f":material/school: {lesson.name} · **Step {lesson.numbers.index(current) + 1}.**"
            f" {this.task}"
        )
        with st.container(horizontal=True, vertical_alignment="center"):
            navigation.link("lessons", "Back to the lesson", icon=":material/arrow_back:")
            _button("End the lesson", 0, key="lesson-end")


def right(place: int) -> int:
    """The option of the step with this number that its measured table supports."""
    return step_of(place).right(_table(place))


def explore_settings(this: Step, settings: Settings) -> Form:
    """What a step changes in the settings to go on with; controls that the link carries stay."""
    controls = ";".join(filter(None, (settings.controls, str(this.explore.get("controls", "")))))
    return {**this.explore, "controls": controls}


def _ending(lesson: Lesson) -> None:
    """The score, once all steps are answered, in words that can be passed on."""
    if not all(local.value(f"lesson-shown-{place}", 0) for place in lesson.numbers):
        return
    with st.spinner("Counting …"):
        hits = [
            st.session_state.get(f"lesson-radio-{place}") == right(place)
            for place in lesson.numbers
        ]
    with st.container(border=True, key="lesson-ending"):
        score = f"{sum(hits)} of {len(hits)}"
        st.header(f"You guessed {score} right", anchor=False)
        st.code(
            f"{lesson.title}: {score} {''.join('🟪' if hit else '⬜' for hit in hits)}",
            language=None,
        )
        first = dataclasses.replace(session.current(), lesson=lesson.first)
        hint = "Opens at the first step; no guesses in it."
        browser.copy_button(
            "Copy a link to the lesson", first, key="copy-lesson", hint=hint, page="lessons"
        )
    ask(lesson, "after")


def _reset(lesson: Lesson) -> None:
    for place in lesson.numbers:
        st.session_state[f"lesson-radio-{place}"] = None
        local.put(f"lesson-shown-{place}", 0)
    for when in classroom.WHEN:
        local.put(_done_key(lesson, when), 0)
    session.change(lesson=lesson.first)


def _guess(this: Step, place: int) -> int | None:
    """The option that was guessed, None before."""
    with st.container(border=True, key="lesson-question"):
        st.markdown(f"**Guess first.** {this.question}")
        guess: int | None = st.radio(
            "Your guess",
            range(len(this.options)),
            index=None,
            key=local.unlinked_key(
                f"lesson-radio-{place}", "Guesses stay in each student's own tab."
            ),
            format_func=this.options.__getitem__,
            persist_state="session",
            label_visibility="collapsed",
        )
        if not local.value(f"lesson-shown-{place}", 0):
            hint = (
                "Measures it now: a few models are trained."
                if this.kind == "measured"
                else "Computes it now."
            )
            st.button(
                label="Reveal",
                key="lesson-reveal",
                type="primary",
                help=hint,
                disabled=guess is None,
                on_click=_reveal,
                args=(place, guess),
            )
    return guess


def _reveal(place: int, guess: int) -> None:
    local.put(f"lesson-shown-{place}", 1)
    classroom.count(str(place), guess)


def _answer(this: Step, place: int, guess: int | None, settings: Settings) -> None:
    with st.spinner("Training a few private models on real images …"):
        table = _table(place)
        answer = right(place)
    if guess == answer:
        st.success(f"**Right:** {this.options[answer]}.", icon=":material/check:")
    else:
        st.info(f"**Not quite:** {this.options[answer]}.", icon=":material/lightbulb:")
    classroom.show(this, str(place))
    named = this.words or [
        value if isinstance(value, str) else f"{value:,.12g}" for value in this.values
    ]
    titles = dict(zip(this.values, named, strict=True))
    position = local.slider(
        "lesson-control",
        titles,
        this.start,
        of=str(place),
        label=this.control,
    )
    st.html(
        '<div class="pillar-ends"'
        f' aria-hidden="true">{"".join(f"<span>{words}</span>" for words in titles.values())}</div>'
    )
    seeds = int(table["seed"].nunique()) if "seed" in table else None
    provenance = badges.DIAGNOSTIC if this.kind == "measured" else [badges.THEORY]
    shown = dataclasses.replace(settings, **explore_settings(this, settings))
    info = FigureInfo(
        f"lesson_{place}", shown, provenance, seeds, is_synthetic=False, command=this.command
    )
    show_figure(this.draw(table, position), table, info)
    st.markdown(f":material/key: {this.moral}")
    if this.is_watched and local.toggle(
        "lesson-watch",
        label="Watch the noise",
        help="One of these trainings step by step: what its rows say, and what noise adds.",
    ):
        watched: dict[str, Any] = {**this.explore, "k": min(int(position), int(this.explore["k"]))}
        panels.noise_panel(Settings(**watched))
    where = " in the explorer" if this.page == "curves" else ""
    navigation.link(
        this.page,
        f"Try it live{where}",
        changes={**explore_settings(this, settings), "lesson": place},
    )


@memory.cache()
def _table(place: int) -> pd.DataFrame:
    return step_of(place).table()


def _button(label: str, place: int, *, key: str, kind: Kind = "secondary") -> None:
    st.button(label, key=key, on_click=session.change, kwargs={"lesson": place}, type=kind)
