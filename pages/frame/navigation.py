"""The pages, one line each, and the guard that a page starts with."""

import copy
import dataclasses
import functools
import itertools
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

import streamlit as st

from pages.frame import session
from pages.frame import settings as codec

_INSIDE_FRAME: ContextVar[bool] = ContextVar("inside_frame", default=False)

PAGES: tuple[tuple[str, str, str], ...] = (
    ("home", "Home", ""),
    ("answer", "Answer", ""),
    ("learn", "Learn", ""),
    ("explore", "Explore", "try"),
    ("compare", "Compare", "try"),
    ("runs", "Runs", "try"),
    ("data", "Data", "data"),
    ("screen", "Screen", "data"),
    ("geometry", "Geometry", "data"),
    ("check", "Check", "trust"),
    ("accounting", "Accounting", "trust"),
    ("evidence", "Evidence", "trust"),
    ("theory", "Theory", "trust"),
)
"""File in pages/ without its ending, name in the bar, group in the bar. The first is the default and lives at `/`."""


def pages() -> list[Any]:
    """Streamlit's page objects, of one run of the app: which of them runs is noted in it."""
    return [copy.copy(target) for target in _targets().values()]


@functools.cache
def _targets() -> dict[str, Any]:
    """Page objects by name, for links: to make one looks at the disk."""
    return {
        name: st.Page(f"pages/{name}.py", title=title, url_path=None if place == 0 else name, default=place == 0)
        for place, (name, title, _) in enumerate(PAGES)
    }


def bar() -> None:
    """The row of page links at the top, in groups. They carry every setting, so that a page change is one step of the history."""
    targets, query = _targets(), codec.to_query(session.current())
    with st.container(horizontal=True, vertical_alignment="center", gap=None, key="navigation"):
        for group, members in itertools.groupby(PAGES, key=lambda page: page[2]):
            with st.container(horizontal=True, gap=None, width="content", key=f"navigation-{group or 'start'}"):
                for name, title, _ in members:
                    st.page_link(targets[name], label=title, query_params=query)


def brand() -> None:
    """The app's name, at the top of the sidebar."""
    with st.container(key="brand"):
        st.markdown(":violet[:material/shield_lock:] PILLAR explorer")


def link(name: str, label: str, *, icon: str = ":material/arrow_forward:", changes: Mapping[str, Any] | None = None) -> None:
    """A link to a page with the present settings, some of them changed."""
    settings = dataclasses.replace(session.current(), **(changes or {}))
    st.page_link(_targets()[name], label=label, icon=icon, query_params=codec.to_query(settings))


def run(page: Any) -> None:
    """Runs a page inside the frame."""
    token = _INSIDE_FRAME.set(True)
    try:
        page.run()
    finally:
        _INSIDE_FRAME.reset(token)


def begin() -> None:
    """The first line of every page: makes sure that the frame runs around it.

    The first request after a server start may be a deep link, and Streamlit then runs that page's file alone, without
    sidebar and settings. Calling the navigation registers the pages; the rerun goes through app.py.
    """
    if not _INSIDE_FRAME.get():
        st.navigation(pages(), position="hidden")
        st.rerun()
