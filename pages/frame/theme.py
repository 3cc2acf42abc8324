"""Light or dark, and the little styling that the theme file cannot say."""

from pathlib import Path
from typing import Any

import streamlit as st

from pillar_core.plots import Mode
from pillar_core.plots.theme import INK

_SCRIPT = Path(__file__).with_name("window.js").read_text(encoding="utf-8")
_NARROW = "window.narrow"

ICON = str(Path(__file__).with_name("icon.svg"))
"""The browser tab's icon: a file of ours, because Streamlit's named icons are fetched from a public server."""

_STYLE = Path(__file__).with_suffix(".css").read_text(encoding="utf-8")


def apply() -> Any:
    """Adds the styling to the page, and returns the place for `measure`."""
    st.html(f"<style>{_STYLE.replace('ACCENT', INK[mode()].accent).replace('SURFACE', INK[mode()].surface)}</style>")
    return st.container(key="window-place")


def measure(place: Any) -> None:
    """Asks the browser whether the window is narrow; last in a run, because its rerun would end a run under way."""
    with place:
        window = st.components.v2.component("pillar_window", js=_SCRIPT, isolate_styles=False)
        window(key="window", data={"narrow": is_narrow()}, default={"narrow": False}, on_narrow_change=_keep_narrow, height=0)


def _keep_narrow() -> None:
    st.session_state[_NARROW] = bool(st.session_state["window"].narrow)


def is_narrow() -> bool:
    """Whether the browser's window is as narrow as a phone's; a session's first run takes it for wide."""
    return bool(st.session_state.get(_NARROW, False))


def mode() -> Mode:
    """The browser's colour scheme, for the figures."""
    return "dark" if st.context.theme.type == "dark" else "light"


def title(text: str, lede: str, *, is_front: bool = False) -> None:
    """The page's title with its one-sentence answer to “what can I do here?”; the front page's is larger, under the budgets' colours."""
    with st.container(key="front-title" if is_front else "page-title", gap=None):
        if is_front:
            st.html('<div class="pillar-rule"></div>')
        st.title(text, anchor=False)
        st.html(f'<p class="pillar-lede">{lede}</p>')
