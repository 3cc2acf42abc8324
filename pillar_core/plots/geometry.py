"""Geometry against k: what the first k directions miss of a separator (ξ_k), margins, spectra with
their gaps; and a map of rows."""

import math
import textwrap
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from plotly.subplots import make_subplots

from pillar_core.plots import marks
from pillar_core.plots.marks import Drawing
from pillar_core.plots.theme import (
    LOOKS,
    Figure,
    as_text,
    categorical,
    fade,
    log_ticks,
    method_style,
    pin_colour,
    told_apart,
)

BASES: dict[str, tuple[str, str, str]] = {
    name: tuple(looks) for name, looks in LOOKS["bases"].items()
}
"""Basis → the method whose colour it wears, its dash, its name on the figure."""
_BINS = 48


def xi_against_k(table: pd.DataFrame, *, k: int | None = None, subject: str = "") -> Figure:
    """Mean ξ_k over pairs of classes with the range over pairs as a band, one line per basis; `k`
    is marked.

    table: columns basis (a key of BASES), k, mean, low, high, pairs, in [0, 1]. The band is no
    interval of uncertainty: it spans all pairs drawn. A non-private diagnostic.
    """
    figure = Drawing()
    names = [name for name in BASES if (table["basis"] == name).any()]
    summary = []
    for name in names:
        style, dash, label = BASES[name]
        colour = pin_colour("A") if name == "pinned" else method_style(style).colour
        rows = table[table["basis"] == name].sort_values("k")
        if (rows["high"] > rows["low"]).any() and name == names[0]:
            figure.band(rows["k"], rows["low"], rows["high"], colour, opacity=0.14)
        hover = f"{label}: ξ = %{{y:.3f}} at k = %{{x}}"
        figure.line(rows["k"], rows["mean"], colour, dash=dash, name=label, hover=hover, end=label)
        points = rows.iloc[sorted({0, len(rows) // 2, len(rows) - 1})].to_dict("records")
        summary.append(
            f"{label}: " + ", ".join(f"{row['mean']:.2f} at k = {row['k']:g}" for row in points)
        )
    last = float(table["k"].max())
    figure.ends = [(last, y, label, colour) for _, y, label, colour in figure.ends]
    figure.name_ends(low=0.0, high=1.0, height=350)
    _beyond(figure, table, names[0])
    if k is not None:
        figure.rule(figure.marked, x=k)
        place: marks.Looks = {"xanchor": "left", "xshift": 4, "yanchor": "top"}
        figure.note(math.log10(k), 1.02, f"<b>k = {k}</b>", figure.marked, **place)
    ticks = marks.round_ticks(float(table["k"].min()), float(table["k"].max())) or log_ticks(
        [float(k) for k in table["k"]]
    )
    pairs = int(table["pairs"].max())
    plural = "s" if pairs > 1 else ""
    return figure.finish(
        title="How much of the classes' separator do k directions miss?",
        caption=(
            f"{subject}Mean over {pairs} separator{plural}, the band spans all of them; one "
            "set of rows."
        ),
        alt=f"Line chart of xi against k. {'; '.join(summary)}.",
        height=480,
        y={
            "title_text": "ξ, share of the separator missed",
            "range": [-0.02, 1.03],
            "tickformat": ".1f",
        },
        margin_r=190,
        showlegend=False,
        x=marks.log_axis(ticks, "k, directions kept (log scale)"),
    )


def margin_histogram(table: pd.DataFrame, *, k: int, d: int, classes: tuple[str, str]) -> Figure:
    """Two histograms of cosine margins, one above the other: with all features, then in k
    directions; a colour for each class.

    table: columns class, whole, projected, above 0 on the side of the first of `classes`. A
    non-private diagnostic.
    """
    figure = make_subplots(figure=Drawing(), rows=2, shared_xaxes=True, vertical_spacing=0.12)
    values = table[["whole", "projected"]].to_numpy()
    edges = np.linspace(float(values.min()), float(values.max()), _BINS + 1)
    for place, column in enumerate(("whole", "projected"), start=1):
        for name, colour in zip(classes, categorical(2), strict=True):
            counts, _ = np.histogram(table.loc[table["class"] == name, column], bins=edges)
            hover = f"%{{y}} rows of {as_text(name)} near %{{x:.2f}}"
            figure.histogram(
                edges,
                counts,
                colour,
                opacity=0.6,
                hover=hover,
                name=name,
                showlegend=place == 1,
                legendgroup=name,
                row=place,
                col=1,
            )
        label = f"all {d:,} features" if place == 1 else f"k = {k} directions"
        figure.rule(figure.ink.text, x=0, dash="solid", row=place, col=1)
        figure.update_yaxes(title_text=label, showgrid=False, row=place, col=1)
    title = margin_headline(table, k=k, first=classes[0])
    figure.update_xaxes(
        title_text=f"← {as_text(classes[1])}   cosine margin   {as_text(classes[0])} →",
        row=2,
        col=1,
    )
    return figure.finish(
        title=title,
        caption=(
            f"The separator of {classes[0]} and {classes[1]} was trained with all features, "
            f"then projected. {len(table):,} private rows."
        ),
        alt=(
            f"Two histograms of cosine margins of {len(table):,} rows of {classes[0]} and "
            f"{classes[1]}. {title}."
        ),
        height=460,
        barmode="overlay",
    )


def margin_headline(table: pd.DataFrame, *, k: int, first: str) -> str:
    """How many rows lie on the wrong side in k directions, and how many with all features."""
    sides = np.where(table["class"] == first, 1.0, -1.0)
    whole, projected = (
        int((sides * table[column] <= 0).sum()) for column in ("whole", "projected")
    )
    return f"Wrong side: {projected} of {len(table):,} rows with k = {k}, {whole} with all features"


def spectrum_and_gaps(table: pd.DataFrame, *, k: int | None = None, rows: int = 0) -> Figure:
    """Three panels over k: eigenvalues, cumulative energy, gaps Δ_k; `k` is marked. table: see
    `geometry.spectrum`."""
    panels = (
        ("eigenvalue", "direction %{x}: variance %{y:.3g}", "eigenvalue λₖ"),
        ("cumulative", "first %{x}: %{y:.1f} % of the energy", "energy held, %"),
        ("gap", "Δ at k = %{x}: %{y:.3g}", "gap Δₖ = λₖ − λₖ₊₁"),
    )
    figure = make_subplots(
        figure=Drawing(),
        cols=3,
        horizontal_spacing=0.1,
        subplot_titles=[title for _, _, title in panels],
    )
    ink = figure.ink.accent
    for place, (name, hover, _) in enumerate(panels, start=1):
        y = (
            100 * table[name] if place == 2 else table[name].where(table[name] > 0)
        )  # what a logarithmic axis can show
        figure.line(
            table["component"],
            y,
            ink,
            hover=hover,
            mode="lines" if place < 3 else "markers",
            marker={"size": 4, "color": fade(ink, 0.7)},
            fill="tozeroy" if place == 2 else None,
            fillcolor=fade(ink, 0.12),
            row=1,
            col=place,
        )
        shape: marks.Looks = (
            {"range": [0, 103]}
            if place == 2
            else {"type": "log", "exponentformat": "power", "dtick": 1}
        )
        figure.update_yaxes(**shape, row=1, col=place)
    figure.update_xaxes(type="log", dtick=1, title_text="k (log scale)")
    summary = ""
    if k is not None and 1 <= k <= len(table):
        figure.rule(figure.marked, x=k)
        line = table.iloc[k - 1]
        summary = (
            f" At k = {k}: {100 * line['cumulative']:.1f} % of the energy, gap {line['gap']:.2g}."
        )
    return figure.finish(
        title="How fast does the spectrum fall, and how wide are its gaps?",
        caption=f"{rows:,} rows, {len(table)} directions; one set, so no interval.{summary}",
        alt=(
            f"Eigenvalues, cumulative energy and eigengaps over {len(table)} directions.{summary}"
        ),
    )


def _beyond(figure: Drawing, table: pd.DataFrame, name: str) -> None:
    """Greys out the k that the first basis does not reach, and says why."""
    last = float(table.loc[table["basis"] == name, "k"].max())
    top = float(table["k"].max())
    if top <= 1.3 * last:
        return
    muted = figure.ink.muted
    figure.add_vrect(x0=last, x1=top, fillcolor=fade(muted, 0.1), line_width=0, layer="below")
    figure.note(
        math.log10(math.sqrt(last * top)),
        0.99,
        f"beyond {last:g}:<br>no {BASES[name][2]} left",
        muted,
        size=12,
        yanchor="top",
    )


def by_direction(
    table: pd.DataFrame,
    labels: Mapping[str, str],
    *,
    title: str,
    y_title: str,
    caption: str,
    y_log: bool = False,
) -> Figure:
    """Two or three columns of `labels` over the column `direction`: a line, a dotted line and
    points. Their numbers are at least 0."""
    figure = Drawing()
    ink = figure.ink
    styles = (
        ("lines", ink.accent, "solid"),
        ("lines", ink.text, "dot"),
        ("markers", ink.muted, "solid"),
    )
    for (column, label), (shape, colour, dash) in zip(labels.items(), styles, strict=False):
        order = table[table[column] > 0] if y_log else table
        hover = "direction %{x}: %{y:.3g}<extra>" + label + "</extra>"
        figure.line(
            order["direction"],
            order[column],
            colour,
            dash=dash,
            hover=hover,
            name=label,
            mode=shape,
            marker={"color": colour, "size": 6},
        )
    alt = f"{title}. Over {len(table)} directions: " + "; ".join(
        f"{label} from {float(table[column].iloc[0]):.3g} to {float(table[column].iloc[-1]):.3g}"
        for column, label in labels.items()
    )
    scale: marks.Looks = {"type": "log"} if y_log else {"type": "linear", "rangemode": "tozero"}
    return figure.finish(
        title=title,
        caption=caption,
        alt=alt,
        height=380,
        line=44,
        x={"type": "log", "dtick": 1, "title_text": "direction (log scale)"},
        y={"title_text": y_title, **scale},
    )


_MOST_CLASSES = 12
_COLOURED_OF_MANY = 6


def map_2d(
    table: pd.DataFrame,
    *,
    classes: Sequence[str] = (),
    answered_by: str = "",
) -> Figure:
    """Points in the plane, one per public row, whose number is its customdata. classes: all names,
    in the order that colours follow; answered_by: whose answers the points' classes are.

    table: columns x, y and class (text; empty where there is no label), perhaps text, what a row
    says. Beyond twelve classes only the six most frequent keep a colour.
    """
    labels = table["class"].astype(str)
    most = _MOST_CLASSES if labels.nunique() <= _MOST_CLASSES else _COLOURED_OF_MANY
    frequent = list(labels.value_counts().index[:most])
    order = list(dict.fromkeys([*classes, *frequent]))
    if most < _MOST_CLASSES:
        order = [name for name in order if name in frequent]
    figure = Drawing()
    rest = table[~labels.isin(frequent)]
    if len(rest):
        _points(
            figure,
            rest,
            name=f"{labels.nunique() - len(frequent)} other classes",
            colour=figure.ink.grid,
            symbol="circle",
        )
    for name, colour, symbol in told_apart(order):
        rows = table[labels == name]
        if len(rows):
            _points(figure, rows, name=name or "no label", colour=colour, symbol=symbol)
    colours = f"Coloured by what {as_text(answered_by)} says." if answered_by else "Public only."
    return figure.finish(
        title="A map of the public rows",
        caption=(
            f"n = {len(table):,} public rows, each a point: no averages, so no interval. {colours}"
        ),
        alt=(
            f"Scatter plot of {len(table)} public rows in their first two principal "
            f"directions, {labels.nunique()} classes."
        ),
        line=60,
        x={"title_text": "first public direction", "showticklabels": False, "showgrid": False},
        y={"title_text": "second public direction", "showticklabels": False, "showgrid": False},
        legend={"itemsizing": "constant"},
    )


def _points(figure: Drawing, rows: pd.DataFrame, *, name: str, colour: str, symbol: str) -> None:
    marker = {"size": 6, "opacity": 0.75, "color": colour, "symbol": symbol}
    looks: marks.Looks = {
        "mode": "markers",
        "name": name,
        "customdata": rows.index,
        "marker": marker,
    }
    if "text" in rows:
        looks["text"] = [
            "<br>".join(textwrap.wrap(text, 60, max_lines=3, placeholder=" …"))
            for text in rows["text"]
        ]
    hover = f"{name}{'<br>%{text}' * ('text' in rows)}<extra></extra>"
    figure.add_scattergl(x=rows["x"], y=rows["y"], hovertemplate=hover, **looks)
