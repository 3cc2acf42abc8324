"""Means with intervals: what figures draw instead of single runs; curves over k, and which k are
alike."""

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd

from pillar_core.errors import DataError
from pillar_core.numerics import half_width

FEWEST = 3
"""Seeds from which a figure draws an interval."""
CEILING, FLOOR, PUBLIC_ALONE = "non_private", "dp_sgd", "only_public"
"""The learners without privacy, without projection and without private rows."""


def over_seeds(
    table: pd.DataFrame,
    *,
    by: Sequence[str],
    value: str,
    low: float = 0.0,
    high: float = 1.0,
) -> pd.DataFrame:
    """One row per group: `by`, mean, low, high, seeds.

    The interval is Student's t over seeds at 95 %, cut to [`low`, `high`]; below three seeds its
    ends are NaN: of two it would be as wide as the picture. Rows without a value are left out.
    Means are rounded, so that rows in any order give the same digits.
    """
    absent = [name for name in (*by, value) if name not in table]
    if absent or not by:
        raise DataError(
            "the table needs a column for each of by and value; it lacks"
            f" {', '.join(absent) or 'any of by'}."
        )
    known = table[[*dict.fromkeys([*by, value])]].dropna(subset=[value])
    groups = (
        known.groupby(list(by), sort=True, dropna=False)[value]
        .agg(["mean", "std", "count"])
        .reset_index()
        .round({"mean": 12})
    )
    half = [
        half_width(deviation, count) if count >= FEWEST else math.nan
        for deviation, count in zip(groups["std"], groups["count"], strict=True)
    ]
    groups["low"] = (groups["mean"] - pd.Series(half)).clip(lower=low)
    groups["high"] = (groups["mean"] + pd.Series(half)).clip(upper=high)
    return groups.rename(columns={"count": "seeds"})[[*by, "mean", "low", "high", "seeds"]]


def runs_without_k(table: pd.DataFrame, method: str) -> pd.DataFrame:
    """The rows of `method` that used every direction (no k), or all of its rows where each has a
    k."""
    rows = table[table["method"] == method]
    return rows[rows["k"].isna()] if rows["k"].isna().any() else rows


def best(rows: pd.DataFrame, column: str = "mean") -> "pd.Series[Any]":
    """The row with the largest number in `column`, which is that of an `over_seeds` table; the
    first of equals."""
    return rows.sort_values(column, ascending=False, kind="stable").iloc[0]


def by_budget(table: pd.DataFrame, method: str) -> dict[float, pd.DataFrame]:
    """The curve of each ε, in order: columns k, mean, low, high, seeds, sorted by k."""
    curves = over_seeds(table[table["method"] == method], by=["epsilon", "k"], value="accuracy")
    return {
        float(str(epsilon)): rows.sort_values("k") for epsilon, rows in curves.groupby("epsilon")
    }


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
