"""The figures that you collected, and one page of HTML with all of them that needs no network.

The session holds them as text until its tab is closed.
"""

import contextlib
import html
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from string import Template

import pandas as pd
import streamlit as st

import pillar_core as pc
from pages.frame import core, exports, local, shares, theme
from pages.frame import settings as codec
from pages.frame.settings import Settings
from pillar_core import store
from pillar_core.arrays import Json
from pillar_core.data import uploads
from pillar_core.errors import PillarError
from pillar_core.plots.theme import INK, Figure, script

_KEY = "report."
_MOST, _ROWS = 12, 200
"""Figures of a report and rows of a table, at most."""
_PAGE = Template(Path(__file__).with_suffix(".html").read_text(encoding="utf-8"))


def button(figure: Figure, table: pd.DataFrame, name: str, settings: Settings, badges: Sequence[str], sets: Iterable[str]) -> None:
    """Draws the button that adds the figure to the report as it is drawn now; sets: those that it shows beside the settings' own."""
    hint = f"Keeps this figure, its table and settings for a page of HTML that the sidebar then offers; {_MOST} figures at most."
    is_full, arguments = len(_names()) >= _MOST, (figure, table, name, settings, badges, tuple(sets))
    st.button(**local.element("report", of=name, help=hint), on_click=_add, args=arguments, disabled=is_full)


def panel() -> None:
    """Draws the report's download in the sidebar, once it holds a figure."""
    figures = _figures()
    if not figures:
        return
    with st.sidebar, st.container(horizontal=True, gap="small", key="report"):
        hint = f"{_count_words(len(figures))} with tables, settings, ledger and assumptions; opens without a network."
        style = local.element("report-download", label=f"Report ({len(figures)})", help=hint)
        st.download_button(**style, data=shares.charge(lambda: page(figures).encode()))
        st.button(**local.element("report-empty"), on_click=_empty)


def page(figures: Sequence[str]) -> str:
    """The report as HTML. It runs where no session is at hand; whatever came from data is text; Plotly is in it once."""
    entries = [json.loads(figure) for figure in figures]
    sections = "".join(_section(place, entry) for place, entry in enumerate(entries, 1))
    texts = dict.fromkeys(entry["statement"] for entry in entries if entry["statement"])
    statements = "".join(f"<pre>{html.escape(text)}</pre>" for text in texts) or "<p>None of the settings had a run of their own.</p>"
    shared = {"count": _count_words(len(figures)), "version": pc.__version__, "plotly": script()}
    return _PAGE.substitute(shared, figures=sections, statements=statements)


def _section(place: int, entry: dict[str, Json]) -> str:
    rows = f"{min(entry['rows'], _ROWS):,} of {entry['rows']:,} rows"
    words = (f"{place}. {entry['title']}", " · ".join(entry["badges"]), entry["alt"], entry["settings"])
    title, badges, alt, settings = map(html.escape, words)
    return (
        f'<section><h2>{title}</h2><div class="figure" style="background: {entry["surface"]}">{entry["drawn"]}</div>'
        f"<p><b>{badges}</b></p><p>{alt}</p><details><summary>Table, {rows}</summary>{entry['table']}</details>"
        f"<details><summary>Settings</summary><pre>{settings}</pre></details>"
        f"{entry['pins'] and '<p>Pinned settings</p>' + entry['pins']}</section>"
    )


def _add(figure: Figure, table: pd.DataFrame, name: str, settings: Settings, badges: Sequence[str], sets: Sequence[str]) -> None:
    entry = {
        "title": figure.layout.title.text or name,
        "alt": figure.layout.meta["alt"],
        "drawn": figure.to_html(include_plotlyjs=False, full_html=False, config={"displaylogo": False, "responsive": True}),
        "surface": INK[theme.mode()].surface,
        "badges": list(badges),
        "rows": len(table),
        "table": table.head(_ROWS).to_html(index=False, border=0),
        "settings": exports.settings_yaml(settings),
        "pins": exports.pins(settings).to_html(index=False, border=0) if codec.pins(settings) else "",
        "statement": _statement(settings),
        "sets": list(sets),
    }
    st.session_state[f"{_KEY}{1 + max(map(int, _names()), default=0):04}"] = json.dumps(entry)


def _statement(settings: Settings) -> str:
    """Guarantee, ledger and assumptions of the run of these settings, "" where none was trained."""
    with contextlib.suppress(PillarError):
        if store.default().get_json("record", core.run_key(settings)) is not None:
            return pc.statement(core.run(settings)).text
    return ""


def _names() -> list[str]:
    return sorted(str(key).removeprefix(_KEY) for key in st.session_state if str(key).startswith(_KEY))


def _figures() -> tuple[str, ...]:
    """The figures in their order; those of a set that is not here any more are dropped."""
    for name in _names():
        if not all(map(uploads.is_here, uploads.names_in(st.session_state[_KEY + name]))):
            del st.session_state[_KEY + name]
    return tuple(st.session_state[_KEY + name] for name in _names())


def _empty() -> None:
    for name in _names():
        del st.session_state[_KEY + name]


def _count_words(count: int) -> str:
    return f"{count} figure{'' if count == 1 else 's'}"
