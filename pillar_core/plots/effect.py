"""The effect of one thing that varies: a line per series over it, with intervals over seeds."""

import pandas as pd
import plotly.graph_objects as go

from pillar_core.plots import marks
from pillar_core.plots.theme import (
    INK,
    Mode,
    categorical,
    class_symbols,
    fade,
    finish,
    in_order,
    log_ticks,
    method_style,
    seeds_phrase,
)

DASHED = "non_private"


def effect(
    lines: pd.DataFrame,
    *,
    mode: Mode = "light",
    title: str,
    x_title: str = "",
    y_title: str = "test accuracy, %",
    x_log: bool = False,
    percent: bool = True,
    wanted_seeds: int | None = None,
) -> go.Figure:
    """Mean of each series over `x`, with its interval.

    lines: one row per series and place with columns series, method, x, mean, low, high, seeds, and optionally published; values in
    [0, 1] where `percent`. wanted_seeds: places with fewer are drawn open. A learner with one series has its own colour.
    """
    known = lines.dropna(subset=["mean"])
    figure = go.Figure()
    scale = 100.0 if percent else 1.0
    names = _series(known)
    for place, name in enumerate(names):
        rows = known[known["series"] == name]
        style = _style(known, rows, place, len(names), mode)
        _line(figure, rows.sort_values("x"), name, style, scale, wanted_seeds)
    if "published" in known:
        printed = known.dropna(subset=["published"])
        looks: marks.Looks = {
            "symbol": "diamond-open",
            "name": "published",
            "text": printed["series"],
            "hover": "%{text}: %{y:.1f} published",
        }
        marks.dots(figure, printed["x"], scale * printed["published"], INK[mode].text, size=13, **looks)
    ticks = log_ticks([float(x) for x in known["x"]]) if x_log and len(known) else None
    named = [f"{x:g}" for x in ticks] if ticks else None
    figure.update_xaxes(type="log" if x_log else "linear", tickvals=ticks, ticktext=named, title_text=x_title)
    figure.update_yaxes(title_text=y_title, ticksuffix=" ")
    figure.update_layout(legend={"orientation": "h", "y": -0.22})
    few = wanted_seeds is not None and bool((known["seeds"] < wanted_seeds).any())
    caption = f"{seeds_phrase(known['seeds'])}." + (f" Open marks: fewer than {wanted_seeds} seeds so far." if few else "")
    summary = "; ".join(f"{row.series} at {row.x}: {scale * float(row.mean):.3g}" for row in known.itertuples(index=False))  # type: ignore[arg-type]  # a column of numbers
    return finish(figure, title=title, caption=caption, alt=f"{title}. {y_title}: {summary}.", mode=mode, height=520)


def _series(known: pd.DataFrame) -> list[str]:
    """The series in the order of their learners, then of their rows."""
    first = known.drop_duplicates("series")
    return [name for method in in_order(first["method"]) for name in first.loc[first["method"] == method, "series"]]


def _style(known: pd.DataFrame, rows: pd.DataFrame, place: int, count: int, mode: Mode) -> dict[str, str]:
    method = str(rows["method"].iloc[0])
    style = method_style(method)
    if known.loc[known["method"] == method, "series"].nunique() == 1:
        return {"colour": style.colour(mode), "dash": style.dash, "symbol": style.symbol.removesuffix("-open")}
    dash = "dash" if method == DASHED else "solid"
    return {"colour": categorical(count, mode)[place], "dash": dash, "symbol": class_symbols(count)[place]}


def _line(figure: go.Figure, rows: pd.DataFrame, name: str, style: dict[str, str], scale: float, wanted_seeds: int | None) -> None:
    symbols = [style["symbol"] + ("-open" if wanted_seeds is not None and count < wanted_seeds else "") for count in rows["seeds"]]
    marks.line(
        figure,
        rows["x"],
        scale * rows["mean"],
        style["colour"],
        dash=style["dash"],
        error_y=marks.reach(rows, fade(style["colour"], 0.7), scale=scale, width=3),
        mode="lines+markers",
        name=name,
        marker={"symbol": symbols, "size": 9, "line": {"width": 1.6}},
        customdata=rows["seeds"],
        hover="%{fullData.name}: %{y:.3g} at %{x}, n = %{customdata}",
    )
