"""Test error against ε for several learners, between public rows alone and the ceiling without
privacy; and a curve fitted to few runs."""

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from pillar_core.plots import marks
from pillar_core.plots.intervals import FEWEST
from pillar_core.plots.marks import Drawing
from pillar_core.plots.theme import (
    Figure,
    categorical,
    in_order,
    method_style,
    pin_colour,
    seeds_phrase,
)

REFERENCES = {"non_private": "no privacy", "only_public": "public rows alone"}


def error_against_epsilon(lines: pd.DataFrame) -> Figure:
    """Mean test error (percent) of each learner over ε, with intervals over seeds; references as
    horizontal lines; the best is ringed.

    lines: one row per (title, epsilon) with columns method, title, epsilon, mean, low, high
    (accuracy in [0, 1]), seeds. A point's customdata: its ε, learner and seeds.
    """
    figure = Drawing()
    known = lines.dropna(subset=["mean"])
    finite = sorted(epsilon for epsilon in known["epsilon"].unique() if math.isfinite(epsilon))
    runs = known[known["epsilon"].isin(finite)].sort_values("epsilon")
    for name in in_order(known["method"]):
        style = method_style(name)
        for title, rows in runs[runs["method"] == name].groupby("title", sort=False):
            if name in REFERENCES:
                level = 100 - 100 * float(rows["mean"].mean())
                side = "bottom" if name == "non_private" else "top"  # on a phone they are near
                words = f"{REFERENCES[name]}: {level:.1f} %"
                place = f"{side} left"
                figure.rule(y=level, dash=style.dash, words=words, annotation_position=place)
                continue
            errors = rows.assign(mean=1 - rows["mean"], low=1 - rows["high"], high=1 - rows["low"])
            figure.line(
                rows["epsilon"],
                100 * errors["mean"],
                style.colour,
                dash=style.dash,
                hover="%{fullData.name}: %{y:.1f} % error at %{x}, n = %{customdata[2]}",
                mode="lines+markers",
                name=str(title),
                marker={"symbol": style.symbol, "size": 8},
                error_y=errors.where(errors["seeds"] >= FEWEST),
                customdata=list(zip(rows["epsilon"], rows["method"], rows["seeds"], strict=True)),
            )
    front = runs[~runs["method"].isin(REFERENCES)]
    best = front.sort_values("mean").drop_duplicates("epsilon", keep="last")
    for epsilon, mean, method in best[["epsilon", "mean", "method"]].to_numpy():
        figure.ring(epsilon, 100 - 100 * mean, method_style(method).colour, size=17)
    ends = [math.log10(finite[0]) - 0.12, math.log10(finite[-1]) + 0.12] if finite else None
    points = known[known["epsilon"].isin(finite)]
    columns = points["title"], 100 - 100 * points["mean"], points["epsilon"]
    summary = "; ".join(map("{} {:.1f} percent at ε = {:g}".format, *columns))
    return figure.finish(
        title="Test error against ε",
        caption=(
            f"{seeds_phrase(known['seeds'])}. Lower is better; rings: the best, picked on "
            "test rows."
        ),
        alt=f"Line chart of test error against ε: {summary}.",
        height=520,
        x=marks.log_axis(finite, "ε, privacy budget (log scale)", range=ends),
        y={"title_text": "test error, %", "rangemode": "tozero"},
    )


def mark_pins(figure: Figure, pins: pd.DataFrame) -> Figure:
    """A copy of the figure over ε with each pinned run's error as its letter. pins: columns pin,
    epsilon, accuracy in [0, 1]."""
    figure = Drawing(figure)
    known = pins.dropna(subset=["accuracy"])[["pin", "epsilon", "accuracy"]]
    for letter, epsilon, accuracy in known[known["epsilon"].map(math.isfinite)].to_numpy():
        figure.dots(
            [epsilon],
            [100 - 100 * accuracy],
            pin_colour(letter),
            symbol="diamond",
            mode="markers+text",
            text=[letter],
            textposition="middle right",
            textfont={"color": pin_colour(letter), "size": 15},
            hover=f"pinned {letter}: %{{y:.1f}} % error, one run",
        )
    return figure


def expected_by_budget(table: pd.DataFrame, *, present: float, caption: str) -> Figure:
    """What is expected (percent) over ε, log axis, with its band; the present ε is marked on it.

    table: columns epsilon, mean, low and high, in [0, 1].
    """
    figure = Drawing()
    epsilons, means = table["epsilon"], 100 * table["mean"]
    colour = figure.ink.accent
    figure.band(epsilons, 100 * table["low"], 100 * table["high"], colour, opacity=0.16)
    figure.line(epsilons, means, colour, hover="ε = %{x:g}: %{y:.1f} %", mode="lines+markers")
    here = min(max(present, epsilons.min()), epsilons.max())
    level = float(np.interp(math.log(here), np.log(epsilons), means))
    words = f"you are here: {level:.1f} %"
    figure.dots([here], [level], figure.marked, size=17, symbol="star", hover=words)
    figure.update_xaxes(marks.log_axis(list(epsilons), "ε, privacy budget"))
    told = ", ".join(map("{:.0f} at {:g}".format, means, epsilons))
    return figure.finish(
        title="By budget",
        caption=caption,
        alt=f"Expected, in percent, over ε: {told}.",
        height=400,
        y="expected, %",
    )


def budget_curve(
    runs: pd.DataFrame,
    curve: pd.DataFrame | None,
    epsilons: Sequence[float],
    *,
    band: str,
    present: tuple[float, float] | None,
    measure: str = "accuracy",
) -> Figure:
    """Test accuracy, or what `measure` says (percent), over ε, log axis. Every point's customdata
    starts with its ε.

    runs: columns epsilon, mean, low, high, seeds, in [0, 1]. curve: columns epsilon, mean, low,
    high, once runs are enough for one; band: what it says, in words. epsilons: the ticks. present:
    (ε, accuracy) of the present run.
    """
    figure = Drawing()
    colour = categorical(1)[0]
    hover = "ε = %{x:g}: %{y:.1f} %"
    if curve is not None:
        figure.band(curve["epsilon"], 100 * curve["low"], 100 * curve["high"], colour, opacity=0.16)
        figure.line(
            curve["epsilon"],
            100 * curve["mean"],
            colour,
            hover=f"{hover}, fitted",
            name="fitted",
            mode="lines+markers",
            marker={"size": 5},
            customdata=[[epsilon] for epsilon in curve["epsilon"]],
        )
    figure.dots(
        runs["epsilon"],
        100 * runs["mean"],
        colour,
        hover=f"{hover}, trained",
        name="trained",
        customdata=[[epsilon] for epsilon in runs["epsilon"]],
        error_y=runs,
    )
    if present is not None:
        figure.dots(
            [present[0]],
            [100 * present[1]],
            figure.marked,
            size=17,
            hover=f"{hover}, you are here",
            symbol="star",
            name="you are here",
            customdata=[[present[0]]],
        )
    summary = ", ".join(map("{:.2f} at ε = {:g}".format, runs["mean"], runs["epsilon"]))
    caption = f"{seeds_phrase(runs['seeds'])}. {band}"
    return figure.finish(
        title="How does accuracy grow with ε?",
        caption=caption,
        alt=f"Test {measure} against ε: {summary}. {caption}",
        y={"title_text": f"test {measure}, %", "ticksuffix": " "},
        x=marks.log_axis(list(epsilons), "ε, privacy budget (log scale)"),
    )
