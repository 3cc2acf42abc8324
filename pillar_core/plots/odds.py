"""Odds as dots: of so many guesses about one person's presence, how many the training makes
right."""

import math

import pandas as pd
import plotly.graph_objects as go

from pillar_core.errors import DataError, SettingError
from pillar_core.plots.marks import Drawing
from pillar_core.plots.theme import Mode

ROWS, COLUMNS = 10, 40


def turned(share: float) -> int:
    """Of 400 even bets, how many the share of them is at most: never understated."""
    return math.ceil(ROWS * COLUMNS * share - 1e-9)


def promise(learned: int, protected: str = "one row") -> str:
    """What so many bets that turn from wrong to right mean."""
    return (
        f"Of {ROWS * COLUMNS} guesses whether {protected} took part, at most {learned} become right"
        " by seeing the model"
    )


def odds_dots(
    table: pd.DataFrame, *, mode: Mode = "light", protected: str = "one row"
) -> go.Figure:
    """An array of 400 guesses: right by luck, right because of the training, wrong.

    table: one row with column advantage in [0, 1], the largest membership advantage that the
    guarantee allows an attacker with even prior odds: the guess is right with probability (1 +
    advantage)/2. A column gaussian, where there is one, has that of a training with Gaussian noise.
    """
    advantage = float(table["advantage"].iloc[0])
    if not 0 <= advantage <= 1:
        raise DataError(f"advantage must be in [0, 1]; got {advantage!r}.")
    total = ROWS * COLUMNS
    learned = turned(advantage / 2)
    figure = Drawing(mode=mode)
    start = 0
    groups = (
        ("right by coin flip", total // 2, figure.ink.muted),
        ("right because of the training", learned, figure.marked),
        ("wrong", total - total // 2 - learned, figure.ink.grid),
    )
    for name, count, colour in groups:
        places = range(start, start + count)
        columns = [place // ROWS for place in places]
        rows = [place % ROWS for place in places]
        figure.dots(
            columns,
            rows,
            colour,
            symbol="circle",
            name=f"{name}: {count}",
            hover=name,
        )
        start += count
    figure.update_xaxes(range=[-0.8, COLUMNS - 0.2])
    figure.update_yaxes(range=[ROWS - 0.3, -0.7])
    more = ""
    if "gaussian" in table:
        share = float(table["gaussian"].iloc[0]) / 2
        more = (
            f" Gaussian noise, on all rows in every step, allows {math.ceil(total * share - 1e-9)}:"
            f" {one_in(share)}"
        )
    return figure.finish(
        title=promise(learned, protected),
        caption=(
            "The strongest attacker the guarantee allows, prior 50:50. "
            f"{one_in(advantage / 2)}{more}"
        ),
        alt=(
            f"Array of {total} dots: {total // 2} right by luck, {learned} right because of "
            "the training, the rest wrong."
        ),
        height=300,
        x={"visible": False},
        y={"visible": False},
        legend_y=-0.02,
    )


def one_in(share: float, *, end: str = ".") -> str:
    """“1 in 19” and `end` for a share in [0, 1] of a trade-off curve (never of one (ε, δ) point),
    rounded to never understate it."""
    if not 0 <= share <= 1:
        raise SettingError(f"share must be in [0, 1]; got {share!r}.")
    if share == 0:
        return f"Not one{end}"
    count = 1 / share
    return (
        f"1 in {math.floor(10 * count) / 10:.1f}{end}"
        if count < 10
        else f"1 in {_round_down(count):,.0f}{end}"
    )


def guessed_right(share: float) -> str:
    """“51.8 %”: how often the best attacker is right who would be at 50 % without the model,
    rounded up.

    share: of guesses that the model turns from wrong to right, in [0, 0.5]; half of a membership
    advantage.
    """
    if not 0 <= share <= 0.5:
        raise SettingError(f"share must be in [0, 0.5]; got {share!r}.")
    return f"{math.ceil(1000 * (0.5 + share) - 1e-9) / 10:.1f} %"


def _round_down(value: float) -> float:
    """Two significant digits, as more would claim a precision that odds do not carry; down, so that
    no risk is understated."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return math.floor(value / unit) * unit
