"""Before the server answers: imports that no visitor waits for. Start's figure and the other
imports follow in the background."""

import contextlib
import functools
import gc
import importlib
import inspect
import threading
from collections.abc import AsyncIterator, Callable

import streamlit as st

from pillar_core import mode

_LATER = "torch"
_ANSWERING, _DRAWING = 0.5, 2.0
"""Seconds that the server gets to begin, and a browser on the same machine to draw the page, before
others take a core."""


@contextlib.asynccontextmanager
async def ahead(_: st.App) -> AsyncIterator[None]:
    """Around the server's life: before it answers, imports what Start and Curves draw their first
    results with."""
    _import(
        "pages.parts.curves.figures"
    )  # it imports what the frame draws, too: sidebar and figures
    if not mode.is_demo():  # there, a session asks
        _start_after(_ANSWERING, _first_results)
    yield


def _first_results() -> None:
    """Does what Start's first run would, a tenth of a second each, while the first browser reads
    the app's scripts."""
    from pages.frame import core

    inspect.stack()  # it looks where each module lies: Streamlit asks it at the first element
    core.start_records()


@functools.cache
def begin() -> None:
    """Starts the import, once in a process. Whoever needs it meanwhile waits for it at Python's own
    import lock."""
    _start_after(_DRAWING, _import, _LATER)


def wait() -> None:
    """Returns when what is imported in the background is there."""
    importlib.import_module(_LATER)


def _start_after(seconds: float, work: Callable[..., None], *arguments: str) -> None:
    timer = threading.Timer(seconds, work, args=arguments)
    timer.daemon = True
    timer.start()


def _import(name: str) -> None:
    """Imports a module for good: Streamlit collects garbage after each run, and would walk a
    million objects of modules each time."""
    importlib.import_module(name)
    gc.collect()
    gc.freeze()
