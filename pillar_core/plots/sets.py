"""Accuracy against k for several feature sets at one budget: which features carry a private learner, and how many directions of each."""

from typing import Any

import pandas as pd
import plotly.graph_objects as go

from pillar_core.plots import k_curves, marks
from pillar_core.plots.intervals import best, over_seeds
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
        k_curves.band(figure, means, colour, opacity=0.16)
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
        top = best(means)
        marks.ring(figure, top["k"], 100 * top["mean"], colour, size=15)
        summary.append(f"{name} {100 * top['mean']:.1f} percent at k {top['k']:g}")
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
