"""Runs laid side by side: means with intervals and single seeds."""

from typing import Any

import pandas as pd
import plotly.graph_objects as go

from pillar_core.errors import SettingError
from pillar_core.plots import marks
from pillar_core.plots.theme import INK, Mode, described, method_style


def overlay(runs: pd.DataFrame, lines: pd.DataFrame, *, labels: dict[str, str], mode: Mode = "light") -> Any:
    """Every seed as a dot and each setting's mean with its 95 % interval, in percent, one line per setting.

    runs: columns group, method, accuracy in [0, 1]; lines: columns group, method, mean, low, high; labels: words by group.
    """
    if not set(map(str, lines["group"])) <= set(labels):
        raise SettingError("labels must name every group of the lines.")
    figure = go.Figure()
    for number, line in enumerate(lines[["group", "method", "mean", "low", "high"]].to_dict("records")):
        colour = method_style(str(line["method"])).colour(mode)
        accuracies = 100 * runs.loc[runs["group"] == line["group"], "accuracy"].dropna()
        name = f"{number + 1}. {labels[str(line['group'])]}"
        reach = 0.0 if pd.isna(line["low"]) else 100 * (line["high"] - line["mean"])
        figure.add_scatter(
            x=accuracies,
            y=[name] * len(accuracies),
            mode="markers",
            marker={"color": colour, "size": 7, "opacity": 0.4},
            hovertemplate="%{x:.1f} %<extra>one seed</extra>",
        )
        marks.dots(
            figure,
            [100 * line["mean"]],
            [name],
            colour,
            size=13,
            symbol="diamond",
            edge=(1, INK[mode].text),
            error_x={"type": "data", "array": [reach], "color": INK[mode].text, "thickness": 1.4},
            hover="%{x:.1f} %<extra>mean</extra>",
        )
    best = lines.sort_values("mean").iloc[-1]
    said = {"settings": len(lines), "percent": 100 * best["mean"], "best": labels[str(best["group"])]}
    return described(figure, "overlay", mode=mode, height=130 + 44 * len(lines), **said)
