"""Accuracy against k for several feature sets at one budget: which features carry a private learner, and how many directions of each."""

from __future__ import annotations

from typing import Any

import pandas as pd
import plotly.graph_objects as go

from pillar_core.plots.intervals import over_seeds
from pillar_core.plots.theme import Height, Mode, categorical, epsilon_label, faded, finished, seeds_phrase

MOST_SETS = 7
_DASHES = ("solid", "dash", "dot", "dashdot")
_TICKS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000)


def accuracy_of_sets(table: pd.DataFrame, *, epsilon: float, mode: Mode = "light", k: int | None = None, height: Height = 480) -> Any:
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
        known = means.dropna(subset=["low", "high"])
        figure.add_scatter(
            x=[*known["k"], *known["k"][::-1]],
            y=[*(100 * known["high"]), *(100 * known["low"][::-1])],
            fill="toself",
            fillcolor=faded(colour, 0.16),
            line={"width": 0},
            hoverinfo="skip",
            showlegend=False,
        )
        figure.add_scatter(
            x=means["k"],
            y=100 * means["mean"],
            mode="lines+markers",
            name=str(name),
            line={"color": colour, "dash": dash, "width": 2.4},
            marker={"size": 6},
            hovertemplate=f"{name}: %{{y:.1f}} % at k = %{{x}}<extra></extra>",
        )
        best = means.iloc[int(means["mean"].to_numpy().argmax())]
        figure.add_scatter(
            x=[best["k"]],
            y=[100 * best["mean"]],
            mode="markers",
            marker={"size": 15, "symbol": "circle-open", "color": colour, "line": {"width": 2.4}},
            hoverinfo="skip",
            showlegend=False,
        )
        summary.append(f"{name} {100 * best['mean']:.1f} percent at k {best['k']:g}")
        roof = table[(table["set"] == name) & ~table["private"]].groupby("k", dropna=False)["accuracy"].mean()
        if len(roof):
            figure.add_scatter(
                x=[last * 1.12],
                y=[100 * float(roof.max())],
                mode="markers",
                marker={"size": 11, "symbol": "line-ew-open", "color": colour, "line": {"width": 3}},
                hovertemplate=f"{name} without privacy: %{{y:.1f}} %<extra></extra>",
                showlegend=False,
            )
    if k is not None:
        figure.add_vline(x=k, line={"width": 1.2, "dash": "dot", "color": "grey"})
    ticks = [tick for tick in _TICKS if float(runs["k"].min()) <= tick <= last]
    figure.update_xaxes(type="log", title_text="k, directions kept (log scale)", tickvals=ticks, ticktext=[f"{tick:g}" for tick in ticks])
    figure.update_yaxes(title_text="test accuracy, %")
    caption = f"Rings: best k, chosen on test rows. Ticks at the right: without privacy. {seeds_phrase(pd.concat(counts))}."
    return finished(
        figure,
        title=f"What each feature set reaches at {epsilon_label(epsilon)}",
        caption=caption,
        alt=f"Accuracy against k for several feature sets; best: {'; '.join(summary)}.",
        mode=mode,
        height=height,
    )
