"""Controls that belong to one page: their values outlive a page change in the session, as text and numbers."""

from __future__ import annotations

from typing import Any

import streamlit as st

from pages.frame import controls, session
from pillar_core.params import Param

_WIDGET, _SEPARATOR = "local-widget.", ","


def value(name: str, default: Any) -> Any:
    """The value kept under `name`, else `default`."""
    return controls.typed(st.session_state.get(controls.KEPT + name, default), default)


def put(name: str, new: Any) -> None:
    """Keeps a value; its widget shows it in the next run. Where links carry it, this is for callbacks."""
    st.session_state[controls.KEPT + name] = new
    if controls.is_linked(name):
        session.touch()


def key(name: str, default: Any) -> str:
    """The key for a widget, filled with the value kept."""
    session.fill(_WIDGET + name, value(name, default))
    return _WIDGET + name


def released(name: str) -> None:
    """The callback of a widget: keeps what it shows; a choice that was emptied stays as it was."""
    new = st.session_state[_WIDGET + name]
    if new is not None:
        put(name, new)


def several(label: str, options: list[str], default: list[str], *, name: str, words: Any, help: str) -> list[str]:
    """A choice of one or more names, kept as text."""
    kept = [item for item in str(value(name, _SEPARATOR.join(default))).split(_SEPARATOR) if item in options]
    widget = _WIDGET + name
    session.fill(widget, kept or default)

    def keep() -> None:
        put(name, _SEPARATOR.join(st.session_state[widget]))

    return st.pills(label, options, selection_mode="multi", key=widget, format_func=words, help=help, on_change=keep) or default


def one(label: str, options: list[Any], default: Any, *, name: str, words: Any, help: str) -> Any:
    """A choice of one among a few."""
    shown = _offered(name, options, default)
    st.segmented_control(label, options, key=_WIDGET + name, format_func=words, help=help, on_change=released, args=(name,))
    return shown


def slider(label: str, options: list[Any], default: Any, *, name: str, words: Any = str, help: str) -> Any:
    """A slider over values worth trying."""
    shown = _offered(name, options, default)
    st.select_slider(label, options, key=_WIDGET + name, format_func=words, help=help, on_change=released, args=(name,))
    return shown


def _offered(name: str, options: list[Any], default: Any) -> Any:
    """The value kept if it is among the options, else the default; the widget is made to show it."""
    now = value(name, default)
    shown = now if now in options else default
    session.fill(_WIDGET + name, shown)
    return shown


def field(param: Param, *, name: str, label: str) -> Any:
    """An input made from a parameter: a choice, a whole number or a number."""
    words = f"{param.help} Allowed: {param.range}."
    shared: dict[str, Any] = {"help": words, "on_change": released, "args": (name,)}
    if param.choices:
        st.selectbox(label, list(param.choices), key=key(name, param.default), **shared)
    elif param.kind is int:
        st.number_input(label, step=1, key=key(name, param.default), **shared)
    else:
        st.number_input(label, step=None, format="%.6g", key=key(name, param.default), **shared)
    return value(name, param.default)
