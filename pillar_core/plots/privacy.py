"""Accounting drawn: ε against steps and δ, trade-off curve, noise against ε, other samplers; and
the ROC of a private test."""

import math

import pandas as pd
import plotly.graph_objects as go

from pillar_core.numerics import number_words
from pillar_core.plots import marks
from pillar_core.plots.odds import one_in
from pillar_core.plots.theme import DASHES, INK, Mode, categorical, fade, finish_by_name

_PLACES = (0, 1, 2, 5, 4, 3, 6)


def epsilon_against_steps(
    table: pd.DataFrame, *, mode: Mode = "light", delta: float, present: int
) -> go.Figure:
    """One line per accountant over the number of steps. table: columns accountant, steps, epsilon,
    is_bound."""
    figure, colours = go.Figure(), categorical(7, mode)
    for place, (name, rows) in enumerate(table.groupby("accountant", sort=False)):
        bound = bool(rows["is_bound"].iloc[0])
        colour, dash = (
            (colours[_PLACES[place % 7]], DASHES[place % 6]) if bound else (INK[mode].text, "dot")
        )
        words: marks.Looks = {
            "name": str(name),
            "hover": "%{fullData.name}: ε ≤ %{y:.4g} after %{x:,} steps",
        }
        marks.line(
            figure,
            rows["steps"],
            rows["epsilon"],
            colour,
            width=4 if place == 0 else 2,
            dash=dash,
            **words,
        )
    figure.add_vline(x=present, line={"color": INK[mode].muted, "dash": "dash", "width": 1.2})
    most = table["steps"].max()
    last = table[table["steps"] == most]
    ticks = (
        marks.round_ticks(1, most)
        if most <= 200
        else [10**power for power in range(1 + int(math.log10(most)))]
    )
    figure.update_xaxes(range=[-0.03, math.log10(most) + 0.03], tickvals=ticks)
    summary = "; ".join(
        f"{name} {value:.3g}" for name, value in last[["accountant", "epsilon"]].to_numpy()
    )
    return finish_by_name(
        figure, "epsilon_against_steps", mode=mode, delta=number_words(delta), summary=summary
    )


def epsilon_against_delta(table: pd.DataFrame, *, mode: Mode = "light", delta: float) -> go.Figure:
    """The privacy profile. table: columns epsilon, delta: at each pair the run is (ε, δ)-DP."""
    figure = go.Figure()
    colour = categorical(1, mode)[0]
    hover, words = (
        "ε = %{x:.3g} at δ = %{text}",
        [number_words(value, 2) for value in table["delta"]],
    )
    area: marks.Looks = {"fill": "tozeroy", "fillcolor": fade(colour, 0.08)}
    marks.line(
        figure, table["epsilon"], table["delta"], colour, width=2.6, hover=hover, text=words, **area
    )
    figure.add_hline(
        y=delta,
        line={"color": INK[mode].muted, "dash": "dash", "width": 1.2},
        annotation={
            "text": f"δ = {number_words(delta)}",
            "font": {"size": 13, "color": INK[mode].muted},
        },
    )
    return finish_by_name(
        figure, "epsilon_against_delta", mode=mode, epsilon=table["epsilon"].iloc[0], least=words[0]
    )


def trade_off_curve(
    table: pd.DataFrame, *, mode: Mode = "light", advantage: float, best: float
) -> go.Figure:
    """What the best attacker trades. table: columns false_positive_rate, true_positive_rate; best:
    where the gap is widest."""
    figure, ink = go.Figure(), INK[mode]
    x, y = table["false_positive_rate"], table["true_positive_rate"]
    marks.ruled_out(figure, [*x, 0], [*y, 1], mode, name="ruled out for every attacker")
    hover = "finds %{y:.1%} of members at %{x:.1%} false alarms"
    marks.line(
        figure, x, y, marks.MARKED[mode], width=2.6, name="best possible attacker", hover=hover
    )
    marks.line(figure, [0, 1], [0, 1], ink.muted, width=1.2, dash="dash", name="coin flip")
    marks.line(figure, [best, best], [best, best + advantage], ink.text, width=2, showlegend=False)
    marks.note(
        figure,
        best,
        best + advantage / 2,
        f"advantage {advantage:.3g}",
        ink.text,
        size=14,
        xanchor="left",
        xshift=8,
    )
    return finish_by_name(
        figure, "trade_off_curve", mode=mode, advantage=advantage, odds=one_in(advantage / 2)
    )


def noise_against_epsilon(
    table: pd.DataFrame, *, mode: Mode = "light", present: tuple[float, float]
) -> go.Figure:
    """Noise for every budget, with the present one marked. table: columns epsilon,
    noise_multiplier."""
    figure = go.Figure()
    marks.line(
        figure,
        table["epsilon"],
        table["noise_multiplier"],
        categorical(1, mode)[0],
        width=2.6,
        hover="ε = %{x:.3g} needs σ = %{y:.3g}",
    )
    words: marks.Looks = {
        "mode": "markers+text",
        "text": [f"  ε = {present[0]:.3g}, σ = {present[1]:.3g}"],
        "textposition": "top right",
    }
    marks.dots(
        figure,
        [present[0]],
        [present[1]],
        categorical(2, mode)[1],
        size=13,
        edge=(2, INK[mode].surface),
        **words,
    )
    return finish_by_name(
        figure, "noise_against_epsilon", mode=mode, epsilon=present[0], noise=present[1]
    )


def bars_of_epsilon(
    table: pd.DataFrame, *, mode: Mode = "light", title: str, caption: str
) -> go.Figure:
    """Horizontal bars of ε. table: columns label, epsilon, is_bound (hatched where it is none); the
    first row is the reference."""
    figure = go.Figure()
    colour = categorical(1, mode)[0]
    colours = [INK[mode].muted if not bound else colour for bound in table["is_bound"]]
    style: marks.Looks = {
        "text": [f"{value:.4g}" for value in table["epsilon"]],
        "textposition": "outside",
        "cliponaxis": False,
    }
    style["marker_pattern_shape"] = ["" if bound else "/" for bound in table["is_bound"]]
    marks.bars(
        figure,
        table["epsilon"],
        list(table["label"]),
        colours,
        opacity=0.75,
        hover="%{y}: ε = %{x:.4g}",
        **style,
    )
    figure.update_xaxes(range=[0, float(table["epsilon"].max()) * 1.15])
    summary = "; ".join(
        f"{label} {value:.3g}" for label, value in table[["label", "epsilon"]].to_numpy()
    )
    return finish_by_name(
        figure,
        "bars_of_epsilon",
        mode=mode,
        height=190 + 44 * len(table),
        title=title,
        caption=caption,
        summary=summary,
    )


def private_roc(table: pd.DataFrame, *, mode: Mode = "light") -> go.Figure:
    """The noisy ROC in its band. table: as `studies.private_test.roc` gives it, from (1, 1) to (0,
    0)."""
    figure, colour = go.Figure(), categorical(1, mode)[0]
    shares = 100 * table
    x = [*shares["low_false_positive"], *shares["high_false_positive"][::-1]]
    y = [*shares["high_true_positive"], *shares["low_true_positive"][::-1]]
    area = {"mode": "lines", "line_width": 0, "fill": "toself", "fillcolor": fade(colour, 0.16)}
    figure.add_scatter(x=x, y=y, **area, name="95 % band", hoverinfo="skip")
    marks.line(
        figure, [0, 100], [0, 100], INK[mode].muted, width=1.2, dash="dash", name="coin flip"
    )
    hover = "finds %{y:.1f} % at %{x:.1f} % false alarms"
    marks.line(
        figure,
        shares["false_positive_rate"],
        shares["true_positive_rate"],
        colour,
        name="noisy ROC",
        hover=hover,
    )
    middle = table.iloc[(table["false_positive_rate"] - 0.1).abs().argmin()]
    fields = {
        "found": 100 * middle["true_positive_rate"],
        "alarms": 100 * middle["false_positive_rate"],
    }
    return finish_by_name(figure, "private_roc", mode=mode, **fields)
