"""Theory's pictures: competing rates, errors, rows needed against d, a choice, the component
graph."""

import math

import numpy as np
import pandas as pd

from pillar_core import checks
from pillar_core.arrays import Array
from pillar_core.numerics import superscript
from pillar_core.plots import marks
from pillar_core.plots.intervals import over_seeds
from pillar_core.plots.marks import Drawing
from pillar_core.plots.theme import (
    LOOKS,
    Figure,
    categorical,
    class_symbols,
    epsilon_colour,
    epsilon_label,
    fade,
    method_style,
    seeds_phrase,
)

_SIDES: dict[str, list[str]] = LOOKS["projections"]
_AXES: dict[str, str] = LOOKS["axes"]


def rates(table: pd.DataFrame, *, present: float | None = None) -> Figure:
    """Private rows that each approach needs along one input, on log axes. table: columns axis, x,
    method, form, rows."""
    figure = Drawing()
    axis = str(table["axis"].iloc[0])
    finite = table[table["rows"].map(math.isfinite) & (table["rows"] > 0)]
    for name, (style, dash) in LOOKS["rates"].items():
        rows = finite[finite["method"] == name]
        if rows.empty:
            continue
        colour = method_style(style).colour
        hover = f"{name}: %{{y:.3g}} rows at %{{x:.3g}}<extra>{rows['form'].iloc[0]}</extra>"
        looks = {"width": 3.4 if name == "PILLAR" else 2.2, "dash": dash}
        figure.line(rows["x"], rows["rows"], colour, name=name, hover=hover, end=name, **looks)
    _finish_lines(figure, finite["rows"], present, height=360)
    summary = "; ".join(f"{name} {rows:.2g} at {x:g}" for x, rows, name, _ in figure.ends)
    return figure.finish(
        title="How many private rows does each approach need?",
        caption=(
            "Rates: constants and logarithms are unknown, so only slopes and far-apart "
            "crossings mean anything."
        ),
        alt=f"Rates: {summary}.",
        height=500,
        x={"type": "log", "nticks": 8, "title_text": f"{_AXES.get(axis, axis)} (log scale)"},
        y={
            "type": "log",
            "title_text": "private rows, up to constants (log scale)",
            "exponentformat": "power",
            "dtick": 1,
        },
        margin_r=225,
        showlegend=False,
    )


def mixture_errors(
    table: pd.DataFrame,
    curve: pd.DataFrame | None = None,
    *,
    floor: float | None = None,
) -> Figure:
    """Error against private rows, predicted as lines and measured as points with intervals, with
    and without projection.

    table: columns projection, n_private, seed, error, predicted. curve: columns projection,
    n_private, predicted, for smooth lines (default: those of `table`). floor: the best possible
    error.
    """
    figure = Drawing()
    summary = []
    for name, (style, dash, title) in _SIDES.items():
        rows = table[table["projection"] == name]
        colour = method_style(style).colour
        drawn = rows if curve is None else curve[curve["projection"] == name]
        line = drawn.groupby("n_private", as_index=False)["predicted"].mean()
        figure.line(
            line["n_private"],
            100 * line["predicted"],
            colour,
            dash=dash,
            name=f"{title}, predicted",
            hover="predicted %{y:.2f} % at %{x:,} rows",
            end=title,
        )
        means = over_seeds(rows, by=["n_private"], value="error")
        figure.dots(
            means["n_private"],
            100 * means["mean"],
            colour,
            edge=(1.6, figure.ink.surface),
            error_y=means,
            name=f"{title}, measured",
            hover="measured %{y:.2f} % at %{x:,} rows",
        )
        first, last = 100 * means["mean"].iloc[[0, -1]]
        summary.append(f"{title}: {first:.1f} to {last:.1f} percent")
    if floor is not None:
        figure.rule(y=100 * floor)
        figure.note(
            0,
            100 * floor,
            f"best possible: {100 * floor:.2g} %",
            figure.ink.muted,
            xref="paper",
            xanchor="left",
            xshift=8,
            yanchor="top",
        )
    figure.name_ends(low=-4, high=60, height=340)
    seeds = table.groupby(["projection", "n_private"])["seed"].nunique()
    return figure.finish(
        title="Measured and predicted error, with and without projection",
        caption=(
            f"Lines: closed form. Points: one noisy step that really ran, {seeds_phrase(seeds)}."
        ),
        alt=f"Error against private rows, with and without projection. {'; '.join(summary)}.",
        height=470,
        y={"title_text": "error on new rows, %", "range": [-4, 60]},
        margin_r=150,
        showlegend=False,
        x=marks.log_axis(sorted(set(table["n_private"])), "private rows (log scale)", form=","),
    )


def rows_against_dimension(table: pd.DataFrame, *, present: int | None = None) -> Figure:
    """Private rows needed for one error against d, log-log. table: columns d, projection, rows;
    infinite rows are left out."""
    figure = Drawing()
    summary = []
    finite = table[table["rows"].map(math.isfinite)]
    for name, (style, dash, title) in _SIDES.items():
        rows = finite[finite["projection"] == name].sort_values("d")
        if rows.empty:
            continue
        colour = method_style(style).colour
        figure.line(
            rows["d"],
            rows["rows"],
            colour,
            width=3,
            dash=dash,
            name=title,
            hover="d = %{x:,}: %{y:,.0f} rows",
            end=title,
        )
        (d, first), (last_d, last) = rows[["d", "rows"]].iloc[[0, -1]].to_numpy()
        summary.append(f"{title}: {first:.0f} rows at d = {d:g}, {last:.0f} at {last_d:g}")
    _finish_lines(figure, finite["rows"], present, height=290)
    ticks = [10.0**power for power in range(9) if 10.0**power <= 2 * float(finite["rows"].max())]
    return figure.finish(
        title="How do the rows needed grow with the dimension?",
        caption=(
            "Closed form. Projected, the dimension drops out: O(1). Without, rows grow like "
            "√d, and like d once noise rules a row's length."
        ),
        alt=f"Rows needed against dimension. {'; '.join(summary)}.",
        margin_r=150,
        showlegend=False,
        x=marks.log_axis([8, 32, 128, 512, 2048], "d, dimension of the rows (log scale)", form="d"),
        y=marks.log_axis(ticks, "private rows needed (log scale)", form=",.0f"),
    )


def choice_errors(table: pd.DataFrame) -> Figure:
    """Expected error of the exponential mechanism's choice against labelled rows, one line per ε.

    table: columns epsilon, n_private, seed, error. NaN errors (too many components) are left out.
    """
    figure = Drawing()
    summary = []
    means = over_seeds(table, by=["epsilon", "n_private"], value="error")
    for epsilon, rows in means.groupby("epsilon"):
        colour, label = epsilon_colour(float(str(epsilon))), epsilon_label(float(str(epsilon)))
        band = rows.dropna(subset=["low", "high"])
        figure.band(band["n_private"], 100 * band["low"], 100 * band["high"], colour, opacity=0.14)
        percents = 100 * rows["mean"]
        figure.line(
            rows["n_private"],
            percents,
            colour,
            hover=f"{label}: %{{y:.2f}} % with %{{x:,}} rows",
            mode="lines+markers",
            marker={"size": 7},
        )
        x, first, last = math.log10(rows["n_private"].iloc[0]), *percents.iloc[[0, -1]]
        place = {"xanchor": "right", "xshift": -12}
        figure.note(x, first, label, colour, size=14, weight=600, **place)
        summary.append(f"{label}: {first:.1f} to {last:.2g} percent")
    counts = sorted(set(table["n_private"]))
    return figure.finish(
        title="How many labelled rows does the private choice need?",
        caption=f"Exact average over the mechanism's choice; {seeds_phrase(means['seeds'])}.",
        alt=f"Expected error against labelled rows. {'; '.join(summary)}.",
        y={"title_text": "expected error, %", "rangemode": "tozero"},
        x=marks.log_axis(
            counts,
            "labelled private rows (log scale)",
            form=",",
            range=[math.log10(min(counts)) - 0.45, math.log10(max(counts)) + 0.08],
        ),
    )


def circle(count: int, *, centre: tuple[float, float], radius: float) -> Array:
    """(count, 2) points evenly on a circle, from the top."""
    angles = math.pi / 2 + 2 * math.pi * np.arange(count) / max(count, 1)
    return np.stack(
        [centre[0] + radius * np.cos(angles), centre[1] + radius * np.sin(angles)], axis=1
    )


_MOST_EDGES = 4_000
_MOST_NAMED = 6


def component_graph(labels: Array, edges: Array, *, k: int, n_unlabelled: int) -> Figure:
    """Variables 0 … k − 1 (in the disjunction) on the left ring, the others on the right.

    labels: (d,) component of each variable, the largest component 0. edges: (e, 2). At most 4,000
    edges are drawn.
    """
    labels, edges = checks.arrays("d, e 2", labels=labels, edges=edges)
    figure = Drawing()
    ink = figure.ink
    component_of = np.asarray(labels)
    left = circle(k, centre=(0.0, 0.0), radius=1.0)
    right = circle(len(component_of) - k, centre=(2.7, 0.0), radius=1.0)
    places = np.concatenate([left, right])
    drawn = edges[:: max(1, -(-len(edges) // _MOST_EDGES))]
    lines = np.full((3 * len(drawn), 2), np.nan)
    lines[0::3], lines[1::3] = places[drawn[:, 0]], places[drawn[:, 1]]
    figure.line(
        lines[:, 0],
        lines[:, 1],
        fade(ink.muted, 0.16 if len(drawn) > 400 else 0.32),
        width=1,
    )
    count = int(component_of.max()) + 1
    colours = categorical(max(count, 1))
    symbols = class_symbols(max(count, 1))
    for component in range(count):
        rows = np.flatnonzero(component_of == component)
        is_named = component < _MOST_NAMED
        colour, symbol = (
            (colours[component], symbols[component % len(symbols)])
            if is_named
            else (ink.muted, "circle-open")
        )
        figure.dots(
            places[rows, 0],
            places[rows, 1],
            colour,
            symbol=symbol,
            edge=(1.4, ink.surface if is_named else ink.muted),
            hover="%{text}",
            text=[f"variable {row + 1}, component {component + 1}" for row in rows],
        )
    for x, text in (
        (0.0, f"in the disjunction: {k}"),
        (2.7, f"not in it: {len(component_of) - k}"),
    ):
        figure.note(x, -1.32, text, ink.muted, size=14)
    first_sizes = ", ".join(map(str, np.bincount(component_of)[:8])) + (" …" if count > 8 else "")
    plural = "s" if count != 1 else ""
    apart = f" Still apart: {count - 2} too many." if count > 2 else ""
    return figure.finish(
        title=f"{count} component{plural}: {count} bit{plural} left to learn in private",
        caption=(
            f"{n_unlabelled:,} unlabelled rows, {len(edges):,} edges; one draw."
            f" 2{superscript(count)} disjunctions left of 2{superscript(len(component_of))}.{apart}"
        ),
        alt=(
            f"Graph of {len(component_of)} variables in {count} components of sizes {first_sizes}."
        ),
        x={"visible": False, "range": [-1.35, 4.05]},
        y={"visible": False, "range": [-1.5, 1.25], "scaleanchor": "x"},
        margin={"l": 0, "r": 0, "b": 0},
    )


def component_table(labels: Array, *, k: int) -> pd.DataFrame:
    """Columns variable, component, in_disjunction: what the figure shows."""
    (labels,) = checks.arrays("d", labels=labels)
    return pd.DataFrame(
        {
            "variable": np.arange(1, len(labels) + 1),
            "component": np.asarray(labels) + 1,
            "in_disjunction": np.arange(len(labels)) < k,
        }
    )


def _finish_lines(
    figure: Drawing, rows: "pd.Series[float]", present: float | None, *, height: int
) -> None:
    """Names the lines of rows at their ends, and marks the present place."""
    if len(rows):
        figure.name_ends(low=float(rows.min()), high=float(rows.max()), height=height, is_log=True)
    if present is not None:
        figure.rule(x=present)
