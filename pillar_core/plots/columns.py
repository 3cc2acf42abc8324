"""What a model does with the columns of a table: a curve for each number, marks for words."""

import math

import numpy as np
import pandas as pd
from plotly.subplots import make_subplots

from pillar_core.numerics import signed
from pillar_core.plots import marks
from pillar_core.plots.marks import Drawing
from pillar_core.plots.theme import Figure, as_text, told_apart

_ACROSS, _HEIGHT = 2, 250
"""Panels beside each other, and the height of each."""
_MOST_WORDS = 20
"""Of a column of words those with the largest scores are drawn."""


def column_curves(table: pd.DataFrame, *, caption: str) -> Figure:
    """A panel for each column of the data: the score of each class from value to value, with a band
    of the noise where that is known.

    table: as `runs.curves.table_of` makes it.
    """
    names, classes = list(dict.fromkeys(table["column"])), list(dict.fromkeys(table["class"]))
    across = min(_ACROSS, len(names))
    down = math.ceil(len(names) / across)
    figure = make_subplots(
        figure=Drawing(),
        rows=down,
        cols=across,
        horizontal_spacing=0.1,
        vertical_spacing=min(0.22, 0.34 / down),
        subplot_titles=[as_text(name) for name in names] if len(names) > 1 else None,
    )
    for place, name in enumerate(names):
        cell = {"row": place // across + 1, "col": place % across + 1}
        for label, colour, symbol in told_apart(classes):
            rows = table[(table["column"] == name) & (table["class"] == label)]
            style: marks.Looks = {
                **cell,
                "name": as_text(label),
                "legendgroup": label,
                "showlegend": place == 0,
                "text": rows["value"].map(as_text),
                "hover": "%{text}: %{y:+.2f}",
            }
            if rows["place"].isna().all():
                rows = rows.loc[rows["score"].abs().nlargest(_MOST_WORDS).index].sort_index()
                style["text"] = rows["value"].map(as_text)
                reach = marks.reach(rows, colour, value="score", scale=1)
                figure.dots(
                    style["text"], rows["score"], colour, symbol=symbol, error_y=reach, **style
                )
            else:
                _draw_numbers(figure, rows, colour, cell, style)
    figure.rule(y=0, dash="solid", layer="below")
    score = "score" if len(classes) > 1 else f"score for {as_text(classes[0])}"
    figure.update_yaxes(title_text=score, title_font_size=12, col=1)
    words = (_words(table[table["column"] == name], name) for name in names)
    title = f"What the model does with {names[0]}" if len(names) == 1 else "Each column's curve"
    return figure.finish(
        title=title,
        caption=caption,
        alt=f"{title}. {' '.join(words)}",
        height=150 + _HEIGHT * down + 60 * (down == 1),
        showlegend=len(classes) > 1,
    )


def _draw_numbers(
    figure: Drawing, rows: pd.DataFrame, colour: str, cell: dict[str, int], style: marks.Looks
) -> None:
    """A line from knot to knot of a number, which goes on beyond the outer ones by a tenth."""
    places = rows["place"].to_numpy(dtype=np.float64)
    gap = (float(np.ptp(places)) or max(abs(float(places[0])), 1.0)) / 10
    edges = [places[0] - gap, *places, places[-1] + gap]
    rows = rows.iloc[[0, *range(len(rows)), -1]]  # level beyond the outer ones
    if rows["low"].notna().all():
        figure.band(edges, rows["low"], rows["high"], colour, opacity=0.18, **cell)
    style["text"] = rows["value"].map(as_text)
    figure.line(edges, rows["score"], colour, **style)


def _words(rows: pd.DataFrame, name: str) -> str:
    """Where a column speaks most for and most against a class."""
    most, least = (rows.iloc[place] for place in (rows["score"].argmax(), rows["score"].argmin()))
    return (
        f"{name}: most for {most['class']} at {most['value']} ({signed(most['score'])}), most"
        f" against {least['class']} at {least['value']} ({signed(least['score'])})."
    )
