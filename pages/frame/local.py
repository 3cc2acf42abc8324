"""Controls that belong to one page: their values outlive a page change in the session, as text and
numbers.

What a control says stands where it is made, as keywords: `label`, `help` where a word needs one,
`form` or `title` for the words of an option, `are_many` where a list shall open, `sets` for the
setting of every page that takes the value, too. Links carry each control, unless `unlinked` has a
reason not to.
"""

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import streamlit as st

from pages.frame import plain, session
from pages.frame import settings as codec
from pillar_core.arrays import Json
from pillar_core.params import Param

Option = Any
"""A text, a number or an object of the library among which a control lets choose."""
Options = Sequence[Option] | Mapping[Option, str]
"""What is offered, perhaps with the words of each."""
Title = Callable[[Option], Option]
T = TypeVar("T")
_WIDGET, _UNLINKED, _SEPARATOR = "local-widget.", "unlinked.", ","


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


def unlinked_key(key: str, why: str) -> str:
    """The key of a widget that links do not carry, with the reason."""
    st.session_state[_UNLINKED + key] = why
    return key


def _control(
    element: str,
    name: str,
    options: Options,
    default: Option = None,
    *,
    place: Any = st,
    of: str = "",
    title: Title | None = None,
    **entry: Json,
) -> Option:
    """The stored value of a choice of one, which an element of Streamlit's lets choose in a `place`
    of the page.

    entry: what the control says, as above. of: what a further control of this name is for. title:
    the words of an option.
    """
    name = f"{name}-{of}" if of else name
    offered, title = _titles(options, title, entry)
    current = _current(name, offered, default, entry)
    form = _plainly(title) if element == "segmented_control" else title  # it reads Markdown
    _draw(getattr(place, element), name, current, entry, options=offered, format_func=form)
    return current


choice = functools.partial(_control, "segmented_control")
"""A choice of one among a few."""
select = functools.partial(_control, "selectbox")
"""A choice of one among many."""
slider = functools.partial(_control, "select_slider")
"""A slider over values worth trying."""


def choices(
    name: str,
    options: Options,
    default: list[str],
    *,
    title: Title | None = None,
    **entry: Json,
) -> list[str]:
    """A choice of one or more names, stored as text; where there are many of them, in a list that
    opens."""
    options, title = _titles(options, title, entry)
    stored = str(_read(name, _SEPARATOR.join(default), entry))
    current = [
        option
        for item in stored.split(_SEPARATOR)
        for option in options
        if item in (option, codec.code(option))
    ]
    if not current and (stored or not entry.get("may_be_none")):
        current = list(default)
    if entry.get("are_many"):
        _draw(
            st.multiselect,
            name,
            current,
            entry,
            options=options,
            format_func=title,
            placeholder=entry.get("placeholder"),
        )
    else:
        _draw(
            st.pills,
            name,
            current,
            entry,
            options=options,
            format_func=_plainly(title),
            selection_mode="multi",
        )
    return current


def toggle(name: str, default: bool = False, *, of: str = "", **entry: Json) -> bool:
    """A switch. of: what a further one of this name is for."""
    name = f"{name}-{of}" if of else name
    is_on = bool(_current(name, [False, True], default, entry))
    _draw(st.toggle, name, is_on, entry)
    return is_on


def field(param: Param, *, name: str, placeholder: str = "") -> Option:
    """The value of an input made from a parameter: a choice or a number; an optional one starts
    empty, or with `placeholder` in it."""
    entry = {"label": param.label, "help": f"{param.help} Allowed: {param.range}."}
    if param.choices:
        current = _current(name, list(param.choices), param.default, entry)
        _draw(st.selectbox, name, current, entry, options=list(param.choices))
        return current
    stored = _read(name, "" if param.none_means else param.kind(param.default), entry)
    current = None if stored == "" else codec.parse_value(stored, param.kind(param.default))
    shape: dict[str, Json] = {"step": 1} if param.kind is int else {"step": None, "format": "%.6g"}
    _draw(st.number_input, name, current, entry, placeholder=placeholder, **shape)
    return current


@contextlib.contextmanager
def box(title: str, icon: str, key: str) -> Iterator[bool]:
    """A box that is closed at first, and whether somebody opened it: a page fills it then alone."""
    below = st.expander(title, icon=f":material/{icon}:", key=key, on_change="rerun")
    with below:
        yield bool(below.open)


def _titles(
    options: Options, title: Title | None, entry: Mapping[str, Json]
) -> tuple[list[Option], Title]:
    form = entry.get("form", "")
    if form == "percent":
        return list(options), lambda share: f"{100 * share:g} %"
    usual: Title = form.format if form else _words
    return list(options), title or (options.__getitem__ if isinstance(options, Mapping) else usual)


def _words(option: Option) -> str:
    """An option as it is written; a whole number looks whole."""
    return f"{option:g}" if isinstance(option, float) else str(option)


def _plainly(title: Title) -> Callable[[Option], str]:
    """The words of an option, for the elements that would read them as Markdown."""
    return lambda option: plain.text(title(option))


def _read(name: str, default: T, entry: Mapping[str, Json]) -> T:
    return value(name, default) if entry.get("unlinked") else linked_value(name, default)


def _current(
    name: str, options: list[Option], default: Option, entry: Mapping[str, Json]
) -> Option:
    """The stored value if it is among the options, else the default."""
    current = _read(name, default, entry)
    return (
        current
        if current in options
        else next((option for option in options if codec.code(option) == current), default)
    )


def _draw(
    element: Callable[..., Any], name: str, current: Option, entry: Mapping[str, Json], **style: Any
) -> None:
    """Draws a control; what is chosen, several names as text, is kept in the link, or beside the
    reason why not."""
    why = entry.get("unlinked", "")
    key = _WIDGET + name

    def keep(new: Option) -> None:
        (put if why else link)(name, _SEPARATOR.join(new) if isinstance(new, list) else new)
        if "sets" in entry:
            session.change(**{entry["sets"]: new})

    style |= {
        "label": entry["label"],
        "help": entry.get("help"),
        "key": unlinked_key(key, why) if why else key,
    }
    session.draw(element, current, keep, **style)
