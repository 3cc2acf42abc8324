"""A figure as every page shows it: badges, the drawing, then its table, alt text and exports one click away."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from pages.frame import badges, copying, core, exports, moving, plain, report, shares, theme
from pages.frame.settings import Settings
from pillar_core.plots.accuracy import with_runs
from pillar_core.plots.theme import narrowed
from pillar_core.types import Provenance

_PICTURES = Path(__file__).with_name("pictures.js").read_text(encoding="utf-8")
_CONFIG: dict[str, Any] = {
    "displaylogo": False,
    "responsive": True,
    "modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d", "zoomIn2d", "zoomOut2d"],
}

Table = pd.DataFrame | Callable[[], pd.DataFrame]


def show(
    figure: Any,
    table: Table,
    *,
    name: str,
    kinds: tuple[Provenance, ...],
    settings: Settings,
    seeds: int | tuple[int, int] | None = None,
    is_experiment: bool = False,
    is_synthetic: bool | None = None,
    is_real: bool = False,
    is_theory: bool = False,
    is_accuracy: bool = False,
    key: str = "",
    on_select: Any = "ignore",
    base: str = "",
    runs: Mapping[str, Any] | None = None,
    command: str = "",
    sets: Iterable[str] = (),
) -> Any:
    """Draws `figure` above its badges with `table`, alt text and downloads below; returns the chart's selection.

    table: or what makes it, where no move should wait for what only the opened exports show.
    name: what files are called and what keys the elements, in snake_case, unique on a page.
    key: the chart's own, where others look for it under a name that does not change.
    is_synthetic: by default, where `kinds` says that rows were read, whether those of the settings' private set are generated.
    is_accuracy: of these settings' test rows: what always saying their largest class reaches is said, too.
    base, runs: a name of the figure and what lies on it, for a chart that stays while its star walks; such a chart selects nothing.
    command: the shell command that repeats it, where it is not the run that the settings describe.
    sets: data sets that it was made of beside those that it names; a report forgets it with them.
    """
    with st.container(key=f"figure-{name}", border=True):
        is_narrow = theme.is_narrow()
        chosen, shared = None, {"key": key or f"chart-{name}", "alt": figure.layout.meta["alt"]}
        shared["config"] = _CONFIG | {"displayModeBar": False if is_narrow else "hover"}
        shared["config"]["toImageButtonOptions"] = {"format": "svg", "filename": name}
        if runs is None:
            drawn = narrowed(figure) if is_narrow else figure
            chosen = st.plotly_chart(drawn, theme=None, on_select=on_select, selection_mode="points", **shared)
        else:
            moving.chart(figure, runs=runs, base=base, is_narrow=is_narrow, **shared)
        if is_synthetic is None:
            is_synthetic = bool(kinds) and not is_real and core.is_synthetic(settings.data)
        badges.provenance_row(
            *kinds, seeds=seeds, is_experiment=is_experiment, is_synthetic=is_synthetic, is_real=is_real, is_theory=is_theory
        )
        majority = core.majority(settings) if is_accuracy else None
        if majority is not None:
            st.caption(f"Always saying the largest class is right in {100 * majority:.1f} % of the test rows.")
        worn = [*kinds, *([badges.EXPERIMENT] if is_experiment else []), *([badges.THEORY] if is_theory else [])]
        _below(figure, runs, table, command, chart=shared["key"], name=name, settings=settings, badges=worn, sets=sets)
    return chosen


def _below(
    figure: Any, runs: Mapping[str, Any] | None, table: Table, command: str, *, chart: str, name: str, settings: Settings, **more: Any
) -> None:
    """What the expander holds is made when somebody opens it: drawn unseen, tables and code took longer than the figure.

    Its buttons come before the table, whose cells take a press of Tab each.
    """
    below = st.expander("Table, description and exports", icon=":material/table_view:", key=f"below-{name}", on_change="rerun")
    if not below.open:
        return
    figure = figure if runs is None else with_runs(figure, runs)
    table = table if isinstance(table, pd.DataFrame) else table()
    with below:
        st.caption(plain.text(figure.layout.meta["alt"]))
        pictures = st.components.v2.component("pillar_pictures", html="<section></section>", css=copying.STYLE, js=_PICTURES)
        pictures(key=f"pictures-{name}", data={"chart": chart, "name": name})
        with st.container(horizontal=True):
            _download("CSV", exports.csv(table), f"{name}.csv", "text/csv", "The numbers behind this figure, one row per run or point.")
            _download(
                "Settings",
                exports.settings_yaml(settings).encode(),
                f"{name}.yaml",
                "text/yaml",
                "Every setting as YAML; the Data page reads it back.",
            )
            _download(
                "HTML",
                shares.paid(lambda: exports.page(figure)),
                f"{name}.html",
                "text/html",
                "The figure as a page of its own that zooms and hovers without a network.",
            )
            report.button(figure, table, name=name, settings=settings, **more)
        st.dataframe(table, hide_index=True, key=f"table-{name}", height=min(38 + 35 * max(len(table), 1), 320))
        st.caption("The same run from a terminal:")
        st.code(command or exports.command_line(settings), language="bash", wrap_lines=True)


def _download(label: str, data: bytes | Callable[[], bytes], name: str, mime: str, help_text: str) -> None:
    icon = ":material/download:"
    st.download_button(label, data, name, mime, key=f"download-{name}", help=help_text, on_click="ignore", icon=icon)
