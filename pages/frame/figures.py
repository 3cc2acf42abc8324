"""A figure as every page shows it: the drawing and its provenance, then badges, table, alt text and
exports one click away."""

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from pages.frame import browser, core, exports, local, plain, session, shares, theme, words
from pages.frame.badges import line, show_row
from pages.frame.exports import FigureInfo as FigureInfo
from pages.frame.settings import EPSILONS, PARAMS, Settings
from pillar_core import plots
from pillar_core.arrays import Json
from pillar_core.data import uploads
from pillar_core.plots.accuracy import with_runs
from pillar_core.plots.theme import Figure, light_twins, narrow_copy
from pillar_core.studies import open_questions

_CONFIG: dict[str, Json] = {
    "displaylogo": False,
    "responsive": True,
    "modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d", "zoomIn2d", "zoomOut2d"],
}

Table = pd.DataFrame | Callable[[], pd.DataFrame]


def show_figure(
    figure: Figure,
    table: Table,
    info: FigureInfo,
    *,
    takes: Sequence[str] = (),
    base: str = "",
    runs: Mapping[str, object] | None = None,
) -> None:
    """Draws a figure, and below it a line of its provenance, which opens badges, table, alt text
    and downloads.

    table: a frame, or the function that makes it once the exports are opened.
    takes: the settings that a click on a point takes, as the first of its customdata, or a choice
    in the table, in columns so called. base, runs: the name of a figure that stays while the traces
    `runs` move over it (see `browser.moving_chart`).
    """
    with st.container(key=f"figure-{info.name}", border=True):
        is_narrow = theme.is_narrow(theme.TABLET)
        config = _CONFIG | {
            "displayModeBar": False if theme.is_narrow() else "hover",
            "toImageButtonOptions": {"format": "svg", "filename": info.name},
        }
        shared: dict[str, Any] = {
            "key": info.chart,
            "alt": figure.layout.meta["alt"],
            "config": config,
        }
        if runs is None:
            drawn = narrow_copy(figure) if is_narrow else figure
            on_select: Any = (
                functools.partial(_take_point, info.chart, takes) if takes else "ignore"
            )
            st.plotly_chart(
                drawn, theme=None, on_select=on_select, selection_mode="points", **shared
            )
        else:
            browser.moving_chart(figure, runs=runs, base=base, is_narrow=is_narrow, **shared)
        majority = core.majority(info.settings) if info.is_accuracy else None
        if majority is not None:
            st.caption(
                f"Guessing the most common class scores {100 * majority:.1f} % on the test rows."
            )
        _show_exports(figure, runs, table, info, takes)


def draw_figure(
    make: Callable[..., Figure],
    table: pd.DataFrame,
    info: FigureInfo,
    *more: Any,
    takes: Sequence[str] = (),
    **style: Any,
) -> None:
    """Shows the figure that a function of `plots` makes of a table, in the browser's colours; what
    it takes besides, by place or name, goes on to it."""
    show_figure(make(table, *more, **style), table, info, takes=takes)


@contextlib.contextmanager
def show_pulled(
    still: Callable[[], Figure], table: pd.DataFrame, info: FigureInfo
) -> Iterator[None]:
    """A place for curves that the browser pulls, over what `show_figure` has below a figure.

    still: makes the same as a picture, which stands above its exports once they are opened.
    """
    with st.container(key=f"figure-{info.name}", border=True):
        yield
        _show_exports(still, None, table, info, ())


def show_answer(question: str, settings: Settings) -> None:
    """What was measured of a question, once it is opened: a sentence that names the document, and
    the figure of its table."""
    title, sentence, command = words.WORDS["open_questions"][question]
    with local.box(title, "quiz", f"answer-{question}") as is_open:
        if is_open:
            st.markdown(sentence)
            table = open_questions.table(question)
            draw_figure(
                plots.gains, table, FigureInfo(question, settings, command=command), name=question
            )


def _take_point(chart: str, takes: Sequence[str]) -> None:
    """A callback of a click on a figure."""
    points = st.session_state[chart]["selection"]["points"]
    if points and points[0].get("customdata"):
        _take(dict(zip(takes, points[0]["customdata"], strict=False)))


def _take_line(table: str, frame: pd.DataFrame, takes: Sequence[str]) -> None:
    """A callback of a choice in a figure's table."""
    lines = st.session_state[table]["selection"]["rows"]
    if lines and lines[0] < len(frame):
        _take(frame.iloc[lines[0]][list(takes)].dropna().to_dict())


def _take(values: Mapping[str, Any]) -> None:
    session.change(**{name: PARAMS[name].kind(value) for name, value in values.items()})


def _show_exports(
    figure: Figure | Callable[[], Figure],
    runs: Mapping[str, object] | None,
    table: Table,
    info: FigureInfo,
    takes: Sequence[str],
) -> None:
    """Makes tables and code only when they are opened: unseen, they took longer than the figure. A
    new label would close them.

    The buttons come before the table, whose cells take a press of Tab each.
    """
    label = f"Table, description and exports · {line(info.all_badges)}"
    with local.box(label, "table_view", f"below-{info.name}") as is_open:
        if not is_open:
            return
        if callable(figure):
            figure = figure()
            st.plotly_chart(figure, theme=None, key=info.chart, config={"staticPlot": True})
        figure = figure if runs is None else with_runs(figure, runs)
        frame = table if isinstance(table, pd.DataFrame) else table()
        show_row(*info.all_badges, seeds=info.seeds)
        st.caption(plain.text(figure.layout.meta["alt"]))
        browser.save_buttons(info.chart, info.name, light_twins(EPSILONS))
        text = exports.settings_yaml(info.settings).encode()
        drawn = shares.charge(lambda: exports.page(figure))
        with st.container(horizontal=True):
            exports.download_buttons(
                info.name,
                {
                    "CSV": ("csv", exports.csv(frame)),
                    "Settings": ("yaml", text),
                    "HTML": ("html", drawn),
                },
            )
            exports.report_button(figure, frame, info)
        style: dict[str, Any] = {
            "key": f"table-{info.name}",
            "height": min(38 + 35 * max(len(frame), 1), 320),
        }
        if takes:
            style |= {
                "on_select": functools.partial(_take_line, style["key"], frame, takes),
                "selection_mode": "single-row",
            }
        st.dataframe(frame, hide_index=True, **style)
        is_own = uploads.names_in([info.settings.data, info.settings.public])
        st.caption(
            f"The same from a terminal{', beside the files that *Rows* saves' if is_own else ''}:"
        )
        st.code(
            info.command or exports.command_line(info.settings), language="bash", wrap_lines=True
        )
