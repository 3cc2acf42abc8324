"""Accuracy over ε: a curve fitted to few runs in the band of its error, the runs, and the present one."""

import pandas as pd
import plotly.graph_objects as go

from pillar_core.plots import marks
from pillar_core.plots.theme import Mode, categorical, finish_by_name


def budget_curve(
    curve: pd.DataFrame,
    runs: pd.DataFrame,
    *,
    present: tuple[float, float] | None,
    width: float,
    enough: tuple[int, int],
    mode: Mode = "light",
) -> go.Figure:
    """Test accuracy (percent) over ε, log axis. Every point's customdata starts with its ε.

    curve: columns epsilon, mean, low, high; runs: columns epsilon, accuracy, all in [0, 1]. present: (ε, accuracy) of the present run.
    width: half of the band; enough: on how many of how many left-out sets it was wide enough.
    """
    figure, colour = go.Figure(), categorical(1, mode)[0]
    marks.band(figure, curve["epsilon"], 100 * curve["low"], 100 * curve["high"], colour, opacity=0.16)
    hover = "ε = %{x:g}: %{y:.1f} %"
    points: marks.Looks = {"mode": "lines+markers", "marker": {"size": 5}, "customdata": [[epsilon] for epsilon in curve["epsilon"]]}
    marks.line(figure, curve["epsilon"], 100 * curve["mean"], colour, hover=f"{hover}, fitted", name="fitted", **points)
    places: marks.Looks = {"customdata": [[epsilon] for epsilon in runs["epsilon"]]}
    marks.dots(figure, runs["epsilon"], 100 * runs["accuracy"], colour, size=11, hover=f"{hover}, trained", name="trained", **places)
    if present is not None:
        star: marks.Looks = {"symbol": "star", "name": "you are here", "customdata": [[present[0]]]}
        marks.dots(figure, [present[0]], [100 * present[1]], marks.MARKED[mode], size=17, hover=f"{hover}, you are here", **star)
    figure.update_xaxes(marks.log_axis([float(epsilon) for epsilon in curve["epsilon"]], "ε, privacy budget (log scale)"))
    fields = {"width": 100 * width, "inside": enough[0], "sets": enough[1], "first": curve.iloc[0], "last": curve.iloc[-1]}
    return finish_by_name(figure, "budget_curve", mode=mode, **fields)
