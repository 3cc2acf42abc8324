"""What a page shows when the library refuses: the cause in its own words and what to try. The app goes on."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import streamlit as st

from pages.frame import plain, session
from pillar_core.errors import PillarError


@contextlib.contextmanager
def shown(what: str, *, advice: str = "Change the setting that is named, or open the page anew from the bar at the top.") -> Iterator[None]:
    """Runs a block of a page; a refusal of the library becomes a message in its place."""
    try:
        yield
    except PillarError as refusal:
        with st.container(border=True):
            st.error(f"**{what}**  \n{plain.text(refusal)}", icon=":material/error:")
            st.markdown(advice)


@contextlib.contextmanager
def noted(what: str) -> Iterator[None]:
    """Runs a callback; a refusal of the library becomes a message at the top of the page."""
    try:
        yield
    except PillarError as refusal:
        session.note(f"{what}: {refusal}")
