"""Runs laid side by side: means with intervals and single seeds, and parallel coordinates over settings."""

from typing import Any

import pandas as pd
import plotly.graph_objects as go

from pillar_core.errors import SettingError
from pillar_core.plots import marks
from pillar_core.plots.theme import INK, Mode, described, epsilon_value, method_style

_COORDINATES = ("origin", "data", "method", "k", "epsilon", "public_fraction", "mean")


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


def parallel_coordinates(lines: pd.DataFrame, *, mode: Mode = "light") -> Any:
    """Settings as lines through one axis per setting that varies, coloured by mean test accuracy in percent.

    lines: columns of `_COORDINATES`, as far as there are.
    """
    shown = [name for name in _COORDINATES if name in lines and (name == "mean" or lines[name].nunique() > 1)]
    ink = INK[mode]
    figure = go.Figure(
        go.Parcoords(
            line={"color": 100 * lines["mean"], "colorscale": "Viridis", "showscale": True, "colorbar": {"title": {"text": "%"}}},
            dimensions=[_dimension(lines[name], name) for name in shown],
            labelfont={"color": ink.text},
            tickfont={"color": ink.text},
            rangefont={"color": "rgba(0,0,0,0)"},
        )
    )
    axes = ", ".join(_TITLES.get(name, name) for name in shown)
    drawn = described(figure, "parallel_coordinates", mode=mode, settings=len(lines), axes=axes)
    return drawn.update_layout(margin_t=130, margin_l=150)


def _short(text: str, most: int = 22) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


_TITLES = {"epsilon": "ε", "mean": "accuracy, %", "public_fraction": "public share", "method": "learner"}


def _dimension(values: "pd.Series[Any]", name: str) -> dict[str, Any]:
    if name == "mean":
        return {"label": _TITLES[name], "values": 100 * values}
    levels = sorted(values.dropna().unique(), key=lambda level: (isinstance(level, str), level))
    texts = [
        epsilon_value(level) if name == "epsilon" else f"{level:g}" if not isinstance(level, str) else _short(level) for level in levels
    ]
    places = values.map({level: place for place, level in enumerate(levels)}).fillna(-1)
    has_gap = bool((places < 0).any())
    ticks = list(range(len(levels)))
    if has_gap:
        ticks, texts = [-1, *ticks], ["none", *texts]
    return {"label": _TITLES.get(name, name), "values": places, "tickvals": ticks, "ticktext": texts}
