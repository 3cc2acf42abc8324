"""Accuracy over the whole (k, ε) plane, with the ridge k*(ε): the best k of each budget."""

import math
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from pillar_core.plots import marks
from pillar_core.plots.intervals import best, over_seeds
from pillar_core.plots.theme import ACCURACY_SCALE, Mode, finish_by_name, seeds_phrase

_MOST_LABELLED_CELLS = 120


def accuracy_heatmap(
    table: pd.DataFrame, *, mode: Mode = "light", method: str = "pillar", present: tuple[int, float] | None = None
) -> go.Figure:
    """Mean test accuracy (percent) by k and ε; each cell tells its half-width, frames mark the ridge k*(ε).

    table: one row per run with columns method, k, epsilon, seed, accuracy in [0, 1]. `here` outlines one (k, ε) cell, dotted.
    Clicking a cell gives its k and ε in `customdata`.
    """
    cells = over_seeds(table[table["method"] == method], by=["epsilon", "k"], value="accuracy", low=0, high=1)
    ks, budgets = sorted(cells["k"].unique()), sorted(cells["epsilon"].unique())
    columns, rows = [f"{k:g}" for k in ks], [_tick(epsilon) for epsilon in budgets]
    known: list[Any] = list(cells.itertuples())
    points = {(float(cell.epsilon), float(cell.k)): cell for cell in known}
    grid = [[points.get((float(epsilon), float(k))) for k in ks] for epsilon in budgets]
    style: marks.Looks = {"texttemplate": "%{text}", "hover": "%{hovertext}", "colorscale": ACCURACY_SCALE}
    style["customdata"] = [[[float(k), float(epsilon)] for k in ks] for epsilon in budgets]
    style["text"] = [[_label(cell) if len(cells) <= _MOST_LABELLED_CELLS else "" for cell in line] for line in grid]
    style["hovertext"] = [[_hover(cell) for cell in line] for line in grid]
    figure = marks.cells(columns, rows, [[100 * cell.mean if cell else None for cell in line] for line in grid], unit="%", **style)
    ridge = [best(cells[cells["epsilon"] == epsilon]) for epsilon in budgets]
    for row, top in enumerate(ridge):  # white inside dark, so that frames stand out from every colour of the scale
        _outline(figure, columns.index(f"{top['k']:g}"), row, colour="#1B1033", dash="solid", inset=0.46, width=6)
        _outline(figure, columns.index(f"{top['k']:g}"), row, colour="#FFFFFF", dash="solid", inset=0.46, width=2.4)
    if present is not None and f"{present[0]:g}" in columns and _tick(present[1]) in rows:
        _outline(figure, columns.index(f"{present[0]:g}"), rows.index(_tick(present[1])), colour="#FF8A3C", dash="dot", inset=0.4)
    figure.update_xaxes(categoryarray=columns)
    figure.update_yaxes(categoryarray=rows)
    summary = "; ".join(f"epsilon {top['epsilon']:g}: best k {top['k']:g}, {100 * top['mean']:.1f} percent" for top in ridge)
    fields = {"seeds": seeds_phrase(cells["seeds"]), "ks": len(ks), "budgets": len(budgets), "summary": summary}
    return finish_by_name(figure, "accuracy_heatmap", mode=mode, **fields)


def _outline(figure: go.Figure, column: int, row: int, *, colour: str, dash: str, inset: float, width: float = 2.6) -> None:
    corners = {"x0": column - inset, "x1": column + inset, "y0": row - inset, "y1": row + inset}
    figure.add_shape(type="rect", **corners, line={"color": colour, "width": width, "dash": dash})


def _tick(epsilon: float) -> str:
    return "∞" if math.isinf(epsilon) else f"{epsilon:g}"


def _label(cell: Any) -> str:
    if cell is None:
        return ""
    half = 50 * (cell.high - cell.low)
    return f"{100 * cell.mean:.1f}<br>± {half:.1f}" if math.isfinite(half) else f"{100 * cell.mean:.1f}"


def _hover(cell: Any) -> str:
    if cell is None:
        return "not run yet"
    spread = f"<br>95 % interval [{100 * cell.low:.1f}, {100 * cell.high:.1f}]" if math.isfinite(cell.low) else "<br>one seed: no interval"
    return f"k = {cell.k:g}, ε = {_tick(cell.epsilon)}<br><b>{100 * cell.mean:.1f} %</b>{spread}<br>{cell.seeds} seeds"
