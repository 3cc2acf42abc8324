"""Every learner at one budget: which can run on a split, the grid that compares them, and one line
per learner and ε."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from pillar_core import metrics
from pillar_core.errors import DataError
from pillar_core.methods import METHODS, Method
from pillar_core.numerics import signed
from pillar_core.splits import what_lacks
from pillar_core.types import Form, SemiPrivateSplit, Values

CEILING, FLOOR = "non_private", "only_public"


def applicable(split: SemiPrivateSplit) -> dict[str, str]:
    """Every learner's name, with "" where it can run on this split and else the reason why not."""
    return {name: obstacle(method, split) for name, method in METHODS.items()}


def compare_grid(
    shared: Values, *, methods: Sequence[str], epsilons: Sequence[float], seeds: Sequence[int]
) -> Form:
    """A grid for `sweep`: every method with its own defaults, the same data, split and
    preprocessing, at each ε and seed.

    Raises UnknownNameError: a method that is not registered. DataError: nothing to compare.
    """
    for name in methods:
        METHODS[name]
    if not methods or not epsilons or not seeds:
        raise DataError("a comparison needs at least one method, one ε and one seed.")
    return {
        **shared,
        "method": list(methods),
        "epsilon": [float(epsilon) for epsilon in epsilons],
        "seed": list(seeds),
    }


def summary(table: pd.DataFrame, *, score: str = "accuracy") -> pd.DataFrame:
    """One row per (method, epsilon), best first: mean of `score` with its 95 % interval over seeds,
    seeds, public data, time.

    Learners that spend nothing stand at every ε. Rows that could not run carry their reason in
    `error_message`. `performance_boost` is (err_public − err_ceiling)/(err − err_ceiling): how much
    nearer the ceiling than the public rows alone lead (Golatkar et al., AdaMix, Fig. 2); empty
    without both references.
    """
    table = at_every_epsilon(table)
    rows = [_line(group, score) for _, group in table.groupby(["method", "epsilon"], sort=False)]
    lines = pd.DataFrame(rows)
    lines["performance_boost"] = _boosts(lines)
    return lines.sort_values(
        ["epsilon", "mean"], ascending=[True, False], kind="stable", na_position="last"
    ).reset_index(drop=True)


def at_every_epsilon(table: pd.DataFrame, epsilons: Sequence[float] | None = None) -> pd.DataFrame:
    """The table with the runs of learners that spend nothing repeated at each of `epsilons`, by
    default each budget of the others."""
    spends = table["method"].map(lambda name: METHODS[name].is_private)
    budgets = table.loc[spends, "epsilon"].unique() if epsilons is None else epsilons
    if not len(budgets):
        return table
    free = [table[~spends].assign(epsilon=epsilon) for epsilon in budgets]
    return pd.concat([table[spends], *free], ignore_index=True)


def verdict(table: pd.DataFrame) -> str:
    """One sentence on runs at one budget: how many learners cannot be told from the best, and by
    how much that leads.

    Differences are of runs of equal seed, which share split and noise, with Student's interval;
    references do not compete.
    """
    runs, ranked = _rank_learners(table)
    if len(ranked) < 2:
        return ""
    behind = {name: (runs[ranked[0]] - runs[name]).dropna() for name in ranked[1:]}
    titles = {name: METHODS[name].title for name in ranked}
    lead = 100 * float(behind[ranked[1]].mean())
    if min(map(len, behind.values())) < 2:
        first, second = (titles[name] for name in ranked[:2])
        order = f"{first} is ahead of {second} by {lead:.1f} points"
        return (
            f"{order if lead >= 0.05 else f'{first} and {second} are level'} in one run: no"
            " interval, so no order is certain."
        )
    lows = {name: metrics.interval(gaps.to_list())[1] for name, gaps in behind.items()}
    ties = 1 + sum(low <= 0 for low in lows.values())
    spread = f"{lead:.1f} ± {lead - 100 * lows[ranked[1]]:.1f} points"
    if ties == 1:
        return f"{titles[ranked[0]]} leads {titles[ranked[1]]} by {spread}."
    return (
        f"{ties} of {len(ranked)} tie within intervals; {titles[ranked[0]]} is ahead of"
        f" {titles[ranked[1]]} by {spread}."
    )


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What runs say of an advice. `agrees`: whether the mean lies in the expected range, None where
    nothing was expected or measured.

    `words` are "" without a run of the advised choice and of another; `better` is the choice to
    take instead, "" where the advice stays.
    """

    agrees: bool | None
    words: str
    better: str


def judge_advice(
    table: pd.DataFrame,
    advised: str,
    *,
    expected: tuple[float, float] | None = None,
    titles: Mapping[str, str] | None = None,
) -> Verdict:
    """What runs at one budget say of the advice to take `advised`.

    The lead of the best other choice is paired by seed; it is taken where its interval lies above
    0. table: columns seed, accuracy in [0, 1] and method, a learner's name or one of `titles`.
       expected: the range that was predicted.
    """
    runs, ranked = _rank_learners(table)
    mean = runs[advised].mean() if advised in runs else math.nan
    agrees = (
        None if expected is None or math.isnan(mean) else bool(expected[0] <= mean <= expected[1])
    )
    rivals = [name for name in ranked if name != advised]
    if advised not in runs or not rivals or runs[[advised, rivals[0]]].dropna().empty:
        return Verdict(agrees, "", "")
    title, best = ((titles or {}).get(name) or METHODS[name].title for name in (advised, rivals[0]))
    gaps = (100 * (runs[rivals[0]] - runs[advised])).dropna().to_list()
    if sum(gaps) <= 0:
        end = (
            "but its accuracy is not what was predicted" if agrees is False else "the advice holds"
        )
        return Verdict(
            agrees,
            f"Measured here, no learner beats {title}{',' if agrees is False else ':'} {end}.",
            "",
        )
    lead, low, high = metrics.interval(gaps)
    spread = f" ({signed(low)} to {signed(high)})" if len(gaps) > 1 else ""
    lead_words = f"Advice was {title}; measured here {best} leads it by {lead:.1f} points{spread}"
    if low > 0:
        return Verdict(agrees, f"{lead_words}: take {best}.", rivals[0])
    return Verdict(agrees, f"{lead_words}; seeds so far: {len(gaps)}, too few to be certain.", "")


def _rank_learners(table: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Accuracies by seed and learner, references aside, and the learners, best first."""
    runs = table[~table["method"].isin([CEILING, FLOOR])].pivot_table(
        index="seed", columns="method", values="accuracy"
    )
    return runs, [
        str(name) for name in runs.mean().sort_values(ascending=False, kind="stable").index
    ]


def obstacle(method: Method[Any], split: SemiPrivateSplit) -> str:
    """Why a learner cannot run on a split; "" where it can."""
    lacking, *_ = what_lacks(split, method.public_use)
    return lacking or (method.unsupported_reason(split) if method.unsupported_reason else "")


def _line(group: pd.DataFrame, score: str) -> Form:
    first, values = group.iloc[0], group.get(score, pd.Series(dtype=float))
    method = METHODS[str(first["method"])]
    use = first.get("public_use")
    return {
        "method": method.name,
        "title": method.title,
        **summarise(group, values),
        "public_data": use if isinstance(use, str) else str(method.public_use),
        "epsilon_upper": group["epsilon_upper"].max() if "epsilon_upper" in group else math.nan,
    }


def summarise(
    group: pd.DataFrame, values: "pd.Series[Any]", *, low: float = 0.0, high: float = 1.0
) -> Form:
    """Runs of one learner and ε as one row: method, epsilon, mean of `values` with its 95 %
    interval cut to [`low`, `high`], seeds, seconds, error_message."""
    known, failed = values.dropna().astype(float), group["error_message"].dropna()
    mean, least, most = metrics.over_runs(known.to_list(), low=low, high=high)
    return {
        "method": group["method"].iloc[0],
        "epsilon": group["epsilon"].iloc[0],
        "mean": mean,
        "low": least,
        "high": most,
        "seeds": len(known),
        "seconds": group["seconds"].mean() if "seconds" in group else math.nan,
        "error_message": failed.iloc[0] if len(failed) else "",
    }


def _boosts(lines: pd.DataFrame) -> "pd.Series[float]":
    by_method = lines.drop_duplicates("method").set_index("method")["mean"]
    ceiling, floor = (by_method.get(name, math.nan) for name in (CEILING, FLOOR))
    return boosts_of(lines["mean"], ceiling, floor)


def boosts_of(accuracies: "pd.Series[float]", ceiling: Any, floor: Any) -> "pd.Series[float]":
    """(err_public − err_ceiling)/(err − err_ceiling); empty at the ceiling and above."""
    distance = ceiling - accuracies
    boosts: pd.Series[float] = ((ceiling - floor) / distance).where(distance > 0)
    return boosts
