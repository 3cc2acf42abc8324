"""Accuracy against k for several feature sets at one budget: which features carry a private learner, and how many directions of each."""

from typing import Any

import pandas as pd
import plotly.graph_objects as go

from pillar_core.plots import marks
from pillar_core.plots.intervals import over_seeds
from pillar_core.plots.theme import Mode, categorical, described, epsilon_label, seeds_phrase

MOST_SETS = 7
_DASHES = ("solid", "dash", "dot", "dashdot")


def accuracy_of_sets(table: pd.DataFrame, *, epsilon: float, mode: Mode = "light", k: int | None = None) -> Any:
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
        marks.band(figure, known["k"], 100 * known["low"], 100 * known["high"], colour, opacity=0.16)
        marks.line(
            figure,
            means["k"],
            100 * means["mean"],
            colour,
            width=2.4,
            dash=dash,
            mode="lines+markers",
            name=str(name),
            marker={"size": 6},
            hover=f"{name}: %{{y:.1f}} % at k = %{{x}}",
        )
        best = means.iloc[int(means["mean"].to_numpy().argmax())]
        marks.dots(figure, [best["k"]], [100 * best["mean"]], colour, size=15, symbol="circle-open", edge=(2.4, None), showlegend=False)
        summary.append(f"{name} {100 * best['mean']:.1f} percent at k {best['k']:g}")
        roof = table[(table["set"] == name) & ~table["private"]].groupby("k", dropna=False)["accuracy"].mean()
        if len(roof):
            marks.dots(
                figure,
                [last * 1.12],
                [100 * float(roof.max())],
                colour,
                size=11,
                symbol="line-ew-open",
                edge=(3, None),
                showlegend=False,
                hover=f"{name} without privacy: %{{y:.1f}} %",
            )
    if k is not None:
        figure.add_vline(x=k, line={"width": 1.2, "dash": "dot", "color": "grey"})
    figure.update_xaxes(marks.log_axis(marks.round_ticks(float(runs["k"].min()), last), "k, directions kept (log scale)"))
    said = {"budget": epsilon_label(epsilon), "seeds": seeds_phrase(pd.concat(counts)), "summary": "; ".join(summary)}
    return described(figure, "accuracy_of_sets", mode=mode, **said)
