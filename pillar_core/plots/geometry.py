"""Geometry against k: what the first k directions miss of a separator (ξ_k), margins, and the spectrum with its gaps."""

import math
from typing import Any, Literal

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from pillar_core.plots import marks
from pillar_core.plots.theme import INK, Mode, described, end_labels, faded, log_ticks, method_style

BASES: dict[str, tuple[str, str, str]] = {
    "public_pca": ("pillar", "solid", "public directions"),
    "private_pca": ("dp_sgd", "dash", "private directions"),
    "dp_pca": ("dp_pca", "dashdot", "noised private directions"),
    "random": ("non_private", "dot", "random directions"),
    "identity": ("jl", "longdash", "single features"),
    "pinned": ("adamix_theory", "dot", "pinned A"),
    "raw_pixels": ("noisy_gd", "longdash", "raw pixels"),
}
"""Basis → the method whose colour it wears, its dash, its name on the figure."""


def xi_against_k(table: pd.DataFrame, *, mode: Mode = "light", k: int | None = None, subject: str = "") -> Any:
    """Mean ξ_k over pairs of classes with the range over pairs as a band, one line per basis; `k` is marked.

    table: columns basis (a key of BASES), k, mean, low, high, pairs, in [0, 1]. The band is no interval of uncertainty: it
    spans all pairs drawn. A non-private diagnostic.
    """
    figure = go.Figure()
    names = [name for name in BASES if (table["basis"] == name).any()]
    ends, summary = [], []
    for name in names:
        style, dash, label = BASES[name]
        colour = method_style(style).colour(mode)
        rows = table[table["basis"] == name].sort_values("k")
        if (rows["high"] > rows["low"]).any() and name == names[0]:
            marks.band(figure, rows["k"], rows["low"], rows["high"], colour, opacity=0.14)
        said = f"{label}: ξ = %{{y:.3f}} at k = %{{x}}"
        marks.line(figure, rows["k"], rows["mean"], colour, width=2.8, dash=dash, name=label, hover=said)
        ends.append((float(table["k"].max()), float(rows["mean"].iloc[-1]), label, colour))
        summary.append(f"{label}: " + ", ".join(f"{row['mean']:.2f} at k = {row['k']:g}" for row in _picked(rows)))
    end_labels(figure, ends, low=0.0, high=1.0, height=350)
    _beyond(figure, table, names[0], mode)
    _mark(figure, k, mode, top=1.02)
    _k_axis(figure, table["k"])
    pairs = int(table["pairs"].max())
    about = {"subject": subject, "pairs": pairs, "plural": "s" if pairs > 1 else "", "summary": "; ".join(summary)}
    return described(figure, "xi_against_k", mode=mode, **about)


def margins_against_k(
    table: pd.DataFrame,
    *,
    mode: Mode = "light",
    convention: Literal["cosine_margin", "distance_margin"] = "cosine_margin",
    k: int | None = None,
    subject: str = "",
) -> Any:
    """The margin of every class against the rest over k, and their minimum in bold; what lies below 0 is shaded.

    table: columns k, class, quantile, cosine_margin, distance_margin. A non-private diagnostic.
    """
    ink = INK[mode]
    figure = go.Figure()
    lowest = table.groupby("k")[convention].min().reset_index()
    low, high = float(table[convention].min()), float(table[convention].max())
    pad = 0.06 * max(high - low, 1e-9)
    if low < 0:
        span = [math.log10(float(table["k"].min())), math.log10(float(table["k"].max()))]
        figure.add_hrect(y0=low - pad, y1=0, fillcolor=faded(marks.MARKED[mode], 0.06), line_width=0, layer="below")
        marks.note(figure, span[1], low - pad, "wrong side of the hyperplane", ink.muted, size=12, xanchor="right", yanchor="bottom")
    for name, rows in table.groupby("class", sort=False):
        marks.line(
            figure,
            rows["k"],
            rows[convention],
            faded(ink.accent, 0.35),
            width=1.3,
            name=str(name),
            hover=f"{name}: %{{y:.3f}} at k = %{{x}}",
        )
    marks.line(
        figure,
        lowest["k"],
        lowest[convention],
        ink.accent,
        width=3,
        mode="lines+markers",
        marker={"size": 8, "color": ink.accent},
        name="minimum over classes",
        hover="minimum over classes: %{y:.3f} at k = %{x}",
    )
    end_labels(figure, [(float(lowest["k"].iloc[-1]), float(lowest[convention].iloc[-1]), "minimum", ink.accent)], low=low, high=high)
    _mark(figure, k, mode, top=high + pad)
    _k_axis(figure, table["k"])
    unit = "cosine of the angle" if convention == "cosine_margin" else "distance, in the features' units"
    figure.update_yaxes(title_text=f"margin ({unit})", range=[low - pad, high + 1.6 * pad])
    percent = 100 * (1 - float(table["quantile"].iloc[0]))
    how = subject or "Each class against the rest, separators trained in k directions. "
    summary = ", ".join(f"{value:.3f} at k = {k_:g}" for k_, value in zip(lowest["k"], lowest[convention], strict=True))
    return described(figure, "margins_against_k", mode=mode, subject=how, percent=percent, summary=summary)


def spectrum_and_gaps(table: pd.DataFrame, *, mode: Mode = "light", k: int | None = None, rows: int = 0) -> Any:
    """Three panels over k: eigenvalues, cumulative energy, gaps Δ_k; `k` is marked. table: see `geometry.spectrum`."""
    ink = INK[mode]
    figure = make_subplots(cols=3, horizontal_spacing=0.09)
    hovers = ("direction %{x}: variance %{y:.3g}", "first %{x}: %{y:.1f} % of the energy", "Δ at k = %{x}: %{y:.3g}")
    columns = (table["eigenvalue"], 100 * table["cumulative"], table["gap"].where(table["gap"] > 0))
    for place, (values, hover) in enumerate(zip(columns, hovers, strict=True), start=1):
        figure.add_scatter(
            x=table["component"],
            y=values,
            mode="lines" if place < 3 else "markers",
            line={"color": ink.accent, "width": 2.4},
            marker={"size": 4, "color": faded(ink.accent, 0.7)},
            fill="tozeroy" if place == 2 else None,
            fillcolor=faded(ink.accent, 0.12),
            hovertemplate=hover + "<extra></extra>",
            row=1,
            col=place,
        )
        figure.update_xaxes(type="log", dtick=1, title_text="k (log scale)", row=1, col=place)
        if k is not None and 1 <= k <= len(table):
            figure.add_vline(x=k, line={"color": marks.MARKED[mode], "width": 1.6, "dash": "dot"}, row=1, col=place)
    figure.update_yaxes(type="log", exponentformat="power", dtick=1, title_text="eigenvalue λ_k", row=1, col=1)
    figure.update_yaxes(title_text="energy held, %", range=[0, 103], row=1, col=2)
    figure.update_yaxes(type="log", exponentformat="power", dtick=1, title_text="gap Δ_k = λ_k − λ_k₊₁", row=1, col=3)
    held = ""
    if k is not None and 1 <= k <= len(table):
        line = table.iloc[k - 1]
        held = f" At k = {k}: {100 * line['cumulative']:.1f} % of the energy, gap {line['gap']:.2g}."
    return described(figure, "spectrum_and_gaps", mode=mode, rows=rows, directions=len(table), held=held)


def _beyond(figure: Any, table: pd.DataFrame, name: str, mode: Mode) -> None:
    """Greys out the k that the first basis does not reach, and says why."""
    last, top = float(table.loc[table["basis"] == name, "k"].max()), float(table["k"].max())
    if top <= 1.3 * last:
        return
    ink = INK[mode]
    figure.add_vrect(x0=last, x1=top, fillcolor=faded(ink.muted, 0.1), line_width=0, layer="below")
    marks.note(
        figure, math.log10(math.sqrt(last * top)), 0.99, f"beyond {last:g}:<br>no {BASES[name][2]} left", ink.muted, size=12, yanchor="top"
    )


def _mark(figure: Any, k: int | None, mode: Mode, *, top: float) -> None:
    if k is None:
        return
    figure.add_vline(x=k, line={"color": marks.MARKED[mode], "width": 1.6, "dash": "dot"})
    marks.note(figure, math.log10(k), top, f"<b>k = {k}</b>", marks.MARKED[mode], xanchor="left", xshift=4, yanchor="top")


def _k_axis(figure: Any, ks: pd.Series) -> None:
    ticks = marks.round_ticks(float(ks.min()), float(ks.max())) or log_ticks([float(k) for k in ks])
    figure.update_xaxes(marks.log_axis(ticks, "k, directions kept (log scale)"))


def _picked(rows: pd.DataFrame) -> list[Any]:
    return [rows.iloc[place] for place in sorted({0, len(rows) // 2, len(rows) - 1})]
