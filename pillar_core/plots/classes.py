"""Classes: how many rows each has, and how well each is recognised."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from pillar_core.numerics import wilson
from pillar_core.plots.intervals import FEWEST, over_seeds
from pillar_core.plots.marks import Drawing
from pillar_core.plots.theme import Figure, as_text, epsilon_value, fade, is_dark

_MANY = 24
_ACROSS = 5
"""Dots side by side at one answer."""


def class_balance(table: pd.DataFrame) -> Figure:
    """Rows per class and part of the split, as bars.

    table: columns class, part (for instance private, public, test), rows. Counts are exact, so no
    interval is drawn. Counts of private rows are a non-private diagnostic.
    """
    order = list(dict.fromkeys(table["class"].astype(str)))
    parts = list(dict.fromkeys(table["part"].astype(str)))
    figure = Drawing()
    ink = figure.ink
    parts_ink = [ink.accent, "#3BD1A4" if is_dark() else "#008F68", ink.muted, ink.grid]
    colours = dict(zip(parts, parts_ink, strict=False))
    for part in parts:
        rows = table[table["part"] == part]
        figure.add_bar(
            x=rows["class"].astype(str),
            y=rows["rows"],
            name=part,
            marker={"color": colours.get(part, ink.muted), "cornerradius": 3},
            hovertemplate=f"%{{x}}: %{{y}} rows<extra>{part}</extra>",
        )
    figure.update_xaxes(categoryarray=order, showticklabels=len(order) <= 40)
    totals = table.groupby("class")["rows"].sum()
    return figure.finish(
        title="Rows per class",
        caption=(
            f"n = {int(totals.sum()):,} rows, {len(order)} classes: exact counts, no "
            "interval. Non-private diagnostic."
        ),
        alt=(
            f"Bar chart of rows per class: from {int(totals.min())} to {int(totals.max())} "
            f"rows over {len(order)} classes."
        ),
        line=60,
        x={"type": "category", "title_text": "class", "showgrid": False},
        y="rows",
        barmode="stack",
        bargap=0.25,
    )


def per_class(table: pd.DataFrame) -> Figure:
    """Recall of each class, worst first: seeds as dots, their mean with an interval that holds
    seeds and rows, other models as marks.

    table: one row per run and class: columns model ("private", or what another model is called),
    seed, class, recall in [0, 1], rows (test rows of the class). The interval is Wilson's for rows;
    from three seeds on, Student's t over seeds is added in squares.
    """
    means = over_seeds(table, by=["model", "class", "rows"], value="recall")
    private = (
        means[means["model"] == "private"].sort_values("mean", kind="stable").reset_index(drop=True)
    )
    of_rows = np.array([*map(wilson, private["mean"], private["rows"])]).T
    for end, side, of_row in zip(("low", "high"), (-1, 1), of_rows, strict=True):
        of_seeds = (private[end] - private["mean"]).fillna(0)
        reach = np.hypot(of_seeds, of_row - private["mean"])
        private[end] = (private["mean"] + side * reach).clip(0, 1)
    names = private["class"].astype(str)
    figure = Drawing()
    ink = figure.ink
    for model, symbol, size in (
        ("no privacy", "line-ns", 14),
        ("no noise, same k", "diamond-open", 9),
    ):
        rows = means[means["model"] == model]
        if len(rows):
            hover = f"%{{y}}: %{{x:.1f}} %<extra>{model}</extra>"
            figure.dots(
                100 * rows["mean"],
                rows["class"].astype(str),
                None,
                size=size,
                hover=hover,
                symbol=symbol,
                edge=(2.4 if size > 9 else 1.6, ink.muted),
                name=model,
            )
    seeds = table[table["model"] == "private"]
    has_seeds = seeds["seed"].nunique() > 1
    if has_seeds:
        figure.dots(
            100 * seeds["recall"],
            seeds["class"].astype(str),
            fade(ink.accent, 0.55),
            size=6,
            name="private, each seed",
            hover="%{y}: %{x:.1f} %<extra>one seed</extra>",
        )
    figure.dots(
        100 * private["mean"],
        names,
        ink.accent,
        hover="%{y}: %{x:.1f} %<extra>private model</extra>",
        name="private, mean",
        error_x=private,
    )
    is_few = len(names) <= _MANY
    figure.update_yaxes(
        categoryarray=list(names)[::-1], dtick=1 if is_few else None, showgrid=is_few
    )
    words = names + " with " + (100 * private["mean"]).map("{:.1f}".format)
    count = int(private["seeds"].max())
    words_of_seeds = (
        f"{count} seeds. 95 % intervals hold seeds and rows"
        if count >= FEWEST
        else f"{count} seed{'s' * has_seeds}: 95 % intervals hold rows alone"
    )
    height = 190 + 26 * len(names) if is_few else min(190 + 11 * len(names), 1100)
    return figure.finish(
        title="Who pays for privacy? Recall by class",
        caption=f"{int(private['rows'].sum()):,} test rows. {words_of_seeds}.",
        alt=(
            f"Recall of {len(names)} classes: worst {words.iloc[0]} percent, best "
            f"{words.iloc[-1]} percent."
        ),
        height=height,
        x={"title_text": "recall, % of the class's test rows", "range": [-2, 102]},
        y={"type": "category"},
    )


def confusion(table: pd.DataFrame, *, classes: Sequence[str]) -> Figure:
    """Test rows by class and by the class that a model says, coloured by the share of their class.

    table: columns class, taken for, rows; pairs without a row may be absent.
    """
    counts = table.pivot_table(index="class", columns="taken for", values="rows", aggfunc="sum")
    counts = counts.reindex(index=list(classes), columns=list(classes)).fillna(0).astype(int)
    sizes = counts.sum(axis=1)
    shares = 100 * counts.div(sizes.where(sizes > 0), axis=0)
    names = [str(name) for name in classes]
    is_few = len(classes) <= _MANY
    figure = Drawing()
    ink = figure.ink
    figure.cells(
        names,
        names,
        shares.to_numpy(),
        unit="%",
        hover="%{y} taken for %{x}: %{text} rows, %{z:.1f} %",
        zmin=0,
        zmax=100,
        colorscale=[[0, fade(ink.accent, 0.04)], [1, fade(ink.accent, 0.45)]],
        text=counts.to_numpy(),
        texttemplate="%{text}" if is_few else None,
        textfont={"color": ink.text},  # plotly's own choice cannot be read on some cells
    )
    figure.update_xaxes(dtick=1 if is_few else None)
    figure.update_yaxes(categoryarray=names[::-1], dtick=1 if is_few else None)
    wrong = table[table["class"] != table["taken for"]].sort_values(
        "rows", ascending=False, kind="stable"
    )
    worst = [
        f"{pair.rows} of {sizes[pair[0]]} {pair[0]} taken for {pair[1]}"
        for pair in wrong.head(3).itertuples(index=False)
    ]
    return figure.finish(
        title="Which class is taken for which?",
        caption=(
            f"n = {int(sizes.sum()):,} test rows, one run: exact counts, coloured by the "
            "share of their class."
        ),
        alt=(
            f"Confusion matrix of {len(names)} classes; most often misread: "
            f"{'; '.join(worst) or 'no row'}."
        ),
        height=230 + 34 * len(names) if is_few else 700,
        x={"title_text": "taken for", "type": "category", "showgrid": False},
        y={"title_text": "class", "type": "category", "showgrid": False},
    )


def possible_answers(table: pd.DataFrame, *, label: str = "") -> Figure:
    """Every possible model as a dot at the class that it answers, a line of dots for each ε; the
    row's own class stands out.

    table: columns epsilon, draw, class; from `studies.one_training.answers`. label: the row's
    class, "" where it is not known.
    """
    names = [str(name) for name in table["class"].value_counts().index]
    names = sorted(
        {*names, label} - {""},
        key=lambda name: (name != label, names.index(name) if name in names else -1),
    )
    budgets = sorted(table["epsilon"].unique())
    figure = Drawing()
    for place, ((epsilon, name), dots) in enumerate(
        table.groupby(["epsilon", "class"], sort=False)
    ):
        x = [
            names.index(str(name)) + (number % _ACROSS - (_ACROSS - 1) / 2) / (_ACROSS + 2)
            for number in range(len(dots))
        ]
        y = [budgets.index(epsilon) + (number // _ACROSS - 1.5) / 6 for number in range(len(dots))]
        is_other = label and str(name) != label
        colour = figure.ink.muted if is_other else figure.ink.accent
        hover = (
            f"{len(dots)} of {(table['epsilon'] == epsilon).sum()} models say {as_text(str(name))}"
        )
        figure.dots(x, y, colour, hover=hover, meta=place)
    shares = table.groupby("epsilon")["class"].agg(
        lambda answers: answers.value_counts(normalize=True).max()
    )
    summary = "; ".join(
        f"ε = {epsilon_value(epsilon)}: {100 * shares[epsilon]:.0f} percent agree"
        for epsilon in budgets
    )
    draws = int(table.groupby("epsilon").size().max())
    least = (
        f"{draws} possible models at ε = {epsilon_value(budgets[0])}:"
        f" {100 * shares[budgets[0]]:.0f} % give the same answer"
    )
    return figure.finish(
        title=least,
        caption=(
            "Each dot is one training with its own noise; your release would be one more "
            f"such dot. {draws} of each ε, exact counts."
        ),
        alt=f"What {draws} possible models at each ε say of one row. {summary}.",
        height=340,
        x={
            "tickvals": list(range(len(names))),
            "ticktext": names,
            "range": [-0.6, max(len(names), 3) - 0.4],
            "showgrid": False,
            "title_text": "answer",
        },
        y={
            "tickvals": list(range(len(budgets))),
            "ticktext": [*map(epsilon_value, budgets)],
            "range": [-0.6, len(budgets) - 0.4],
            "title_text": "ε",
        },
    )
