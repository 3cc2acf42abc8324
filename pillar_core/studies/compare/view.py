"""Comparisons that vary one thing: what a view asks for as grids, and what its runs say as one line
per series and place.

A view is data: which runs it needs, and how a run's row is named (`series`) and placed (`x`). Its
runs are specs of a sweep like any others, so they are cached, resumed and shared with every other
page.
"""

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from pillar_core import metrics
from pillar_core.registry import Registry
from pillar_core.studies import papers
from pillar_core.studies.compare import learners as compare
from pillar_core.types import FeatureSet, Form, SemiPrivateSplit, Values

Grid = Form


@dataclasses.dataclass(frozen=True)
class Setup:
    """What a view is drawn on. `data`: axes of a sweep that name the rows and the kind of ε;
    `public`: those that say which are public.

    split: one split of these rows, for what its public facts decide. other: another data set whose
    rows could be public.
    """

    data: Values
    public: Values
    split: SemiPrivateSplit
    epsilons: Sequence[float]
    seeds: Sequence[int]
    other: str | None = None

    @property
    def features(self) -> FeatureSet:
        """The private set's features."""
        return self.split.features

    @property
    def rows_a_class(self) -> int:
        """Train rows over classes: how many rows a class can be expected to have."""
        return len(self.features.x_train) // self.features.n_classes

    def able(self, names: Sequence[str]) -> list[str]:
        """Those of the learners that can run on the split."""
        reasons = compare.applicable(self.split)
        return [name for name in names if not reasons[name]]

    def grid(self, **axes: Any) -> Grid:
        """A grid over these rows, budgets and seeds; `axes` add to them or stand in their place."""
        return {**self.data, "epsilon": list(self.epsilons), "seed": list(self.seeds), **axes}


@dataclasses.dataclass(frozen=True)
class CompareView:
    """One way to compare.

    grids: the runs that it needs. place: runs with the columns `series` and `x` added. value: one
    number a run in place of its accuracy, a share like it unless is_share is false. base: the
    series that `decrease` is measured against. x_log: a logarithmic axis. over_epsilon: wants
    several budgets.
    """

    name: str
    title: str
    source: str
    question: str
    x_title: str
    grids: Callable[[Setup], list[Grid]]
    place: Callable[[pd.DataFrame, Setup], pd.DataFrame]
    value: "Callable[[pd.DataFrame], pd.Series[float]] | None" = None
    is_share: bool = True
    y_title: str = "test accuracy, %"
    base: str | None = None
    x_log: bool = False
    needs_other: bool = False
    over_epsilon: bool = False
    published_table: tuple[str, str] | None = None
    """Paper and table whose printed numbers stand beside ours, where data set and backbone bear a
    paper's names."""


COMPARE_VIEWS: Registry[CompareView] = Registry("comparison view")


def lines(view: CompareView, runs: pd.DataFrame, setup: Setup) -> pd.DataFrame:
    """One row per series and place: mean of the view's value with its 95 % interval over seeds, and
    how many seeds there are.

    Columns: series, x, method, epsilon, mean, low, high, seeds, n_private, n_public, public_use,
    seconds, error_message; with a base also decrease, decrease_low, decrease_high, the share of the
    base's test error that is gone (paired by seed); and published, where a paper prints it for
    these rows.
    """
    placed = view.place(runs, setup)
    placed = placed.assign(value=placed["accuracy"] if view.value is None else view.value(placed))
    if view.base is not None:
        placed = placed.assign(decrease=_decrease(placed, view.base))
    table = pd.DataFrame(
        [
            _line(group, view)
            for _, group in placed.groupby(["series", "x", "epsilon"], sort=False, dropna=False)
        ]
    )
    return _with_published(table, view, setup) if len(table) else table


def _line(group: pd.DataFrame, view: CompareView) -> Form:
    low, high = (0.0, 1.0) if view.is_share else (-math.inf, math.inf)
    line: Form = {
        "series": group["series"].iloc[0],
        "x": group["x"].iloc[0],
        **compare.summarise(group, group["value"], low=low, high=high),
        "public_use": group["public_use"].iloc[0] if "public_use" in group else "",
    }
    for name in ("n_private", "n_public"):
        line[name] = group[name].max() if name in group else math.nan
    if "decrease" in group:
        decrease = metrics.over_runs(group["decrease"].astype(float).to_list(), low=-math.inf)
        line |= dict(zip(("decrease", "decrease_low", "decrease_high"), decrease, strict=True))
    return line


def reference_of(
    runs: pd.DataFrame, is_reference: "pd.Series[bool]", keys: list[str]
) -> "pd.Series[float]":
    """The accuracy of the reference run with the same keys, for each run; NaN where there is
    none."""
    known = runs[is_reference].set_index(keys)["accuracy"].to_dict()
    return pd.Series(
        [known.get(key, math.nan) for key in runs[keys].itertuples(index=False, name=None)],
        index=runs.index,
    )


def _decrease(placed: pd.DataFrame, base: str) -> "pd.Series[float]":
    """(err_base − err)/err_base of each run against the base's run at the same place, budget and
    seed."""
    reference = 1.0 - reference_of(placed, placed["series"] == base, ["x", "epsilon", "seed"])
    return ((reference - (1.0 - placed["accuracy"])) / reference).where(reference > 0)


def _with_published(table: pd.DataFrame, view: CompareView, setup: Setup) -> pd.DataFrame:
    if view.published_table is None:
        return table
    known = papers.matching(
        setup.features.name, setup.data.get("backbone") or setup.features.backbone
    )
    known = known[
        (known["paper"] == view.published_table[0]) & (known["table"] == view.published_table[1])
    ]
    values = known.groupby(["method", "epsilon", "public_fraction"])["published"].first().to_dict()
    places = zip(table["method"], table["epsilon"], table["x"], strict=True)
    printed = [values.get(place, math.nan) for place in places]
    return (
        table.assign(published=printed)
        if any(not math.isnan(value) for value in printed)
        else table
    )
