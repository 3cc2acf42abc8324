"""Settings between browser, session and URL. The session holds primitives only; widgets write
through callbacks.

A widget's own key lives as long as the widget is drawn, so the settings are kept under keys of
their own (`set.*`): no page change and no hidden control resets them. The browser hears of each run
a little later, and until then says what it heard before: an address that the app wrote itself is
such an echo unless Back or Forward brings it, any other is a link, and wins.

Controls of single pages, those that you moved, are one word of a link, `name:value;name:value`.
Their values live under `local.<name>`, and what a link says of them under `link`, as its word. A
control says itself whether it belongs in links (see `local`), so a name that a link brings is read
by the control that claims it, or by nobody: it reaches no state of a page but through that control.
"""

import dataclasses
import secrets
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

import pillar_core as pc
from pages.frame import plain
from pages.frame import settings as codec
from pages.frame.settings import AUTO, NONE, PARAMS, PART, Settings, Value
from pillar_core import mode
from pillar_core.data import uploads
from pillar_core.fingerprint import fingerprint

LOCAL, _LINK = "local.", "link"
_SET, _WIDGET = "set.", "control."
_SHOWN, _NOTES, _OWN = "url.shown", "url.notes", "url.own"
"""The first: addresses that the browser may still show, on a line each. It is the one of its last
request, then those written since."""
_BEGAN, _TOKEN, _DRAWN = "run.began", "session.token", "drawn."
_DEFAULTS = {
    "selectbox": "index",
    "segmented_control": "default",
    "pills": "default",
    "multiselect": "default",
}
"""What Streamlit's widgets call the value that they start with, where it is not `value`."""


def token() -> str:
    """The random token of this session, which ends with its tab; "nobody" in threads without a
    session."""
    if get_script_run_ctx(suppress_warning=True) is None:
        return "nobody"
    return str(st.session_state.setdefault(_TOKEN, secrets.token_hex(32)))


def synchronise() -> None:
    """Takes the settings from the URL where it is news: on the first run, after Back and Forward,
    on a new link."""
    st.session_state[_BEGAN] = time.time()
    query = st.query_params.to_dict()
    shown = st.session_state.get(_SHOWN, "").split("\n")
    context = get_script_run_ctx()
    address = urlencode(query)
    is_step = context is not None and context.is_history_navigation
    is_echo = address in shown and not is_step
    if _SET + "data" not in st.session_state or (query and not is_echo):
        settings, notes = codec.from_query(
            query, chosen_names=st.session_state.get(_OWN, "").split("\n")
        )
        put(settings)
        st.session_state[_NOTES] = "\n".join(notes)
    st.session_state[_SHOWN] = "\n".join(shown[shown.index(address) :] if is_echo else [address])


def missing() -> str:
    """The name of brought rows that the settings name and that are not here, "" where there is
    none."""
    names = uploads.names_in([st.session_state[_SET + "data"], st.session_state[_SET + "public"]])
    return next((name for name in names if not uploads.is_here(name)), "")


def show_missing(name: str) -> None:
    """Stands in the place of a page whose rows are not here."""
    is_private = name == st.session_state[_SET + "data"]
    st.title(
        f"The {'private' if is_private else 'public'} rows of this link are not here", anchor=False
    )
    st.warning(plain.text(uploads.missing_text(name)), icon=":material/link_off:")
    if is_private:
        draw_way_on()
    else:
        side = public_side(st.session_state[_SET + "data"])
        label = f"Go on with: {codec.PUBLIC_TITLES[side]}"
        st.button(label, key="go-on", on_click=change, kwargs={"public": side})


def draw_way_on() -> None:
    """A button that takes the rows with which the app opens."""
    rows = Settings().data
    label = f"Go on with {pc.DATASETS[rows].short_title}"
    st.button(label, key="go-on", on_click=use, args=(rows,))


def publish() -> None:
    """Writes every setting to the URL, unless the browser shows them and is not about to show
    others."""
    query = codec.to_query(current())
    shown = st.session_state[_SHOWN].split("\n")
    if {urlencode(query)} != {urlencode(st.query_params.to_dict()), shown[-1]}:
        st.query_params.from_dict(query)
        st.session_state[_SHOWN] = "\n".join([*shown, urlencode(query)])


def began() -> float:
    """When this run of the page began, in seconds since 1970."""
    return float(st.session_state[_BEGAN])


def current() -> Settings:
    """The settings of this run."""
    values = {
        name: value for name in PARAMS if (value := st.session_state.get(_SET + name)) is not None
    }
    return Settings(**values | {"controls": st.session_state.get(_LINK, "")})


def put(settings: Settings) -> None:
    """Stores settings; the sidebar shows them in the next run. Linked controls that they do not
    name go back to their defaults."""
    for name, value in dataclasses.asdict(settings).items():
        st.session_state[_SET + name] = value
    for name in _linked():
        st.session_state.pop(LOCAL + name, None)
    _link(_by_name(settings.controls))


def claim(name: str) -> None:
    """Connects a control with the link: it takes the link's value, and from then on the link
    carries the control's."""
    if LOCAL + name in st.session_state:
        _link(_linked() | {name: codec.code(st.session_state[LOCAL + name])})
    elif name in (linked := _linked()):
        st.session_state[LOCAL + name] = linked[name]


def _by_name(word: str) -> dict[str, str]:
    return {
        name: value
        for name, mark, value in (part.partition(":") for part in word.split(";"))
        if mark and name
    }


def _linked() -> dict[str, str]:
    return _by_name(st.session_state.get(_LINK, ""))


def _link(controls: dict[str, str]) -> None:
    st.session_state[_LINK] = ";".join(
        f"{name}:{value}" for name, value in sorted(controls.items())
    )


def change(**values: Value) -> None:
    """A callback for buttons and charts: sets some settings and leaves all others as they are, but
    for a part of the private rows as public ones, which nobody chose for other brought rows."""
    if current().public == PART and values.get("data", current().data) != current().data:
        values.setdefault("public", public_side(str(values["data"])))
    for name, value in values.items():
        allowed, message = codec.check_value(name, value)
        st.session_state[_SET + name] = allowed
        if message:
            note(message)
    if "backbone" in values and not pc.BACKBONES.is_linkable(str(values["backbone"])):
        st.session_state[_OWN] = f"{st.session_state.get(_OWN, '')}\n{values['backbone']}"


def public_side(rows: str) -> str:
    """Where public rows come from before somebody chooses: of brought rows none is public."""
    return NONE if codec.is_stored("data", rows) else PART


def use(rows: str, public: str = "") -> None:
    """A callback: other private rows, through the backbone that they have without a choice."""
    change(data=rows, public=public or public_side(rows), backbone=AUTO)


def draw_setting(
    element: Callable[..., Any],
    name: str,
    *,
    place: str = "",
    shown: Value | None = None,
    **style: Any,
) -> None:
    """Draws a setting's widget with its value, or with what is `shown` in its stead.

    There is one key per place, because a widget that moves forgets its value. style: keywords of
    the element that win.
    """
    hint = (
        None if name in ("data", "method", "view", "compare") else PARAMS[name].help
    )  # settings whose labels need no hint
    style = {"label": PARAMS[name].label, "help": hint, "key": f"{_WIDGET}{name}{place}"} | style
    draw(
        element,
        st.session_state[_SET + name] if shown is None else shown,
        lambda value: change(**{name: value}),
        **style,
    )


def draw(
    element: Callable[..., Any], value: Any, keep: Callable[[Any], None], *, key: str, **style: Any
) -> None:
    """Draws a widget of Streamlit's that shows `value`, and gives what its visitor makes of it to
    `keep`.

    A browser that has not heard yet of what the app changed repeats the older value, which
    Streamlit takes for a move. So a widget whose value or options the app changes, not its visitor,
    is a new one with a key of its own, and what the older one repeats is not kept. `value` is its
    default, not assigned to it: an assigned value is sent once, and lost with a run that another
    one ends.
    """
    options = list(style.get("options", ()))
    title = style.get("format_func", str)
    offered = fingerprint([str(title(option)) for option in options])
    known = _DRAWN + key
    number, _, before = st.session_state.get(known, f"0 {offered}").partition(" ")
    if before != offered or st.session_state.get(_numbered(key, number), value) != value:
        number = str(int(number) + 1)
    st.session_state[known], key = f"{number} {offered}", _numbered(key, number)
    name = element.__name__
    default = {_DEFAULTS.get(name, "value"): options.index(value) if name == "selectbox" else value}
    element(key=key, on_change=keep_widget, args=(key, known, value, keep), **default, **style)


def keep_widget(key: str, known: str, drawn: Any, keep: Callable[[Any], None]) -> None:
    """The callback of a widget: what one that was replaced repeats is no move, and a choice of one
    that was emptied stays as it was."""
    value = st.session_state.get(key)
    number = st.session_state[known].partition(" ")[0]
    if value is not None and (
        value != drawn or key == _numbered(known.removeprefix(_DRAWN), number)
    ):
        keep(value)


def _numbered(key: str, number: str) -> str:
    return key if number == "0" else f"{key}~{number}"


def surely(keep: Callable[[], None]) -> None:
    """Has `keep` keep something in the session, even where the visitor has moved on: that ends a
    run at one call of Streamlit alone."""
    try:
        keep()
    finally:
        keep()


def note(message: str) -> None:
    """Adds a message for the top of the page."""
    notes = [line for line in st.session_state.get(_NOTES, "").split("\n") if line]
    if message not in notes:
        st.session_state[_NOTES] = "\n".join([*notes, message])


def show_notes() -> None:
    """Draws the messages that wait above the page, each once, in a place that is always there: an
    expander below closes where it moves."""
    place, notes = st.container(), list(filter(None, st.session_state.pop(_NOTES, "").split("\n")))
    if notes:
        place.warning("\n\n".join(map(plain.text, notes)), icon=":material/info:")


mode.serve(token)
