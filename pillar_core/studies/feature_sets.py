"""Curves of several feature sets side by side, from whatever runs the cache holds (PILLAR, Figs. 4, 5, 10, 12)."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from pillar_core.methods import METHODS
from pillar_core.runs import records

COLUMNS = ["set", "private", "k", "seed", "accuracy"]


def curves_of_sets(
    runs: pd.DataFrame, *, method: str, epsilon: float, delta: float, relation: str, titles: Mapping[str, str] | None = None
) -> pd.DataFrame:
    """Columns set, private, k, seed, accuracy: the learner's runs at one budget, and those without privacy, of every set with both.

    runs: `records.all_runs()`. A set is a data set through a backbone with one way to have public rows; its name says what
    tells it from the others, by the data set's title in `titles` where there is one. Sets with fewer than two k are left out.
    """
    if runs.empty or not {"method", "k", "accuracy"} <= set(runs):
        return pd.DataFrame(columns=COLUMNS)
    scored = runs[runs["accuracy"].notna()]
    is_asked = (scored["method"] == method) & (scored["epsilon"] == epsilon) & (scored["delta"] == delta) & (scored["relation"] == relation)
    unprotected = [name for name, learner in METHODS.items() if not learner.protects]
    shown = scored[(is_asked & scored["k"].notna()) | scored["method"].isin(unprotected)].copy()
    shown["private"] = shown["method"] == method
    shown["set"] = [_name(row, titles or {}) for row in shown.to_dict("records")]
    drawn = shown[shown["private"]].groupby("set")["k"].nunique()
    names = drawn.index[drawn > 1]
    return shown[shown["set"].isin(names)][COLUMNS].sort_values(["set", "private", "k", "seed"], ignore_index=True)


def _name(row: dict[Any, Any], titles: Mapping[str, str]) -> str:
    """“digits”, “digits through raw_pixels, public 30 %”; sets of another version say so."""
    name = titles.get(row["dataset"], row["dataset"])
    backbone = row.get("backbone")
    through = f" through {backbone}" if isinstance(backbone, str) and backbone else ""
    share, public = row.get("public_fraction"), row.get("public")
    rows = f", public {public}" if isinstance(public, str) and public else f", {100 * share:g} % public" if share == share and share else ""
    origin = row.get("origin", records.OWN)
    return f"{name}{through}{rows}{f', {origin}' if origin != records.OWN else ''}"
