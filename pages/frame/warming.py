"""Before the server answers: imports that no visitor waits for, and what no browser may ask. The rest is imported in the background."""

import contextlib
import gc
import importlib
import threading
from collections.abc import AsyncIterator

import streamlit as st
from streamlit.runtime.app_session import AppSession

_FIRST = (
    "pages.frame.sidebar",
    "pages.frame.status",
    "pages.frame.figures",
    "pages.frame.presets",
    "pages.parts.explore.release",
    "pages.parts.explore.tuning",
    "pages.parts.explore.views",
    "dp_accounting",
)
_LATER = "torch"
_REFUSED = ("_handle_clear_cache_request", "_handle_git_information_request")
"""What Streamlit would do for any browser: forget what was computed for all of them, and name changed files of the checkout."""
_PAUSE = 2.0
"""Seconds that a browser on the same machine gets to draw the page first."""


@contextlib.asynccontextmanager
async def ahead(_: st.App) -> AsyncIterator[None]:
    """Around the server's life: before it answers, imports what Home and Explore draw their first results with."""
    for name in _FIRST:
        _import(name)
    for name in _REFUSED:
        setattr(AppSession, name, _ignore)
    yield


@st.cache_resource(show_spinner=False)
def begin() -> None:
    """Starts the import, once in a process. Whoever needs it meanwhile waits for it at Python's own import lock."""
    timer = threading.Timer(_PAUSE, _import, args=(_LATER,))
    timer.daemon = True
    timer.start()


def wait() -> None:
    """Returns when what is imported in the background is there."""
    importlib.import_module(_LATER)


def _ignore(_: AppSession) -> None:
    """Nothing is done."""


def _import(name: str) -> None:
    """Imports a module for good: Streamlit collects garbage after each run, and would walk a million objects of modules each time."""
    importlib.import_module(name)
    gc.collect()
    gc.freeze()
