"""Evidence drawn: attacks under the guarantee's ceiling, individual privacy, trials in two worlds,
what an audit could notice."""

import math

import numpy as np
import pandas as pd

from pillar_core.arrays import Array
from pillar_core.numerics import number_words, round_up
from pillar_core.plots import marks
from pillar_core.plots.marks import Drawing
from pillar_core.plots.theme import DASHES, Figure, categorical, epsilon_value, fade

_BINS = 40
_PERCENTS = {
    "type": "log",
    "tickvals": [0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0],
    "ticktext": ["0.1 %", "1 %", "2 %", "5 %", "10 %", "20 %", "50 %", "100 %"],
}
"""An axis of shares."""


def membership_roc(
    roc: pd.DataFrame,
    bands: pd.DataFrame,
    bound: pd.DataFrame,
    *,
    epsilon: float,
    members: int,
    non_members: int,
    least: float,
) -> Figure:
    """Attacks on log axes, from the false-alarm rate `least` on, with their bands and under what
    the guarantee allows.

    roc: columns attack, false_positive_rate, true_positive_rate; bands: columns attack,
    false_positive_rate, low, high; bound: columns false_positive_rate, true_positive_rate, the most
    that any attack can reach.
    """
    figure = Drawing()
    ceiling = bound[bound["false_positive_rate"] >= least / 3]
    x = ceiling["false_positive_rate"]
    y = ceiling["true_positive_rate"]
    ones = [1.0] * len(y)
    figure.band(x, ones, y, figure.marked, opacity=0.13, name="ruled out by the guarantee")
    hover = "at most %{y:.3g} of members at %{x:.3g} false alarms"
    figure.line(x, y, figure.marked, name=f"ceiling at ε = {epsilon:.3g}", hover=hover)
    diagonal = np.geomspace(least, 1, 30)
    figure.line(diagonal, diagonal, figure.ink.muted, width=1.2, dash="dash", name="coin flip")
    for place, (name, rows) in enumerate(roc.groupby("attack", sort=False)):
        visible = rows[rows["false_positive_rate"] >= least]
        colour = categorical(7)[(0, 5, 2, 3, 4)[place % 5]]
        band = bands[bands["attack"] == name]
        rates = band["false_positive_rate"].clip(lower=least)
        for end, shape in (
            ("low", "hv"),
            ("high", "vh"),
        ):  # between two thresholds the one end holds from the left, the other to the right
            fill = {"fill": "tonexty", "fillcolor": fade(colour, 0.14)} if end == "high" else {}
            figure.line(
                rates,
                band[end].clip(lower=least / 10),
                fade(colour, 0.5),
                width=0.6,
                shape=shape,
                legendgroup=str(name),
                **fill,
            )
        hover = "%{fullData.name}: finds %{y:.3g} at %{x:.3g} false alarms"
        figure.line(
            visible["false_positive_rate"],
            visible["true_positive_rate"],
            colour,
            hover=hover,
            shape="hv",
            name=str(name),
            legendgroup=str(name),
            dash=DASHES[place % 5],
        )
    attacks = ", ".join(map(str, roc["attack"].unique()))
    start = math.log10(least)
    return figure.finish(
        title="What attackers find, and what the guarantee rules out",
        caption=(
            f"At least {members:,} scores of members, {non_members:,} of others. Each band holds"
            " an attack's true curve at 95 %, everywhere at once. Drawn from 20 false alarms on."
        ),
        alt=(
            "Receiver operating curves with simultaneous 95 percent bands, on log axes from "
            f"{100 * least:.2g} percent false alarms: {attacks}; the shaded area is ruled out."
        ),
        height=500,
        x={"title_text": "people wrongly accused", "range": [start, 0], **_PERCENTS},
        y={"title_text": "members found", "range": [start - 0.3, 0.02], **_PERCENTS},
    )


def individual_losses(table: pd.DataFrame, *, stated: float, delta: float) -> Figure:
    """Histogram of rows' individual ε with the ε stated for all. table: column epsilon, one row per
    private row."""
    figure = Drawing()
    values = table["epsilon"].to_numpy()
    counts, edges = np.histogram(
        values,
        bins=_BINS,
        range=(0.0, max(stated if math.isfinite(stated) else 0.0, float(values.max()))),
    )
    figure.histogram(
        edges,
        counts,
        categorical(1)[0],
        opacity=0.75,
        width=np.diff(edges) * 0.92,
        hover="%{y:,} rows near ε = %{x:.2f}",
    )
    median = float(np.median(values))
    if median < 0.8 * stated:  # nearer, the two names would collide
        _mark(
            figure,
            median,
            f"half of the rows stay below {median:.2f}",
            figure.ink.text,
            "dot",
            "left",
        )
    _mark(figure, stated, f"stated for all: {stated:.3g}", figure.marked, "solid", "right")
    return figure.finish(
        title=exposure(values, stated),
        caption=(
            f"{len(values):,} private rows along one trajectory, at δ = "
            f"{number_words(delta)}. No guarantee, and private itself."
        ),
        alt=(
            f"Histogram of individual epsilon: median {median:.2f}, largest "
            f"{values.max():.2f}, stated {stated:.2f}."
        ),
        x={"title_text": "individual ε of a row", "rangemode": "tozero"},
        y="private rows",
        bargap=0,
    )


def exposure(values: Array, stated: float) -> str:
    """The headline: the share of rows below half of the stated ε, or near it (95 %), or else the
    rows' median share of it."""
    low = float((values <= stated / 2).mean())
    high = float((values >= 0.95 * stated).mean())
    if low > 0.5:
        return f"{100 * low:.0f} % of the rows reveal at most half of the ε stated for all"
    if high > 0.5:
        return f"{100 * high:.0f} % of the rows reveal 95 % or more of the ε stated for all"
    return (
        f"Half of the rows reveal {100 * np.median(values) / stated:.0f} % or more of the ε stated"
        " for all"
    )


def individual_by_class(table: pd.DataFrame, *, stated: float) -> Figure:
    """Each class's rows: median and the range from 5 to 95 % of individual ε. table: columns class,
    epsilon."""
    spread = table.groupby("class")["epsilon"].quantile(np.array([0.05, 0.5, 0.95])).unstack()
    spread.columns = pd.Index(["low", "median", "high"])
    spread = spread.sort_values("median")
    drawn = spread.tail(24)
    figure = Drawing()
    colour = categorical(1)[0]
    names = [str(name) for name in drawn.index]
    reach = marks.reach(drawn, fade(colour, 0.55), value="median", scale=1, thickness=3, width=0)
    figure.dots(
        drawn["median"],
        names,
        colour,
        error_x=reach,
        hover="%{y}: median ε %{x:.2f}",
    )
    figure.rule(figure.marked, x=stated, dash="solid")
    note = (
        ""
        if len(spread) == len(drawn)
        else f" The {len(drawn)} most exposed of {len(spread)} classes."
    )
    summary = "; ".join(map("{} {:.2f}".format, names, drawn["median"]))
    return figure.finish(
        title="Individual ε by class",
        caption=f"The line is the ε stated for all, {stated:.3g}.{note}",
        alt=f"Individual epsilon by class: {summary}.",
        line=60,
        x={
            "title_text": "individual ε: median, 5 to 95 % of the class's rows",
            "rangemode": "tozero",
        },
        y={"type": "category", "showgrid": False, "ticksuffix": "  "},
    )


def two_worlds(table: pd.DataFrame, *, threshold: float, claimed_mu: float, title: str) -> Figure:
    """Scores of trials with a canary and without, and where the claim says that the canary's world
    lies, at most.

    table: columns world ("with the canary", "without"), score. Scores are in units of the claimed
    noise.
    """
    figure = Drawing()
    colours = {"without": categorical(7)[0], "with the canary": categorical(7)[1]}
    low, high = (float(value) for value in np.quantile(table["score"], [0.001, 0.999]))
    span = max(high - low, 0.5)
    edges = np.linspace(low - 0.05 * span, high + 0.05 * span, _BINS + 1)
    for world, colour in colours.items():
        density, _ = np.histogram(
            table.loc[table["world"] == world, "score"], bins=edges, density=True
        )
        figure.histogram(
            edges,
            density,
            colour,
            opacity=0.5,
            name=f"trials {world}",
            hover="%{fullData.name} near %{x:.2f}",
        )
    grid = np.linspace(edges[0], edges[-1], 240)
    for shift, name, dash in (
        (0.0, "claimed without", "dot"),
        (claimed_mu, "claimed with, at most", "solid"),
    ):
        curve = np.exp(-0.5 * (grid - shift) ** 2) / np.sqrt(2 * np.pi)
        figure.line(grid, curve, figure.ink.text, width=1.6, dash=dash, name=name)
    figure.rule(x=threshold, dash="dash")
    return figure.finish(
        title=title,
        caption=(
            f"{len(table) // 2:,} trials in each world. The further apart the two heaps, the "
            f"easier the canary is found; the claim lets their centres lie {claimed_mu:.2f} "
            "standard deviations apart."
        ),
        alt=(
            f"Two histograms of canary scores; the claimed distance is {claimed_mu:.2f} "
            "standard deviations."
        ),
        x="score of a trial, in standard deviations of the claimed noise",
        y={"title_text": "density", "showticklabels": False},
        barmode="overlay",
        bargap=0,
    )


def audit_power(table: pd.DataFrame, *, claimed: float, significance: float) -> Figure:
    """The chance to notice, against what the code would truly spend. table: columns trials,
    epsilon, power."""
    figure = Drawing()
    colours = categorical(7)
    for place, (trials, rows) in enumerate(table.groupby("trials")):
        colour = colours[(5, 0, 2)[place % 3]]
        dash = ("dot", "dash", "solid")[place % 3]
        figure.line(
            rows["epsilon"],
            100 * rows["power"],
            colour,
            dash=dash,
            name=f"{trials:,} trials",
            hover="%{fullData.name}: a true ε of %{x:.2f} is noticed with %{y:.0f} %",
        )
    _mark(figure, claimed, f"claimed ε = {claimed:.3g}", figure.ink.text, "solid", "right")
    return figure.finish(
        title="Before looking: what could this audit notice?",
        caption=(
            f"An ideal attack on a Gaussian run, false alarms at most {100 * significance:g} "
            "%. Left of the line all is well and only false alarms remain."
        ),
        alt="Chance to notice against the true epsilon, for several numbers of trials.",
        x="ε that the code would truly spend",
        y={"title_text": "chance to notice, %", "range": [0, 103]},
    )


def one_run_reach(table: pd.DataFrame, *, canaries: int) -> Figure:
    """What a single run with canaries could certify at best. table: columns epsilon, plain, curve
    (certified ε)."""
    figure = Drawing()
    figure.line(
        table["epsilon"],
        table["epsilon"],
        figure.ink.muted,
        width=1.3,
        dash="dash",
        name="the truth",
    )
    for column, name, colour, dash in (
        ("curve", "testing the whole curve (f-DP)", categorical(7)[2], "solid"),
        ("plain", "testing one (ε, δ) point", categorical(7)[0], "dash"),
    ):
        figure.line(
            table["epsilon"],
            table[column],
            colour,
            dash=dash,
            mode="lines+markers",
            name=name,
            hover="true ε %{x:g}: certifies %{y:.2f}",
        )
    return figure.finish(
        title="How much can one training with many canaries certify?",
        caption=(
            f"{canaries:,} independent canaries, an ideal attack at its expected score, 95 % "
            "confidence."
        ),
        alt=(
            "Certified epsilon against true epsilon for two one-run audits; both stay well "
            "below the diagonal."
        ),
        x="true ε",
        y={"title_text": "ε certified at best", "rangemode": "tozero"},
    )


def right_guesses(table: pd.DataFrame, *, published: float, title: str) -> Figure:
    """How often attackers are right about one row, with intervals, beside a coin. table: columns
    attacker, sees, success, low, high."""
    figure = Drawing()
    colours = categorical(7)
    labels = [f"knows {row.attacker}, sees {row.sees}" for row in table.itertuples()]
    is_strong = table["attacker"] == table["attacker"].iloc[0]
    percents = 100 * table["success"]
    figure.bars(
        percents,
        labels,
        [colours[5 if strong else 0] for strong in is_strong],
        opacity=0.75,
        hover="%{y}: right in %{x:.1f} % of guesses",
        text=percents.map("{:.1f} %".format),
        error_x=table.rename(columns={"success": "mean"}),
    )
    figure.rule(x=50, dash="dash")
    _mark(
        figure,
        100 * published,
        f"coin 50 %, published {100 * published:.1f} %",
        figure.ink.text,
        "dot",
        "left",
    )
    summary = "; ".join(map("{}: {:.1f} percent".format, labels, percents))
    return figure.finish(
        title=title,
        caption="Half of the rows in question are in the batch. Bars with 95 % intervals.",
        alt=f"Bars of right guesses: {summary}.",
        height=190 + 46 * len(table),
        x={"title_text": "guesses about one row that are right, %", "range": [40, 104]},
        bargap=0.3,
    )


def reconstruction_strip(
    table: pd.DataFrame,
    image: Array,
    pictures: Array,
    *,
    candidates: int,
    present: float,
) -> Figure:
    """An image (h, w) and what is left of it (ε, h, w) at each ε of the table, side by side, each
    on its own grey scale; one is framed.

    table: columns epsilon, noise_std, correlation, right and allowed in [0, 1].
    """
    figure, (height, width) = Drawing(), image.shape
    gap = np.full((height, max(width // 10, 1)), np.nan)
    panels = [np.clip(part, *np.quantile(part, (0.01, 0.99))) for part in (image, *pictures)]
    columns = [
        column
        for panel in panels
        for column in ((panel - panel.min()) / max(float(np.ptp(panel)), 1e-12), gap)
    ][:-1]
    figure.add_heatmap(
        z=np.hstack(columns), colorscale="gray", zmin=0, zmax=1, showscale=False, hoverinfo="skip"
    )
    step = width + gap.shape[1]
    labels = [epsilon_value(epsilon).removesuffix(" (no noise)") for epsilon in table["epsilon"]]
    place = 1 + int(np.flatnonzero(table["epsilon"] == present)[0])
    figure.add_shape(
        x0=place * step - 0.5,
        x1=place * step + width - 0.5,
        y0=-0.5,
        y1=height - 0.5,
        line={"color": figure.marked, "width": 3},
    )
    ticks = [place * step + (width - 1) / 2 for place in range(len(panels))]
    figure.update_xaxes(
        tickvals=ticks,
        ticktext=["image", *labels],
        showgrid=False,
        zeroline=False,
        constrain="domain",
    )
    figure.update_yaxes(visible=False, autorange="reversed", scaleanchor="x", constrain="domain")
    line = table.iloc[place - 1]
    summary = "; ".join(map("ε = {}: {:.0f} %".format, labels, 100 * table["right"]))
    return figure.finish(
        title=(
            f"At ε = {labels[place - 1]}, {number_words(100 * line['right'], 3)} of 100 picks among"
            f" {candidates} images are right"
        ),
        caption=(
            "A non-private diagnostic, of an image that anybody may see. The guarantee allows any"
            f" attacker {round_up(100 * line['allowed'], 3)} of 100 at most. Each picture has a "
            "grey scale of its own. 50,000 draws: within 0.5 points (95 %)."
        ),
        alt=(
            "An image, and what the best informed attacker sees of it in one release at each "
            f"ε. Right picks: {summary}."
        ),
        height=300,
        x="ε of the release",
    )


def _mark(figure: Drawing, x: float, words: str, colour: str, dash: str, side: str) -> None:
    """A vertical line with words beside its top end, those on the right a line lower."""
    place: marks.Looks = {"annotation_y": 1.0, "annotation_xanchor": side}
    place |= (
        {"annotation_xshift": 6, "annotation_yanchor": "bottom"}
        if side == "left"
        else {"annotation_xshift": -6, "annotation_yanchor": "top"}
    )
    figure.rule(colour, x=x, dash=dash, words=words, **place)
