"""Three questions before and after a lesson, to show what the class learnt about the risk that an ε leaves.

After Nanayakkara et al., "What are the chances? Explaining the epsilon parameter in differential privacy", USENIX Security 2023, who
measure objective risk comprehension; the items are our own.
"""

import streamlit as st

from pages.frame import local
from pages.parts.learn import classroom
from pages.parts.learn.steps import Lesson

_NONE = -1
_TITLES = {"before": "Three questions before you start", "after": "The same three questions again"}
_SOURCE = (
    "Questions of our own, after [Nanayakkara et al. 2023](https://www.usenix.org/conference/usenixsecurity23/presentation/nanayakkara)."
)


def ask(lesson: Lesson, when: str) -> None:
    """The questions `when`, "before" or "after", until they are answered; open in a class."""
    with st.expander(_TITLES[when], icon=":material/quiz:", expanded=when == "after" or classroom.is_open()):
        if local.value(_done_key(lesson, when), 0):
            _show_answers(lesson, when)
            return
        with st.form(f"questions-{when}-{lesson.first}", border=False):
            for place, question in enumerate(lesson.questions):
                key = local.unlinked_key(classroom.answer_name(lesson, when, place), "Answers stay in each student's own tab.")
                st.radio(question.ask, range(len(question.options)), index=None, format_func=question.options.__getitem__, key=key)
            st.form_submit_button("Answer", on_click=_keep, args=(lesson, when), help="What is left open counts as not known.")
        st.caption(_SOURCE)


def forget(lesson: Lesson) -> None:
    """Clears the answers."""
    for when in classroom.WHEN:
        local.put(_done_key(lesson, when), 0)


def _show_answers(lesson: Lesson, when: str) -> None:
    if when == "before":
        st.markdown("Noted. They come again at the end of the lesson.")
        return
    for place, question in enumerate(lesson.questions):
        mark = "check" if _answer(lesson, when, place) == question.answer else "lightbulb"
        st.markdown(f":material/{mark}: {question.ask} **{question.options[question.answer]}**")
    before, after = (
        sum(_answer(lesson, when, place) == question.answer for place, question in enumerate(lesson.questions)) for when in classroom.WHEN
    )
    asked_first = local.value(_done_key(lesson, "before"), 0)
    st.markdown(f"**{after} of {len(lesson.questions)} right**" + (f", {before} before the lesson." if asked_first else "."))


def _keep(lesson: Lesson, when: str) -> None:
    for place in range(len(lesson.questions)):
        name = classroom.answer_name(lesson, when, place)
        chosen = st.session_state.get(name)
        local.put(name, _NONE if chosen is None else chosen)
        classroom.count(name, local.value(name, _NONE))
    local.put(_done_key(lesson, when), 1)


def _answer(lesson: Lesson, when: str, place: int) -> int:
    return int(local.value(classroom.answer_name(lesson, when, place), _NONE))


def _done_key(lesson: Lesson, when: str) -> str:
    return f"lesson-asked-{lesson.first}-{when}"
