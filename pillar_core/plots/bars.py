"""Methods side by side: one bar each, intervals over seeds, published values where they exist."""

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from pillar_core.plots import marks
from pillar_core.plots.intervals import over_seeds
from pillar_core.plots.theme import INK, Mode, described, faded, in_order, method_style, seeds_phrase


def comparison(
    table: pd.DataFrame,
    *,
    mode: Mode = "light",
    titles: dict[str, str] | None = None,
    title: str = "Methods at one budget",
    levels: Mapping[str, float] | None = None,
) -> Any:
    """Mean test accuracy (percent) of each method with its interval and number of seeds, best first, each with its own marker.

    table: one row per run with columns method, seed, accuracy in [0, 1], and optionally published in [0, 1]. `titles`
    maps a method's name to its title for people. levels: accuracies by name to draw as lines through all.
    """
    means = over_seeds(table, by=["method"], value="accuracy", low=0, high=1).set_index("method").reindex(in_order(table["method"]))
    means = means.sort_values("mean", ascending=False, kind="stable")
    names = [str(name) for name in means.index]
    labels = [(titles or {}).get(name, name) for name in names]
    figure = go.Figure()
    figure.add_bar(
        x=100 * means["mean"],
        y=labels,
        orientation="h",
        name="measured",
        text=[_text(row) for row in means.itertuples()],
        textposition="inside",
        insidetextanchor="start",
        textfont={"size": 13},
        error_x=marks.reach(means, INK[mode].text, thickness=1.4, width=4),
        marker={
            "color": [faded(method_style(name).colour(mode), 0.75) for name in names],
            "cornerradius": 4,
            "line": {"color": [method_style(name).colour(mode) for name in names], "width": 1.5},
        },
        hovertemplate="%{y}: %{x:.1f} %<extra></extra>",
    )
    styles = [method_style(name) for name in names]
    symbols = {"symbol": [style.symbol for style in styles], "color": [style.colour(mode) for style in styles]}
    figure.add_scatter(
        x=100 * means["mean"],
        y=labels,
        mode="markers",
        marker={**symbols, "size": 11, "line": {"width": 1.5, "color": INK[mode].surface}},
        hoverinfo="skip",
        showlegend=False,
    )
    for place, (name, level) in enumerate(sorted((levels or {}).items(), key=lambda item: item[1])):
        ink = INK[mode].muted
        figure.add_vline(x=100 * level, line={"color": ink, "dash": "dot", "width": 1.4}, layer="below")
        above: dict[str, Any] = {"yref": "paper", "yanchor": "bottom", "yshift": 16 * place}
        marks.note(figure, 100 * level, 1, f"{name}: {100 * level:.1f} %", ink, size=12, **above)
    if "published" in table:
        published = table.groupby("method")["published"].first().reindex(names)
        marks.dots(
            figure,
            100 * published,
            labels,
            INK[mode].text,
            size=12,
            symbol="diamond-open",
            name="published",
            hover="%{y}: %{x:.1f} % published",
        )
    marks.names_axis(figure, labels)
    figure.update_layout(showlegend="published" in table)
    summary = "; ".join(f"{label} {100 * mean:.1f} percent" for label, mean in zip(labels, means["mean"], strict=True))
    said = {"title": title, "seeds": seeds_phrase(means["seeds"].fillna(0)), "summary": summary}
    drawn = described(figure, "comparison", mode=mode, height=170 + 46 * len(names), **said)
    return drawn.update_layout(margin_t=84 + 16 * len(levels or {}))


def _text(row: Any) -> str:
    spread = f" ± {50 * (row.high - row.low):.1f}" if math.isfinite(row.low) else ""
    return f"{100 * row.mean:.1f} %{spread}, n = {row.seeds:g}" if math.isfinite(row.mean) else ""
