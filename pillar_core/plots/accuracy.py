"""Accuracy against k for several budgets: bands over seeds, ceiling, floor, best k, a pinned ghost
and “you are here”; and over the whole (k, ε) plane, with the ridge k*(ε)."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from pillar_core.arrays import Json
from pillar_core.numerics import place_among
from pillar_core.plots import marks
from pillar_core.plots.intervals import (
    CEILING,
    FLOOR,
    PUBLIC_ALONE,
    best,
    by_budget,
    over_seeds,
    runs_without_k,
)
from pillar_core.plots.marks import Drawing
from pillar_core.plots.theme import (
    ACCURACY_SCALE,
    Figure,
    as_text,
    class_symbols,
    current_ink,
    epsilon_colour,
    epsilon_label,
    fade,
    log_ticks,
    method_style,
    pin_colour,
    seeds_phrase,
)

_NEAR_END, _ASIDE = 0.8, 70
"""Share of the k axis after which “you are here” would cover the labels at the curves' ends, and
before the rest of which those of the axis; its shift there in pixels."""
_HEIGHT = 335
"""Of the plot itself, in pixels."""
_NEAR_LEVEL = 15.0
"""Points below the lowest curve down to which the largest class's line is drawn: farther off it
would squeeze the curves."""


@dataclasses.dataclass(frozen=True)
class Here:
    """One run to point at: k, ε and accuracy in [0, 1]."""

    k: int
    epsilon: float
    accuracy: float
    label: str = "you are here"


def accuracy_against_k(
    table: pd.DataFrame,
    *,
    method: str = "pillar",
    present: Here | None = None,
    pinned: pd.DataFrame | None = None,
    history: pd.DataFrame | None = None,
    k_max: int | None = None,
) -> Figure:
    """Lines of mean test accuracy (percent) over k (log axis), one per ε, from runs.

    table, pinned: one row per run with columns method, k, epsilon, seed, accuracy in [0, 1]; pinned
    may have the letter of each in a column pin. Training without privacy, without
    projection and on public rows alone become horizontal lines with their intervals; without
    projection at `present.epsilon`, without it at the smallest ε. The best k of
    each ε is ringed: chosen on test rows, so a non-private diagnostic. history: single runs
    (columns k, epsilon, accuracy), drawn as dots. k_max: the end of the k axis, by default the
    largest k measured.
    """
    budget, reach = (None, None) if present is None else (present.epsilon, present.k)
    heights = [
        *([] if present is None else [present.accuracy]),
        *([] if history is None else history["accuracy"]),
    ]
    figure = accuracy_curves(
        table,
        method=method,
        budget=budget,
        pinned=pinned,
        k_max=k_max,
        reach=reach,
        heights=heights,
    )
    return with_runs(figure, runs(figure, present=present, history=history))


def accuracy_curves(
    table: pd.DataFrame,
    *,
    method: str,
    budget: float | None,
    pinned: pd.DataFrame | None,
    k_max: int | None,
    reach: float | None = None,
    guesses: tuple[float | None, float | None] = (None, None),
    heights: Sequence[float] = (),
) -> Figure:
    """The figure of `accuracy_against_k` without single runs; `budget` is the ε of the line without
    projection.

    reach: a k that lines go on to. guesses: the accuracy of guessing the most common class, drawn
    where the curves come near it, and of naming the class whose name is nearest, at ε = 0. heights:
    accuracies that the axis holds, too.
    """
    majority, zero_shot = guesses
    figure = Drawing()
    curves = by_budget(table, method)
    points = (
        pd.concat(curves.values())
        if curves
        else pd.DataFrame(columns=["k", "mean", "low", "high", "seeds"])
    )
    ks = [*points["k"], *([] if pinned is None else pinned["k"].dropna()), reach or math.nan]
    ks = [float(k) for k in ks if math.isfinite(k)] or [1.0, 10.0]
    span = min(ks), max(ks)
    roof = runs_without_k(table, CEILING)
    colour = method_style(CEILING).colour
    _level(figure, roof, name="no privacy", colour=colour, dash="dash", span=span)
    alone = table[table["method"] == PUBLIC_ALONE]
    colour = method_style(PUBLIC_ALONE).colour
    _level(figure, alone, name="public rows alone", colour=colour, dash="dashdot", span=span)
    if zero_shot is not None:
        words = {"name": "class names alone", "colour": figure.ink.text, "dash": "longdashdot"}
        _line(figure, 100 * zero_shot, span=span, **words)
    _without_noise(figure, table)
    bests = [
        _curve(figure, curve, epsilon=epsilon, symbol=symbol)
        for symbol, (epsilon, curve) in zip(class_symbols(len(curves)), curves.items(), strict=True)
    ]
    if pinned is not None and len(pinned):
        for letter, ghost in pinned.assign(pin=pinned.get("pin", "A")).groupby("pin"):
            _ghost(figure, ghost, str(letter))
    focus = min(curves, default=math.inf) if budget is None else budget
    floor = table[(table["method"] == FLOOR) & (table["epsilon"] == focus)]
    name = f"no projection, {epsilon_label(focus)}"
    _level(figure, floor, name=name, colour=epsilon_colour(focus), dash="dot", span=span)
    shares = [*points["mean"], *points["low"].dropna(), *points["high"].dropna(), *heights]
    shares += [] if pinned is None else list(pinned["accuracy"])
    drawn = [y for _, y, _, _ in figure.ends] + [100 * float(share) for share in shares]
    if majority is not None and 100 * majority > min(drawn, default=100.0) - _NEAR_LEVEL:
        drawn.append(100 * majority)
        words = {"name": "largest class", "colour": figure.ink.muted, "dash": "longdash"}
        _line(figure, 100 * majority, span=span, **words)
    low, high = min(drawn, default=0.0), max(drawn, default=100.0)
    figure.name_ends(low=low, high=high, height=_HEIGHT)
    margin = 0.06 * (high - low)
    figure.update_yaxes(range=[max(low - margin, -2), min(high + margin, 102)])
    first, last = span if curves else (1.0, k_max or span[1])
    ticks = log_ticks([float(k) for k in points["k"]]) or marks.round_ticks(1, last)
    figure.update_xaxes(
        marks.log_axis(ticks, "k, directions kept (log scale)"),
        range=[math.log10(first) - 0.05, math.log10(last) + 0.03],
    )
    return figure.finish(
        title="Accuracy against the number of directions kept",
        caption=(
            f"{seeds_phrase(points['seeds'])}. Rings: best k, chosen on test rows (a "
            "non-private diagnostic)."
        ),
        alt=_alt(len(curves), bests, roof),
        height=480,
        y={"title_text": "test accuracy, %", "ticksuffix": " "},
        margin_r=196,
        showlegend=False,
    )


def runs(
    figure: Figure,
    *,
    present: Here | None = None,
    history: pd.DataFrame | None = None,
) -> marks.Looks:
    """Single runs as Plotly's JSON, `data` and `annotations`, to lie on top of `accuracy_curves`:
    they alone change when a slider moves. Plain values: a trace object of Plotly costs a move more
    than the rest of the chart.
    """
    return {
        "data": [
            *([] if history is None else _history(history)),
            *([] if present is None else [_star(present)]),
        ],
        "annotations": [] if present is None else [_note(figure, present)],
    }


def with_runs(figure: Figure, marked: Mapping[str, Json]) -> Figure:
    """`measured` and its `runs` in one figure."""
    both = Figure(figure).add_traces(marked["data"])
    for note in marked["annotations"]:
        both.add_annotation(note)
    return both


def _curve(figure: Drawing, curve: pd.DataFrame, *, epsilon: float, symbol: str) -> str:
    """Draws the curve of a budget with its best k ringed, and says that in words."""
    colour, label, top = epsilon_colour(epsilon), epsilon_label(epsilon), best(curve)
    points: list[Any] = list(curve.itertuples())
    band = curve.dropna(subset=["low"])
    if len(band):
        figure.band(band["k"], 100 * band["low"], 100 * band["high"], colour, opacity=0.16)
    figure.line(
        curve["k"],
        100 * curve["mean"],
        colour,
        hover=f"%{{text}}<extra>{label}</extra>",
        mode="lines+markers",
        text=[
            f"k = {row.k:g}: {100 * row.mean:.1f} %"
            + (f" [{100 * row.low:.1f}, {100 * row.high:.1f}]" if math.isfinite(row.low) else "")
            + f", n = {row.seeds}"
            for row in points
        ],
        name=label,
        legendgroup=f"{epsilon:g}",  # by which the browser finds the curve that a star walks on
        marker={"symbol": symbol, "size": 7, "color": colour},
        end=label,
    )
    figure.ring(top["k"], 100 * top["mean"], colour, size=17)
    return f"{label}: best k {top['k']:g} with {100 * top['mean']:.1f} percent"


def _without_noise(figure: Drawing, table: pd.DataFrame) -> None:
    """What k directions could reach without noise: below it is the price of privacy, above it of
    k."""
    rows = table[(table["method"] == CEILING) & table["k"].notna()]
    curve = over_seeds(rows, by=["k"], value="accuracy").sort_values("k")
    if len(curve):
        figure.line(
            curve["k"],
            100 * curve["mean"],
            figure.ink.muted,
            width=1.4,
            hover="k = %{x} without noise: %{y:.1f} %<extra>non-private</extra>",
            name="no noise",
            error_y=curve,
            end="no noise, k directions",
        )


def _level(
    figure: Drawing,
    rows: pd.DataFrame,
    *,
    name: str,
    colour: str,
    dash: str,
    span: tuple[float, float],
) -> None:
    """A horizontal line at the mean accuracy of `rows` with its interval as a thin band."""
    levels = over_seeds(rows.assign(group=0), by=["group"], value="accuracy")
    for mean, low, high in 100 * levels[["mean", "low", "high"]].to_numpy():
        if math.isfinite(low):
            figure.band(span, [low] * 2, [high] * 2, colour, opacity=0.08)
        _line(figure, mean, name=name, colour=colour, dash=dash, span=span)


def _line(
    figure: Drawing,
    percent: float,
    *,
    name: str,
    colour: str,
    dash: str,
    span: tuple[float, float],
) -> None:
    """What has no k, over the whole span."""
    end, hover = f"{name}: {percent:.1f} %", f"{name}: %{{y:.1f}} %"
    figure.line(span, [percent] * 2, colour, dash=dash, width=1.6, name=name, hover=hover, end=end)


def _ghost(figure: Drawing, pinned: pd.DataFrame, letter: str) -> None:
    colour = pin_colour(letter)
    curve = over_seeds(pinned, by=["k"], value="accuracy").sort_values("k")
    hover = f"{letter}, k = %{{x}}: %{{y:.1f}} %<extra>pinned {letter}</extra>"
    figure.line(
        curve["k"],
        100 * curve["mean"],
        colour,
        dash="dot",
        hover=hover,
        mode="lines+markers",
        name=f"pinned {letter}",
        error_y=curve,
        marker={"symbol": "circle-open", "size": 8, "color": colour},
    )
    place = curve.iloc[len(curve) * (1 + "ABC".index(letter)) // 4]
    figure.note(
        math.log10(place["k"]),
        100 * place["mean"],
        f"pinned {letter}",
        colour,
        yshift=16,
        bgcolor=fade(figure.ink.surface, 0.7),
    )


def _history(history: pd.DataFrame) -> list[marks.Looks]:
    """Single runs by budget, joined in the order of k: a curve in the making."""
    budgets: dict[float, list[tuple[float, float]]] = {}
    for epsilon, k, accuracy in zip(
        history["epsilon"].tolist(),
        history["k"].tolist(),
        history["accuracy"].tolist(),
        strict=True,
    ):
        budgets.setdefault(epsilon, []).append((k, 100 * accuracy))
    traces = []
    for epsilon, points in sorted(budgets.items()):
        colour = epsilon_colour(epsilon)
        label = epsilon_label(epsilon)
        ks, percents = zip(*sorted(points), strict=True)
        hover = f"k = %{{x}}: %{{y:.1f}} %<extra>one run of yours, {label}</extra>"
        traces.append(
            {
                **_trace(ks, percents, f"your runs, {label}", hover),
                "mode": "lines+markers",
                "line": {"color": fade(colour, 0.35), "width": 1.4, "dash": "dot"},
                "marker": {"size": 7, "color": fade(colour, 0.65), "symbol": "circle"},
            }
        )
    return traces


def _star(present: Here) -> marks.Looks:
    """The star of the present settings."""
    colour = epsilon_colour(present.epsilon)
    label = as_text(present.label)
    hover = f"{label}: k = %{{x}}, %{{y:.1f}} %<extra>one run</extra>"
    return {
        **_trace([present.k], [100 * present.accuracy], label, hover),
        "mode": "markers",
        "marker": {
            "size": 19,
            "color": colour,
            "symbol": "star",
            "line": {"width": 1.6, "color": current_ink().surface},
        },
        "showlegend": False,
        "legendgroup": f"{present.epsilon:g}",
        "meta": "here",
    }


def _trace(x: Sequence[float], y: Sequence[float], name: str, hover: str) -> marks.Looks:
    return {"type": "scatter", "x": list(x), "y": list(y), "name": name, "hovertemplate": hover}


def _note(figure: Figure, present: Here) -> marks.Looks:
    """The star's label, beside it where it would cover words at either end of the k axis."""
    ink, (bottom, top) = current_ink(), figure.layout.yaxis.range
    drawn = [float(k) for trace in figure.data for k in (min(trace.x), max(trace.x))] or [present.k]
    length = math.log(max(drawn) / min(drawn)) or 1.0
    share = math.log(present.k / min(drawn)) / length
    return {
        "x": math.log10(present.k),
        "y": 100 * present.accuracy,
        "text": f"<b>{as_text(present.label)}</b>",
        "bgcolor": fade(ink.surface, 0.7),
        "showarrow": True,
        "arrowhead": 0,
        "arrowcolor": ink.muted,
        "ax": -_ASIDE if share > _NEAR_END else _ASIDE if share < 1 - _NEAR_END else 0,
        "ay": 38 if 100 * present.accuracy > bottom + 0.2 * (top - bottom) else -38,
        "font": {"size": 13, "color": ink.text},
    }


def _alt(budgets: int, bests: list[str], roof: pd.DataFrame) -> str:
    top = roof["accuracy"].dropna()
    summary = f" Without privacy: {100 * float(top.mean()):.1f} percent." if len(top) else ""
    drawn = (
        f"{budgets} privacy budget{'' if budgets == 1 else 's'}"
        if budgets
        else "no privacy budget yet"
    )
    best_words = bests and f" {'; '.join(bests)}."
    return f"Line chart of test accuracy against k for {drawn}.{best_words or ''}{summary}"


_MOST_LABELLED_CELLS = 120
_PRESENT = "#FF8A3C"
_CATEGORIES = {"type": "category", "showgrid": False}


def accuracy_heatmap(
    table: pd.DataFrame,
    *,
    method: str = "pillar",
    present: tuple[int, float] | None = None,
) -> Figure:
    """Mean test accuracy (percent) by k and ε; each cell tells its half-width, frames mark the
    ridge k*(ε).

    table: one row per run with columns method, k, epsilon, seed, accuracy in [0, 1]. `here`
    outlines one (k, ε) cell, dotted, or is a star between cells. Each cell has an unseen point,
    whose `customdata` are its k and ε: a click selects points, and no cells.
    """
    cells = over_seeds(table[table["method"] == method], by=["epsilon", "k"], value="accuracy")
    is_labelled = len(cells) <= _MOST_LABELLED_CELLS
    cells["label"] = [_label(cell) if is_labelled else "" for cell in cells.itertuples()]
    cells["hover"] = [_cell_hover(cell) for cell in cells.itertuples()]
    means, labels, hovers = (
        cells.pivot(index="epsilon", columns="k", values=name)
        for name in ("mean", "label", "hover")
    )
    ks, budgets = [*map(float, means.columns)], [*map(float, means.index)]
    columns, rows = [f"{k:g}" for k in ks], [*map(_tick, budgets)]
    figure = Drawing()
    figure.cells(
        columns,
        rows,
        100 * means.to_numpy(),
        unit="%",
        texttemplate="%{text}",
        hover="",
        colorscale=ACCURACY_SCALE,
        text=labels.fillna("").to_numpy(),
    )
    figure.dots(
        columns * len(rows),
        [row for row in rows for _ in columns],
        None,
        size=1,
        hover="%{hovertext}",
        opacity=0,
        customdata=[[k, epsilon] for epsilon in budgets for k in ks],
        hovertext=hovers.fillna("not run yet").to_numpy().ravel(),
    )
    figure.update_layout(hoverdistance=-1)  # the whole cell belongs to its point
    ridge = [best(cells[cells["epsilon"] == epsilon]) for epsilon in budgets]
    for row, top in enumerate(ridge):
        # white inside dark, so that frames stand out from every colour of the scale
        for colour, width in (("#1B1033", 6), ("#FFFFFF", 2.4)):
            line = {"color": colour, "width": width, "dash": "solid"}
            _outline(figure, ks.index(top["k"]), row, line, inset=0.46)
    if present is not None:
        column, place = place_among(ks, present[0]), place_among(budgets, present[1])
        is_cell = present[0] in ks and present[1] in budgets
        if column is not None and place is not None and is_cell:
            line = {"color": _PRESENT, "width": 2.6, "dash": "dot"}
            _outline(figure, column, place, line, inset=0.4)
        elif column is not None and place is not None:
            figure.note(column, place, "★", _PRESENT, size=24, yshift=-25)
    summary = "; ".join(
        f"epsilon {top['epsilon']:g}: best k {top['k']:g}, {100 * top['mean']:.1f} percent"
        for top in ridge
    )
    return figure.finish(
        title="Test accuracy for every k and ε",
        caption=(
            f"{seeds_phrase(cells['seeds'])} (± half-width). White frames: k*(ε), the "
            "best k, chosen on test rows (a non-private diagnostic)."
        ),
        alt=(
            f"Heatmap of test accuracy over {len(ks)} values of k and {len(budgets)} budgets. "
            f"{summary}."
        ),
        x={"title_text": "k, directions kept", "categoryarray": columns, **_CATEGORIES},
        y={"title_text": "ε  (more privacy is lower)", "categoryarray": rows, **_CATEGORIES},
    )


def _outline(
    figure: Drawing, column: float, row: float, line: marks.Looks, *, inset: float
) -> None:
    ends = {"x0": column - inset, "x1": column + inset, "y0": row - inset, "y1": row + inset}
    figure.add_shape(type="rect", line=line, **ends)


def _tick(epsilon: float) -> str:
    return "∞" if math.isinf(epsilon) else f"{epsilon:g}"


def _label(cell: Any) -> str:
    half = 50 * (cell.high - cell.low)
    return f"{100 * cell.mean:.1f}" + (f"<br>± {half:.1f}" if math.isfinite(half) else "")


def _cell_hover(cell: Any) -> str:
    spread = (
        f"95 % interval [{100 * cell.low:.1f}, {100 * cell.high:.1f}]"
        if math.isfinite(cell.low)
        else "no interval"
    )
    return (
        f"k = {cell.k:g}, ε = {_tick(cell.epsilon)}<br><b>{100 * cell.mean:.1f}"
        f" %</b><br>{spread}<br>{cell.seeds} seeds"
    )
