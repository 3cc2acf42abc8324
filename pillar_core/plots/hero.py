"""The picture on the front page: why fewer directions make a private model better."""

import math

import pandas as pd
import plotly.graph_objects as go

from pillar_core import checks
from pillar_core.errors import DataError
from pillar_core.params import EPSILON
from pillar_core.plots import k_curves
from pillar_core.plots.intervals import best, runs_without_k
from pillar_core.plots.marks import Drawing
from pillar_core.plots.theme import (
    Mode,
    end_labels,
    epsilon_colour,
    epsilon_label,
    fade,
    seeds_phrase,
)

_ROOM = 5
"""Points from which a gain is told without a decimal, and has room for an arrow."""


def learning_hero(
    table: pd.DataFrame,
    *,
    mode: Mode = "light",
    method: str = "pillar",
    epsilon: float | None = None,
    data: str = "",
) -> go.Figure:
    """Accuracy over k at one budget, bold, the rest faint; levels of other learners, and what
    projecting gains.

    table: one row per run with columns method, k, epsilon, seed, accuracy in [0, 1]. `epsilon`
    chooses the bold curve, that of the nearest budget (None: the tightest). `data` names the data
    set. The words beside the curve say what it shows: "too few" and "too many" stand only where the
    interval of that end lies below the best point.
    """
    checks.within(epsilon=(epsilon, EPSILON))
    curves = {
        epsilon: curve
        for epsilon, curve in k_curves.by_budget(table, method).items()
        if math.isfinite(epsilon)
    }
    if not curves:
        raise DataError(f"the table needs runs of {method!r} with a k, within a finite ε, to draw.")
    points = pd.concat(curves.values())
    near = min(curves) if epsilon is None else min(epsilon, max(curves))
    tight = min(curves, key=lambda budget: abs(math.log(budget / near)))
    figure = Drawing(mode=mode)
    for epsilon, curve in reversed(curves.items()):
        _line(figure, curve, epsilon=epsilon, bold=epsilon == tight)
    main = curves[tight]
    top = best(main)
    low_level = _mean(table[(table["method"] == k_curves.FLOOR) & (table["epsilon"] == tight)])
    top_level = _mean(runs_without_k(table, k_curves.CEILING))
    span = (float(main["k"].min()), float(main["k"].max()))
    ends = [k_curves.end(curve, epsilon, mode) for epsilon, curve in curves.items()]
    public_level = _mean(table[table["method"] == k_curves.PUBLIC_ALONE])
    for words, share, dash in (
        ("without projection", low_level, "dot"),
        ("no privacy", top_level, "dash"),
        ("public rows alone", public_level, "dashdot"),
    ):
        if share is not None:
            ends += k_curves.level(
                figure,
                100 * share,
                span=span,
                label=f"{words} {100 * share:.0f} %",
                colour=figure.ink.muted,
                dash=dash,
                width=1.4,
            )
    low, high = (
        100 * float(end)
        for end in (points["low"].fillna(points["mean"]).min(), points["mean"].max())
    )
    high = max(high, *(y for _, y, _, _ in ends))
    lead = 0.0 if low_level is None else 100 * (float(top["mean"]) - low_level)
    bold = (
        f"{epsilon_label(tight)}: {100 * top['mean']:.0f} % at k ="
        f" {top['k']:g}{f'<br>+{lead:.0f} points' if lead >= _ROOM else ''}"
    )
    ends = [(*end[:2], bold, end[3]) if end[2] == epsilon_label(tight) else end for end in ends]
    end_labels(figure, ends, low=low, high=high, bold=bold, height=250)
    _story(figure, main, top=top, lead=lead)
    title = "k: how many directions, learned from public data, the private training may use"
    k_curves.k_axis(figure, [float(k) for k in main["k"]], title=title)
    figure.update_xaxes(range=k_curves.axis_range(span))
    figure.update_yaxes(
        tickvals=list(range(0, 101, 10)),
        range=[low - (margin := 0.06 * (high - low)), high + margin],
    )
    rivals = _rivals(float(top["mean"]), low_level, public_level)
    gain = "" if low_level is None else _gain(lead)
    fall = (
        ", and falls after it: too many directions add noise"
        if _is_below(main.iloc[-1], top)
        else ""
    )
    drawn = figure.finish(
        title="How many directions to keep?",
        caption=(
            f"{data}{'. ' if data else ''}Test accuracy, {seeds_phrase(points['seeds'])}. Best at "
            f"{epsilon_label(tight)}: {100 * top['mean']:.0f} % at k = {top['k']:g}{gain}. "
            f"{rivals}"
        ),
        alt=(
            f"At {epsilon_label(tight)}, accuracy rises with k to {100 * top['mean']:.1f} "
            f"percent at k = {top['k']:g}{gain}{fall}."
        ),
        y="test accuracy, %",
        showlegend=False,
        margin_r=228,
    )
    return drawn.update_layout(margin_t=drawn.layout.margin.t + 20)


def _gain(points: float) -> str:
    """How far above or below the level without projection the best point lies, in words."""
    size = f"{abs(points):.{int(abs(points) < _ROOM)}f} points {'above' if points > 0 else 'below'}"
    return f", {'as good as' if size.startswith('0.0') else size} training without projection"


def _rivals(reached: float, low_level: float | None, public_level: float | None) -> str:
    """Which of the two levels the best point does not beat, and what that means."""
    lines = [
        (
            ""
            if low_level is None or reached > low_level
            else "Here projecting does not help: all directions do as well."
        )
    ]
    if public_level is not None:
        alone = f"With labels, the public rows alone reach {100 * public_level:.0f} %"
        lines.append(
            f"{alone}: where yours have labels, use them."
            if public_level >= reached
            else f"{alone}."
        )
    return " ".join(filter(None, lines))


def _is_below(point: pd.Series, top: pd.Series) -> bool:
    """Whether a point's whole interval lies below the best mean; where one seed was run, its
    mean."""
    return bool((point["mean"] if pd.isna(point["high"]) else point["high"]) < top["mean"])


def _line(figure: Drawing, curve: pd.DataFrame, *, epsilon: float, bold: bool) -> None:
    colour = epsilon_colour(epsilon, figure.mode)
    k_curves.band(figure, curve, colour, opacity=0.2 if bold else 0.08)
    figure.line(
        curve["k"],
        100 * curve["mean"],
        colour if bold else fade(colour, 0.75),
        shape="spline",
        smoothing=0.5,
        mode="lines+markers" if bold else "lines",
        width=3.6 if bold else 2,
        marker={"size": 7, "color": colour},
        hover="k = %{x}: %{y:.1f} %<extra>" + epsilon_label(epsilon) + "</extra>",
    )


def _story(figure: Drawing, main: pd.DataFrame, *, top: pd.Series, lead: float) -> None:
    """The marks that make the curve readable without any text around it; words stand above the
    plot, where nothing is drawn."""
    ink = figure.ink
    x = math.log10(top["k"])
    y = 100 * float(top["mean"])
    figure.dots([top["k"]], [y], ink.accent, size=18, symbol="circle", edge=(3, ink.surface))
    if lead >= _ROOM:
        figure.add_annotation(
            x=x,
            y=y - 1.2,
            ax=x,
            ay=y - lead,
            text="",
            axref="x",
            ayref="y",
            arrowhead=2,
            arrowsize=1.1,
            arrowwidth=1.6,
            arrowcolor=ink.accent,
        )
    for place, text, side in (
        (0, "too few directions:<br>signal is lost", "left"),
        (1, "too many:<br>noise wins", "right"),
    ):
        if _is_below(main.iloc[-place], top):
            figure.note(
                place,
                1,
                f"<i>{text}</i>",
                ink.muted,
                xref="paper",
                yref="paper",
                xanchor=side,
                yanchor="bottom",
                align=side,
            )


def _mean(rows: pd.DataFrame) -> float | None:
    values = rows["accuracy"].dropna()
    return float(values.mean()) if len(values) else None
