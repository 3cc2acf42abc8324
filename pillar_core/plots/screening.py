"""Figures of screening: the ranking with its nulls, angles, spectra, pairs of sets, scores beside
accuracy, and what training changes."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pandas as pd

from pillar_core.numerics import round_up
from pillar_core.plots import marks
from pillar_core.plots.intervals import over_seeds
from pillar_core.plots.marks import Drawing
from pillar_core.plots.theme import (
    ACCURACY_SCALE,
    Figure,
    epsilon_colour,
    epsilon_label,
    fade,
    seeds_phrase,
    told_apart,
)

if TYPE_CHECKING:
    Row = pd.Series[Any]
else:  # a Series takes no parameters at run time, and the public face reads annotations
    Row = pd.Series
ROOM_FOR_NAMES = 0.3
"""Of the points' spread, right of the last, for the name beside it."""
VERBS = {
    False: ("lies nearest to", "seems nearest to", "may tie as nearest to"),
    True: tuple(
        f"{verb} the largest share of the class signal of"
        for verb in ("keeps", "seems to keep", "may tie for")
    ),
}
"""What the first candidate does to the private set: by a distance, and by the share of the class
signal that it keeps."""


class ScoreAxis(Protocol):
    """What a figure reads of a score (a `screening.Score`)."""

    @property
    def unit(self) -> str: ...
    @property
    def null(self) -> float: ...
    @property
    def is_on_unit_axis(self) -> bool: ...
    @property
    def is_subspace_distance(self) -> bool: ...


def ranking(
    table: pd.DataFrame,
    *,
    score: ScoreAxis | None = None,
    titles: Mapping[str, str] = {},
    private: str = "the private set",
    random_subspaces: float | None = None,
    noise_images: str = "",
    yardstick: str = "",
) -> Figure:
    """One score's candidates, best on top: value, interval, and the values that tell nothing
    (dotted lines).

    The class signal is drawn as the share that a candidate keeps, in percent: 100 · (1 − value).

    table: rows of one score as `screening.screen` returns them; `score`: its entry in the registry.
    `noise_images` names the candidate that is noise, `yardstick` the one that is no public set:
    both are drawn in grey, and neither can be the title's nearest.
    """
    is_kept = _is_kept(score)
    names = list(table.sort_values("rank")["public"])
    labels = [titles.get(name, name) for name in names]
    rows = _shown(table.set_index("public").loc[names], score)
    form = "{:z.0f} %" if is_kept else "{:.2f}"
    figure = Drawing()
    ink = figure.ink
    real = [name for name in names if name != yardstick] or names
    for name, label in zip(names, labels, strict=True):
        row, value = rows.loc[[name]], float(rows.loc[name, "value"])
        high, rank = rows.loc[name, "high"], rows.loc[name, "rank"]
        is_first, words = name == real[0], form.format(value)
        colour = ink.muted if name in (noise_images, yardstick) else ink.accent
        figure.line([0, value], [label, label], fade(colour, 0.28), width=9)
        figure.dots(
            [value],
            [label],
            colour,
            size=15 if is_first else 12,
            symbol="diamond" if is_first else "circle",
            hover=f"<b>{label}</b><br>{words}{_ends(rows.loc[name], form)}<br>rank {rank:.0f}",
            error_x=marks.reach(row, ink.text, value="value", scale=1),
        )
        figure.note(
            high if math.isfinite(high) else value,
            label,
            words,
            ink.text,
            size=14,
            weight=700 if is_first else 500,
            bgcolor=ink.surface,
            xanchor="left",
            xshift=12,
        )
    ends = rows[["value", "low", "high"]].to_numpy().ravel()
    span: list[float] | None = None
    if score is not None and score.is_on_unit_axis:
        known = [end for end in (*ends, random_subspaces) if end is not None and math.isfinite(end)]
        spread = max(max(known) - min(known), 0.01)
        span = [max(0, min(known) - spread / 4), max(known) + ROOM_FOR_NAMES * spread]
    elif is_kept:
        span = [min(0.0, rows["value"].min()), (1 + ROOM_FOR_NAMES / 2) * np.nanmax(ends)]
    if random_subspaces is not None and score is not None and score.is_subspace_distance:
        figure.rule(x=random_subspaces)
        place: marks.Looks = {"yref": "paper", "yanchor": "bottom", "xanchor": "right"}
        figure.note(random_subspaces, 1, "random subspaces", ink.muted, size=12, **place)
    figure.names_axis(labels, tickfont={"size": 14, "color": ink.text})
    verdict = _verdict(
        rows.loc[real],
        [labels[names.index(name)] for name in real],
        table.attrs.get("rivals"),
        is_kept,
    )
    budget = float(table["epsilon_upper"].iloc[0])
    cost = (
        f"One release at ε ≤ {round_up(budget, 3)} ranks them all. "
        if math.isfinite(budget)
        else "Reads private rows without noise. "
    )
    intervals = "95 % intervals" if rows["low"].notna().all() else "One draw: no interval"
    summary = "; ".join(map(f"{{}} {form}".format, labels, rows["value"]))
    return figure.finish(
        title=f"{verdict} {private}",
        caption=f"{cost}{intervals}, up to {int(rows['n_examples'].max()):,} rows of each set.",
        alt=f"Scores of {len(names)} public sets, best first: {summary}.",
        height=190 + 44 * len(names),
        x={"title_text": _axis_title(score, table), "rangemode": "tozero", "range": span},
    )


def angles(table: pd.DataFrame, *, titles: Mapping[str, str] = {}) -> Figure:
    """Principal angles with the private directions, one line a set. table: columns public, index,
    degrees."""
    figure = lines_of_sets(
        table,
        by="public",
        x="index",
        y="degrees",
        titles=titles,
        hover="direction %{x}: %{y:.0f}°",
    )
    means = table.groupby("public")["degrees"].mean().sort_values()
    summary = "; ".join(
        f"{titles.get(str(name), str(name))} {value:.0f}" for name, value in means.items()
    )
    return figure.finish(
        title="How many directions are shared",
        caption="Near 0° a direction is shared, at 90° it is lost. One draw of rows: no interval.",
        alt=(
            "Principal angles between public and private gradient directions; mean degrees: "
            f"{summary}."
        ),
        line=70,
        x="direction, smallest angle first",
        y={"title_text": "angle, degrees", "range": [0, 93], "dtick": 30},
    )


def gradient_spectra(
    table: pd.DataFrame,
    *,
    titles: Mapping[str, str] = {},
    k: int | None = None,
) -> Figure:
    """Singular values of the gradients as shares of the largest, logarithmic. table: columns set,
    index, value."""
    words = "direction %{x}: %{y:.3g} of the largest"
    positive = table[table["value"] > 0]
    figure = lines_of_sets(positive, by="set", x="index", y="value", titles=titles, hover=words)
    if k is not None:
        figure.rule(x=k)
    marked = f"; dotted: k = {k}" if k else ""
    return figure.finish(
        title="How quickly gradients run out of directions",
        caption=(
            f"Singular values of per-example gradients at the start{marked}. One draw: no interval."
        ),
        alt=(
            f"Singular values of gradients of {table['set'].nunique()} sets, falling over "
            f"{int(table['index'].max())} directions."
        ),
        line=70,
        x={"type": "log", "title_text": "direction (log scale)", "dtick": 1},
        y={
            "type": "log",
            "title_text": "singular value / largest",
            "dtick": 1,
            "exponentformat": "power",
        },
    )


def distance_map(table: pd.DataFrame, *, titles: Mapping[str, str] = {}) -> Figure:
    """All pairs of sets as a heatmap, similar sets side by side. table: columns first, second,
    value in [0, 1]."""
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    square = table.pivot(index="first", columns="second", values="value")
    square = square.loc[square.index, square.index]
    order = list(range(len(square)))
    if len(square) > 2:
        order = leaves_list(
            linkage(squareform(square.to_numpy(), checks=False), "average", optimal_ordering=True)
        ).tolist()
    names = [square.index[place] for place in order]
    labels = [titles.get(name, name) for name in names]
    values = square.loc[names, names].to_numpy()
    scale = [[1 - float(place), colour] for place, colour in reversed(ACCURACY_SCALE)]
    figure = Drawing()
    figure.cells(
        labels,
        labels,
        values,
        hover="%{y} – %{x}: %{z:.3f}",
        zmin=0,
        zmax=1,
        colorscale=scale,
        texttemplate="%{z:.2f}",
    )
    return figure.finish(
        title="Which sets resemble each other",
        caption=(
            "Gradient subspace distance of every pair, similar sets side by side. One draw "
            "of rows: no interval."
        ),
        alt=(f"Heatmap of distances between {len(names)} sets, in the order {', '.join(labels)}."),
        height=480,
        line=70,
        x={"showgrid": False, "tickangle": -30},
        y={"showgrid": False, "autorange": "reversed"},
    )


def score_against_accuracy(
    table: pd.DataFrame,
    accuracy: pd.DataFrame,
    agreement: Row,
    *,
    score: ScoreAxis | None = None,
    titles: Mapping[str, str] = {},
    baseline: float | None = None,
    learner: str = "",
) -> Figure:
    """Measured accuracy (percent), or what `accuracy.attrs` says under measure, against one score,
    a point a public set; `agreement`: its row with spearman, p_value, sets; baseline: the mean
    without public data; learner: what was trained, for people."""
    means = over_seeds(accuracy, by=["public"], value="accuracy").set_index("public")
    rows = _shown(table[table["public"].isin(means.index)].sort_values("rank"), score)
    figure = Drawing()
    for public, colour, symbol in told_apart(list(rows["public"])):
        row = rows[rows["public"] == public].iloc[0]
        measured = means.loc[[public]]
        label = titles.get(public, public)
        hover = f"{label}<br>score %{{x:.3f}}<br>accuracy %{{y:.1f}} %"
        figure.dots(
            [row["value"]],
            [100 * float(measured["mean"].iloc[0])],
            colour,
            hover=hover,
            symbol=symbol,
            mode="markers+text",
            text=[f"  {label}"],
            textposition="middle right",
            error_y=measured,
        )
    if baseline is not None:
        figure.rule(y=100 * baseline, words="no public data")
    span = max(float(rows["value"].max() - rows["value"].min()), 1e-9)
    measure = str(accuracy.attrs.get("measure", "accuracy")).replace("auc", "AUC")
    of_learner = f" of {learner}" if learner else ""
    verdict = (
        f"Spearman {agreement['spearman']:.2f}, permutation p = {agreement['p_value']:.3f},"
        f" {agreement['sets']:.0f} sets"
    )
    return figure.finish(
        title="Does the ranking predict accuracy?",
        caption=(
            f"{verdict}. A handful of sets proves little. Accuracy is a non-private "
            "measurement on test rows."
        ),
        alt=f"Scatter of accuracy against score for {len(rows)} public sets. {verdict}.",
        line=90,
        x={
            "title_text": _axis_title(score, table),
            "range": [
                rows["value"].min() - 0.06 * span,
                rows["value"].max() + ROOM_FOR_NAMES * span,
            ],
        },
        y=f"test {measure}{of_learner} with it, %",
    )


def public_rows(table: pd.DataFrame, *, titles: Mapping[str, str] = {}) -> Figure:
    """Accuracy against the number of public rows, near and foreign ones, each ε in its colour, with
    theory's n·ε as dashes.

    table: columns private, n_private, public, n_public, epsilon, seed, accuracy of one private set.
    titles: of the sets.
    """
    figure = Drawing()
    summary = []
    words = dict(titles)
    private = table["private"].iloc[0]
    n_private = int(table["n_private"].iloc[0])
    means = over_seeds(table, by=["public", "epsilon", "n_public"], value="accuracy")
    for _, rows in means.groupby(["public", "epsilon"], sort=False):
        public = rows["public"].iloc[0]
        epsilon = float(rows["epsilon"].iloc[0])
        colour = epsilon_colour(epsilon)
        name = f"{words.get(public, public)}, {epsilon_label(epsilon)}"
        figure.line(
            rows["n_public"],
            100 * rows["mean"],
            colour,
            mode="lines+markers",
            name=name,
            error_y=rows,
            dash="solid" if public == private else "dot",
            hover=f"{name}: %{{y:.1f}} % with %{{x:,}} public rows",
        )
        ends = rows.iloc[[0, -1]]
        summary.append(
            f"{name}: "
            + " and ".join(map("{:.0f} % with {:,}".format, 100 * ends["mean"], ends["n_public"]))
        )
        if public == private:
            figure.rule(colour, x=n_private * epsilon, dash="dash")
    private = words.get(private, private)
    return figure.finish(
        title=f"PILLAR on {n_private:,} private rows of {private}",
        caption=(
            f"{seeds_phrase(means['seeds'])}. Dashes: n·ε of theory, where more public "
            "rows help no further."
        ),
        alt=f"PILLAR on {n_private:,} private rows of {private}. {'; '.join(summary)}.",
        height=480,
        y="test accuracy, %",
        x=marks.log_axis(sorted(set(means["n_public"])), "public rows (log scale)", form=","),
    )


def _is_kept(score: ScoreAxis | None) -> bool:
    """Whether a score counts what is lost of a signal, so that the figure shows what is kept."""
    return score is not None and score.null == 1.0 and not score.is_on_unit_axis


def _shown(rows: pd.DataFrame, score: ScoreAxis | None) -> pd.DataFrame:
    """Rows with value, low and high as the figure draws them."""
    if not _is_kept(score):
        return rows
    return rows.assign(
        value=100 * (1 - rows["value"]), low=100 * (1 - rows["high"]), high=100 * (1 - rows["low"])
    )


def _axis_title(score: ScoreAxis | None, table: pd.DataFrame) -> str:
    """What the axis of a score is called, and which way is better: its name in the table where
    nothing is known of it."""
    unit = str(table["score"].iloc[0]) if score is None else score.unit
    return f"{unit}  ({'higher' if _is_kept(score) else 'nearer'} is better)"


def _verdict(
    rows: pd.DataFrame, labels: list[str], tied: Sequence[str] | None, is_kept: bool
) -> str:
    """Which is best, or which may tie: those of `tied`, else whose interval reaches into that of
    the first. rows: best first."""
    is_best, seems_best, may_tie = VERBS[is_kept]
    if rows["high"].isna().any():
        return f"{labels[0]} {seems_best}"
    first = rows["low" if is_kept else "high"].iloc[0]
    ends = rows["high" if is_kept else "low"].iloc[1:]
    overlaps = [
        not (end < first if is_kept else end > first) if tied is None else name in tied
        for name, end in ends.items()
    ]
    rivals = [label for label, overlap in zip(labels[1:], overlaps, strict=True) if overlap]
    if not rivals:
        return f"{labels[0]} {is_best}"
    return f"{labels[0]} and {rivals[0] if len(rivals) == 1 else f'{len(rivals)} others'} {may_tie}"


def lines_of_sets(
    table: pd.DataFrame,
    *,
    by: str,
    x: str,
    y: str,
    titles: Mapping[str, str],
    hover: str,
    size: int = 6,
) -> Drawing:
    """A line for each of the sets that column `by` names, with its title."""
    figure = Drawing()
    names = list(dict.fromkeys(table[by]))
    for name, colour, symbol in told_apart(names):
        rows = table[table[by] == name]
        label = titles.get(name, name)
        figure.line(
            rows[x],
            rows[y],
            colour,
            name=label,
            hover=f"{label}, {hover}",
            mode="lines+markers" if len(rows) <= 24 else "lines",
            marker={"size": size, "symbol": symbol},
        )
    return figure


def _ends(row: Row, form: str) -> str:
    return (
        f"<br>95 % interval [{form.format(row['low'])}, {form.format(row['high'])}]"
        if math.isfinite(row["low"])
        else ""
    )


RANDOM = "random directions"
_LOWERED = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def order_over_training(
    table: pd.DataFrame,
    *,
    titles: Mapping[str, str] = {},
    order_kept: float | None = None,
) -> Figure:
    """Distances while a model is trained on the private rows. table: columns public, step, value,
    accuracy; order_kept: share of pairs of sets that stay in order."""
    figure = _by_step(table, "value", titles)
    last = table[table["step"] == table["step"].max()]
    words = (
        ""
        if order_kept is None
        else f"{100 * order_kept:.0f} % of the pairs stay in the order of step 0. "
    )
    return figure.finish(
        title="Does the order hold while a model learns?",
        caption=(
            f"{words}The model ends at {100 * float(last['accuracy'].iloc[0]):.0f} % of its "
            "training rows. One draw of rows: no interval."
        ),
        alt=(
            f"Distances of {table['public'].nunique()} public sets over "
            f"{int(table['step'].max())} training steps. {words}"
        ),
        line=70,
        x="step of SGD without noise",
        y={"title_text": "gradient subspace distance", "range": [0, 1.02]},
    )


def captured_gradients(table: pd.DataFrame, *, titles: Mapping[str, str] = {}) -> Figure:
    """Relative reconstruction error of the private gradient at each step of AdaMix. table: columns
    public, step, error."""
    figure = _by_step(table, "error", titles)
    means = table.groupby("public")["error"].mean().sort_values()
    words = "; ".join(
        f"{titles.get(str(name), str(name))} {value:.2f}" for name, value in means.items()
    )
    return figure.finish(
        title="How much of the private gradient public directions miss",
        caption=(
            "‖G − GUUᵀ‖/‖G‖ of the private rows' summed gradient, U from public rows or at "
            "random. One run: no interval."
        ),
        alt=(
            f"Relative reconstruction errors over {int(table['step'].max()) + 1} steps; "
            f"means: {words}."
        ),
        line=70,
        x="step of AdaMix",
        y={"title_text": "share of the private gradient missed", "range": [0, 1.02]},
    )


def reconstruction_bound(table: pd.DataFrame, *, titles: Mapping[str, str] = {}) -> Figure:
    """Lemma 4.1 beside what it bounds. table: columns public, k, error, bound, in units of the
    largest singular value."""
    rows = table.sort_values("error")
    labels = [titles.get(name, name) for name in rows["public"]]
    figure = Drawing()
    for column, label, symbol, colour in (
        ("error", "measured error", "circle", figure.ink.accent),
        ("bound", "Lemma 4.1", "line-ns-open", figure.ink.muted),
    ):
        hover = f"%{{y}}<br>{label}: %{{x:.3f}}"
        figure.dots(
            rows[column],
            labels,
            colour,
            size=14,
            symbol=symbol,
            edge=(3, colour),
            name=label,
            hover=hover,
        )
    figure.names_axis(labels)
    k = int(rows["k"].iloc[0])
    loosest = (rows["bound"] / rows["error"].clip(lower=1e-12)).median()
    errors, bounds = (
        f"{rows[name].min():.2f} to {rows[name].max():.2f}" for name in ("error", "bound")
    )
    return figure.finish(
        title="What is lost on the public directions, and its bound",
        caption=(
            f"‖G − GVVᵀ‖₂ ≤ √2·s₁·d + s{str(k + 1).translate(_LOWERED)} with the raw distance d"
            f" (up to √{k}), not the normalised one. Half of the bounds are more than"
            f" {loosest:.0f} times the error. One draw of rows: no interval."
        ),
        alt=(
            f"Measured reconstruction errors of {len(rows)} public sets, {errors}, and their"
            f" bounds, {bounds}."
        ),
        height=200 + 40 * len(rows),
        line=90,
        x={
            "title_text": "in units of the largest singular value of the private gradients",
            "rangemode": "tozero",
        },
    )


def _by_step(table: pd.DataFrame, value: str, titles: Mapping[str, str]) -> Drawing:
    figure = lines_of_sets(
        table[table["public"] != RANDOM],
        by="public",
        x="step",
        y=value,
        titles=titles,
        hover="step %{x}: %{y:.3f}",
        size=7,
    )
    random = table[table["public"] == RANDOM]
    if len(random):
        words = f"{RANDOM}, step %{{x}}: %{{y:.3f}}"
        figure.line(
            random["step"],
            random[value],
            figure.ink.muted,
            dash="dot",
            name=RANDOM,
            hover=words,
        )
    return figure
