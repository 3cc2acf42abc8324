"""Methods or choices side by side: measured bars with intervals, single seeds, and what is
expected; what each part of a training costs."""

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd

from pillar_core.arrays import Json
from pillar_core.errors import SettingError
from pillar_core.numerics import signed
from pillar_core.plots import marks
from pillar_core.plots.intervals import over_seeds
from pillar_core.plots.marks import Drawing
from pillar_core.plots.theme import (
    Figure,
    categorical,
    fade,
    in_order,
    method_style,
    seeds_phrase,
    told_apart,
)

_GAINS: dict[str, dict[str, Json]] = {
    "never_worse": {
        "title": "PILLAR Kalman with public rows from elsewhere",
        "caption": (
            "Against the better of DP-SGD and DP-RAFT without public rows, 20 seeds. Mean: 95 %"
            " interval over seeds. Worst: its interval holds for all 131 pairs of public rows and"
            " ε at once."
        ),
        "alt": (
            "Lead of PILLAR Kalman over the better of DP-SGD and DP-RAFT without public rows, in"
            " points"
        ),
        "x": {"title_text": "lead, points of balanced accuracy"},
    },
    "made_up": {
        "title": "PILLAR Kalman by what is public, against no public rows",
        "caption": (
            "Balanced accuracy above DP-RAFT, which has none; eleven tables that no constant was"
            " chosen on, 20 seeds. 95 % intervals over tables."
        ),
        "alt": "Gain of PILLAR Kalman over DP-RAFT without public rows, in points",
        "x": {"title_text": "gain over DP-RAFT, points"},
    },
    "labels": {
        "title": "Regret by labelled public rows of each class",
        "caption": (
            "Balanced accuracy, 34 sets, ε of 0.3, 1 and 3. 95 % intervals over sets. Smaller is"
            " better."
        ),
        "alt": "Points below the best of the other four learners",
        "x": {"title_text": "points below the best of the others"},
    },
    "world": {
        "title": "What PILLAR gains over DP-SGD, published and here",
        "caption": (
            "Other features and fewer rows here: compare the order, not the size. 95 % intervals"
            " over 5 seeds; the paper prints none."
        ),
        "alt": "Lead over DP-SGD, in points",
        "x": {"title_text": "lead over DP-SGD, points"},
    },
}
"""By question of `studies.open_questions` the words of its figure."""
_NARROWEST = 1.0
"""Points of accuracy that an axis of runs spans at least, each way."""


def comparison(
    table: pd.DataFrame,
    *,
    titles: Mapping[str, str] = {},
    title: str = "Methods at one budget",
    levels: Mapping[str, float] | None = None,
) -> Figure:
    """Mean test accuracy (percent) of each method with its interval and number of seeds, best
    first, each with its own marker.

    table: one row per run with columns method, seed, accuracy in [0, 1], and optionally published
    in [0, 1]. `titles` maps a method's name to its title for people. levels: accuracies by name to
    draw as lines through all.
    """
    means = (
        over_seeds(table, by=["method"], value="accuracy")
        .set_index("method")
        .reindex(in_order(table["method"]))
    )
    means = means.sort_values("mean", ascending=False, kind="stable")
    names = [str(name) for name in means.index]
    labels = [titles.get(name, name) for name in names]
    figure = Drawing()
    styles = [method_style(name) for name in names]
    colours = [style.colour for style in styles]
    percents = 100 * means["mean"]
    hides_levels = [figure.ink.surface] * len(labels)
    figure.bars(percents, labels, hides_levels, opacity=1, hover="")
    figure.bars(
        percents,
        labels,
        colours,
        opacity=0.35,
        hover="%{y}: %{x:.1f} %",
        text=[_text(row) for row in means.itertuples()],
        textfont={"size": 13, "color": figure.ink.text},
        error_x=means,
        marker_line_width=1.5,
        name="measured",
    )
    figure.dots(
        percents,
        labels,
        colours,
        edge=(1.5, figure.ink.surface),
        symbol=[style.symbol for style in styles],
    )
    for place, (name, level) in enumerate(sorted((levels or {}).items(), key=lambda item: item[1])):
        figure.rule(x=100 * level, layer="below")
        figure.note(
            100 * level,
            1,
            f"{name}: {100 * level:.1f} %",
            figure.ink.muted,
            size=12,
            yref="paper",
            yanchor="bottom",
            yshift=16 * place,
        )
    if "published" in table:
        published = table.groupby("method")["published"].first().reindex(names)
        hover = "%{y}: %{x:.1f} % published"
        figure.dots(
            100 * published,
            labels,
            figure.ink.text,
            symbol="diamond-open",
            name="published",
            hover=hover,
        )
    summary = "; ".join(map("{} {:.1f} percent".format, labels, percents))
    drawn = figure.finish(
        title=title,
        caption=f"{seeds_phrase(means['seeds'].fillna(0))}.",
        alt=f"Bar chart of test accuracy: {summary}.",
        height=170 + 46 * len(names),
        x={"title_text": "test accuracy, %", "rangemode": "tozero"},
        barmode="overlay",
        bargap=0.3,
    )
    return drawn.update_layout(margin_t=84 + 16 * len(levels or {}))


def _text(row: Any) -> str:
    spread = f" ± {50 * (row.high - row.low):.1f}" if math.isfinite(row.low) else ""
    return f"{100 * row.mean:.1f} %{spread}, n = {row.seeds:g}" if math.isfinite(row.mean) else ""


def expected(
    table: pd.DataFrame,
    *,
    title: str,
    chosen: str,
    caption: str,
    level: float | None = None,
) -> Figure:
    """What is expected (percent) by name, from above in the table's order; the chosen one stands
    out.

    table: columns name, mean, the prediction, low and high, in [0, 1]. level: what a dotted line
    marks.
    """
    figure = Drawing()
    colours = [figure.marked if name == chosen else figure.ink.accent for name in table["name"]]
    figure.dots(
        100 * table["mean"],
        table["name"],
        colours,
        hover="%{y}: %{x:.1f} %",
        mode="markers+text",
        text=[f"{100 * value:.0f}" for value in table["mean"]],
        textposition="top center",
        error_x=table,
        cliponaxis=False,
    )
    figure.names_axis(list(table["name"]))
    if level is not None:
        figure.rule(x=100 * level, layer="below")
    ends = table["name"], 100 * table["low"], 100 * table["high"]
    words = "; ".join(map("{} {:.0f} to {:.0f} percent".format, *ends))
    return figure.finish(
        title=title,
        caption=caption,
        alt=f"Expected: {words}.",
        height=190 + 46 * len(table),
        line=38,
        x="expected, %",
    )


def gains(table: pd.DataFrame, *, name: str) -> Figure:
    """Means with intervals in points, a row for each thing compared, around a line at 0; `name` is
    the question's.

    table: columns row, series, mean, low, high (NaN: no interval), in the order drawn.
    """
    figure = Drawing()
    rows = list(dict.fromkeys(table["row"]))
    names = list(dict.fromkeys(table["series"]))
    figure.rule(x=0)
    for place, (series, colour, symbol) in enumerate(told_apart(names)):
        part = table[table["series"] == series]
        heights = [
            rows.index(row) + 0.6 * ((place + 0.5) / len(names) - 0.5) for row in part["row"]
        ]
        reach = marks.reach(part, fade(colour, 0.7), scale=1)
        figure.dots(
            part["mean"],
            heights,
            colour,
            hover="%{text}, %{fullData.name}: %{x:+.1f} points",
            symbol=symbol,
            name=series,
            error_x=reach,
            text=part["row"],
        )
    figure.update_yaxes(
        showgrid=False,
        zeroline=False,
        tickvals=list(range(len(rows))),
        ticktext=rows,
        range=[len(rows) - 0.5, -0.5],
        ticksuffix="  ",
    )
    summary = "; ".join(
        f"{row}, {name}: {signed(mean)}"
        for row, name, mean in zip(table["row"], table["series"], table["mean"], strict=True)
    )
    words = _GAINS[name] | {"alt": f"{_GAINS[name]['alt']}: {summary}."}
    return figure.finish(**words, height=220 + 16 * len(rows) * len(names))


def overlay(runs: pd.DataFrame, lines: pd.DataFrame, *, labels: dict[str, str]) -> Figure:
    """Every seed as a dot and each setting's mean with its 95 % interval, in percent, one line per
    setting.

    runs: columns group, method, accuracy in [0, 1]; lines: columns group, method, mean, low, high;
    labels: words by group.
    """
    if not set(map(str, lines["group"])) <= set(labels):
        raise SettingError("labels must name every group of the lines.")
    figure = Drawing()
    for number, (group, line) in enumerate(lines.groupby("group", sort=False), 1):
        colour = method_style(str(line["method"].iloc[0])).colour
        accuracies = 100 * runs.loc[runs["group"] == group, "accuracy"].dropna()
        name = f"{number}. {labels[str(group)]}"
        figure.dots(
            accuracies,
            [name] * len(accuracies),
            fade(colour, 0.4),
            size=7,
            hover="%{x:.1f} %<extra>one seed</extra>",
        )
        figure.dots(
            100 * line["mean"],
            [name],
            colour,
            symbol="diamond",
            edge=(1, figure.ink.text),
            hover="%{x:.1f} %<extra>mean</extra>",
            error_x=marks.reach(line, figure.ink.text),
        )
    ends = 100 * pd.concat([lines[name] for name in ("mean", "low", "high")] + [runs["accuracy"]])
    if (
        ends.max() - ends.min() < _NARROWEST
    ):  # else equal means, which differ in their last bits alone, are drawn apart
        figure.update_xaxes(range=[ends.mean() - _NARROWEST, ends.mean() + _NARROWEST])
    best = lines.sort_values("mean").iloc[-1]
    return figure.finish(
        title="Chosen runs",
        caption="Dots are seeds, diamonds means, bars 95 % intervals.",
        alt=(
            f"{len(lines)} settings side by side; the best mean is {100 * best['mean']:.1f} "
            f"%, {labels[str(best['group'])]}."
        ),
        height=130 + 44 * len(lines),
        x="test accuracy, %",
        y={"autorange": "reversed", "automargin": True},
    )


def part_costs(table: pd.DataFrame, *, measure: str = "accuracy") -> Figure:
    """A bar a part in points of a measure of test rows, each where the one before ended, with
    intervals; last what is left.

    table: columns title, mean, low, high, left, seeds, in the order of the parts; shares in [−1,
    1].
    """
    figure = Drawing()
    reached = 100 * float(table["left"].iloc[-1])
    names = [
        f"{title.replace(', ', ',<br>')}: {signed(-100 * mean)}"
        for title, mean in zip(table["title"], table["mean"], strict=True)
    ]
    lowest = 100 * float(
        (table["left"] + table["mean"] - table["high"].fillna(table["mean"])).min()
    )
    figure.bars(
        [*(100 * table["mean"]), reached],
        [*names, f"Left: {reached:.1f} %"],
        [*categorical(len(table)), figure.ink.muted],
        opacity=0.6,
        marker_line_width=1.5,
        hover="%{y}",
        base=[*(100 * table["left"]), 0],
        marker_cornerradius=0,
    )
    figure.dots(100 * table["left"], names, None, size=1, marker_opacity=0, error_x=table)
    return figure.finish(
        title="What did each part cost?",
        caption=(
            f"{seeds_phrase(table['seeds'])}, pairs of equal seed. From 100 % down; each bar "
            "starts where the one above ended."
        ),
        alt=(f"Points of test {measure} by part. {'; '.join(names)}; left {reached:.1f} percent."),
        height=380,
        x={"range": [max(0.0, lowest - 10), 102], "title_text": f"test {measure}, %"},
    )
