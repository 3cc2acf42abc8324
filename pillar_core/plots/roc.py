"""The ROC of a privately tested model, with the band that holds for all its thresholds at once."""

import pandas as pd
import plotly.graph_objects as go

from pillar_core.plots import marks
from pillar_core.plots.theme import INK, Mode, categorical, fade, finish_by_name


def private_roc(table: pd.DataFrame, *, mode: Mode = "light") -> go.Figure:
    """The noisy ROC in its band. table: as `studies.private_test.roc` gives it, from (1, 1) to (0, 0)."""
    figure, colour = go.Figure(), categorical(1, mode)[0]
    shares = 100 * table
    x = [*shares["low_false_positive"], *shares["high_false_positive"][::-1]]
    y = [*shares["high_true_positive"], *shares["low_true_positive"][::-1]]
    area = {"mode": "lines", "line_width": 0, "fill": "toself", "fillcolor": fade(colour, 0.16)}
    figure.add_scatter(x=x, y=y, **area, name="95 % band", hoverinfo="skip")
    marks.line(figure, [0, 100], [0, 100], INK[mode].muted, width=1.2, dash="dash", name="coin flip")
    hover = "finds %{y:.1f} % at %{x:.1f} % false alarms"
    marks.line(figure, shares["false_positive_rate"], shares["true_positive_rate"], colour, name="noisy ROC", hover=hover)
    middle = table.iloc[(table["false_positive_rate"] - 0.1).abs().argmin()]
    fields = {"found": 100 * middle["true_positive_rate"], "alarms": 100 * middle["false_positive_rate"]}
    return finish_by_name(figure, "private_roc", mode=mode, **fields)
