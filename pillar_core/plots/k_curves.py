"""What the figures over k share: the table by budget, bands, and the curve without noise."""

import pandas as pd

from pillar_core.arrays import Json
from pillar_core.plots import marks
from pillar_core.plots.intervals import best, over_seeds
from pillar_core.plots.marks import Drawing

CEILING, FLOOR, PUBLIC_ALONE = "non_private", "dp_sgd", "only_public"
"""The learners without privacy, without projection and without private rows."""


def by_budget(table: pd.DataFrame, method: str) -> dict[float, pd.DataFrame]:
    """The curve of each ε, in order: columns k, mean, low, high, seeds, sorted by k."""
    curves = over_seeds(table[table["method"] == method], by=["epsilon", "k"], value="accuracy")
    return {
        float(str(epsilon)): rows.sort_values("k") for epsilon, rows in curves.groupby("epsilon")
    }


def band(figure: Drawing, curve: pd.DataFrame, colour: str, *, opacity: float) -> None:
    """The interval of a curve, filled, where it is known."""
    known = curve.dropna(subset=["low"])
    if len(known):
        figure.band(known["k"], 100 * known["low"], 100 * known["high"], colour, opacity=opacity)


def without_noise(figure: Drawing, table: pd.DataFrame, **line: Json) -> pd.DataFrame:
    """Draws what k directions could reach without noise: below it is the price of privacy, above it
    of k. Returns the curve."""
    rows = table[(table["method"] == CEILING) & table["k"].notna()]
    curve = over_seeds(rows, by=["k"], value="accuracy").sort_values("k")
    muted = figure.ink.muted
    if len(curve):
        looks: marks.Looks = {
            "width": 1.4,
            "name": "no noise",
            "error_y": marks.reach(curve, muted),
        }
        hover = "k = %{x} without noise: %{y:.1f} %<extra>non-private</extra>"
        figure.line(curve["k"], 100 * curve["mean"], muted, hover=hover, **(looks | line))
    return curve


def compare_best_k(
    curve: pd.DataFrame, *, ruled: int | None = None, predicted: int | None = None
) -> str:
    """One sentence on the best k of a measured curve, the rule's and the model's, and on which k
    the seeds cannot tell apart.

    curve: of one ε, as in `by_budget`. "" below three seeds, because too little is known of the
    spread then.
    """
    if curve.empty or curve["high"].isna().any():
        return ""
    top = best(curve)
    level = curve[curve["high"] >= top["low"]]
    others = " and ".join(
        f"{name} {k:,}"
        for name, k in (("the rule chooses", ruled), ("the model predicts", predicted))
        if k
    )
    said = f"Best measured k: {top['k']:g}{f'; {others}' if others else ''}. "
    spread = 100 * (level["mean"].max() - level["mean"].min())
    between = f"k from {level['k'].min():g} to {level['k'].max():g}"
    if len(level) < 2:
        return said + "No other k reaches it."
    return (
        said + f"The seeds do not tell {between} apart: their means differ by {spread:.1f} points."
    )
