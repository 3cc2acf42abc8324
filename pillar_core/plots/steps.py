"""A private training as an animation: rows and decision regions in two directions, a sum without
and with its noise as arrows."""

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from pillar_core.arrays import Array
from pillar_core.plots import marks
from pillar_core.plots.marks import Drawing
from pillar_core.plots.theme import Ink, categorical, current_ink, current_mode, fade, told_apart

_GRID, _REACH, _CIRCLE = 64, 0.85, 40
_FASTEST, _SLOWEST, _WHOLE = 100, 700, 4000
"""Milliseconds of a step, at least and at most, and of all together."""


def training_in_steps(
    points: pd.DataFrame,
    heads: Array,
    pushes: pd.DataFrame,
    *,
    noise: float,
    pushed: str,
    classes: Sequence[str],
) -> go.Figure:
    """Frames, one a step, with buttons to play and a slider.

    points: columns x, y, class. heads: (T, C, 2) weights after each step. pushes: one row a step,
    columns step, clean_x, clean_y, noisy_x, noisy_y (where the head of class `pushed` is moved),
    clean, noise (lengths over everything that a step sums). noise: the standard deviation of each
    number.
    """
    reach = 1.08 * float(np.abs(points[["x", "y"]].to_numpy()).max())
    longest = np.hypot(
        pushes[["clean_x", "noisy_x"]].to_numpy(), pushes[["clean_y", "noisy_y"]].to_numpy()
    ).max()
    scale = _REACH * reach / max(float(longest), 1e-12)
    figure = make_subplots(figure=Drawing(), cols=2, column_widths=[3, 1], horizontal_spacing=0.12)
    side = {
        "range": [-reach, reach],
        "showgrid": False,
        "showticklabels": False,
        "constrain": "domain",
    }
    still = _rows(points, classes)
    for trace in (*still, *_moving(heads, pushes, 0, reach, scale, noise)):
        figure.add_trace(trace, row=1, col=1)
    figure.update_xaxes(**side, title_text="first public direction", col=1)
    figure.update_yaxes(**side, scaleanchor="x", title_text="second public direction", col=1)
    figure.add_trace(_lengths(pushes, 0), row=1, col=2)
    figure.update_xaxes(title_text="sum's length", col=2)
    figure.update_yaxes(range=[0, 1.08 * float(pushes[["clean", "noise"]].to_numpy().max())], col=2)
    figure.frames = [
        go.Frame(
            data=[
                *_moving(heads, pushes, step, reach, scale, noise),
                _lengths(pushes, step),
            ],
            traces=list(range(len(still), len(figure.data))),
            name=str(int(pushes["step"].iloc[step])),
        )
        for step in range(len(heads))
    ]
    _controls(figure, current_ink())
    ratio = float((pushes["noise"] / pushes["clean"].clip(lower=1e-12)).median())
    return figure.finish(
        title="Watch the noise",
        caption=(
            f"Arrows: where rows push the score of “{pushed}”, without noise and with it "
            "(orange; circle: standard deviation). Over all classes and directions, the "
            f"noise of the median step is {ratio:.2g} times its signal; the bars are the step "
            "shown. Shaded: predicted class."
        ),
        alt=(
            f"{len(heads)} steps of a private training in two directions; in the median one "
            f"the noise is {ratio:.2g} times as long as the sum of the rows."
        ),
        height=620,
        legend={"itemsizing": "constant", "yref": "container", "y": 0, "yanchor": "bottom"},
    )


def _rows(points: pd.DataFrame, classes: Sequence[str]) -> list[go.Scatter]:
    """The rows of each class."""
    return [
        go.Scatter(
            x=rows["x"],
            y=rows["y"],
            mode="markers",
            marker={"size": 5, "opacity": 0.8, "color": colour, "symbol": symbol},
            name=name,
            hovertemplate=f"{name}<extra></extra>",
        )
        for name, colour, symbol in told_apart(classes)
        if len(rows := points[points["class"] == name])
    ]


def _moving(
    heads: Array,
    pushes: pd.DataFrame,
    step: int,
    reach: float,
    scale: float,
    noise: float,
) -> list[object]:
    """Regions, the noise's circle and both arrows after one step."""
    side = np.linspace(-reach, reach, _GRID)
    colours = categorical(heads.shape[1])
    x, y = np.meshgrid(side, side)
    named = (
        np.argmax(heads[step] @ np.stack([x.ravel(), y.ravel()]), axis=0)
        .astype(np.uint8)
        .reshape(x.shape)
    )
    bands = [
        [(index + end) / len(colours), fade(colour, 0.18)]
        for index, colour in enumerate(colours)
        for end in (0, 1)
    ]
    regions = go.Heatmap(
        x=side,
        y=side,
        z=named,
        zmin=-0.5,
        zmax=len(colours) - 0.5,
        colorscale=bands,
        showscale=False,
        hoverinfo="skip",
    )
    push = pushes.iloc[step] * scale
    turn = np.linspace(0, 2 * math.pi, _CIRCLE)
    dotted = {"color": marks.MARKED[current_mode()], "width": 1.4, "dash": "dot"}
    around = go.Scatter(
        x=push["clean_x"] + scale * noise * np.cos(turn),
        y=push["clean_y"] + scale * noise * np.sin(turn),
        mode="lines",
        line=dotted,
        hoverinfo="skip",
        showlegend=False,
    )
    arrows = []
    for which, colour, words in (
        ("clean", current_ink().text, "what the rows say"),
        ("noisy", marks.MARKED[current_mode()], "what the head is told"),
    ):
        marker = {"color": colour, "symbol": "arrow", "size": [0, 15], "angleref": "previous"}
        arrows.append(
            go.Scatter(
                x=[0, push[f"{which}_x"]],
                y=[0, push[f"{which}_y"]],
                line={"color": colour, "width": 4},
                mode="lines+markers",
                marker=marker,
                hovertemplate=f"{words}<extra></extra>",
                showlegend=False,
            )
        )
    return [regions, around, *arrows]


def _lengths(pushes: pd.DataFrame, step: int) -> go.Bar:
    values = [float(pushes["clean"].iloc[step]), float(pushes["noise"].iloc[step])]
    colours = [current_ink().text, marks.MARKED[current_mode()]]
    text = [f"{value:.3g}" for value in values]
    marker = {"color": colours}
    return go.Bar(
        x=("rows", "noise"),
        y=values,
        text=text,
        marker=marker,
        cliponaxis=False,
        hoverinfo="skip",
        showlegend=False,
        textposition="auto",
    )


def _controls(figure: Drawing, ink: Ink) -> None:
    """Play, pause and a slider over the frames, below the picture."""
    pace = min(max(_WHOLE / len(figure.frames), _FASTEST), _SLOWEST)
    going = {"frame": {"duration": pace, "redraw": True}, "transition": {"duration": 0}}
    still = {
        "frame": {"duration": 0, "redraw": True},
        "transition": {"duration": 0},
        "mode": "immediate",
    }
    buttons = [
        {"label": "▶ Play", "method": "animate", "args": [None, {**going, "fromcurrent": True}]},
        {"label": "❚❚ Pause", "method": "animate", "args": [[None], still]},
    ]
    steps = [
        {"label": frame.name, "method": "animate", "args": [[frame.name], still]}
        for frame in figure.frames
    ]
    place = {"y": -0.12, "yanchor": "top", "pad": {"t": 26}}

    menu = {
        "buttons": buttons,
        "type": "buttons",
        "direction": "left",
        "x": 0,
        "xanchor": "left",
        "showactive": False,
        **place,
        "font": {"color": ink.text},
        "bgcolor": ink.surface,
    }
    slider = {
        "steps": steps,
        "active": 0,
        "x": 0.24,
        "len": 0.76,
        "currentvalue": {"prefix": "step "},
        **place,
    }
    figure.update_layout(updatemenus=[menu], sliders=[slider])
