"""What first paints do without, imported in the background once the first page is drawn: the first slider need not wait for it."""

from __future__ import annotations

import importlib
import threading

import streamlit as st

_PACKAGES = ("torch", "dp_accounting")
_PAUSE = 2.0
"""Seconds that a browser on the same machine gets to draw the page first."""


@st.cache_resource(show_spinner=False)
def begin() -> None:
    """Starts the imports, once in a process. Whoever needs one of them meanwhile waits for it at Python's own import lock."""
    timer = threading.Timer(_PAUSE, lambda: [importlib.import_module(name) for name in _PACKAGES])
    timer.daemon = True
    timer.start()
