"""What leaves the app with a figure: settings as YAML, the command that repeats it, the table as
CSV; and the figures that you collected, as one page of HTML that needs no network. The session
holds those as text until its tab is closed.
"""

import contextlib
import dataclasses
import functools
import html
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from string import Template
from urllib.parse import urlencode

import pandas as pd
import streamlit as st
import yaml

import pillar_core as pc
from pages.frame import core, shares
from pages.frame import settings as codec
from pages.frame.badges import DIAGNOSTIC, REAL, SYNTHETIC, Seeds
from pages.frame.settings import AUTO, Settings
from pillar_core.arrays import Json
from pillar_core.data import uploads
from pillar_core.errors import PillarError
from pillar_core.plots.theme import Figure, current_ink, script
from pillar_core.runs.records import without_formulas
from pillar_core.runs.repeated import command, file_of
from pillar_core.types import Form, Provenance, Values

_PIN_COLUMNS = ("data", "public", "method", "k", "epsilon", "seed")
"""What a table of pins says of each."""
_KEY = "report.figures"
_MOST, _ROWS = 12, 200
"""Figures of a report and rows of a table, at most."""
_REPORT = Template(Path(__file__).with_name("report.html").read_text(encoding="utf-8"))


@dataclasses.dataclass(frozen=True)
class FigureInfo:
    """What a page says of a figure, and what its exports are made of.

    name: part of file names and element keys, in snake_case, unique on a page.
    badges: from `badges`. "synthetic" joins them where rows of the settings' private set were read
    and are generated, by `is_synthetic`. is_accuracy: test accuracy on a page that does not say the
    share of the largest class: it is written below. command: the shell command that repeats it, by
    default that of the settings' run. sets: further data sets that it shows.
    """

    name: str
    settings: Settings
    badges: Sequence[str] = DIAGNOSTIC
    seeds: Seeds = None
    is_synthetic: bool | None = None
    is_accuracy: bool = False
    command: str = ""
    sets: Iterable[str] = ()

    @property
    def chart(self) -> str:
        """The key of the chart."""
        return f"chart-{self.name}"

    @property
    def all_badges(self) -> list[str]:
        """The badges with "synthetic" where it is due."""
        reads_rows = not set(self.badges).isdisjoint(Provenance)
        is_synthetic = self.is_synthetic
        if is_synthetic is None:
            is_synthetic = (
                reads_rows and REAL not in self.badges and core.is_synthetic(self.settings.data)
            )
        return [*self.badges, *([SYNTHETIC] if is_synthetic else [])]


def settings_yaml(settings: Settings) -> str:
    """Every setting, and the end of an address of the app that opens with them, readable by
    `yaml.safe_load`."""
    link = {"link": f"?{urlencode(codec.to_query(settings))}"}
    return str(
        yaml.safe_dump(link | dataclasses.asdict(settings), sort_keys=False, allow_unicode=True)
    )


def command_line(settings: Settings) -> str:
    """The shell command that trains the same run."""
    spec = core.spec(settings)
    return command(
        "run",
        spec.settings,
        method=spec.method,
        **data_options(settings, core.public_axis(settings)),
        epsilon=spec.epsilon,
        delta=spec.delta,
        accountant=spec.accountant,
        relation=spec.relation,
        metric=spec.metric or None,
        seed=spec.seed,
    )


def data_options(settings: Settings, public: Values) -> Form:
    """The options of a command that name the data and say, as the axis `public` does, which rows
    are public."""
    backbone = None if settings.backbone == AUTO else settings.backbone
    files = {name: file_of(value) for name, value in public.items() if name == "public"}
    return {"dataset": file_of(settings.data), "backbone": backbone, **public, **files}


def csv(table: pd.DataFrame) -> bytes:
    """The table as UTF-8 CSV that holds no formulas; columns of whole numbers look whole."""
    return without_formulas(table).convert_dtypes().to_csv(index=False).encode()


def download_buttons(
    name: str, files: Mapping[str, tuple[str, bytes | Callable[[], bytes]]]
) -> None:
    """Draws a button for each file of this name, by its label: the ending and the content."""
    for label, (ending, data) in files.items():
        key = f"download-{name}.{ending}"
        icon = ":material/download:"
        st.download_button(
            label, data, f"{name}.{ending}", f"text/{ending}", key=key, on_click="ignore", icon=icon
        )


def page(figure: Figure) -> bytes:
    """The figure as an HTML page that needs no server; the same bytes each time."""
    return bytes(figure.to_html(div_id="figure").encode())


def pins(settings: Settings) -> pd.DataFrame:
    """The pinned settings with the accuracy of their runs where those were trained: columns pin,
    data, public, method, k, …, accuracy."""
    rows = []
    for letter, pinned in codec.pins(settings).items():
        with contextlib.suppress(PillarError):  # rows that are gone
            record = core.find(pinned)
            rows.append(
                {"pin": letter}
                | {name: getattr(pinned, name) for name in _PIN_COLUMNS}
                | {"accuracy": None if record is None else record.accuracy}
            )
    return pd.DataFrame(rows, columns=["pin", *_PIN_COLUMNS, "accuracy"])


def report_button(figure: Figure, table: pd.DataFrame, info: FigureInfo) -> None:
    """Draws the button that adds the figure to the report as it is drawn now."""
    hint = (
        "Keeps this figure, its table and settings for a page of HTML that the sidebar then"
        f" offers; {_MOST} figures at most."
    )
    st.button(
        label="Add to report",
        key=f"report-{info.name}",
        icon=":material/note_add:",
        help=hint,
        on_click=_add,
        args=(figure, table, info),
        disabled=len(_figures()) >= _MOST,
    )


def report_panel() -> None:
    """Draws the report's download in the sidebar, once it holds a figure."""
    figures = _figures()
    if not figures:
        return
    with st.sidebar, st.container(horizontal=True, gap="small", key="report"):
        hint = (
            f"{_count_words(len(figures))} with tables, settings, ledger and assumptions; opens"
            " without a network."
        )
        st.download_button(
            label=f"Report ({len(figures)})",
            key="report-download",
            icon=":material/summarize:",
            file_name="report.html",
            mime="text/html",
            on_click="ignore",
            help=hint,
            data=shares.charge(lambda: report_page(figures).encode()),
        )
        empty = functools.partial(st.session_state.pop, _KEY)
        st.button(label="Empty it", key="report-empty", type="tertiary", on_click=empty)


def report_page(figures: Sequence[str]) -> str:
    """The report as HTML. It runs where no session is at hand; whatever came from data is text;
    Plotly is in it once."""
    entries = [json.loads(figure) for figure in figures]
    sections = "".join(_section(place, entry) for place, entry in enumerate(entries, 1))
    texts = dict.fromkeys(entry["statement"] for entry in entries if entry["statement"])
    statements = (
        "".join(f"<pre>{html.escape(text)}</pre>" for text in texts)
        or "<p>None of the settings had a run of their own.</p>"
    )
    shared = {"count": _count_words(len(figures)), "version": pc.__version__, "plotly": script()}
    return _REPORT.substitute(shared, figures=sections, statements=statements)


def _section(place: int, entry: dict[str, Json]) -> str:
    rows = f"{min(entry['rows'], _ROWS):,} of {entry['rows']:,} rows"
    words = (
        f"{place}. {entry['title']}",
        " · ".join(entry["badges"]),
        entry["alt"],
        entry["settings"],
    )
    title, badges, alt, settings = map(html.escape, words)
    return (
        f'<section><h2>{title}</h2><div class="figure" style="background:'
        f' {entry["surface"]}">{entry["drawn"]}</div>'
        f"<p><b>{badges}</b></p><p>{alt}</p><details><summary>Table,"
        f" {rows}</summary>{entry['table']}</details>"
        f"<details><summary>Settings</summary><pre>{settings}</pre></details>"
        f"{entry['pins'] and '<p>Pinned settings</p>' + entry['pins']}</section>"
    )


def _add(figure: Figure, table: pd.DataFrame, info: FigureInfo) -> None:
    settings = info.settings
    entry = {
        "title": figure.layout.title.text or info.name,
        "alt": figure.layout.meta["alt"],
        "drawn": figure.to_html(
            include_plotlyjs=False,
            full_html=False,
            config={"displaylogo": False, "responsive": True},
        ),
        "surface": current_ink().surface,
        "badges": info.all_badges,
        "rows": len(table),
        "table": table.head(_ROWS).to_html(index=False, border=0),
        "settings": settings_yaml(settings),
        "pins": pins(settings).to_html(index=False, border=0) if codec.pins(settings) else "",
        "statement": _statement(settings),
        "sets": list(info.sets),
    }
    st.session_state[_KEY] = json.dumps([*_figures(), json.dumps(entry)])


def _statement(settings: Settings) -> str:
    """Guarantee, ledger and assumptions of the run of these settings, "" where none was trained."""
    with contextlib.suppress(PillarError):
        if (record := core.find(settings)) is not None:
            return pc.statement(record).text
    return ""


def _figures() -> list[str]:
    """The figures in their order; those of a set that is not here any more are dropped."""
    figures: list[str] = json.loads(st.session_state.get(_KEY, "[]"))
    kept = [each for each in figures if all(map(uploads.is_here, uploads.names_in(each)))]
    if len(kept) < len(figures):
        st.session_state[_KEY] = json.dumps(kept)
    return kept


def _count_words(count: int) -> str:
    return f"{count} figure{'' if count == 1 else 's'}"
