"""What is expected, before anything was trained: a mark with its range for each of several choices."""

from typing import Any

import pandas as pd
import plotly.graph_objects as go

from pillar_core.plots import marks
from pillar_core.plots.theme import INK, Mode, described

_COLOUR: dict[Mode, str] = {"light": "#4C3FB1", "dark": "#A99CF5"}


def expected(table: pd.DataFrame, *, title: str, chosen: str, caption: str, mode: Mode = "light") -> Any:
    """Expected accuracy (percent) by name, from above in the table's order; the chosen one stands out.

    table: columns name, mean, the prediction, low and high, in [0, 1].
    """
    colours = [marks.MARKED[mode] if name == chosen else _COLOUR[mode] for name in table["name"]]
    figure = go.Figure()
    marks.dots(
        figure,
        100 * table["mean"],
        table["name"],
        colours,
        size=12,
        error_x=marks.reach(table, INK[mode].muted, thickness=1.6, width=5),
        mode="markers+text",
        text=[f"{100 * value:.0f}" for value in table["mean"]],
        textposition="top center",
        cliponaxis=False,
        hover="%{y}: %{x:.1f} %",
    )
    marks.names_axis(figure, list(table["name"]))
    ends = zip(table["name"], table["low"], table["high"], strict=True)
    words = "; ".join(f"{name} {100 * low:.0f} to {100 * high:.0f} percent" for name, low, high in ends)
    return described(figure, "expected", mode=mode, height=190 + 46 * len(table), title=title, caption=caption, summary=words)
