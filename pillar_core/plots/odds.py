"""Odds as dots: of so many guesses about one person's presence, how many the training makes
right."""

import itertools
import math

import pandas as pd

from pillar_core.errors import DataError, SettingError
from pillar_core.plots.marks import Drawing
from pillar_core.plots.theme import Figure

ROWS, COLUMNS = 10, 40


def turned(share: float) -> int:
    """Of 400 even bets, how many the model turns from wrong to right at most: never understated.

    share: of all bets, in [0, 0.5]; half of a membership advantage. Raises SettingError.
    """
    if not 0 <= share <= 0.5:
        raise SettingError(f"share must be in [0, 0.5]; got {share!r}.")
    return math.ceil(ROWS * COLUMNS * share - 1e-9)


def promise(share: float, protected: str = "one row") -> str:
    """What a share of bets that turn from wrong to right means, as all pages say it."""
    return (
        f"Of {ROWS * COLUMNS} guesses whether {protected} took part, at most {turned(share)} become"
        " right by seeing the model"
    )


def odds_dots(table: pd.DataFrame, *, protected: str = "one row") -> Figure:
    """An array of 400 guesses: right by luck, right because of the training, wrong.

    table: one row with column advantage in [0, 1], the largest membership advantage that the
    guarantee allows an attacker with even prior odds: the guess is right with probability (1 +
    advantage)/2. A column alone, where there is one, has what ε and δ allow whatever the learner.
    """
    advantage = float(table["advantage"].iloc[0])
    if not 0 <= advantage <= 1:
        raise DataError(f"advantage must be in [0, 1]; got {advantage!r}.")
    total = ROWS * COLUMNS
    learned = turned(advantage / 2)
    figure = Drawing()
    groups = (
        ("right by coin flip", total // 2, figure.ink.muted),
        ("right because of the training", learned, figure.marked),
        ("wrong", total - total // 2 - learned, figure.ink.grid),
    )
    places = iter(range(total))
    for name, count, colour in groups:
        columns, rows = [], []
        for place in itertools.islice(places, count):
            columns.append(place // ROWS)
            rows.append(place % ROWS)
        figure.dots(columns, rows, colour, symbol="circle", name=f"{name}: {count}", hover=name)
    more = ""
    if "alone" in table:
        more = (
            " ε and its slack δ alone, whatever the learner does, allow"
            f" {turned(float(table['alone'].iloc[0]) / 2)}."
        )
    return figure.finish(
        title=promise(advantage / 2, protected),
        caption=(
            "The strongest attacker that the noise allows: without the model, half of the guesses"
            f" are right.{more}"
        ),
        alt=(
            f"Array of {total} dots: {total // 2} right by luck, {learned} right because of "
            "the training, the rest wrong."
        ),
        height=300,
        x={"visible": False, "range": [-0.8, COLUMNS - 0.2]},
        y={"visible": False, "range": [ROWS - 0.3, -0.7]},
    )
