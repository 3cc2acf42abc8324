"""What each part of a private training costs in accuracy, from all right down to what is left."""

import pandas as pd
import plotly.graph_objects as go

from pillar_core.plots import marks
from pillar_core.plots.theme import INK, Mode, categorical, fade, finish_by_name, seeds_phrase


def part_costs(table: pd.DataFrame, *, mode: Mode = "light") -> go.Figure:
    """A bar a part in points of test accuracy, each where the one before ended, with intervals; last the accuracy that is left.

    table: columns title, mean, low, high, left, seeds, in the order of the parts; shares in [−1, 1].
    """
    figure, ink = go.Figure(), INK[mode]
    reached = 100 * float(table["left"].iloc[-1])
    names = [f"{title}: {-100 * mean:+.1f}" for title, mean in zip(table["title"], table["mean"], strict=True)]
    colours = [*categorical(len(table), mode), ink.muted]
    ends = (table["high"] - table["mean"]).fillna(0)
    figure.add_bar(
        x=[*(100 * table["mean"]), reached],
        base=[*(100 * table["left"]), 0],
        y=[*names, f"Left: {reached:.1f} %"],
        orientation="h",
        marker={"color": [fade(colour, 0.6) for colour in colours], "line": {"color": colours, "width": 1.5}},
        hovertemplate="%{y}<extra></extra>",
    )
    bars = {"type": "data", "array": 100 * ends, "color": ink.text, "thickness": 1.4, "width": 4}
    figure.add_scatter(x=100 * table["left"], y=names, mode="markers", marker={"size": 1, "opacity": 0}, error_x=bars, hoverinfo="skip")
    marks.names_axis(figure, [*names, f"Left: {reached:.1f} %"])
    figure.update_xaxes(range=[max(0.0, 100 * float((table["left"] - ends).min()) - 10), 102])
    return finish_by_name(figure, "part_costs", mode=mode, seeds=seeds_phrase(table["seeds"]), summary="; ".join(names), left=reached)
