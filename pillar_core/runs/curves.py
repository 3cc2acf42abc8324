"""What a linear model does with each column of a table that went through ramps or bins:
post-processing of its weights, which costs no ε."""

import html
import math
import string
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from pillar_core.arrays import Array
from pillar_core.backbones.column_map import ColumnMap
from pillar_core.data import encoding, recipes
from pillar_core.engine import LinearClassifier
from pillar_core.numerics import reach_of_normal
from pillar_core.types import Classifier, Form

FORMAT = "pillar-curves-2"
MEANING = (
    "A score above 0 speaks for a class, one below 0 against it. The scores of a row's columns add"
    " up to the class's, but for a constant and one positive factor of the row. The curves are this"
    " model's own: they say what it does, not what causes what."
)
BAND = (
    "The band says how far training's noise moves a curve: 95 % of the time no further. It is of"
    " noise only, not of sampling: other private rows would move the curves, too."
)
NO_BAND = (
    "The curves hold noise. No band shows it, because its law in this learner's weights is not"
    " known."
)
FIRST = (
    "Columns that move the score most come first, measured by their noise where a band shows it."
)
MOST_DRAWN = 24
"""Columns of the page, those that move the score most."""
_TEMPLATE = Path(__file__).with_suffix(".html")


def curves_of(classifier: Classifier | None, columns: ColumnMap | None, form: Form) -> Form | None:
    """The curves of a linear head behind ramps or bins, by column: `scores` (C numbers a line, of
    mean 0 over the lines and over the classes) at each of the `knots`, between which they are
    straight, a knot standing twice where they jump; of words, of each of the `categories`. None for
    any other model.

    form: how rows become numbers, as a model's card says; knots are in the table's own units.
    `noise_std`: of each line the standard deviation of training's noise in it, at most; left out
    where its law is not known.
    """
    is_linear = isinstance(classifier, LinearClassifier)
    if not is_linear or columns is None or columns.steps is None or form["kind"] != "table":
        return None
    recipe, stop, curves = recipes.recipe_of(form["recipe"]), 0, list[Form]()
    for column in recipe.columns:
        start = stop
        stop += encoding.width(recipe, of=column)
        if words := column.categories:
            is_its = (columns.kept >= start) & (columns.kept < stop)
            curve: Form = {"name": column.name, "categories": list(words)}
            levels = np.eye(len(words))
            made = np.flatnonzero(is_its)
        elif column.kind != encoding.TEXT:
            low, high = column.range or (0.0, 1.0)
            zero = low if column.range else column.centre or 0.0
            made = len(columns.kept) + np.flatnonzero(is_its := columns.cut == start)
            knots = _knots_of(columns, is_its)
            written = [_in_few_digits(knot, zero, high - low) for knot in knots]
            curve = {"name": column.name, "knots": written}
            rows = np.zeros((len(knots), columns.d), dtype=np.float32)
            is_above = np.append(False, knots[1:] == knots[:-1])
            rows[:, start] = np.where(is_above, np.nextafter(knots, np.inf), knots)
            levels = columns(rows)[:, made].astype(np.float64)
        else:
            continue
        curves.append(curve | _scores(classifier, levels - levels.mean(axis=0), made))  # type: ignore[arg-type]  # linear, as just seen
    noise = BAND if all("noise_std" in curve for curve in curves) else NO_BAND
    return {"format": FORMAT, "meaning": MEANING, "noise": noise, "columns": curves}


def _knots_of(columns: ColumnMap, is_its: Array) -> Array:
    """Rising float32 places where what is made of a number bends, twice where it jumps."""
    steps, stops = np.asarray(columns.steps)[is_its], np.asarray(columns.stops)[is_its]
    return np.sort(np.append(np.unique([steps, stops]), np.unique(steps[steps == stops])))


def _in_few_digits(step: np.float32, low: float, width: float) -> float:
    """A step in the table's own units, in the fewest digits of which the model makes this very
    step, so that a cell with the same number lies on the same side of it; a whole one as an int."""
    exact = low + width * float(step)
    values = (float(f"{exact:.{digits}g}") for digits in range(1, 17))
    found = next((value for value in values if np.float32((value - low) / width) == step), exact)
    return int(found) if found.is_integer() else found


def _scores(head: LinearClassifier, levels: Array, made: Array) -> Form:
    """What the head makes of `levels` (n, m) of the columns `made` (m,) alone, and the standard
    deviation of its noise there."""
    if head.transform.scale is not None:
        levels = levels / head.transform.scale[made]
    if head.transform.projection is not None:
        rows = levels @ head.transform.projection[made].astype(np.float64)
    else:
        rows = np.zeros((len(levels), len(head.weights)))
        rows[:, made] = levels
    scores = rows @ head.weights.astype(np.float64)
    said: Form = {"scores": (scores - scores.mean(axis=1, keepdims=True)).tolist()}
    if head.noise_std is not None:
        apart = math.sqrt(1 - 1 / scores.shape[1])  # of a class from the mean of all
        said["noise_std"] = (apart * head.noise_std(rows)).tolist()
    return said


def by_spread(curves: Form) -> list[Form]:
    """The curves, those that move a score most first, in deviations of noise where it is known."""
    return sorted(map(_with_knots, curves["columns"]), key=_spread, reverse=True)


def _spread(curve: Form) -> float:
    noise = max(curve.get("noise_std", ()), default=0.0)
    return float(np.ptp(curve["scores"], axis=0).max()) / (noise or 1.0)


def _with_knots(curve: Form) -> Form:
    """The curve; of an older file its steps, and the level on each side of them, as knots."""
    if "steps" not in curve:
        return curve
    levels = {name: curve[name] for name in ("scores", "noise_std") if name in curve}
    twice = {name: np.repeat(level, 2, axis=0)[1:-1].tolist() for name, level in levels.items()}
    return {"name": curve["name"], "knots": np.repeat(curve["steps"], 2).tolist()} | twice


def table_of(curves: Sequence[Form], classes: Sequence[str]) -> pd.DataFrame:
    """A line for each column, level and class: column, value ("> 3" just above 3, where a curve
    jumps), place (the value as a number, NaN of words), class, score, low and high (NaN without a
    band). Of two classes the second alone, as the other's curve is its mirror image."""
    lines, shown = [], range(len(classes) == 2, len(classes))
    for curve in curves:
        knots = curve.get("knots", [])
        values = curve.get("categories") or [
            f"{'> ' * (place > 0 and knot == knots[place - 1])}{knot:.15g}"
            for place, knot in enumerate(knots)
        ]
        places = knots or [math.nan] * len(values)
        spread = [
            reach_of_normal() * std for std in curve.get("noise_std", [math.nan] * len(values))
        ]
        levels = zip(values, places, curve["scores"], spread, strict=True)
        for value, place, scores, reach in levels:
            for number in shown:
                level, score = (curve["name"], value, place, classes[number]), scores[number]
                lines.append((*level, score, score - reach, score + reach))
    names = ["column", "value", "place", "class", "score", "low", "high"]
    return pd.DataFrame(lines, columns=names)


def page_of(curves: Form, classes: Sequence[str], predicts: str) -> str:
    """The curves as one page of HTML, which needs no network. predicts: the label's name."""
    from pillar_core import plots
    from pillar_core.plots.theme import script

    columns = by_spread(curves)
    left = f" {len(columns) - MOST_DRAWN:,} more are in curves.json." * (len(columns) > MOST_DRAWN)
    figure = plots.column_curves(table_of(columns[:MOST_DRAWN], classes), caption=f"{FIRST}{left}")
    words = {
        "predicts": predicts or "a label",
        "meaning": curves["meaning"],
        "noise": curves["noise"],
        "alt": figure.layout.meta["alt"],
    }
    return string.Template(_TEMPLATE.read_text(encoding="utf-8")).substitute(
        {name: html.escape(text) for name, text in words.items()},
        plotly=script(),
        figure=figure.to_html(
            include_plotlyjs=False,
            full_html=False,
            div_id="curves",
            config={"displaylogo": False, "responsive": True},
        ),
    )
