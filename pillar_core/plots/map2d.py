"""A map of public rows: the first two public directions, coloured by class where public labels exist."""

from typing import Any

import pandas as pd
import plotly.graph_objects as go

from pillar_core.plots.theme import INK, Mode, categorical, class_symbols, described

_MOST_CLASSES = 12
_COLOURED_OF_MANY = 6


def map_2d(table: pd.DataFrame, *, mode: Mode = "light") -> Any:
    """Points in the plane, one per public row.

    table: columns x, y and class (text; empty where there is no label). Beyond twelve classes only the six most
    frequent keep a colour. Public only.
    """
    labels = table["class"].astype(str)
    kept = _MOST_CLASSES if labels.nunique() <= _MOST_CLASSES else _COLOURED_OF_MANY
    frequent = list(labels.value_counts().index[:kept])
    shown = sorted(frequent, key=lambda name: (int(name), "") if name.isdigit() else (10**9, name))
    figure = go.Figure()
    rest = table[~labels.isin(frequent)]
    if len(rest):
        _points(figure, rest, name=f"{labels.nunique() - len(frequent)} other classes", colour=INK[mode].grid, symbol="circle")
    for name, colour, symbol in zip(shown, categorical(len(shown), mode), class_symbols(len(shown)), strict=True):
        _points(figure, table[labels == name], name=name or "no label", colour=colour, symbol=symbol)
    return described(figure, "map_2d", mode=mode, rows=len(table), classes=labels.nunique())


def _points(figure: Any, rows: pd.DataFrame, *, name: str, colour: str, symbol: str) -> None:
    figure.add_scattergl(
        x=rows["x"],
        y=rows["y"],
        mode="markers",
        name=name,
        marker={"size": 6, "opacity": 0.75, "color": colour, "symbol": symbol},
        hovertemplate=f"{name}<extra></extra>",
    )
