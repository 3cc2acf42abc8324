"""Accounting drawn: ε against steps and δ, trade-off curve, noise against ε, other samplers; and
the ROC of a private test."""

import math

import pandas as pd

from pillar_core.numerics import number_words
from pillar_core.plots import marks
from pillar_core.plots.marks import Drawing
from pillar_core.plots.odds import promise
from pillar_core.plots.theme import DASHES, Figure, categorical, fade

_PLACES = (0, 1, 2, 5, 4, 3, 6)


def epsilon_against_steps(table: pd.DataFrame, *, delta: float, present: int) -> Figure:
    """One line per accountant over the number of steps. table: columns accountant, steps, epsilon,
    is_bound."""
    figure = Drawing()
    colours = categorical(7)
    for place, (name, rows) in enumerate(table.groupby("accountant", sort=False)):
        bound = bool(rows["is_bound"].iloc[0])
        colour, dash = (
            (colours[_PLACES[place % 7]], DASHES[place % 6]) if bound else (figure.ink.text, "dot")
        )
        figure.line(
            rows["steps"],
            rows["epsilon"],
            colour,
            width=4 if place == 0 else 2,
            dash=dash,
            name=str(name),
            hover="%{fullData.name}: ε ≤ %{y:.4g} after %{x:,} steps",
        )
    figure.rule(x=present, dash="dash")
    most = table["steps"].max()
    last = table[table["steps"] == most]
    ticks: list[int] = (
        marks.round_ticks(1, most)
        if most <= 200
        else [10**power for power in range(1 + int(math.log10(most)))]
    )
    summary = "; ".join(map("{} {:.3g}".format, last["accountant"], last["epsilon"]))
    return figure.finish(
        title="The same noise, counted by each accountant",
        caption=(
            f"Lower is tighter. Each is an upper bound at δ = {number_words(delta)}, but for "
            "the central limit."
        ),
        alt=f"Epsilon against steps; at the largest number of steps: {summary}.",
        x={
            "title_text": "steps (log scale)",
            "type": "log",
            "range": [-0.03, math.log10(most) + 0.03],
            "tickvals": ticks,
        },
        y={
            "title_text": "ε, upper end (log scale)",
            "type": "log",
            "tickvals": [0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100],
        },
    )


def epsilon_against_delta(table: pd.DataFrame, *, delta: float) -> Figure:
    """The privacy profile. table: columns epsilon, delta: at each pair the run is (ε, δ)-DP."""
    figure = Drawing()
    colour = categorical(1)[0]
    hover = "ε = %{x:.3g} at δ = %{text}"
    words = [number_words(value, 2) for value in table["delta"]]
    figure.line(
        table["epsilon"],
        table["delta"],
        colour,
        hover=hover,
        text=words,
        fill="tozeroy",
        fillcolor=fade(colour, 0.08),
    )
    figure.rule(y=delta, dash="dash")
    place: marks.Looks = {"xref": "paper", "xanchor": "right", "yanchor": "bottom"}
    figure.note(1, math.log10(delta), f"δ = {number_words(delta)}", figure.ink.muted, **place)
    return figure.finish(
        title="One run, every (ε, δ) at once",
        caption="The run keeps every promise on this curve, not only the one quoted.",
        alt=(
            f"Privacy profile: delta against epsilon, from ({table['epsilon'].iloc[0]:.3g}, "
            f"{words[0]}) down."
        ),
        line=58,
        x={"title_text": "ε", "rangemode": "tozero"},
        y={"title_text": "δ (log scale)", "type": "log", "exponentformat": "power", "dtick": 2},
    )


def trade_off_curve(table: pd.DataFrame, *, advantage: float, best: float) -> Figure:
    """What the best attacker trades. table: columns false_positive_rate, true_positive_rate; best:
    where the gap is widest."""
    figure = Drawing()
    ink = figure.ink
    x = table["false_positive_rate"]
    y = table["true_positive_rate"]
    name = "ruled out for every attacker"
    figure.area([*x, 0], [*y, 1], figure.marked, opacity=0.13, name=name)
    hover = "finds %{y:.1%} of members at %{x:.1%} false alarms"
    figure.line(x, y, figure.marked, name="best possible attacker", hover=hover)
    figure.line([0, 1], [0, 1], ink.muted, width=1.2, dash="dash", name="coin flip")
    figure.line([best, best], [best, best + advantage], ink.text)
    figure.note(
        best,
        best + advantage / 2,
        f"advantage {advantage:.3g}",
        ink.text,
        size=14,
        xanchor="left",
        xshift=8,
    )
    return figure.finish(
        title="What the best attacker can do",
        caption=(
            f"The attacker knows all other rows. {promise(advantage / 2)}: half the advantage. The"
            " odds below are read from this curve, never from one (ε, δ) point."
        ),
        alt=f"Trade-off curve: the best attacker's advantage over a coin is {advantage:.3g}.",
        line=58,
        x={
            "title_text": "people wrongly accused",
            "tickformat": ".0%",
            "range": [0, 1],
            "tickvals": [0.2, 0.4, 0.6, 0.8, 1.0],
        },
        y={"title_text": "members found, at most", "tickformat": ".0%", "range": [0, 1.01]},
    )


def noise_against_epsilon(table: pd.DataFrame, *, present: tuple[float, float]) -> Figure:
    """Noise for every budget, with the present one marked. table: columns epsilon,
    noise_multiplier."""
    figure = Drawing()
    figure.line(
        table["epsilon"],
        table["noise_multiplier"],
        categorical(1)[0],
        hover="ε = %{x:.3g} needs σ = %{y:.3g}",
    )
    figure.dots(
        [present[0]],
        [present[1]],
        categorical(2)[1],
        edge=(2, figure.ink.surface),
        mode="markers+text",
        text=[f"  ε = {present[0]:.3g}, σ = {present[1]:.3g}"],
        textposition="top right",
    )
    return figure.finish(
        title="How much noise a budget buys",
        caption=(
            "σ is the noise's standard deviation over the clip norm, solved so that the "
            "certified ε stays within the budget."
        ),
        alt=(
            f"Noise multiplier against epsilon; at epsilon {present[0]:.3g} it is {present[1]:.3g}."
        ),
        x={
            "title_text": "ε (log scale)",
            "type": "log",
            "tickvals": [0.1, 0.2, 0.5, 1, 2, 5, 10, 20],
        },
        y={
            "title_text": "noise multiplier σ (log scale)",
            "type": "log",
            "tickvals": [0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200],
        },
    )


def bars_of_epsilon(table: pd.DataFrame, *, title: str, caption: str) -> Figure:
    """Horizontal bars of ε. table: columns label, epsilon, is_bound (hatched where it is none); the
    first row is the reference."""
    figure = Drawing()
    colour = categorical(1)[0]
    colours = [figure.ink.muted if not bound else colour for bound in table["is_bound"]]
    figure.bars(
        table["epsilon"],
        list(table["label"]),
        colours,
        opacity=0.75,
        hover="%{y}: ε = %{x:.4g}",
        text=table["epsilon"].map("{:.4g}".format),
        textposition="outside",
        cliponaxis=False,
        marker_pattern_shape=["" if bound else "/" for bound in table["is_bound"]],
    )
    summary = "; ".join(map("{} {:.3g}".format, table["label"], table["epsilon"]))
    return figure.finish(
        title=title,
        caption=caption,
        alt=f"Bars of epsilon: {summary}.",
        height=190 + 44 * len(table),
        x={"title_text": "ε", "range": [0, float(table["epsilon"].max()) * 1.05]},
        margin_r=56,  # numbers beside bars, on a phone too
        bargap=0.35,
    )


def private_roc(table: pd.DataFrame) -> Figure:
    """The noisy ROC in its band. table: as `studies.private_test.roc` gives it, from (1, 1) to (0,
    0)."""
    figure = Drawing()
    colour = categorical(1)[0]
    shares = 100 * table
    x = [*shares["low_false_positive"], *shares["high_false_positive"][::-1]]
    y = [*shares["high_true_positive"], *shares["low_true_positive"][::-1]]
    figure.area(x, y, colour, opacity=0.16, name="95 % band")
    figure.line([0, 100], [0, 100], figure.ink.muted, width=1.2, dash="dash", name="coin flip")
    hover = "finds %{y:.1f} % at %{x:.1f} % false alarms"
    figure.line(
        shares["false_positive_rate"],
        shares["true_positive_rate"],
        colour,
        name="noisy ROC",
        hover=hover,
    )
    middle = table.iloc[(table["false_positive_rate"] - 0.1).abs().argmin()]
    return figure.finish(
        title="ROC from one table of noisy counts",
        caption=(
            "Band: with 95 % confidence all 31 thresholds at once, noise and chance of the "
            "rows together."
        ),
        alt=(
            f"Noisy receiver operating curve: at {100 * middle['false_positive_rate']:.0f} "
            f"percent false alarms it finds {100 * middle['true_positive_rate']:.0f} percent."
        ),
        x={"title_text": "false alarms, %", "range": [-2, 102]},
        y={"title_text": "found, %", "range": [-2, 102]},
    )
