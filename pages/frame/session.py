"""Settings between browser, session and URL. The session holds primitives only; widgets write through callbacks.

A widget's own key lives as long as the widget is drawn, so the settings are kept under keys of their own (`set.*`): no
page change and no hidden control resets them. A query string that the app did not write itself is a link, Back or
Forward, and wins; after a widget was touched the widget wins, because the browser may still send the older address.

Controls of single pages, those that you moved, are one word of a link, `name:value;name:value`. Their values live under `local.<name>`, and
what a link says of them under `link`, as its word. A control says itself whether it belongs in links (see `local`), so a name that a
link brings is read by the control that claims it, or by nobody: it reaches no state of a page but through that control.
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
from pages.frame.settings import AUTO, PARAMS, PART, Settings, Value
from pillar_core import mode
from pillar_core.data import uploads

LOCAL, _LINK = "local.", "link"
_SET, _WIDGET = "set.", "control."
_WRITTEN, _TOUCHED, _NOTES, _OWN = "url.written", "url.touched", "url.notes", "url.own"
_BEGAN, _TOKEN = "run.began", "session.token"


def token() -> str:
    """The random token of this session, which ends with its tab; "nobody" in threads without a session."""
    if get_script_run_ctx(suppress_warning=True) is None:
        return "nobody"
    return str(st.session_state.setdefault(_TOKEN, secrets.token_hex(32)))


def synchronise() -> None:
    """Takes the settings from the URL where it is news: on the first run, after Back and Forward, on a new link."""
    st.session_state[_BEGAN] = time.time()
    query = st.query_params.to_dict()
    first = _SET + "data" not in st.session_state
    touched = st.session_state.pop(_TOUCHED, False)
    news = bool(query) and urlencode(query) != st.session_state.get(_WRITTEN) and not touched
    if first or news:
        settings, notes = codec.from_query(query, chosen_names=st.session_state.get(_OWN, "").split("\n"))
        put(settings)
        st.session_state[_NOTES] = "\n".join(notes)


def missing() -> str:
    """The name of brought rows that the settings name and that are not here, "" where there is none."""
    names = uploads.names_in([st.session_state[_SET + "data"], st.session_state[_SET + "public"]])
    return next((name for name in names if not uploads.is_here(name)), "")


def show_missing(name: str) -> None:
    """Stands in the place of a page whose rows are not here."""
    is_private, instead = name == st.session_state[_SET + "data"], Settings().data
    st.title(f"The {'private' if is_private else 'public'} rows of this link are not here", anchor=False)
    st.warning(plain.text(uploads.missing_text(name)), icon=":material/link_off:")
    values = {"data": instead, "public": PART, "backbone": AUTO} if is_private else {"public": PART}
    label = f"Go on with {pc.DATASETS[instead].short_title}" if is_private else "Go on with a part of the private data set"
    st.button(label, key="go-on", on_click=change, kwargs=values)


def publish() -> None:
    """Writes every setting to the URL, if it changed."""
    query = codec.to_query(current())
    if query != st.query_params.to_dict():
        st.query_params.from_dict(query)
    st.session_state[_WRITTEN] = urlencode(query)


def began() -> float:
    """When this run of the page began, in seconds since 1970."""
    return float(st.session_state[_BEGAN])


def current() -> Settings:
    """The settings of this run."""
    values = {name: value for name in PARAMS if (value := st.session_state.get(_SET + name)) is not None}
    return Settings(**values | {"controls": st.session_state.get(_LINK, "")})


def put(settings: Settings) -> None:
    """Stores settings; the sidebar shows them in the next run. Linked controls that they do not name go back to their defaults."""
    for name, value in dataclasses.asdict(settings).items():
        st.session_state[_SET + name] = value
    for name in _linked():
        st.session_state.pop(LOCAL + name, None)
    _link(_by_name(settings.controls))


def claim(name: str) -> None:
    """Connects a control with the link: it takes the link's value, and from then on the link carries the control's."""
    if LOCAL + name in st.session_state:
        _link(_linked() | {name: codec.code(st.session_state[LOCAL + name])})
    elif name in (linked := _linked()):
        st.session_state[LOCAL + name] = linked[name]


def _by_name(word: str) -> dict[str, str]:
    return {name: value for name, mark, value in (part.partition(":") for part in word.split(";")) if mark and name}


def _linked() -> dict[str, str]:
    return _by_name(st.session_state.get(_LINK, ""))


def _link(controls: dict[str, str]) -> None:
    st.session_state[_LINK] = ";".join(f"{name}:{value}" for name, value in sorted(controls.items()))


def change(**values: Value) -> None:
    """A callback for buttons and charts: sets some settings, or none, and leaves all others as they are.

    What the session holds then wins over the address that the browser still shows.
    """
    for name, value in values.items():
        allowed, message = codec.check_value(name, value)
        st.session_state[_SET + name] = allowed
        if message:
            note(message)
    if "backbone" in values and not pc.BACKBONES.is_linkable(str(values["backbone"])):
        st.session_state[_OWN] = f"{st.session_state.get(_OWN, '')}\n{values['backbone']}"
    st.session_state[_TOUCHED] = True


def widget(name: str, place: str = "", *, shown: Value | None = None) -> dict[str, Any]:
    """Label, hint, key and callback of a setting's widget, filled with its value, or with what is `shown` in its stead.

    There is one key per place, because a widget that moves forgets its value.
    """
    key = _WIDGET + place + name
    fill(key, st.session_state[_SET + name] if shown is None else shown)
    hint = None if name in ("data", "method", "view", "compare") else PARAMS[name].help  # settings whose labels need no hint
    return {"label": PARAMS[name].label, "help": hint, "key": key, "on_change": keep_widget, "args": (name, place)}


def fill(key: str, value: Value | list[str] | None) -> None:
    """Makes the widget with this key show `value`, and says nothing to a widget that shows it already.

    A value that is assigned is sent to the browser, where it would undo what the user did since this run began: of six
    fast presses of an arrow key only five would count.
    """
    if key not in st.session_state or st.session_state[key] != value:
        st.session_state[key] = value


def keep_widget(name: str, place: str = "") -> None:
    """The callback of the widget of a setting."""
    value = st.session_state[_WIDGET + place + name]
    if value is not None:
        change(**{name: value})


def surely(keep: Callable[[], None]) -> None:
    """Has `keep` keep something in the session, even where the visitor has moved on: that ends a run at one call of Streamlit alone."""
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
    """Draws the messages that wait above the page, each once."""
    if notes := list(filter(None, st.session_state.pop(_NOTES, "").split("\n"))):
        st.warning("\n\n".join(map(plain.text, notes)), icon=":material/info:")


mode.serve(token)
