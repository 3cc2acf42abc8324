"""Before the server answers: imports that no visitor waits for. The rest is imported in the background."""

import contextlib
import functools
import gc
import importlib
import threading
from collections.abc import AsyncIterator

import streamlit as st

_LATER = "torch"


@contextlib.asynccontextmanager
async def ahead(_: st.App) -> AsyncIterator[None]:
    """Around the server's life: before it answers, imports what Home and Explore draw their first results with."""
    _import("pages.parts.explore.views")  # it imports what the frame draws, too: sidebar and figures
    yield


@functools.cache
def begin() -> None:
    """Starts the import, once in a process. Whoever needs it meanwhile waits for it at Python's own import lock."""
    timer = threading.Timer(2.0, _import, args=(_LATER,))  # seconds that a browser on the same machine gets to draw the page first
    timer.daemon = True
    timer.start()


def wait() -> None:
    """Returns when what is imported in the background is there."""
    importlib.import_module(_LATER)


def _import(name: str) -> None:
    """Imports a module for good: Streamlit collects garbage after each run, and would walk a million objects of modules each time."""
    importlib.import_module(name)
    gc.collect()
    gc.freeze()
