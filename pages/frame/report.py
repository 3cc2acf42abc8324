"""Figures that somebody collects, and one page of HTML with all of them that needs no network: tables, settings, ledger and assumptions.

The session holds them as text until its tab is closed.
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
from pages.frame import core, exports, shares, theme
from pages.frame.settings import Settings
from pillar_core import store
from pillar_core.data import uploads
from pillar_core.errors import PillarError
from pillar_core.plots.theme import INK, script

_KEY = "report."
_MOST, _ROWS = 12, 200
"""Figures of a report and rows of a table, at most."""
_PAGE = Template(Path(__file__).with_suffix(".html").read_text(encoding="utf-8"))


def button(figure: Any, table: pd.DataFrame, *, name: str, settings: Settings, badges: Sequence[str], sets: Iterable[str]) -> None:
    """Adds the figure to the report as it is drawn now. sets: what it shows beside what it names."""
    hint = f"Keeps this figure, its table and settings for a page of HTML that the sidebar then offers; {_MOST} figures at most."
    looks: dict[str, Any] = {"icon": ":material/note_add:", "help": hint, "disabled": len(_names()) >= _MOST}
    asked = {"name": name, "settings": settings, "badges": badges, "sets": tuple(sets)}
    st.button("Add to report", key=f"report-{name}", on_click=_add, args=(figure, table), kwargs=asked, **looks)


def panel() -> None:
    """The report's download in the sidebar, once it holds a figure."""
    held = _held()
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
    drawn = {
        "title": figure.layout.title.text or name,
        "alt": figure.layout.meta["alt"],
        "drawn": figure.to_html(include_plotlyjs=False, full_html=False, config={"displaylogo": False, "responsive": True}),
        "surface": INK[theme.mode()].surface,
        "badges": [str(word) for word in badges],
        "rows": len(table),
        "table": table.head(_ROWS).to_html(index=False, border=0),
        "settings": exports.settings_yaml(settings),
        "statement": _statement(settings),
        "sets": list(sets),
    }
    st.session_state[f"{_KEY}{1 + max(map(int, _names()), default=0):04}"] = json.dumps(drawn)


def _statement(settings: Settings) -> str:
    """Guarantee, ledger and assumptions of the run of these settings, "" where none was trained."""
    with contextlib.suppress(PillarError):
        if store.default().get_json("record", core.run_key(settings)) is not None:
            return pc.statement(core.run(settings)).text
    return ""


def _names() -> list[str]:
    return sorted(str(key).removeprefix(_KEY) for key in st.session_state if str(key).startswith(_KEY))


def _held() -> tuple[str, ...]:
    """The figures in their order; those of a set that is not here any more are dropped."""
    for name in _names():
        if not all(map(uploads.is_here, uploads.names_in(st.session_state[_KEY + name]))):
            del st.session_state[_KEY + name]
    return tuple(st.session_state[_KEY + name] for name in _names())


def _empty() -> None:
    for name in _names():
        del st.session_state[_KEY + name]


def _counted(count: int) -> str:
    return f"{count} figure{'' if count == 1 else 's'}"
