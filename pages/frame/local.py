"""Controls that belong to one page: their values outlive a page change in the session, as text and numbers.

`local.toml` has what is always the same of a control, by its name: label, help where a word needs one, and
perhaps options, default and form of an option, or the looks of an `element` of Streamlit's. A keyword at the call wins. Links carry each
control, unless its entry has a reason not to (`unlinked`).
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import streamlit as st

from pages.frame import plain, session
from pages.frame import settings as codec
from pillar_core.arrays import Json
from pillar_core.params import Param
from pillar_core.registry import toml_tables

Option = Any
"""A text, a number or an object of the library among which a control lets choose."""
Options = Sequence[Option] | Mapping[Option, str]
"""What is offered, perhaps with the words of each."""
Title = Callable[[Option], Option]
T = TypeVar("T")
_WIDGET, _UNLINKED, _SEPARATOR = "local-widget.", "unlinked.", ","
_CONTROLS = toml_tables(Path(__file__).with_suffix(".toml"))


def value(name: str, default: T) -> T:
    """The value stored under `name`, else `default`."""
    return codec.parse_value(st.session_state.get(session.LOCAL + name, default), default)


def put(name: str, new: object) -> None:
    """Stores a value that links do not carry; its widget shows it in the next run."""
    st.session_state[session.LOCAL + name] = new


def linked_value(name: str, default: T) -> T:
    """The value of a control that links carry, as the link or the user left it, else `default`."""
    session.claim(name)
    return value(name, default)


def link(name: str, new: object) -> None:
    """A callback's way to set a control that links carry."""
    put(name, new)
    session.claim(name)
    session.change()


def unlinked_key(key: str, why: str) -> str:
    """The key of a widget that links do not carry, with the reason."""
    st.session_state[_UNLINKED + key] = why
    return key


def element(name: str, *, of: str = "", **overrides: Json) -> dict[str, Json]:
    """Label, help, key and looks, as the table says, of a button or of a widget whose value no other run of the page needs.

    of: what a further one of this name is for, the end of its key; overrides: entries in the table's place.
    """
    style: dict[str, Json] = {"key": f"{name}-{of}" if of else name} | _CONTROLS[name] | overrides
    if why := style.pop("unlinked", ""):
        unlinked_key(style["key"], why)
    return style


def choice(name: str, options: Options | None = None, default: Option = None, *, place: Any = st, **entry: Any) -> Option:
    """A choice of one among a few, in a `place` of the page.

    entry: what takes the place of the table's entries; `of`, what a further control of this name is for; `title`, the words of an option.
    """
    current, keywords = _control(name, options, default, **entry)
    place.segmented_control(**keywords | {"format_func": _plainly(keywords["format_func"])})
    return current


def select(name: str, options: Options | None = None, default: Option = None, *, place: Any = st, **entry: Any) -> Option:
    """A choice of one among many."""
    current, keywords = _control(name, options, default, **entry)
    place.selectbox(**keywords)
    return current


def slider(name: str, options: Options | None = None, default: Option = None, *, place: Any = st, **entry: Any) -> Option:
    """A slider over values worth trying."""
    current, keywords = _control(name, options, default, **entry)
    place.select_slider(**keywords)
    return current


def sliders(*names: str) -> list[Option]:
    """Sliders side by side, all of them as the table says."""
    return [slider(name, place=column) for column, name in zip(st.columns(len(names)), names, strict=True)]


def choices(
    name: str, options: Options | None = None, default: list[str] | None = None, *, title: Title | None = None, **overrides: Json
) -> list[str]:
    """A choice of one or more names, stored as text; where there are many of them, in a list that opens."""
    entry = _CONTROLS.get(name, {}) | overrides
    options, title = _titles(entry["options"] if options is None else options, title, entry)
    usual: list[str] = list(entry["default"] if default is None else default)
    codes = str(_read(name, _SEPARATOR.join(usual), entry.get("unlinked", ""))).split(_SEPARATOR)
    current = [option for item in codes for option in options if item in (option, codec.code(option))]
    session.fill(_WIDGET + name, current or usual)
    shared = {"help": entry.get("help"), **_widget(name, entry.get("unlinked", ""))}
    if entry.get("are_many"):
        return st.multiselect(entry["label"], options, format_func=title, placeholder=entry.get("placeholder"), **shared) or usual
    return st.pills(entry["label"], options, selection_mode="multi", format_func=_plainly(title), **shared) or usual


def toggle(name: str, default: bool = False, *, of: str = "") -> bool:
    """A switch. of: what a further one of this name is for."""
    entry = _CONTROLS[name]
    name, why = f"{name}-{of}" if of else name, entry.get("unlinked", "")
    is_on = bool(_current(name, [False, True], default, why))
    st.toggle(entry["label"], help=entry.get("help"), **_widget(name, why))
    return is_on


def field(param: Param, *, name: str, placeholder: str = "") -> Option:
    """The value of an input made from a parameter: a choice or a number; an optional one starts empty, or with `placeholder` in it."""
    shared = {"label": param.label, "help": f"{param.help} Allowed: {param.range}.", **_widget(name, "")}
    if param.choices:
        current = _current(name, list(param.choices), param.default, "")
        st.selectbox(options=list(param.choices), format_func=str, **shared)
        return current
    stored = _read(name, "" if param.none_means else param.kind(param.default), "")
    current = None if stored == "" else codec.parse_value(stored, param.kind(param.default))
    session.fill(_WIDGET + name, current)
    shape: dict[str, Json] = {"step": 1} if param.kind is int else {"step": None, "format": "%.6g"}
    st.number_input(placeholder=placeholder, **shared, **shape)
    return current


def _control(
    name: str, options: Options | None, default: Option, *, of: str = "", title: Title | None = None, **overrides: Json
) -> tuple[Option, dict[str, Json]]:
    """(the stored value, the keywords of its widget)."""
    entry, key = _CONTROLS.get(name, {}) | overrides, f"{name}-{of}" if of else name
    offered, title = _titles(entry["options"] if options is None else options, title, entry)
    why = entry.get("unlinked", "")
    current = _current(key, offered, entry.get("default") if default is None else default, why)
    return current, {"label": entry["label"], "options": offered, "format_func": title, "help": entry.get("help"), **_widget(key, why)}


def _titles(options: Options, title: Title | None, entry: Mapping[str, Json]) -> tuple[list[Option], Title]:
    form = entry.get("form", "")
    if form == "percent":
        return list(options), lambda share: f"{100 * share:g} %"
    usual: Title = form.format if form else str
    return list(options), title or (options.__getitem__ if isinstance(options, Mapping) else usual)


def _plainly(title: Title) -> Callable[[Option], str]:
    """The words of an option, for the elements that would read them as Markdown."""
    return lambda option: plain.text(title(option))


def _read(name: str, default: T, why: str) -> T:
    return value(name, default) if why else linked_value(name, default)


def _current(name: str, options: list[Option], default: Option, why: str) -> Option:
    """The stored value if it is among the options, else the default; the widget shows it."""
    current = _read(name, default, why)
    current = current if current in options else next((option for option in options if codec.code(option) == current), default)
    session.fill(_WIDGET + name, current)
    return current


def _widget(name: str, why: str) -> dict[str, Json]:
    """Key and callback of a control; where links do not carry it, the reason is on record."""
    key = unlinked_key(_WIDGET + name, why) if why else _WIDGET + name
    return {"key": key, "on_change": _keep, "args": (name, put if why else link)}


def _keep(name: str, keep: Callable[[str, object], None]) -> None:
    """Keeps what a widget shows, several names as text; a choice of one that was emptied stays as it was."""
    new = st.session_state[_WIDGET + name]
    if new is not None:
        keep(name, _SEPARATOR.join(new) if isinstance(new, list) else new)
        if "sets" in (entry := _CONTROLS.get(name, {})):
            session.change(**{entry["sets"]: new})
