"""What a class guessed: counts without names in the server's memory, gone with the process, and only for classes that a teacher opened."""

import collections
import secrets

import streamlit as st

from pages.frame import local
from pages.parts.learn.steps import Step

_Guesses = dict[int, collections.Counter[int]]
_NAME, _MOST = "lesson-class", 100
_CLASSES: dict[str, _Guesses] = {}
"""The open classes by code, oldest first; not among Streamlit's caches, which one browser can clear for all."""


def switch() -> None:
    """The teacher's switch, off at first: opens a class of its own, which the class's link then names."""
    hint = "Counts, without names and until the server ends, what all who open the class's link guess; each step shows it once revealed."
    key = local.unlinked("lesson-class-switch", "The link names the class instead.")
    st.toggle("Count the guesses of the class", value=_guesses() is not None, key=key, help=hint, on_change=_switched, args=(key,))


def count(place: int, guess: int) -> None:
    """Notes one guess at a step, where the link names a class that is open; each tab counts once a step."""
    open_now, noted = _guesses(), f"lesson.counted.{place}"
    if open_now is not None and not st.session_state.get(noted):
        open_now.setdefault(place, collections.Counter())[guess] += 1
        st.session_state[noted] = True


def show(step: Step, place: int) -> None:
    """The guesses of the class side by side."""
    counts = (_guesses() or {}).get(place)
    if counts:
        total = counts.total()
        st.markdown(f"**The class** ({total} guess{'' if total == 1 else 'es'})")
        for index, option in enumerate(step.options):
            st.progress(counts[index] / total, text=f"{counts[index]} · {option}")


def _guesses() -> _Guesses | None:
    return _CLASSES.get(str(local.linked(_NAME, "")))


def _switched(key: str) -> None:
    if not st.session_state[key]:
        local.link(_NAME, "")
        return
    while len(_CLASSES) >= _MOST:  # the one of the fewest guesses: whoever opens many classes closes no lively one
        _CLASSES.pop(min(list(_CLASSES), key=lambda code: sum(counts.total() for counts in _CLASSES[code].values())), None)
    code = secrets.token_hex(4)
    _CLASSES[code] = {}
    local.link(_NAME, code)
