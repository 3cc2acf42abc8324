"""Before the server answers: imports that no visitor waits for, and what no browser may ask. The rest is imported in the background."""

import contextlib
import functools
import gc
import importlib
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.backend_operation_handler import BackendOperationDispatcher
from streamlit.web.server import server_util
from streamlit.web.server.starlette import starlette_websocket

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
_OPERATIONS = ("deferred_file", "dataframe_chunk")
"""What browsers may ask of the server beside runs; what else Streamlit has for them writes files beside the app."""
_PAUSE = 2.0
"""Seconds that a browser on the same machine gets to draw the page first."""


@contextlib.asynccontextmanager
async def ahead(_: st.App) -> AsyncIterator[None]:
    """Around the server's life: before it answers, imports what Home and Explore draw their first results with."""
    for name in _FIRST:
        _import(name)
    for name in _REFUSED:
        setattr(AppSession, name, _ignore)
    for owner, name, ours in (
        (BackendOperationDispatcher, "register", _register),
        (AppSession, "_create_new_session_message", _without_place),
    ):
        setattr(owner, name, functools.partialmethod(ours, getattr(owner, name)))
    vars(starlette_websocket)["is_url_from_allowed_origins"] = _is_named
    yield


class Unframed:
    """Around the server's answers: no page of another origin shows the app in a frame, where it could be told whom to obey."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answers as the app does, with one header more."""

        async def told(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], (b"content-security-policy", b"frame-ancestors 'self'")]
            await send(message)

        await self._app(scope, receive, told)


@functools.cache
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


def _register(self: BackendOperationDispatcher, register: Callable[..., None], name: str, handler: Any) -> None:
    if name in _OPERATIONS:
        register(self, name, handler)


def _without_place(self: AppSession, create: Callable[..., Any], *given: Any, **named: Any) -> Any:
    """The message that begins a run, which would tell every browser where on the disk the app lies."""
    message = create(self, *given, **named)
    message.new_session.main_script_path = Path(message.new_session.main_script_path).name
    return message


def _is_named(origin: str) -> bool:
    """Whether the server's settings name this foreign origin. Streamlit takes every port of this machine too, after asking the internet,
    with everybody waiting, for the machine's address."""
    return server_util.allow_all_cross_origin_requests() or server_util.is_allowed_origin(origin)


def _import(name: str) -> None:
    """Imports a module for good: Streamlit collects garbage after each run, and would walk a million objects of modules each time."""
    importlib.import_module(name)
    gc.collect()
    gc.freeze()
