"""The effect of one thing that varies: a line per series over it, with intervals over seeds; a
lesson's answer, marked where it stands."""

import math
from collections.abc import Mapping

import pandas as pd

from pillar_core.arrays import Json
from pillar_core.plots import marks
from pillar_core.plots.intervals import over_seeds
from pillar_core.plots.marks import Drawing
from pillar_core.plots.theme import (
    Figure,
    fade,
    in_order,
    log_ticks,
    method_style,
    seeds_phrase,
    told_apart,
)


def effect(
    lines: pd.DataFrame,
    *,
    title: str,
    x_title: str = "",
    y_title: str = "test accuracy, %",
    x_log: bool = False,
    percent: bool = True,
    wanted_seeds: int | None = None,
) -> Figure:
    """Mean of each series over `x`, with its interval.

    lines: one row per series and place with columns series, method, x, mean, low, high, seeds, and
    optionally published; values in [0, 1] where `percent`. wanted_seeds: places with fewer are
    drawn open. A learner with one series has its own colour.
    """
    known = lines.dropna(subset=["mean"])
    figure = Drawing()
    scale, fewest = 100.0 if percent else 1.0, wanted_seeds or 0
    series = lines.drop_duplicates("series").set_index("series")["method"]
    order = {name: place for place, name in enumerate(in_order(series))}
    series = series.sort_values(key=lambda methods: methods.map(order), kind="stable")
    for name, colour, symbol in told_apart(list(series.index)):
        rows = known[known["series"] == name].sort_values("x")
        style, dash = method_style(series[name]), "solid"
        if (series == series[name]).sum() == 1:
            colour, dash, symbol = style.colour, style.dash, style.symbol.removesuffix("-open")
        elif series[name] == "non_private":
            dash = "dash"
        if len(rows):
            figure.line(
                rows["x"],
                scale * rows["mean"],
                colour,
                dash=dash,
                hover="%{fullData.name}: %{y:.3g} at %{x}, n = %{customdata}",
                mode="lines+markers",
                name=name,
                marker={
                    "symbol": [
                        f"{symbol}-open" if count < fewest else symbol for count in rows["seeds"]
                    ],
                    "size": 9,
                    "line": {"width": 1.6},
                },
                error_y=marks.reach(rows, fade(colour, 0.7), scale=scale),
                customdata=rows["seeds"],
            )
    if "published" in known:
        printed = known.dropna(subset=["published"])
        figure.dots(
            printed["x"],
            scale * printed["published"],
            figure.ink.text,
            name="published",
            symbol="diamond-open",
            text=printed["series"],
            hover="%{text}: %{y:.1f} published",
        )
    axis: Json = {"type": "linear", "title_text": x_title}
    if x_log:
        axis = marks.log_axis(log_ticks([float(x) for x in known["x"]]), x_title)
    caption = f"{seeds_phrase(known['seeds'])}."
    if (known["seeds"] < fewest).any():
        caption += f" Open marks: fewer than {wanted_seeds} seeds so far."
    points = known["series"], known["x"], scale * known["mean"]
    summary = "; ".join(map("{} at {}: {:.3g}".format, *points))
    return figure.finish(
        title=title,
        caption=caption,
        alt=f"{title}. {y_title}: {summary}.",
        height=520,
        x=axis,
        y={"title_text": y_title, "ticksuffix": " "},
        showlegend=True,
    )


def accuracy_by(
    table: pd.DataFrame,
    *,
    x: str,
    label: str,
    title: str,
    present: str | float | None = None,
    words: Mapping[Json, str] | None = None,
    value: str = "accuracy",
    axis: str = "test accuracy, %",
    scale: float = 100,
    limit: str = "",
    caption: str = "Real images; every point was trained just now or earlier on this machine.",
) -> Figure:
    """Mean accuracy (percent) with intervals over seeds against one column: a line over numbers,
    bars over names.

    table: one row per run with columns `x`, seed, accuracy in [0, 1]. here: the value of `x` to
    mark. words: names of its values. Another `value` is drawn `scale` times as large along its own
    `axis`. limit: what the column of that name holds, as a dashed line.
    """
    means = over_seeds(table, by=[x], value=value, high=1 if scale == 100 else math.inf)
    means = means.assign(**{name: scale * means[name] for name in ("mean", "low", "high")})
    texts = dict(words or {})
    unit = " %" if scale == 100 else ""
    labels = [
        texts.get(value, f"{value:g}" if isinstance(value, int | float) else str(value))
        for value in means[x]
    ]
    figure = Drawing()
    places, is_here, has_ends = means[x], means[x] == present, means["low"].notna()
    percents = means["mean"].map(f"{{:.1f}}{unit}".format)
    top = means["mean"].max()
    if limit:
        bounds = scale * table.groupby(x)["limit"].mean()
        top = max(top, bounds.max())
        looks: marks.Looks = {"width": 1.8, "dash": "dash", "name": limit}
        hover = f"{limit}: %{{y:.3g}}{unit}"
        figure.line(labels if texts else places, bounds, figure.ink.muted, hover=hover, **looks)
    along: Json = {"categoryarray": list(texts.values()), "title_text": label}
    if texts:
        usual = fade(figure.ink.accent, 0.55)
        figure.add_bar(
            x=labels,
            y=means["mean"],
            marker_color=[figure.marked if marked else usual for marked in is_here],
            error_y=marks.reach(means, figure.ink.text, scale=1) if has_ends.any() else None,
            showlegend=False,
            text=percents,
            textfont={"color": figure.ink.text, "size": 16},
        )
    else:
        along = marks.log_axis(log_ticks([float(place) for place in places]), label)
        if has_ends.all():
            figure.band(places, means["low"], means["high"], figure.ink.accent, opacity=0.15)
        hover = f"%{{x:g}}: %{{y:.3g}}{unit}"
        line = places, means["mean"], figure.ink.accent
        figure.line(*line, mode="lines+markers", hover=hover)
        side = "left" if is_here.iloc[-1] else "center"
        figure.dots(
            places[is_here],
            means.loc[is_here, "mean"],
            figure.marked,
            size=17,
            symbol="star",
            text=percents[is_here],
            mode="markers+text",
            textposition=f"top {side}",
        )
    form = "{:.1f} percent" if unit else "{:.2g}"
    points = "; ".join(map(f"{form} at {{}}".format, means["mean"], labels))
    seeds = (
        f"{seeds_phrase(means['seeds'])}. "
        if "seed" in table and int(means["seeds"].max()) > 1
        else ""
    )
    alt = f"{axis.removesuffix(', %').capitalize()} by {label}: {points}."
    return figure.finish(
        title=title,
        caption=seeds + caption,
        alt=alt,
        height=400,
        x=along,
        # the mark's number needs room above it
        y={"title_text": axis, "rangemode": "tozero", "autorangeoptions_include": 1.1 * top},
        showlegend=bool(limit),
        legend={"yref": "paper", "y": 1.0},
    )


def total_budget(table: pd.DataFrame, *, present: int) -> Figure:
    """What repeated releases add up to: the plain sum of ε, and the upper bound that composition
    proves.

    table: columns releases, total, sum. here: the number of releases to mark.
    """
    figure = Drawing()
    lines = (
        ("sum", "plain sum of ε", figure.ink.muted, "dash"),
        ("total", "proved by composition", figure.ink.accent, "solid"),
    )
    for name, label, colour, dash in lines:
        words = f"%{{x}} models: ε = %{{y:.3g}}<extra>{label}</extra>"
        figure.line(
            table["releases"],
            table[name],
            colour,
            dash=dash,
            name=label,
            hover=words,
        )
    mark = table[table["releases"] == present]
    here = mark["releases"], mark["total"], figure.marked
    figure.dots(*here, size=14, symbol="star", name="here")
    columns = (table[name] for name in ("releases", "total", "sum"))
    words = "; ".join(map("{:g} models: {:.3g} instead of {:g}".format, *columns))
    return figure.finish(
        title="Budgets add up",
        caption=(
            "Gaussian releases: the proved total grows with the square root while budgets "
            "are small. Upper bounds, add or remove one row."
        ),
        alt=f"ε of repeated releases: {words}.",
        x="models released, each at the same ε",
        y={"title_text": "ε of all of them together", "rangemode": "tozero"},
    )
