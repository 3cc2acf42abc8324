"""The first lesson: one slider, what to predict, what to see."""

from __future__ import annotations

import streamlit as st

from pages.frame import session
from pages.frame.settings import Settings

STEPS = (
    "**Step 1 of 3.** ε is 0.1: strict. Only **5** directions are in use. Before you move anything, guess: would 20 be better or worse? "
    "Then move **k** in the sidebar and watch the star.",
    "**Step 2 of 3.** Go on to 80, then all the way to the right. The guarantee is the same all the way; the noise is spread over more "
    "and more directions. "
    "Where did accuracy peak?",
    "**Step 3 of 3.** Now raise **ε** to 2 with k at 200. A larger budget means less noise, so more directions pay off: the best k moves.",
)


def banner(settings: Settings) -> None:
    """The step that the link asks for, with a way on and a way out."""
    if not 1 <= settings.lesson <= len(STEPS):
        return
    with st.container(border=True, key="lesson"):
        st.markdown(f":material/school: {STEPS[settings.lesson - 1]}")
        with st.container(horizontal=True):
            if settings.lesson < len(STEPS):
                _button("Next step", settings.lesson + 1, "Goes to the next step; your settings stay.")
            _button("End the lesson", 0, "Hides the lesson; your settings stay.")


def _button(label: str, step: int, words: str) -> None:
    st.button(label, key=f"lesson-{step}", on_click=session.change, kwargs={"lesson": step}, help=words)
