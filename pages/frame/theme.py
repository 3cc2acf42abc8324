"""Light or dark, and the little styling that the theme file cannot say."""

from pathlib import Path
from typing import Any

import streamlit as st

from pillar_core.plots import Mode
from pillar_core.plots.theme import INK, outer_mode

_SCRIPT = Path(__file__).with_name("window.js").read_text(encoding="utf-8")
_WIDTH = "window.width"
PHONE, TABLET = 640, 900
"""Widths of windows, in CSS pixels: up to the first a page is laid out for a phone, up to the
second its figures are."""

ICON = str(Path(__file__).with_name("icon.svg"))
"""The browser tab's icon: a file of ours, because Streamlit's named icons are fetched from a public
server."""

_STYLE = Path(__file__).with_suffix(".css").read_text(encoding="utf-8")
for _colour in ("accent", "surface"):
    _STYLE = _STYLE.replace(
        _colour.upper(),
        f"light-dark({getattr(INK['light'], _colour)}, {getattr(INK['dark'], _colour)})",
    )


def apply() -> Any:
    """Adds the styling to the page, and returns the place for `measure`."""
    st.html(f"<style>{_STYLE}</style>")
    return st.container(key="window-place")


def measure(place: Any) -> None:
    """Asks the browser for the window's width and mode; last in a run, because its rerun would end
    a run under way."""
    with place:
        window = st.components.v2.component("pillar_window", js=_SCRIPT, isolate_styles=False)
        data = {"steps": [PHONE, TABLET], "width": st.session_state.get(_WIDTH, 0), "mode": mode()}
        window(key="window", data=data, default={"width": 0}, on_width_change=_keep_width, height=0)


def _keep_width() -> None:
    st.session_state[_WIDTH] = int(st.session_state["window"].width)


def is_narrow(most: int = PHONE) -> bool:
    """Whether the browser's window has at most this width, PHONE or TABLET; a session's first run
    takes it for wide."""
    return 0 < int(st.session_state.get(_WIDTH, 0)) <= most


def mode() -> Mode:
    """The browser's colour scheme, for the figures."""
    return "dark" if st.context.theme.type == "dark" else "light"


outer_mode.append(mode)


def title(text: str, lede: str, *, is_front: bool = False) -> None:
    """The page's title with its one-sentence answer to “what can I do here?”; the front page's is
    larger, under the budgets' colours."""
    with st.container(key="front-title" if is_front else "page-title", gap=None):
        if is_front:
            st.html('<div class="pillar-rule"></div>')
        st.title(text, anchor=False)
        st.html(f'<p class="pillar-lede">{lede}</p>')
