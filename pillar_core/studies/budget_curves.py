"""A whole accuracy-ε curve from three runs: a sigmoid in log ε (PACE, arXiv 2509.04290), its error
from curves of other sets.

Three points leave no residual, so the band is how far the same fit missed left-out budgets of the
sets in budget_curves.csv. Below the smallest ε nothing is said: there the fit misses by far more
(docs/explore.md has the table). Accuracies are of test rows: a diagnostic.
"""

import dataclasses
import functools
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from pillar_core.arrays import Array
from pillar_core.errors import SettingError

TABLE = Path(__file__).with_suffix(".csv")
RUNS = (0.1, 1.0, 8.0)
"""The budgets that are trained."""
_BOUNDS = ((0.2, math.log(1e-4)), (4.0, math.log(1e3)))
"""The least and the most of the sigmoid's slope and middle."""


@dataclasses.dataclass(frozen=True)
class BudgetCurve:
    """Accuracy floor + (top − floor)·σ(slope·(ln ε − middle)) from the `smallest` ε of its runs on,
    within ± `half_width`.

    half_width: what 19 of 20 left-out budgets of each of `sets` other sets were missed by at most;
    for `inside` of these the width that the others give is enough.
    """

    floor: float
    top: float
    slope: float
    middle: float
    smallest: float
    half_width: float
    inside: int
    sets: int

    def table(self, epsilons: Sequence[float]) -> pd.DataFrame:
        """Columns epsilon, mean, low, high in [0, 1], of the budgets that are not below the
        smallest."""
        known = np.array([epsilon for epsilon in epsilons if epsilon >= self.smallest])
        mean = _accuracy(known, self.floor, self.top, self.slope, self.middle)
        ends = {
            "low": np.clip(mean - self.half_width, 0, 1),
            "high": np.clip(mean + self.half_width, 0, 1),
        }
        return pd.DataFrame({"epsilon": known, "mean": mean, **ends})


def fit_budget_curve(
    epsilons: Sequence[float], accuracies: Sequence[float], *, n_classes: int
) -> BudgetCurve:
    """The curve through three or more runs; its floor is guessing among the classes.

    Raises SettingError: fewer than three different finite budgets, or another number of accuracies.
    """
    if (
        len(set(epsilons)) < 3
        or len(epsilons) != len(accuracies)
        or not all(math.isfinite(e) and e > 0 for e in epsilons)
    ):
        raise SettingError(
            "a curve needs the accuracies of at least three different finite budgets."
        )
    top, slope, middle = _fit(tuple(epsilons), tuple(accuracies), 1 / n_classes)
    sizes = _sizes(tuple(sorted(set(epsilons))))
    inside = sum(
        size <= max(rest)
        for place, size in enumerate(sizes)
        if (rest := sizes[:place] + sizes[place + 1 :])
    )
    return BudgetCurve(
        1 / n_classes, top, slope, middle, min(epsilons), max(sizes), inside, len(sizes)
    )


def _fit(
    epsilons: tuple[float, ...], accuracies: tuple[float, ...], floor: float
) -> tuple[float, float, float]:
    """Top, slope and middle by least squares; the top is at least the best run."""
    from scipy.optimize import least_squares

    known, best = np.array(accuracies), min(max(*accuracies, floor + 0.01), 0.999)

    def error(at: Array) -> Array:
        return np.asarray(_accuracy(np.array(epsilons), floor, *at) - known)

    start = (min(best + 0.01, 0.9995), 0.8, math.log(min(epsilons)))
    solution = least_squares(error, start, bounds=((best, *_BOUNDS[0]), (1.0, *_BOUNDS[1])))
    return float(solution.x[0]), float(solution.x[1]), float(solution.x[2])


def _accuracy(epsilons: Array, floor: float, top: float, slope: float, middle: float) -> Array:
    return floor + (top - floor) / (1 + np.exp(-slope * (np.log(epsilons) - middle)))


@functools.lru_cache(maxsize=8)
def _sizes(budgets: tuple[float, ...]) -> list[float]:
    """What 19 of 20 left-out budgets of each set that are not below the smallest are missed by at
    most."""
    missed = misses(budgets)
    known = missed[missed["side"] != "below"]
    return [float(size) for size in known["sigmoid"].abs().groupby(known["set"]).quantile(0.95)]


def misses(budgets: tuple[float, ...]) -> pd.DataFrame:
    """Fits to single seeds at the nearest measured budgets, against the mean over seeds at each
    other budget."""
    curves = pd.read_csv(TABLE)
    measured = [name for name in curves.columns if name[0].isdigit()]
    places = [float(name) for name in measured]
    fitted = sorted(
        {
            min(range(len(places)), key=lambda place: abs(math.log(places[place] / budget)))
            for budget in budgets
        }
    )
    means = curves.groupby(["set", "learner"])[measured].transform("mean").to_numpy()
    rows = []
    epsilons = tuple(places[place] for place in fitted)
    values = curves[measured].to_numpy(dtype=np.float64)
    for name, learner, classes, run, mean in zip(
        curves["set"], curves["learner"], curves["classes"], values, means, strict=True
    ):
        known, floor = tuple(map(float, run[fitted])), 1 / int(classes)
        parts, line = _fit(epsilons, known, floor), np.polyfit(np.log(epsilons), known, 1)
        for place, epsilon in enumerate(places):
            if place not in fitted:
                side = (
                    "below"
                    if epsilon < epsilons[0]
                    else "above"
                    if epsilon > epsilons[-1]
                    else "between"
                )
                guess = float(_accuracy(np.array(epsilon), floor, *parts))
                rows.append(
                    (
                        name,
                        learner,
                        side,
                        guess - mean[place],
                        np.polyval(line, math.log(epsilon)) - mean[place],
                    )
                )
    return pd.DataFrame(rows, columns=["set", "learner", "side", "sigmoid", "line"])
