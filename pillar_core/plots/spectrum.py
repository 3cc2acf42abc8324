"""The spectrum of public features: how fast the energy of the directions falls, and how much k of them hold."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from pillar_core.plots import marks
from pillar_core.plots.theme import INK, Mode, described, finished


def spectrum(table: pd.DataFrame, *, mode: Mode = "light", k: int | None = None, n_public: int | None = None) -> Any:
    """Two panels: eigenvalues on log axes, and the cumulative share of energy; `k` is marked.

    table: columns component (1, 2, …) and eigenvalue ≥ 0, in falling order. Public only.
    """
    ink = INK[mode]
    share = 100 * table["eigenvalue"].cumsum() / table["eigenvalue"].sum()
    figure = make_subplots(cols=2, horizontal_spacing=0.1)
    shown = table[table["eigenvalue"] > 0]
    figure.add_scatter(
        x=shown["component"],
        y=shown["eigenvalue"],
        mode="lines",
        line={"color": ink.accent, "width": 2.4},
        hovertemplate="direction %{x}: variance %{y:.3g}<extra></extra>",
        row=1,
        col=1,
    )
    figure.add_scatter(
        x=table["component"],
        y=share,
        mode="lines",
        line={"color": ink.accent, "width": 2.4},
        fill="tozeroy",
        fillcolor="rgba(124, 108, 220, 0.14)",
        hovertemplate="first %{x} directions: %{y:.1f} % of the variance<extra></extra>",
        row=1,
        col=2,
    )
    held = ""
    if k is not None and 1 <= k <= len(table):
        at_k = float(share.iloc[k - 1])
        for column in (1, 2):
            figure.add_vline(x=k, line={"color": marks.MARKED[mode], "width": 1.6, "dash": "dot"}, row=1, col=column)
        held = f"The first k = {k} directions hold {at_k:.1f} % of the variance."
    figure.update_xaxes(type="log", dtick=1, title_text="direction (log scale)", row=1, col=1)
    figure.update_yaxes(type="log", title_text="variance along it (log scale)", exponentformat="power", dtick=1, row=1, col=1)
    figure.update_xaxes(type="log", dtick=1, title_text="directions kept, k (log scale)", row=1, col=2)
    figure.update_yaxes(title_text="variance held, %", range=[0, 103], row=1, col=2)
    rows = f"n = {n_public:,} public rows, " if n_public else ""
    largest = float(table["eigenvalue"].max())
    return described(figure, "spectrum", mode=mode, rows=rows, directions=len(table), largest=largest, held=held)


def by_direction(
    table: pd.DataFrame, labels: Mapping[str, str], *, title: str, y_title: str, caption: str, y_log: bool = False, mode: Mode = "light"
) -> Any:
    """Two or three columns of `labels` over the column `direction`: a line, a dotted line and points. Their numbers are at least 0."""
    ink = INK[mode]
    looks = (("lines", ink.accent, "solid"), ("lines", ink.text, "dot"), ("markers", ink.muted, "solid"))
    figure = go.Figure()
    for (column, label), (shape, colour, dash) in zip(labels.items(), looks, strict=False):
        shown = table[table[column] > 0] if y_log else table
        figure.add_scatter(
            x=shown["direction"],
            y=shown[column],
            name=label,
            mode=shape,
            marker={"color": colour, "size": 6},
            line={"color": colour, "width": 2.4, "dash": dash},
            hovertemplate="direction %{x}: %{y:.3g}<extra>" + label + "</extra>",
        )
    figure.update_xaxes(type="log", dtick=1, title_text="direction (log scale)")
    figure.update_yaxes(type="log" if y_log else "linear", title_text=y_title, rangemode="tozero" if not y_log else "normal")
    figure.update_layout(legend={"orientation": "h", "y": -0.3})
    alt = f"{title}. Over {len(table)} directions: " + "; ".join(
        f"{label} from {float(table[column].iloc[0]):.3g} to {float(table[column].iloc[-1]):.3g}" for column, label in labels.items()
    )
    return finished(figure, title=title, caption=caption, alt=alt, mode=mode, height=380, line=44)
