"""Controls that belong to one page: their values outlive a page change in the session, as text and numbers.

Links carry each of them, unless it says why not where it is made (`unlinked`).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from pages.frame import controls, plain, session
from pillar_core.params import Param

Options = Sequence[Any] | Mapping[Any, str]
"""What is offered, perhaps with the words of each."""
Title = Callable[[Any], Any]
_WIDGET, _UNLINKED, _SEPARATOR = "local-widget.", "unlinked.", ","


def value(name: str, default: Any) -> Any:
    """The value kept under `name`, else `default`."""
    return controls.typed(st.session_state.get(controls.LOCAL + name, default), default)


def put(name: str, new: Any) -> None:
    """Keeps a value out of links; its widget shows it in the next run."""
    st.session_state[controls.LOCAL + name] = new


def linked(name: str, default: Any) -> Any:
    """The value of a control that links carry, as the link or the user left it, else `default`."""
    controls.claim(name, st.session_state)
    return value(name, default)


def link(name: str, new: Any) -> None:
    """A callback's way to set a control that links carry."""
    put(name, new)
    controls.claim(name, st.session_state)
    session.touch()


def unlinked(key: str, why: str) -> str:
    """The key of a widget that links do not carry, with the reason."""
    st.session_state[_UNLINKED + key] = why
    return key


def one(label: str, options: Options, default: Any, *, name: str, title: Title = str, help: str, unlinked: str = "") -> Any:
    """A choice of one among a few."""
    options, title = _titled(options, title)
    shown = _offered(name, options, default, unlinked)
    st.segmented_control(label, options, format_func=_plainly(title), help=help, **_widget(name, unlinked))
    return shown


def select(label: str, options: Options, default: Any, *, name: str, title: Title = str, help: str, unlinked: str = "") -> Any:
    """A choice of one among many."""
    options, title = _titled(options, title)
    shown = _offered(name, options, default, unlinked)
    st.selectbox(label, options, format_func=title, help=help, **_widget(name, unlinked))
    return shown


def slider(label: str, options: Options, default: Any, *, name: str, title: Title = str, help: str, unlinked: str = "") -> Any:
    """A slider over values worth trying."""
    options, title = _titled(options, title)
    shown = _offered(name, options, default, unlinked)
    st.select_slider(label, options, format_func=title, help=help, **_widget(name, unlinked))
    return shown


def several(
    label: str,
    options: Options,
    default: list[str],
    *,
    name: str,
    title: Title = str,
    help: str,
    unlinked: str = "",
    are_many: bool = False,
) -> list[str]:
    """A choice of one or more names, kept as text; `are_many` offers them in a list that opens."""
    options, title = _titled(options, title)
    codes = str(_read(name, _SEPARATOR.join(default), unlinked)).split(_SEPARATOR)
    shown = [option for item in codes for option in options if item in (option, controls.code(option))]
    session.fill(_WIDGET + name, shown or default)
    shared = {**_widget(name, unlinked), "on_change": _released_several}
    if are_many:
        return st.multiselect(label, options, format_func=title, help=help, **shared) or default
    return st.pills(label, options, selection_mode="multi", format_func=_plainly(title), help=help, **shared) or default


def toggle(label: str, *, name: str, help: str, unlinked: str = "") -> None:
    """A switch, off at first."""
    session.fill(_WIDGET + name, _read(name, False, unlinked))
    st.toggle(label, help=help, **_widget(name, unlinked))


def text(label: str, *, name: str, help: str, unlinked: str, placeholder: str = "", height: int = 0) -> str:
    """A line of text, or with a height in pixels several, under a hidden label."""
    session.fill(_WIDGET + name, value(name, ""))
    shared = {"help": help, "placeholder": placeholder, **_widget(name, unlinked)}
    if height:
        st.text_area(label, height=height, label_visibility="collapsed", **shared)
    else:
        st.text_input(label, **shared)
    return str(value(name, "")).strip()


def field(param: Param, *, name: str, label: str, unlinked: str = "") -> Any:
    """An input made from a parameter: a choice, a whole number or a number; one that may be none starts empty."""
    allowed = f"{param.help} Allowed: {param.range}."
    if param.choices:
        return select(label, list(param.choices), param.default, name=name, help=allowed, unlinked=unlinked)
    kept = _read(name, "" if param.none_means else param.kind(param.default), unlinked)
    shown = None if kept == "" else controls.typed(kept, param.kind(param.default))
    session.fill(_WIDGET + name, shown)
    shape: dict[str, Any] = {"step": 1} if param.kind is int else {"step": None, "format": "%.6g"}
    st.number_input(label, help=allowed, **shape, **_widget(name, unlinked))
    return shown


def _titled(options: Options, title: Title) -> tuple[list[Any], Title]:
    return list(options), options.__getitem__ if isinstance(options, Mapping) else title


def _plainly(title: Title) -> Callable[[Any], str]:
    """The words of an option, for the elements that would read them as Markdown."""
    return lambda option: plain.text(title(option))


def _read(name: str, default: Any, unlinked: str) -> Any:
    return value(name, default) if unlinked else linked(name, default)


def _offered(name: str, options: list[Any], default: Any, unlinked: str) -> Any:
    """The value kept if it is among the options, else the default; the widget is made to show it."""
    current = _read(name, default, unlinked)
    shown = current if current in options else next((option for option in options if controls.code(option) == current), default)
    session.fill(_WIDGET + name, shown)
    return shown


def _widget(name: str, why: str) -> dict[str, Any]:
    """Key and callback of a control; where links do not carry it, the reason is on record."""
    key = unlinked(_WIDGET + name, why) if why else _WIDGET + name
    return {"key": key, "on_change": _released, "args": (name, put if why else link)}


def _released(name: str, keep: Callable[[str, Any], None]) -> None:
    """Keeps what a widget shows; a choice that was emptied stays as it was."""
    new = st.session_state[_WIDGET + name]
    if new is not None:
        keep(name, new)


def _released_several(name: str, keep: Callable[[str, Any], None]) -> None:
    keep(name, _SEPARATOR.join(st.session_state[_WIDGET + name]))
