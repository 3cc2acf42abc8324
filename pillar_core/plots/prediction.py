"""Prediction beside measurement: where accuracy goes as k grows, the best k of each ε, and what
privacy costs two backbones."""

import math

import numpy as np
import pandas as pd

from pillar_core.numerics import signed
from pillar_core.plots import marks
from pillar_core.plots.intervals import best, over_seeds
from pillar_core.plots.marks import Drawing
from pillar_core.plots.theme import (
    Figure,
    current_mode,
    epsilon_colour,
    epsilon_label,
    fade,
    method_style,
    seeds_phrase,
    told_apart,
)

_NOISE = {"light": "#6A4FB3", "dark": "#B7A6FF"}
_LOSS = {"light": "#C98A00", "dark": "#F6BE4A"}


def projection_gains(
    table: pd.DataFrame,
    *,
    spearman: float,
    present: float | None = None,
) -> Figure:
    """Points that projecting gained on each set and budget, against the noise over the rows of a
    class; `here` is the present ratio.

    table: columns set, epsilon, ratio, gain, low, high.
    """
    figure = Drawing()
    names = list(dict.fromkeys(table["set"]))
    for name, colour, symbol in told_apart(names):
        rows = table[table["set"] == name]
        figure.dots(
            rows["ratio"],
            rows["gain"],
            colour,
            hover=f"{name}, %{{text}}: %{{y:+.1f}}",
            symbol=symbol,
            name=name,
            text=rows["epsilon"].map(epsilon_label),
            error_y=marks.reach(rows, fade(colour, 0.5), value="gain", scale=1),
        )
    figure.rule(y=0, dash="solid")
    if present is not None:
        figure.rule(figure.marked, x=present, dash="dash")
        figure.note(
            math.log10(present),
            0.97,
            "your settings",
            figure.marked,
            yref="paper",
            xanchor="right" if present > 1 else "left",
            xshift=-6 if present > 1 else 6,
        )
    ends = [
        math.log10(value) for value in (*table["ratio"], *([] if present is None else [present]))
    ]
    is_right = table["ratio"] >= 1
    (left_cells, left), (right_cells, right) = (
        (f"{(side['low'] > 0).sum()} of {len(side)}", side["gain"].mean())
        for side in (table[~is_right], table[is_right])
    )
    caption = (
        "Five seeds; each 95 % interval is for its cell alone, so one in 40 lies above 0 by"
        f" chance. Left of 1 the gain is above 0 in {left_cells} cells and {signed(left)} points on"
        f" average. Right of 1 it is so in {right_cells}, and {signed(right)}. Rank correlation"
        f" {spearman:.2f} over {len(table)} cells: a guide, no prediction."
    )
    return figure.finish(
        title=gains_headline(table),
        caption=caption,
        alt=(
            f"Points of accuracy gained by projecting against noise over rows of a class. {caption}"
        ),
        height=520,
        x=marks.log_axis(
            (0.1, 1, 10),
            "noise over a class's rows (log scale)",
            range=[min(ends) - 0.1, max(ends) + 0.1],
        ),
        y="accuracy gained by PILLAR over DP-SGD, points",
    )


def gains_headline(table: pd.DataFrame) -> str:
    """Where projecting gains: a statement where most intervals lie above 0 from ratio 1 on, and
    most below it do not."""
    is_sure = table["low"] > 0
    is_right = table["ratio"] >= 1
    if is_sure[is_right].mean() > 0.5 > is_sure[~is_right].mean():
        return "Projection helps where noise is larger than the signal"
    return "Does projection help where noise is larger than the signal?"


def predicted_accuracy(
    predicted: pd.DataFrame,
    measured: pd.DataFrame | None = None,
    *,
    k: int | None = None,
) -> Figure:
    """Where 100 % goes at one ε: an area lost to the projection, one lost to the noise, the rest
    predicted right.

    predicted: columns k, accuracy, lost_to_projection, lost_to_noise for one ε, with that column.
    measured: runs at that ε (columns k, seed, accuracy), drawn as points with their intervals.
    Rings mark the best predicted and measured k.
    """
    epsilon = float(predicted["epsilon"].iloc[0])
    rows = predicted.sort_values("k", ignore_index=True)
    peak = best(rows, "accuracy")
    clean = 100 * (1 - rows["lost_to_projection"])
    noisy = 100 * rows["accuracy"]
    figure = Drawing()
    ink, lost, drowned = figure.ink, _LOSS[current_mode()], _NOISE[current_mode()]
    figure.band(rows["k"], clean, [100.0] * len(rows), lost, opacity=0.22)
    figure.band(rows["k"], noisy, clean, drowned, opacity=0.22)
    for curve, colour, dash, name in (
        (clean, lost, "dash", "model without noise"),
        (noisy, epsilon_colour(epsilon), "solid", f"model at {epsilon_label(epsilon)}"),
    ):
        hover = f"{name}: %{{y:.1f}} % at k = %{{x}}"
        figure.line(rows["k"], curve, colour, dash=dash, name=name, hover=hover)
    figure.ring(
        peak["k"],
        100 * peak["accuracy"],
        epsilon_colour(epsilon),
        size=20,
        hover="best predicted k: %{x}",
    )
    summary = f"Best predicted k {peak['k']:g}."
    caption = (
        "A model, not a bound and no accuracy: trust its k alone. No run is drawn yet: measure the"
        " curves."
    )
    low = float(noisy.min())
    if measured is not None and len(measured):
        inside = measured[
            measured["k"].between(float(rows["k"].iloc[0]), float(rows["k"].iloc[-1]))
        ]
        means = over_seeds(inside, by=["k"], value="accuracy").sort_values("k")
        hover = "measured: %{y:.1f} % at k = %{x}"
        figure.dots(
            means["k"],
            100 * means["mean"],
            ink.surface,
            hover=hover,
            edge=(2.4, ink.text),
            name="measured",
            error_y=marks.reach(means, ink.text),
        )
        top = best(means)
        figure.ring(top["k"], 100 * top["mean"], ink.text, size=20, hover="best measured k: %{x}")
        summary += f" Best measured k {top['k']:g} with {100 * top['mean']:.1f} percent."
        above = 100 * float(
            (np.interp(means["k"], rows["k"], rows["accuracy"]) - means["mean"]).mean()
        )
        height = (
            f"{abs(above):.1f} percentage points {'above' if above > 0 else 'below'} the dots on"
            " average"
        )
        caption = (
            f"Lines: a model that lies {height}, so trust its k and not its height. Dots:"
            f" {seeds_phrase(means['seeds'])}; the best is chosen on test rows."
        )
        low = min(low, 100 * float(means["mean"].min()))
    floor = max(0.0, low - 6)
    widest = int((clean - noisy).to_numpy().argmax())
    top, bottom = clean.iloc[widest], noisy.iloc[widest]
    places = [(0, (100 + max(clean.iloc[0], floor)) / 2, "lost to projection", lost, "left", 8)]
    if top - bottom >= 4:
        places.append(
            (widest, (top + max(bottom, floor)) / 2, "lost to noise", drowned, "right", -8)
        )
    for place, y, words, colour, anchor, shift in places:  # where the two areas are tallest
        x = math.log10(rows["k"].iloc[place])
        figure.note(x, y, words, colour, size=14, weight=600, xanchor=anchor, xshift=shift)
    if k is not None:
        figure.rule(x=k)
    first, last = float(rows["k"].iloc[0]), float(rows["k"].iloc[-1])
    return figure.finish(
        title="What the projection loses, what the noise adds",
        caption=caption,
        alt=(
            "Rows that a model of the classes calls right, against k at "
            f"{epsilon_label(epsilon)}, split into what the projection and what the "
            f"noise loses. {summary}"
        ),
        height=500,
        y={"title_text": "rows right, %", "range": [floor, 100]},
        x=marks.log_axis(
            marks.round_ticks(first, last),
            "k, directions kept (log scale)",
            range=[math.log10(first) - 0.03, math.log10(last) + 0.03],
        ),
    )


def best_k_against_epsilon(predicted: pd.DataFrame, measured: pd.DataFrame | None = None) -> Figure:
    """The best k of each ε, predicted as a line and measured as points, with all k within one point
    of accuracy.

    predicted, measured: columns epsilon, k, low, high; finite ε only are drawn.
    """
    line = predicted[predicted["epsilon"].map(math.isfinite)].sort_values("epsilon")
    figure = Drawing()
    colour = method_style("pillar").colour
    epsilons, lows, highs = (
        np.repeat(line[name].to_numpy(dtype=float), 2) for name in ("epsilon", "low", "high")
    )  # each ε keeps its limits until the next
    figure.band(epsilons[1:], lows[:-1], highs[:-1], colour, opacity=0.13)
    hover = "ε = %{x}: best k = %{y}<extra>predicted</extra>"
    places = line["epsilon"], line["k"]
    figure.line(*places, colour, shape="hv", name="predicted", hover=hover)
    words = "ε = {:g}: {:g}".format
    summary = "; ".join(map(words, *places))
    caption = (
        "The predicted best k, a model; the band holds every k within one point of its accuracy."
    )
    if measured is not None and len(measured):
        points = measured[measured["epsilon"].map(math.isfinite)]
        colours = [epsilon_colour(float(value)) for value in points["epsilon"]]
        figure.dots(
            points["epsilon"],
            points["k"],
            colours,
            edge=(2, figure.ink.surface),
            name="measured",
            hover="ε = %{x}: best k = %{y}<extra>measured</extra>",
            error_y=marks.reach(points, figure.ink.muted, value="k", scale=1),
        )
        summary += f". Measured: {'; '.join(map(words, points['epsilon'], points['k']))}"
        caption = (
            "Line: a model. Points: the best measured k, chosen on test rows. Band and bars: every"
            " k within one point of accuracy."
        )
    return figure.finish(
        title="The best number of directions at each budget",
        caption=caption,
        alt=f"Best k against epsilon. Predicted: {summary}.",
        x=marks.log_axis([0.1, 0.3, 1, 3, 8], "ε (log scale), more privacy to the left"),
        y=marks.log_axis(marks.round_ticks(1, 2 * float(line["k"].max())), "best k (log scale)"),
    )
