"""What a class guessed: answers without names in the server's memory, gone with the process, and
only for classes that a teacher opened."""

import collections
import dataclasses
import secrets
import time

import pandas as pd
import streamlit as st

from pages.frame import local, plain, session
from pages.parts.lessons.steps import Lesson, Step

_Answers = dict[str, list[int]]


@dataclasses.dataclass
class _Class:
    code: str
    owner: str
    opened_at: float
    used_at: float
    answers: _Answers


_NAME, _MOST, _LASTS, _IDLE = "lesson-class", 100, 24 * 3600, 3600
WHEN = ("before", "after")
_CLASSES: dict[str, _Class] = {}
"""The open classes by code. Who opens one closes the session's own, those of a day ago, and where
there is no room those without answers whose link nobody used for an hour."""


def switch() -> None:
    """The teacher's switch, off at first: opens a class of its own, which the class's link then
    names."""
    session.draw(
        st.toggle,
        is_open(),
        _switch_class,
        label="Count the guesses of the class",
        key=local.unlinked_key("lesson-class-switch", "The link names the class instead."),
        help=(
            "Counts for a day, without names, what all who open the class's link answer; each step"
            " shows it once revealed."
        ),
    )
    if st.session_state.pop("lesson-class-refused", False):
        st.warning(
            f"This server counts for {_MOST} classes, the most that it can: open one in an hour, or"
            " go on without the counts."
        )


def is_open() -> bool:
    """Whether the link names a class that is open."""
    return _answers() is not None


def count(name: str, answer: int) -> None:
    """Counts one answer of an open class, once per tab and name; `list.append` is safe while others
    answer."""
    open_now = _answers()
    noted = f"lesson.counted.{name}"
    if open_now is not None and not st.session_state.get(noted):
        open_now.setdefault(name, []).append(answer)
        st.session_state[noted] = True


def show(step: Step, name: str) -> None:
    """The guesses of the class side by side."""
    guesses = (_answers() or {}).get(name)
    if guesses:
        counts = collections.Counter(guesses)
        total = len(guesses)
        st.markdown(f"**The class** ({total} guess{'' if total == 1 else 'es'})")
        for index, option in enumerate(step.options):
            st.progress(counts[index] / total, text=f"{counts[index]} · {option}")


def show_answers(lesson: Lesson) -> None:
    """The class's share of right answers to the lesson's questions, before and after."""
    answers = _answers() or {}
    rows = []
    for place, question in enumerate(lesson.questions):
        both = [answers.get(answer_name(lesson, when, place), []) for when in WHEN]
        shares = [
            (
                f"{indices.count(question.answer) / len(indices):.0%} of {len(indices)}"
                if indices
                else "none yet"
            )
            for indices in both
        ]
        rows.append((plain.text(question.ask), *shares))
    if any("of" in share for row in rows for share in row[1:]):
        st.markdown("**What the class learnt**: right answers")
        st.table(pd.DataFrame(rows, columns=["question", *WHEN]).set_index("question"))


def answer_name(lesson: Lesson, when: str, place: int) -> str:
    """The name of an answer to one of the lesson's questions."""
    return f"{lesson.first}-{when}-{place}"


def _answers() -> _Answers | None:
    class_ = _CLASSES.get(str(local.linked_value(_NAME, "")))
    if class_ is None:
        return None
    class_.used_at = time.time()
    return class_.answers


def _switch_class(is_on: bool) -> None:
    if not is_on:
        local.link(_NAME, "")
        return
    now = time.time()
    owner = session.token()
    is_full = len(_CLASSES) >= _MOST
    for class_ in list(_CLASSES.values()):
        is_idle = class_.used_at < now - _IDLE and not class_.answers
        if class_.owner == owner or class_.opened_at < now - _LASTS or (is_full and is_idle):
            _CLASSES.pop(class_.code, None)
    if len(_CLASSES) >= _MOST:
        st.session_state["lesson-class-refused"] = True
        return
    code = secrets.token_hex(4)
    _CLASSES[code] = _Class(code, owner, now, now, {})
    local.link(_NAME, code)
