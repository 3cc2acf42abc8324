"""The ROC of a privately tested model, with the band that holds for all its thresholds at once."""

from typing import Any

import pandas as pd
import plotly.graph_objects as go

from pillar_core.plots import marks
from pillar_core.plots.theme import INK, Mode, categorical, described, faded


def private_roc(table: pd.DataFrame, *, mode: Mode = "light") -> Any:
    """The noisy ROC in its band. table: as `studies.private_test.roc` gives it, from (1, 1) to (0, 0)."""
    figure, colour = go.Figure(), categorical(1, mode)[0]
    shares = 100 * table
    x = [*shares["low_false_positive"], *shares["high_false_positive"][::-1]]
    y = [*shares["high_true_positive"], *shares["low_true_positive"][::-1]]
    looks = {"mode": "lines", "line_width": 0, "fill": "toself", "fillcolor": faded(colour, 0.16)}
    figure.add_scatter(x=x, y=y, **looks, name="95 % band", hoverinfo="skip")
    marks.line(figure, [0, 100], [0, 100], INK[mode].muted, width=1.2, dash="dash", name="coin flip")
    hover = "finds %{y:.1f} % at %{x:.1f} % false alarms"
    marks.line(figure, shares["false_positive_rate"], shares["true_positive_rate"], colour, name="noisy ROC", hover=hover)
    middle = table.iloc[(table["false_positive_rate"] - 0.1).abs().argmin()]
    said = {"found": 100 * middle["true_positive_rate"], "alarms": 100 * middle["false_positive_rate"]}
    return described(figure, "private_roc", mode=mode, **said)
