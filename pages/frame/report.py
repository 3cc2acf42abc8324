"""Figures that somebody collects, and one page of HTML with all of them that needs no network: tables, settings, ledger and assumptions.

The session holds them as text, and the cache for the next visit, but for visitors of a demo.
"""

import contextlib
import html
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from string import Template
from typing import Any

import pandas as pd
import streamlit as st

import pillar_core as pc
from pages.frame import core, exports, session, shares, theme
from pages.frame.settings import Settings
from pillar_core import mode, store
from pillar_core.data import uploads
from pillar_core.errors import PillarError, StoreError
from pillar_core.plots.theme import INK, script

_KEY, _RECALLED, _KEPT = "report.", "report-recalled", "report-"
_MOST, _ROWS, _LARGEST = 12, 200, 4_000_000
"""Figures of a report, rows of a table, and letters of a figure with all that is said of it, at most."""
_PAGE = Template(Path(__file__).with_suffix(".html").read_text(encoding="utf-8"))


def button(figure: Any, table: pd.DataFrame, *, name: str, settings: Settings, badges: Sequence[str], sets: Iterable[str]) -> None:
    """Adds the figure to the report as it is drawn now. sets: what it shows beside what it names."""
    hint = f"Keeps this figure, its table and settings for a page of HTML that the sidebar then offers; {_MOST} figures at most."
    looks: dict[str, Any] = {"icon": ":material/note_add:", "help": hint, "disabled": len(_names()) >= _MOST}
    asked = {"name": name, "settings": settings, "badges": badges, "sets": tuple(sets)}
    st.button("Add to report", key=f"report-{name}", on_click=_add, args=(figure, table), kwargs=asked, **looks)


def panel() -> None:
    """The report's download in the sidebar, once it holds a figure, of this visit or an earlier one."""
    _recall()
    held = tuple(st.session_state[_KEY + name] for name in _names())
    if count := len(held):
        with st.sidebar, st.container(horizontal=True, gap="small", key="report"):
            hint = f"{_counted(count)} with tables, settings, ledger and assumptions; opens without a network."
            made = shares.paid(lambda: page(held).encode())
            looks: dict[str, Any] = {"help": hint, "on_click": "ignore", "icon": ":material/summarize:", "key": "report-download"}
            st.download_button(f"Report ({count})", made, "report.html", "text/html", **looks)
            st.button("Empty it", key="report-empty", help="Forgets the report's figures.", on_click=_empty, type="tertiary")


def page(held: Sequence[str]) -> str:
    """The report of what was kept as HTML, made where no session is at hand. What came from data is text; Plotly lies in it once."""
    parts = [json.loads(one) for one in held]
    figures = "".join(_section(place, one) for place, one in enumerate(parts, 1))
    stated = dict.fromkeys(one["statement"] for one in parts if one["statement"])
    statements = "".join(f"<pre>{html.escape(text)}</pre>" for text in stated) or "<p>None of the settings had a run of their own.</p>"
    shared = {"count": _counted(len(held)), "version": pc.__version__, "plotly": script()}
    return _PAGE.substitute(shared, figures=figures, statements=statements)


def _section(place: int, one: dict[str, Any]) -> str:
    rows = f"{min(one['rows'], _ROWS):,} of {one['rows']:,} rows"
    said = (f"{place}. {one['title']}", " · ".join(one["badges"]), one["alt"], one["settings"])
    title, badges, alt, settings = map(html.escape, said)
    return (
        f'<section><h2>{title}</h2><div class="figure" style="background: {one["surface"]}">{one["drawn"]}</div>'
        f"<p><b>{badges}</b></p><p>{alt}</p><details><summary>Table, {rows}</summary>{one['table']}</details>"
        f"<details><summary>Settings</summary><pre>{settings}</pre></details></section>"
    )


def _add(figure: Any, table: pd.DataFrame, *, name: str, settings: Settings, badges: Sequence[str], sets: Iterable[str] = ()) -> None:
    described = exports.settings_yaml(settings)
    drawn = {
        "title": figure.layout.title.text or name,
        "alt": figure.layout.meta["alt"],
        "drawn": figure.to_html(include_plotlyjs=False, full_html=False, config={"displaylogo": False, "responsive": True}),
        "surface": INK[theme.mode()].surface,
        "badges": [str(word) for word in badges],
        "rows": len(table),
        "table": table.head(_ROWS).to_html(index=False, border=0),
        "settings": described,
        "statement": _statement(settings),
    }
    text = json.dumps(drawn)
    if len(text) > _LARGEST:
        session.note(f"“{drawn['title']}” is too large for the report, {len(text) / 1e6:.0f} MB: save it as HTML.")
        return
    kept = _kept()
    number = 1 + max((int(one.partition("-")[0]) for one in (*_names(), *kept)), default=0)
    named = filter(uploads.is_here, uploads.names_in([text, *sets]))
    place = "-".join([f"{number:02}", *dict.fromkeys(map(uploads.key_of, named))])
    st.session_state[_KEY + place] = text
    if not mode.binds() and len(kept) < _MOST:
        with contextlib.suppress(StoreError):  # a full disk, or a key of more than two sets: the next visit does without
            store.default().put_bytes(_KEPT + place, text.encode())


def _recall() -> None:
    """Takes up, once in a visit, what was collected in earlier ones; drops figures of sets that are not here any more."""
    for place in _kept() if _RECALLED not in st.session_state else ():
        text = store.default().get_bytes(_KEPT + place)
        if text is not None:
            st.session_state[_KEY + place] = text.decode()
    st.session_state[_RECALLED] = True
    for place in _names():
        if not all(uploads.is_here(uploads.PREFIX + key) for key in place.split("-")[1:]):
            del st.session_state[_KEY + place]


def _kept() -> list[str]:
    """What the cache's keys of the figures say: a number, and the sets that were brought, by which `uploads` forgets them."""
    keys = [] if mode.binds() else store.default().keys("blob", prefix=_KEPT)
    return [key.removeprefix(_KEPT) for key in keys]


def _statement(settings: Settings) -> str:
    """Guarantee, ledger and assumptions of the run of these settings, "" where none was trained."""
    with contextlib.suppress(PillarError):
        if store.default().get_json("record", core.run_key(settings)) is not None:
            return pc.statement(core.run(settings)).text
    return ""


def _names() -> list[str]:
    return sorted(str(key).removeprefix(_KEY) for key in st.session_state if str(key).startswith(_KEY))


def _empty() -> None:
    for name in _names():
        del st.session_state[_KEY + name]
    for place in _kept():
        store.default().delete("blob", _KEPT + place)


def _counted(count: int) -> str:
    return f"{count} figure{'' if count == 1 else 's'}"
