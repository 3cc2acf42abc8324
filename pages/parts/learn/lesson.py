"""The lesson: guess, reveal, move the one control, go on; and on Explore the task that a step sends along."""

import dataclasses
from typing import Any

import pandas as pd
import streamlit as st

from pages.frame import copying, figures, local, navigation, session, theme
from pages.frame.settings import Settings
from pages.parts.learn import classroom
from pages.parts.learn.steps import STEPS, Step
from pillar_core.types import Provenance


def number(settings: Settings) -> int:
    """The step that the link asks for, from 1; without one the first."""
    return min(max(settings.lesson, 1), len(STEPS))


def contents(settings: Settings) -> None:
    """The steps by name, in the sidebar."""
    with st.sidebar:
        st.markdown("**Six steps**")
        for place, step in enumerate(STEPS, 1):
            kind: Any = "primary" if place == number(settings) else "tertiary"
            _button(f"{place}. {step.title}", place, f"Opens step {place}; your guesses stay.", key=f"lesson-open-{place}", kind=kind)
        st.caption("Guess before you look: it is more fun, and it sticks. Your guesses stay in this tab.")
        hint = "Forgets your guesses."
        st.button("Start again", icon=":material/replay:", key="lesson-reset", on_click=_reset, help=hint, type="tertiary")


def step(settings: Settings) -> None:
    """The step: story, guess and, once revealed, the answer with its control."""
    place = number(settings)
    this = STEPS[place - 1]
    st.progress(place / len(STEPS), text=f"Step {place} of {len(STEPS)}")
    st.header(this.title, anchor=False)
    st.markdown(this.story)
    guess = _guess(this, place)
    if local.value(f"lesson-shown-{place}", 0):
        _answer(this, place, guess, settings)
    if place == len(STEPS):
        _ending()
    with st.container(horizontal=True):
        if place > 1:
            _button("Back", place - 1, "The step before; your guesses stay.", key="lesson-back")
        if place < len(STEPS):
            _button("Next step", place + 1, "The step after; your guesses stay.", key="lesson-next", kind="primary")
        else:
            navigation.link("explore", "Open the explorer", changes={"lesson": 0})


def banner(settings: Settings) -> None:
    """On Explore: the task of the step that the link carries, a way back and a way out."""
    if not 1 <= settings.lesson <= len(STEPS):
        return
    with st.container(border=True, key="lesson"):
        st.markdown(f":material/school: **Step {settings.lesson}.** {STEPS[settings.lesson - 1].task}")
        with st.container(horizontal=True):
            navigation.link("learn", "Back to the lesson", icon=":material/arrow_back:")
            _button("End the lesson", 0, "Hides the lesson; your settings stay.", key="lesson-end")


def right(place: int) -> int:
    """The option of a step, from 1, that its measured table supports."""
    return STEPS[place - 1].right(_measured(place))


def _ending() -> None:
    """The score, once all steps are answered, in words that can be passed on."""
    if not all(local.value(f"lesson-shown-{place}", 0) for place in range(1, len(STEPS) + 1)):
        return
    with st.spinner("Counting …"):
        hits = [local.value(f"lesson-guess-{place}", -1) == right(place) for place in range(1, len(STEPS) + 1)]
    with st.container(border=True, key="lesson-ending"):
        score = f"{sum(hits)} of {len(hits)}"
        st.header(f"You guessed {score} right", anchor=False)
        st.code(f"Private learning in six guesses: {score} {''.join('🟪' if hit else '⬜' for hit in hits)}", language=None)
        first, hint = dataclasses.replace(session.current(), lesson=1), "Opens at the first step; no guesses in it."
        copying.button("Copy a link to the lesson", first, key="copy-lesson", hint=hint, page="learn")


def _reset() -> None:
    for place in range(1, len(STEPS) + 1):
        local.put(f"lesson-guess-{place}", -1)
        local.put(f"lesson-shown-{place}", 0)
    session.change(lesson=1)


def _guess(this: Step, place: int) -> int | None:
    """The option that was guessed, None before."""
    name = f"lesson-guess-{place}"
    guess = int(local.value(name, -1))
    with st.container(border=True, key="lesson-question"):
        st.markdown(f"**Guess first.** {this.question}")
        st.radio(
            "Your guess",
            range(len(this.options)),
            index=guess if guess >= 0 else None,
            format_func=this.options.__getitem__,
            key=local.unlinked(f"lesson-radio-{place}", "Guesses stay in each student's own tab."),
            on_change=_keep_guess,
            args=(place,),
            label_visibility="collapsed",
            help="One of these is what happens.",
        )
        if not local.value(f"lesson-shown-{place}", 0):
            hint = "Measures it now: a few models are trained." if this.is_measured else "Computes it now."
            st.button("Reveal", type="primary", disabled=guess < 0, key="lesson-reveal", on_click=_reveal, args=(place, guess), help=hint)
    return guess if guess >= 0 else None


def _keep_guess(place: int) -> None:
    chosen = st.session_state[f"lesson-radio-{place}"]
    local.put(f"lesson-guess-{place}", -1 if chosen is None else int(chosen))


def _reveal(place: int, guess: int) -> None:
    local.put(f"lesson-shown-{place}", 1)
    classroom.count(place, guess)


def _answer(this: Step, place: int, guess: int | None, settings: Settings) -> None:
    with st.spinner("Training a few private models on handwritten digits …"):
        table, answer = _measured(place), right(place)
    if guess == answer:
        st.success(f"**Right:** {this.options[answer]}.", icon=":material/check:")
    else:
        st.info(f"**Not quite:** {this.options[answer]}.", icon=":material/lightbulb:")
    classroom.show(this, place)
    titles = {value: this.words.get(value, f"{value:,}" if isinstance(value, int) else str(value)) for value in this.values}
    here = local.slider(
        this.control,
        list(this.values),
        this.start,
        name=f"lesson-control-{place}",
        title=titles.__getitem__,
        help="The one control of this step: move it and read the figure.",
    )
    st.html(f'<div class="pillar-ends" aria-hidden="true">{"".join(f"<span>{words}</span>" for words in titles.values())}</div>')
    figures.show(
        this.draw(table, here, theme.mode()),
        table,
        name=f"lesson_{place}",
        kinds=(Provenance.NON_PRIVATE,) if this.is_measured else (),
        settings=settings,
        seeds=int(table["seed"].nunique()) if this.is_measured else None,
        is_experiment=this.is_measured,
        is_theory=not this.is_measured,
    )
    st.markdown(f":material/key: {this.moral}")
    navigation.link("explore", "Try it live in the explorer", changes={**this.explore, "lesson": place})


@st.cache_data(max_entries=len(STEPS), show_spinner=False)
def _measured(place: int) -> pd.DataFrame:
    return STEPS[place - 1].measure()


def _button(label: str, place: int, hint: str, *, key: str, kind: Any = "secondary") -> None:
    st.button(label, key=key, on_click=session.change, kwargs={"lesson": place}, help=hint, type=kind)
