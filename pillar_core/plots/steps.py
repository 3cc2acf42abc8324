"""A private training as an animation: rows and decision regions in two directions, a sum without
and with its noise as arrows."""

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from pillar_core.arrays import Array
from pillar_core.plots.marks import Drawing
from pillar_core.plots.theme import Figure, categorical, fade, told_apart

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
) -> Figure:
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
    for name, colour, symbol in told_apart(classes):
        rows = points[points["class"] == name]
        if len(rows):
            looks = {"size": 5, "symbol": symbol, "marker_opacity": 0.8, "name": name}
            figure.dots(rows["x"], rows["y"], colour, hover=name, row=1, col=1, **looks)
    still = len(figure.data)
    states = [
        _state(heads[step], pushes.iloc[step], reach, scale, noise) for step in range(len(heads))
    ]
    figure.add_traces(states[0], rows=1, cols=[1, 1, 1, 1, 2])
    side = {
        "range": [-reach, reach],
        "showgrid": False,
        "showticklabels": False,
        "constrain": "domain",
    }
    figure.update_xaxes(**side, title_text="first public direction", col=1)
    figure.update_yaxes(**side, scaleanchor="x", title_text="second public direction", col=1)
    figure.update_xaxes(title_text="sum's length", col=2)
    figure.update_yaxes(range=[0, 1.08 * float(pushes[["clean", "noise"]].to_numpy().max())], col=2)
    traces = list(range(still, len(figure.data)))
    figure.frames = [
        go.Frame(data=state, traces=traces, name=str(step))
        for step, state in zip(pushes["step"], states, strict=True)
    ]
    _controls(figure)
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
        legend={"itemsizing": "constant"},
    )


def _state(
    head: Array, push: "pd.Series[float]", reach: float, scale: float, noise: float
) -> tuple[object, ...]:
    """Regions, the noise's circle, both arrows and the bars of their lengths after one step."""
    drawn = Drawing()
    side = np.linspace(-reach, reach, _GRID)
    colours = categorical(len(head))
    x, y = np.meshgrid(side, side)
    classes = np.argmax(head @ np.stack([x.ravel(), y.ravel()]), axis=0)
    bands = [
        [(index + end) / len(colours), fade(colour, 0.18)]
        for index, colour in enumerate(colours)
        for end in (0, 1)
    ]
    drawn.add_heatmap(
        x=side,
        y=side,
        z=classes.astype(np.uint8).reshape(x.shape),
        zmin=-0.5,
        zmax=len(colours) - 0.5,
        colorscale=bands,
        showscale=False,
        hoverinfo="skip",
    )
    turn = np.linspace(0, 2 * math.pi, _CIRCLE)
    circle = (
        scale * (push["clean_x"] + noise * np.cos(turn)),
        scale * (push["clean_y"] + noise * np.sin(turn)),
    )
    drawn.line(*circle, drawn.marked, width=1.4, dash="dot")
    for which, colour, words in (
        ("clean", drawn.ink.text, "what the rows say"),
        ("noisy", drawn.marked, "what the head is told"),
    ):
        marker = {"color": colour, "symbol": "arrow", "size": [0, 15], "angleref": "previous"}
        ends = [0, scale * push[f"{which}_x"]], [0, scale * push[f"{which}_y"]]
        drawn.line(*ends, colour, width=4, mode="lines+markers", marker=marker, hover=words)
    lengths = [float(push["clean"]), float(push["noise"])]
    drawn.add_bar(
        x=("rows", "noise"),
        y=lengths,
        text=[f"{length:.3g}" for length in lengths],
        marker={"color": [drawn.ink.text, drawn.marked]},
        cliponaxis=False,
        hoverinfo="skip",
        showlegend=False,
        textposition="auto",
    )
    return tuple(drawn.data)


def _controls(figure: Drawing) -> None:
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
        "font": {"color": figure.ink.text},
        "bgcolor": figure.ink.surface,
    }
    slider = {"steps": steps, "active": 0, "x": 0.24, "len": 0.76, **place}
    slider["currentvalue"] = {"prefix": "step "}
    figure.update_layout(updatemenus=[menu], sliders=[slider])
