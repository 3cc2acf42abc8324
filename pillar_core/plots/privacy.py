"""Accounting drawn: ε against steps and δ, the trade-off curve, noise against ε, the same noise under other rules."""

from typing import Any

import pandas as pd
import plotly.graph_objects as go

from pillar_core.plots import marks
from pillar_core.plots.odds import one_in
from pillar_core.plots.theme import INK, Mode, categorical, faded, finished

_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
_PLACES = (0, 1, 2, 5, 4, 3, 6)


def epsilon_against_steps(table: pd.DataFrame, *, mode: Mode = "light", delta: float, here: int) -> Any:
    """One line per accountant over the number of steps. table: columns accountant, steps, epsilon, is_bound."""
    figure, colours = go.Figure(), categorical(7, mode)
    for place, (name, rows) in enumerate(table.groupby("accountant", sort=False)):
        bound = bool(rows["is_bound"].iloc[0])
        marks.line(
            figure,
            rows["steps"],
            rows["epsilon"],
            colours[_PLACES[place % 7]] if bound else INK[mode].muted,
            width=3 if place == 0 else 2,
            dash=_DASHES[place % 6] if bound else "dot",
            name=str(name),
            hover="%{fullData.name}: ε ≤ %{y:.4g} after %{x:,} steps",
        )
    figure.add_vline(x=here, line={"color": INK[mode].muted, "dash": "dash", "width": 1.2})
    figure.update_xaxes(title_text="steps (log scale)", type="log", tickvals=[1, 10, 100, 1000, 10_000, 100_000])
    figure.update_yaxes(title_text="ε, upper end (log scale)", type="log", tickvals=[0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100])
    last = table[table["steps"] == table["steps"].max()]
    summary = "; ".join(f"{name} {value:.3g}" for name, value in last[["accountant", "epsilon"]].to_numpy())
    return finished(
        figure,
        title="The same noise, counted by each accountant",
        caption=f"Lower is tighter; bounds hold but for a chance of δ = {delta:g}, except where the name says that it is none.",
        alt=f"Epsilon against steps; at the largest number of steps: {summary}.",
        mode=mode,
        height=460,
    )


def epsilon_against_delta(table: pd.DataFrame, *, mode: Mode = "light", delta: float) -> Any:
    """The privacy profile. table: columns epsilon, delta: at each pair the run is (ε, δ)-DP."""
    figure = go.Figure()
    colour = categorical(1, mode)[0]
    marks.line(
        figure,
        table["epsilon"],
        table["delta"],
        colour,
        width=2.6,
        fill="tozeroy",
        fillcolor=faded(colour, 0.08),
        hover="ε = %{x:.3g} at δ = %{y:.2g}",
    )
    figure.add_hline(
        y=delta,
        line={"color": INK[mode].muted, "dash": "dash", "width": 1.2},
        annotation={"text": f"δ = {delta:g}", "font": {"size": 13, "color": INK[mode].muted}},
    )
    figure.update_xaxes(title_text="ε", rangemode="tozero")
    figure.update_yaxes(title_text="δ (log scale)", type="log", exponentformat="power", dtick=2)
    figure.update_layout(showlegend=False)
    return finished(
        figure,
        title="One run, every (ε, δ) at once",
        caption="No pair says all: each point of the curve is a promise that the same run keeps.",
        alt=f"Privacy profile: delta against epsilon, from ({table['epsilon'].iloc[0]:.3g}, {table['delta'].iloc[0]:.2g}) down.",
        mode=mode,
        height=440,
        line=58,
    )


def trade_off_curve(table: pd.DataFrame, *, mode: Mode = "light", advantage: float, best: float) -> Any:
    """What the best attacker trades. table: columns false_positive_rate, true_positive_rate; best: where the gap is widest."""
    figure, ink = go.Figure(), INK[mode]
    forbidden = marks.MARKED[mode]
    x, y = table["false_positive_rate"], table["true_positive_rate"]
    figure.add_scatter(
        x=[*x, 0],
        y=[*y, 1],
        fill="toself",
        fillcolor=faded(forbidden, 0.12),
        line={"width": 0},
        name="ruled out for every attacker",
        hoverinfo="skip",
    )
    marks.line(
        figure, x, y, forbidden, width=2.6, name="best possible attacker", hover="finds %{y:.1%} of members at %{x:.1%} false alarms"
    )
    marks.line(figure, [0, 1], [0, 1], ink.muted, width=1.2, dash="dash", name="coin flip")
    marks.line(figure, [best, best], [best, best + advantage], ink.text, width=2, showlegend=False)
    figure.add_annotation(
        x=best, y=best + advantage / 2, text=f"advantage {advantage:.3g}", showarrow=False, xanchor="left", xshift=8, font={"size": 14}
    )
    figure.update_xaxes(title_text="people wrongly accused", tickformat=".0%", range=[0, 1])
    figure.update_yaxes(title_text="members found, at most", tickformat=".0%", range=[0, 1.01])
    return finished(
        figure,
        title="What the best attacker can do",
        caption="The attacker knows all other rows. Half the advantage is the share of even guesses turned right: "
        f"{one_in(advantage / 2)} The odds below are read from this curve, never from one (ε, δ) point.",
        alt=f"Trade-off curve: the best attacker's advantage over a coin is {advantage:.3g}.",
        mode=mode,
        height=440,
        line=58,
    )


def noise_against_epsilon(table: pd.DataFrame, *, mode: Mode = "light", here: tuple[float, float]) -> Any:
    """Noise for every budget, with the present one marked. table: columns epsilon, noise_multiplier."""
    figure = go.Figure()
    marks.line(
        figure, table["epsilon"], table["noise_multiplier"], categorical(1, mode)[0], width=2.6, hover="ε = %{x:.3g} needs σ = %{y:.3g}"
    )
    marks.dots(
        figure,
        [here[0]],
        [here[1]],
        categorical(2, mode)[1],
        size=13,
        edge=(2, INK[mode].surface),
        mode="markers+text",
        text=[f"  ε = {here[0]:.3g}, σ = {here[1]:.3g}"],
        textposition="top right",
    )
    figure.update_xaxes(title_text="ε (log scale)", type="log", tickvals=[0.1, 0.2, 0.5, 1, 2, 5, 10, 20])
    ticks = [0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200]
    figure.update_yaxes(title_text="noise multiplier σ (log scale)", type="log", tickvals=ticks)
    figure.update_layout(showlegend=False)
    return finished(
        figure,
        title="How much noise a budget buys",
        caption="σ is the noise's standard deviation over the clip norm, solved so that the certified ε stays within the budget.",
        alt=f"Noise multiplier against epsilon; at epsilon {here[0]:.3g} it is {here[1]:.3g}.",
        mode=mode,
        height=420,
    )


def bars_of_epsilon(table: pd.DataFrame, *, mode: Mode = "light", title: str, caption: str) -> Any:
    """Horizontal bars of ε. table: columns label, epsilon, is_bound (hatched where it is none); the first row is the reference."""
    figure = go.Figure()
    colour = categorical(1, mode)[0]
    plain = [INK[mode].muted if not bound else colour for bound in table["is_bound"]]
    figure.add_bar(
        x=table["epsilon"],
        y=table["label"],
        orientation="h",
        text=[f"{value:.4g}" for value in table["epsilon"]],
        textposition="outside",
        cliponaxis=False,
        marker={
            "color": [faded(one, 0.75) for one in plain],
            "pattern": {"shape": ["" if bound else "/" for bound in table["is_bound"]]},
            "cornerradius": 4,
        },
        hovertemplate="%{y}: ε = %{x:.4g}<extra></extra>",
    )
    figure.update_xaxes(title_text="ε", rangemode="tozero", range=[0, float(table["epsilon"].max()) * 1.15])
    marks.names_axis(figure, list(table["label"]))
    figure.update_layout(showlegend=False, bargap=0.35)
    summary = "; ".join(f"{label} {value:.3g}" for label, value in table[["label", "epsilon"]].to_numpy())
    return finished(figure, title=title, caption=caption, alt=f"Bars of epsilon: {summary}.", mode=mode, height=190 + 44 * len(table))
