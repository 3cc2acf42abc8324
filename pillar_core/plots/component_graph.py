"""The component graph of a disjunction: variables on two rings, an edge where two were active together, one colour per component."""

from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from pillar_core import checks
from pillar_core.arrays import Array
from pillar_core.plots import marks
from pillar_core.plots.theme import INK, Mode, categorical, class_symbols, described, faded
from pillar_core.plots.theory import circle

_MOST_EDGES = 4_000
_MOST_NAMED = 6


def component_graph(
    labels: Array,
    edges: Array,
    *,
    k: int,
    n_unlabelled: int,
    mode: Mode = "light",
) -> Any:
    """Variables 0 … k − 1 (in the disjunction) on the left ring, the others on the right.

    labels: (d,) component of each variable, the largest component 0. edges: (e, 2). At most 4,000 edges are drawn.
    """
    labels, edges = checks.arrays("d, e 2", labels=labels, edges=edges)
    ink, figure = INK[mode], go.Figure()
    component_of = np.asarray(labels)
    left, right = circle(k, centre=(0.0, 0.0), radius=1.0), circle(len(component_of) - k, centre=(2.7, 0.0), radius=1.0)
    places = np.concatenate([left, right])
    drawn = edges[:: max(1, -(-len(edges) // _MOST_EDGES))]
    lines = np.full((3 * len(drawn), 2), np.nan)
    lines[0::3], lines[1::3] = places[drawn[:, 0]], places[drawn[:, 1]]
    marks.line(figure, lines[:, 0], lines[:, 1], faded(ink.muted, 0.16 if len(drawn) > 400 else 0.32), width=1)
    count = int(component_of.max()) + 1
    colours, symbols = categorical(max(count, 1), mode), class_symbols(max(count, 1))
    for component in range(count):
        rows = np.flatnonzero(component_of == component)
        is_named = component < _MOST_NAMED
        marks.dots(
            figure,
            places[rows, 0],
            places[rows, 1],
            colours[component] if is_named else ink.muted,
            size=11,
            symbol=symbols[component % len(symbols)] if is_named else "circle-open",
            edge=(1.4, ink.surface if is_named else ink.muted),
            text=[f"variable {row + 1}, component {component + 1}" for row in rows],
            hover="%{text}",
        )
    for x, text in ((0.0, f"in the disjunction: {k}"), (2.7, f"not in it: {len(component_of) - k}")):
        marks.note(figure, x, -1.32, text, ink.muted, size=14)
    first_sizes = ", ".join(map(str, np.bincount(component_of)[:8])) + (" …" if count > 8 else "")
    plural = "s" if count != 1 else ""
    return described(
        figure,
        "component_graph",
        mode=mode,
        title=f"{count} component{plural}: {count} bit{plural} left to learn in private",
        unlabelled=n_unlabelled,
        edges=len(edges),
        left=f"2{_raised(count)}",
        all=f"2{_raised(len(component_of))}",
        apart=f" Still apart: {count - 2} too many." if count > 2 else "",
        variables=len(component_of),
        components=count,
        sizes=first_sizes,
    )


def _raised(number: int) -> str:
    return str(number).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


def component_table(labels: Array, *, k: int) -> pd.DataFrame:
    """Columns variable, component, in_disjunction: what the figure shows."""
    (labels,) = checks.arrays("d", labels=labels)
    return pd.DataFrame(
        {"variable": np.arange(1, len(labels) + 1), "component": np.asarray(labels) + 1, "in_disjunction": np.arange(len(labels)) < k}
    )
