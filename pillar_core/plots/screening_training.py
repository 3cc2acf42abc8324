"""Figures of screening beside training: order over training, Lemma 4.1's bound, private gradients on public directions."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from pillar_core.plots import marks
from pillar_core.plots.screening import lines_of_sets
from pillar_core.plots.theme import INK, Mode, described

RANDOM = "random directions"
_LOWERED = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def order_over_training(
    table: pd.DataFrame, *, mode: Mode = "light", titles: Mapping[str, str] | None = None, kept: float | None = None
) -> Any:
    """Distances while a model is trained on the private rows. table: columns public, step, value, accuracy; kept: share of pairs of
    sets that stay in order."""
    figure = _by_step(table, "value", mode, titles)
    last = table[table["step"] == table["step"].max()]
    said = {"percent": 100 * float(last["accuracy"].iloc[0]), "sets": table["public"].nunique(), "steps": int(table["step"].max())}
    words = "" if kept is None else f"{100 * kept:.0f} % of the pairs stay in the order of step 0. "
    return described(figure, "order_over_training", mode=mode, order=words, **said)


def captured_gradients(table: pd.DataFrame, *, mode: Mode = "light", titles: Mapping[str, str] | None = None) -> Any:
    """Relative reconstruction error of the private gradient at each step of AdaMix. table: columns public, step, error."""
    figure = _by_step(table, "error", mode, titles)
    means = table.groupby("public")["error"].mean().sort_values()
    words = "; ".join(f"{(titles or {}).get(str(name), str(name))} {value:.2f}" for name, value in means.items())
    return described(figure, "captured_gradients", mode=mode, steps=int(table["step"].max()) + 1, summary=words)


def reconstruction_bound(table: pd.DataFrame, *, mode: Mode = "light", titles: Mapping[str, str] | None = None) -> Any:
    """Lemma 4.1 beside what it bounds. table: columns public, k, error, bound, in units of the largest singular value."""
    ink, rows = INK[mode], table.sort_values("error")
    labels = [(titles or {}).get(name, name) for name in rows["public"]]
    figure = go.Figure()
    for column, label, symbol, colour in (
        ("error", "measured error", "circle", ink.accent),
        ("bound", "Lemma 4.1", "line-ns-open", ink.muted),
    ):
        marks.dots(
            figure,
            rows[column],
            labels,
            colour,
            size=14,
            symbol=symbol,
            edge=(3, colour),
            name=label,
            hover=f"%{{y}}<br>{label}: %{{x:.3f}}",
        )
    marks.names_axis(figure, labels)
    k = int(rows["k"].iloc[0])
    said = {"k": k, "next": str(k + 1).translate(_LOWERED), "loosest": float((rows["bound"] / rows["error"].clip(lower=1e-12)).median())}
    said |= {f"{name}s": f"{rows[name].min():.2f} to {rows[name].max():.2f}" for name in ("error", "bound")}
    return described(figure, "reconstruction_bound", mode=mode, height=200 + 40 * len(rows), sets=len(rows), **said)


def _by_step(table: pd.DataFrame, value: str, mode: Mode, titles: Mapping[str, str] | None) -> Any:
    figure = lines_of_sets(
        table[table["public"] != RANDOM], by="public", x="step", y=value, mode=mode, titles=titles, hover="step %{x}: %{y:.3f}", size=7
    )
    random = table[table["public"] == RANDOM]
    if len(random):
        words = f"{RANDOM}, step %{{x}}: %{{y:.3f}}"
        marks.line(figure, random["step"], random[value], INK[mode].muted, width=2, dash="dot", name=RANDOM, hover=words)
    return figure
