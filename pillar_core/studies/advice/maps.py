"""Which map the columns of a table go through: ramps of public rows, bins of ranges alone, unless
rehearsals on labelled public rows put another ahead."""

import contextlib
import dataclasses
import math
from collections.abc import Collection, Mapping

import numpy as np

from pillar_core.errors import DataError
from pillar_core.runs.splitting import mapped
from pillar_core.studies.advice.prediction import IN_WORDS, MARGIN, OWN, kind_of, luck
from pillar_core.studies.advice.simulation import (
    MOST_PLAYS,
    can_play,
    metric_of,
    plays,
)
from pillar_core.types import FeatureSet, PrivacyBudget, SemiPrivateSplit

GIVEN, RAMPS, BINS, FOURIER = "identity", "ramps", "bins", "fourier"
MAPS = (GIVEN, RAMPS, BINS, FOURIER)
LEARNER = "pillar_kalman"
"""Plays the maps: it reads no public label, so that all labelled rows play, whatever the map."""
AGAIN = 3
"""How often plays are repeated on other draws."""
CLEAR = 0.5
"""Standard errors of the plays by which another map must be ahead, at least (research/tables.md).
Below 100 rows of two classes it is `luck`."""
UNFIT = "columns stay as given without public rows: a map needs those or declared ranges"
TOO_WIDE = "columns stay as given: ramps and bins take no table with so many columns of numbers"
AT_ZERO = 0.9
"""The share of columns with ranges from 0 from which rows are not made up: counts crowd at 0, far
from the middle of what was drawn."""
UNLIKE = (
    "rows made up from the ranges are left unused: nearly all of these start at 0, where counts"
    " crowd"
)

Sides = dict[str, SemiPrivateSplit]


def sides_by_map(
    sides: Sides, features: FeatureSet, backbones: Collection[str] | None = None
) -> dict[str, Sides]:
    """The blind sides of an advice through each of these maps that can be fitted, by map and name.

    features: those of the private rows, as a split holds them, for what a recipe says of columns.
    backbones: by default all maps of a table's columns, or the one that it has.
    """
    given = features.given or features
    own = {features.backbone} if features.given is not None else None
    asked = backbones or own or ({GIVEN} if given.images is not None else set(MAPS))
    made: dict[str, Sides] = {}
    for name in (name for name in MAPS if name in asked):
        through = {side: _through(rows, name, given) for side, rows in sides.items()}
        if len(asked) == 1 or name == GIVEN or any(map(is_mapped, through.values())):
            made[name] = through
    return made


def choose_map(
    by_map: Mapping[str, Sides],
    budget: PrivacyBudget,
    seed: int,
    metric: str | None = None,
) -> tuple[str, tuple[str, ...]]:
    """(the map to take, why), by two numbers. Guarantee: as `advise`, for sides
    without private rows."""
    if len(by_map) == 1:
        return next(iter(by_map)), ()
    given = next(iter(by_map.values()))
    is_seen = any(kind_of(rows) not in ("none", "made_up") for rows in given.values())
    first = RAMPS if is_seen else BINS
    first = first if first in by_map else next(iter(by_map))
    able = [name for name, rows in given.items() if can_play(rows)]
    played = [OWN] if OWN in able else able
    if played:
        means = {
            name: float(np.mean([_reached(sides[side], budget, seed, metric) for side in played]))
            for name, sides in by_map.items()
        }
        n_rows = sum(len(given[side].public_x) for side in played)
        error = max(
            CLEAR * math.sqrt(means[first] * (1 - means[first]) / n_rows),
            luck(means[first], n_rows, given[played[0]].facts.n_classes),
            MARGIN * (played != [OWN]),
        )
        best = max(means, key=lambda name: means[name] + error * (name == first))
        number = IN_WORDS[_beside_area(given[played[0]], metric)].strip() or "accuracy"
        told = ", ".join(f"{title_of(name)} {100 * mean:.1f}" for name, mean in means.items())
        return best, (
            f"columns: {title_of(best)}, by rehearsals on labelled public rows (mean of {number}"
            f" and AUC in percent: {told}; another map must be {100 * error:.1f} points ahead"
            f" of {title_of(first)})",
        )
    if first == GIVEN:
        return first, (TOO_WIDE,)
    return first, (f"columns: {first}, which lost least to the best map on other tables",)


def put_words(name: str) -> str:
    """What an advice adds on a map of columns; "" for columns as given."""
    return "" if name == GIVEN else f" Put the columns through the backbone {name} first: no ε."


def title_of(name: str) -> str:
    """What an advice calls a map of columns."""
    return "as given" if name == GIVEN else name


def zero_share(features: FeatureSet) -> float:
    """The share of a table's columns whose declared range starts at 0."""
    columns = (features.recipe or {}).get("columns", ())
    return float(np.mean([column.get("low") == 0 for column in columns] or 0.0))


def is_mapped(rows: SemiPrivateSplit) -> bool:
    """Whether a map of columns could be fitted for these rows."""
    return rows.features.given is not None


def _reached(rows: SemiPrivateSplit, budget: PrivacyBudget, seed: int, metric: str | None) -> float:
    """What the plays of labelled public rows reach, the mean of the number and of AUC: one alone
    lost more (research/tables.md)."""
    reached = [
        plays(LEARNER, rows, budget, seed + MOST_PLAYS * time, wanted=metric)
        for time in range(AGAIN)
    ]
    first = _beside_area(rows, metric)
    return float(np.mean([each[measure] for each in reached for measure in (first, "auc")]))


def _beside_area(rows: SemiPrivateSplit, metric: str | None) -> str:
    """The number beside AUC that a map is chosen by."""
    return metric_of(rows) if metric is None or metric == "auc" else metric


def _through(rows: SemiPrivateSplit, name: str, features: FeatureSet) -> SemiPrivateSplit:
    with contextlib.suppress(DataError):  # without public rows or ranges they stay as given
        return dataclasses.replace(mapped(rows, name, like=features), notes=())
    return rows
