"""From a target accuracy to ε, k or n, read off measured runs: interpolated, never extrapolated.

Between measured budgets, accuracy is taken as linear in log ε, between measured k as linear in log k (means over seeds).
The rows needed follow from the noise: with public size N and a Gaussian run of parameter μ, a head sees its noise only
through μ·N, so what μ* reaches at N rows, μ reaches at N·μ*/μ rows, as long as the rows are of the same kind.
"""

import dataclasses
import math
from collections.abc import Sequence

import pandas as pd

from pillar_core import accounting
from pillar_core.errors import DataError


@dataclasses.dataclass(frozen=True)
class Answer:
    """What would reach the target. `value` is None where no measured run does; `words` say how it was come by.

    `best` is the best mean accuracy in [0, 1] among the runs that were asked, at `best_at`.
    """

    value: float | None
    best: float
    best_at: float
    words: str


def epsilon_for(table: pd.DataFrame, *, target: float, method: str = "pillar", k: int | None = None) -> Answer:
    """The smallest ε whose mean accuracy reaches `target` in [0, 1], at this k or (None) at the best k of each budget.

    Raises:
        DataError: no finished run to read from.
    """
    runs = _runs(table, method)
    if k is not None:
        runs = runs[runs["k"] == k]
    means = runs.groupby(["epsilon", "k"])["accuracy"].mean().groupby("epsilon").max()
    return _first_reach(means, target, "the best k of each ε" if k is None else f"k = {k}")


def k_for(table: pd.DataFrame, *, target: float, epsilon: float, method: str = "pillar") -> Answer:
    """The smallest k whose mean accuracy reaches `target` in [0, 1] at the measured budget nearest to `epsilon` from below.

    Raises:
        DataError: no finished run at `epsilon` or below.
    """
    runs = _runs(table, method)
    budgets = [value for value in runs["epsilon"].unique() if value <= epsilon]
    if not budgets:
        raise DataError(f"no run was measured at ε = {epsilon:g} or below; measure smaller budgets.")
    budget = float(max(budgets))
    means = runs[runs["epsilon"] == budget].groupby("k")["accuracy"].mean()
    return _first_reach(means, target, f"ε = {budget:g}")


def n_for(
    table: pd.DataFrame, *, target: float, epsilon: float, delta: float, n_private: int, method: str = "pillar", k: int | None = None
) -> Answer:
    """How many private rows would reach `target` in [0, 1] at `epsilon`, from the ε that reaches it with `n_private` rows.

    Raises:
        DataError: no finished run to read from.
    """
    needed = epsilon_for(table, target=target, method=method, k=k)
    if needed.value is None:
        return needed
    factor = accounting.mu_of(needed.value, delta) / accounting.mu_of(epsilon, delta) if math.isfinite(epsilon) else 0.0
    rows = max(1.0, math.ceil(n_private * factor))
    reason = f"{n_private:,} rows reach it at ε = {needed.value:.3g}; noise counts through μ·N alone, so N scales by {factor:.3g}"
    return Answer(rows, needed.best, needed.best_at, reason)


def _runs(table: pd.DataFrame, method: str) -> pd.DataFrame:
    runs = table[(table["method"] == method)].dropna(subset=["accuracy", "k"])
    runs = runs[[math.isfinite(value) for value in runs["epsilon"]]]
    if runs.empty:
        raise DataError(f"no finished run of {method} to read from; measure the curves first.")
    return runs


def _first_reach(means: "pd.Series[float]", target: float, where: str) -> Answer:
    """The first place, by log-linear interpolation, where `means` (index: place above 0, rising) reaches `target`."""
    places: Sequence[float] = [float(place) for place in means.index]
    values = [float(value) for value in means]
    top = max(range(len(values)), key=values.__getitem__)
    for index, value in enumerate(values):
        if not value >= target:
            continue
        if index == 0:
            return Answer(places[0], values[top], places[top], f"the smallest one measured already reaches it, at {where}")
        before = values[index - 1]
        share = (target - before) / (value - before)
        place = math.exp(math.log(places[index - 1]) + share * (math.log(places[index]) - math.log(places[index - 1])))
        return Answer(place, values[top], places[top], f"between the measured {places[index - 1]:g} and {places[index]:g}, at {where}")
    return Answer(None, values[top], places[top], f"no measured value reaches it, at {where}")
