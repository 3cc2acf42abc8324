"""Prediction beside measurement: where accuracy goes as k grows, the best k of each ε, and what privacy costs two backbones."""

import math

import pandas as pd
import plotly.graph_objects as go

from pillar_core.plots import k_curves, marks
from pillar_core.plots.intervals import best, over_seeds
from pillar_core.plots.theme import (
    INK,
    Mode,
    categorical,
    class_symbols,
    epsilon_colour,
    epsilon_label,
    fade,
    finish_by_name,
    method_style,
    seeds_phrase,
)

_NOISE = {"light": "#6A4FB3", "dark": "#B7A6FF"}
_LOSS = {"light": "#C98A00", "dark": "#F6BE4A"}


def projection_gains(table: pd.DataFrame, *, spearman: float, mode: Mode = "light", present: float | None = None) -> go.Figure:
    """Points that projecting gained on each set and budget, against the noise over the rows of a class; `here` is the present ratio.

    table: columns set, epsilon, ratio, gain.
    """
    figure, ink = go.Figure(), INK[mode]
    names = list(dict.fromkeys(table["set"]))
    for name, colour, symbol in zip(names, categorical(len(names), mode), class_symbols(len(names)), strict=True):
        rows = table[table["set"] == name]
        style: marks.Looks = {"symbol": symbol, "name": name, "text": rows["epsilon"].map(epsilon_label)}
        marks.dots(figure, rows["ratio"], rows["gain"], colour, size=10, hover=f"{name}, %{{text}}: %{{y:+.1f}}", **style)
    figure.add_hline(y=0, line={"color": ink.muted, "width": 1.2})
    if present is not None:
        figure.add_vline(x=present, line={"color": marks.MARKED[mode], "width": 2, "dash": "dash"})
        place: marks.Looks = {"yref": "paper", "xanchor": "right" if present > 1 else "left", "xshift": -6 if present > 1 else 6}
        marks.note(figure, math.log10(present), 0.97, "your settings", marks.MARKED[mode], **place)
    figure.update_xaxes(marks.log_axis((0.1, 1, 10), "noise over a class's rows (log scale)"))
    ends = [math.log10(value) for value in (*table["ratio"], *([] if present is None else [present]))]
    figure.update_xaxes(range=[min(ends) - 0.1, max(ends) + 0.1])
    sides = {"left": table["ratio"] < 1, "right": table["ratio"] >= 1}
    gains = {name: table.loc[near, "gain"].agg(["min", "max", "mean"]) for name, near in sides.items()}
    return finish_by_name(figure, "projection_gains", mode=mode, spearman=spearman, cells=len(table), **gains)


def predicted_accuracy(
    predicted: pd.DataFrame, measured: pd.DataFrame | None = None, *, mode: Mode = "light", k: int | None = None
) -> go.Figure:
    """Where 100 % goes at one ε: an area lost to the projection, one lost to the noise, the rest predicted right.

    predicted: columns k, accuracy, lost_to_projection, lost_to_noise for one ε, with that column. measured: runs at that ε
    (columns k, seed, accuracy), drawn as points with their intervals. Rings mark the best predicted and measured k.
    """
    ink, epsilon = INK[mode], float(predicted["epsilon"].iloc[0])
    rows = predicted.sort_values("k", ignore_index=True)
    peak = best(rows, "accuracy")
    clean, noisy = 100 * (1 - rows["lost_to_projection"]), 100 * rows["accuracy"]
    figure = go.Figure()
    for top, bottom, colour in ((pd.Series(100.0, index=rows.index), clean, _LOSS[mode]), (clean, noisy, _NOISE[mode])):
        marks.band(figure, rows["k"], bottom, top, colour, opacity=0.22)
    _draw_prediction(figure, rows["k"], clean, _LOSS[mode], "dash", "predicted without noise")
    _draw_prediction(figure, rows["k"], noisy, epsilon_colour(epsilon, mode), "solid", f"predicted at {epsilon_label(epsilon)}")
    marks.ring(figure, peak["k"], 100 * peak["accuracy"], epsilon_colour(epsilon, mode), size=20, hover="best predicted k: %{x}")
    summary, caption = (
        f"Best predicted k {peak['k']:g}.",
        "A model, not a bound. No run is drawn yet: measure the curves.",
    )
    low = float(noisy.min())
    if measured is not None and len(measured):
        inside = measured[measured["k"].between(float(rows["k"].iloc[0]), float(rows["k"].iloc[-1]))]
        means = over_seeds(inside, by=["k"], value="accuracy", low=0, high=1).sort_values("k")
        marks.dots(
            figure,
            means["k"],
            100 * means["mean"],
            ink.surface,
            size=10,
            edge=(2.4, ink.text),
            name="measured",
            error_y=marks.reach(means, ink.text, width=4),
            hover="measured: %{y:.1f} % at k = %{x}",
        )
        top = best(means)
        marks.ring(figure, top["k"], 100 * top["mean"], ink.text, size=20, hover="best measured k: %{x}")
        summary += f" Best measured k {top['k']:g} with {100 * top['mean']:.1f} percent."
        caption = f"Lines: a model, not a bound. Points: {seeds_phrase(means['seeds'])}; the best is chosen on test rows."
        low = min(low, 100 * float(means["mean"].min()))
    floor = max(0.0, low - 6)
    _areas(figure, rows, clean, noisy, floor, mode)
    if k is not None:
        figure.add_vline(x=k, line={"color": ink.muted, "width": 1.2, "dash": "dot"})
    first, last = float(rows["k"].iloc[0]), float(rows["k"].iloc[-1])
    figure.update_xaxes(marks.log_axis(marks.round_ticks(first, last), "k, directions kept (log scale)"))
    figure.update_xaxes(range=[math.log10(first) - 0.03, math.log10(last) + 0.03])
    figure.update_yaxes(range=[floor, 100])
    return finish_by_name(figure, "predicted_accuracy", mode=mode, budget=epsilon_label(epsilon), summary=summary, caption=caption)


def best_k_against_epsilon(predicted: pd.DataFrame, measured: pd.DataFrame | None = None, *, mode: Mode = "light") -> go.Figure:
    """The best k of each ε, predicted as a line and measured as points, with all k within one point of accuracy.

    predicted, measured: columns epsilon, k, low, high; finite ε only are drawn.
    """
    ink = INK[mode]
    line = predicted[predicted["epsilon"].map(math.isfinite)].sort_values("epsilon")
    figure = go.Figure()
    colour = method_style("pillar").colour(mode)
    steps = _steps(line)
    marks.band(figure, steps["epsilon"], steps["low"], steps["high"], colour, opacity=0.13)
    hover = "ε = %{x}: best k = %{y}<extra>predicted</extra>"
    marks.line(figure, line["epsilon"], line["k"], colour, width=2.8, shape="hv", name="predicted", hover=hover)
    summary = "; ".join(f"ε = {row.epsilon:g}: {row.k:g}" for row in line.itertuples())
    caption = "The predicted best k, a model; the band holds every k within one point of its accuracy."
    if measured is not None and len(measured):
        points = measured[measured["epsilon"].map(math.isfinite)]
        marks.dots(
            figure,
            points["epsilon"],
            points["k"],
            [epsilon_colour(float(value), mode) for value in points["epsilon"]],
            size=11,
            edge=(2, ink.surface),
            name="measured",
            error_y=marks.reach(points, ink.muted, value="k", scale=1, thickness=1.6, width=5),
            hover="ε = %{x}: best k = %{y}<extra>measured</extra>",
        )
        summary += ". Measured: " + "; ".join(f"ε = {row.epsilon:g}: {row.k:g}" for row in points.itertuples())
        caption = "Line: a model. Points: the best measured k, chosen on test rows. Band and bars: every k within one point of accuracy."
    figure.update_xaxes(marks.log_axis([0.1, 0.3, 1, 3, 8], "ε (log scale), more privacy to the left"))
    figure.update_yaxes(marks.log_axis(marks.round_ticks(1, 2 * float(line["k"].max())), "best k (log scale)"))
    return finish_by_name(figure, "best_k_against_epsilon", mode=mode, summary=summary, caption=caption)


def accuracy_drops(table: pd.DataFrame, *, mode: Mode = "light") -> go.Figure:
    """The fraction of its own accuracy without privacy that each side loses, as bars by ε. Columns side, epsilon, drop, seeds."""
    figure = go.Figure()
    sides = list(dict.fromkeys(table["side"]))
    for side, colour in zip(sides, (method_style("pillar").colour(mode), method_style("noisy_gd").colour(mode)), strict=False):
        rows = table[table["side"] == side].sort_values("epsilon")
        figure.add_bar(
            x=[f"{value:g}" for value in rows["epsilon"]],
            y=100 * rows["drop"],
            name=side,
            marker={"color": fade(colour, 0.8), "cornerradius": 4},
            text=[f"{100 * value:.1f} %" for value in rows["drop"]],
            textfont={"size": 13},
            error_y={"type": "data", "array": 100 * rows["half"].fillna(0), "color": INK[mode].text, "thickness": 1.2, "width": 4},
            hovertemplate=f"{side}, ε = %{{x}}: %{{y:.1f}} %<extra></extra>",
        )
    triples = zip(table["side"], table["epsilon"], table["drop"], strict=True)
    summary = "; ".join(f"{side}, ε = {epsilon:g}: {100 * drop:.1f} percent" for side, epsilon, drop in triples)
    return finish_by_name(figure, "accuracy_drops", mode=mode, seeds=seeds_phrase(table["seeds"]), summary=summary)


def _steps(line: pd.DataFrame) -> dict[str, list[float]]:
    """The corners of a band that keeps each ε's limits until the next ε."""
    rows = list(zip(line["epsilon"], line["low"], line["high"], strict=True))
    corners: dict[str, list[float]] = {"epsilon": [], "low": [], "high": []}
    for place, (epsilon, low, high) in enumerate(rows):
        ends = [epsilon, rows[place + 1][0]] if place + 1 < len(rows) else [epsilon]
        for x in ends:
            for name, number in (("epsilon", x), ("low", low), ("high", high)):
                corners[name].append(float(number))
    return corners


def _draw_prediction(figure: go.Figure, x: pd.Series, y: pd.Series, colour: str, dash: str, name: str) -> None:
    marks.line(figure, x, y, colour, width=2.8, dash=dash, name=name, hover=f"{name}: %{{y:.1f}} % at k = %{{x}}")


def _areas(figure: go.Figure, rows: pd.DataFrame, clean: pd.Series, noisy: pd.Series, floor: float, mode: Mode) -> None:
    """Names inside the two areas, where they are tallest."""
    widest = int((clean - noisy).to_numpy().argmax())
    lowest, top, bottom = float(clean.iloc[0]), float(clean.iloc[widest]), float(noisy.iloc[widest])
    _area_name(figure, float(rows["k"].iloc[0]), (100 + max(lowest, floor)) / 2, "lost to projection", _LOSS[mode], "left")
    if top - bottom >= 4:
        _area_name(figure, float(rows["k"].iloc[widest]), (top + max(bottom, floor)) / 2, "lost to noise", _NOISE[mode], "right")


def _area_name(figure: go.Figure, k: float, y: float, text: str, colour: str, anchor: str) -> None:
    marks.note(figure, math.log10(k), y, text, colour, size=14, weight=600, xanchor=anchor, xshift=8 if anchor == "left" else -8)


MOST_SETS = 7
_DASHES = ("solid", "dash", "dot", "dashdot")


def accuracy_of_sets(table: pd.DataFrame, *, epsilon: float, mode: Mode = "light", k: int | None = None) -> go.Figure:
    """One line per set with its interval over seeds, its best k ringed, and its accuracy without privacy at the right edge.

    table: runs with columns set, private (False for runs without noise), k, seed, accuracy in [0, 1].
    """
    figure, summary, counts = go.Figure(), [], []
    runs = table[table["private"]]
    last = float(runs["k"].max())
    for place, (name, rows) in enumerate(runs.groupby("set", sort=False)):
        colour, dash = categorical(MOST_SETS, mode)[place % MOST_SETS], _DASHES[place // 2 % len(_DASHES)]
        means = over_seeds(rows, by=["k"], value="accuracy", low=0, high=1).sort_values("k")
        counts.append(means["seeds"])
        k_curves.band(figure, means, colour, opacity=0.16)
        keywords: marks.Looks = {"mode": "lines+markers", "marker": {"size": 6}, "name": str(name)}
        hover = f"{name}: %{{y:.1f}} % at k = %{{x}}"
        marks.line(figure, means["k"], 100 * means["mean"], colour, width=2.4, dash=dash, hover=hover, **keywords)
        top = best(means)
        marks.ring(figure, top["k"], 100 * top["mean"], colour, size=15)
        summary.append(f"{name} {100 * top['mean']:.1f} percent at k {top['k']:g}")
        roof = table[(table["set"] == name) & ~table["private"]].groupby("k", dropna=False)["accuracy"].mean()
        if len(roof):
            tick: marks.Looks = {"symbol": "line-ew-open", "edge": (3, None), "showlegend": False}
            hover = f"{name} without privacy: %{{y:.1f}} %"
            marks.dots(figure, [last * 1.12], [100 * float(roof.max())], colour, size=11, hover=hover, **tick)
    if k is not None:
        figure.add_vline(x=k, line={"width": 1.2, "dash": "dot", "color": "grey"})
    figure.update_xaxes(marks.log_axis(marks.round_ticks(float(runs["k"].min()), last), "k, directions kept (log scale)"))
    fields = {"budget": epsilon_label(epsilon), "seeds": seeds_phrase(pd.concat(counts)), "summary": "; ".join(summary)}
    return finish_by_name(figure, "accuracy_of_sets", mode=mode, **fields)
