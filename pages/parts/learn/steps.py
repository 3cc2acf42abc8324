"""The six steps of the lesson: a question to guess at, one control, and how the guess is judged by what was measured."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from pages.frame.settings import Value
from pillar_core import plots
from pillar_core.studies import lessons

SEEDS = (0, 1, 2)
MANY_SEEDS = tuple(range(8))
"""Where the noise is large against the differences."""
_STRICT, _COMMON, _K = 0.1, 1.0, 10


@dataclasses.dataclass(frozen=True)
class Step:
    """One step. `right` names the option that the measured table supports; `draw(table, here, mode)` makes the figure.

    `explore` are settings to go on with in the explorer, where `task` says what to look at.
    """

    title: str
    story: str
    question: str
    options: tuple[str, ...]
    control: str
    values: tuple[Any, ...]
    start: Any
    measure: Callable[[], pd.DataFrame]
    right: Callable[[pd.DataFrame], int]
    draw: Callable[[pd.DataFrame, Any, plots.Mode], Any]
    moral: str
    explore: Mapping[str, Value]
    task: str
    words: Mapping[Any, str] = dataclasses.field(default_factory=dict)
    is_measured: bool = True


_EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 8.0)
_KS = (1, 2, 5, 10, 20, 35, 50)
_COUNTS = (200, 400, 800, 1293)
_RELEASES = (1, 2, 5, 10, 20, 50)
_SOURCES = {"same": "digits, like the private ones", "scrambled": "digits with scrambled pixels", "noise": "pure noise"}


def _mean(table: pd.DataFrame, column: str, value: Any) -> float:
    return float(table[table[column] == value]["accuracy"].mean())


def _bucket(value: float, *edges: float) -> int:
    """0 from the first edge on, 1 from the second, and so on."""
    return next((place for place, edge in enumerate(edges) if value >= edge), len(edges))


def _gain(table: pd.DataFrame) -> int:
    return _bucket(_mean(table, "k", _KS[-1]) - _mean(table, "k", _K), 0.03, -0.03)


def _worse(table: pd.DataFrame) -> int:
    gap = _mean(table, "source", "noise") - _mean(table, "source", "scrambled")
    return 0 if gap > 0.03 else 1 if gap < -0.03 else 2


def _cost_of_few(table: pd.DataFrame) -> int:
    return 2 - _bucket(_mean(table, "n_private", 1293) - _mean(table, "n_private", 400), 0.05, 0.005)


def _line(x: str, label: str, title: str) -> Callable[[pd.DataFrame, Any, plots.Mode], Any]:
    words = _SOURCES if x == "source" else None
    return lambda table, here, mode: plots.accuracy_by(table, x=x, label=label, title=title, here=here, words=words, mode=mode)


_DIGITS: dict[str, Value] = {"data": "digits", "public": "part", "public_fraction": 0.1}

STEPS: tuple[Step, ...] = (
    Step(
        "What ε limits",
        "A model is trained on people's data. Afterwards somebody looks at the model and bets, for each of **400 people**, whether "
        "that person's row was in the training data. Flipping a coin gets 200 bets right. **ε** (epsilon) limits how much better any "
        "attacker can do, whatever they know and however they compute.",
        "At ε = 1, how many *more* than 200 can the best attacker get right, at most?",
        ("about 20", "about 100", "nearly all of the other 200"),
        "ε",
        _EPSILONS,
        _COMMON,
        lambda: lessons.guesses(_EPSILONS),
        lambda table: 2 - _bucket(float(table.set_index("epsilon")["guesses"][_COMMON]), 150, 60),
        lambda table, here, mode: plots.odds_dots(table[table["epsilon"] == here], mode=mode, protected="somebody"),
        "ε is a promise about the *worst* attacker against *any one* row. At a small ε, looking at the model is hardly better than a coin.",
        {**_DIGITS, "epsilon": 1.0, "view": "odds"},
        "Move **ε** in the sidebar and read the dots: how small must it be until fewer than 5 guesses are won?",
        is_measured=False,
    ),
    Step(
        "Privacy costs accuracy",
        "The promise is kept by **noise**: each training step adds random numbers that drown what any single row contributes. Here are "
        "**1,293 handwritten digits** that are private; the model sees all of their 64 pixels. Without noise it names 96 of 100 right.",
        "At the strict ε = 0.1, how many of 100 test digits does the private model name right?",
        ("90 or more", "between 60 and 90", "fewer than 60"),
        "ε",
        _EPSILONS,
        _STRICT,
        lambda: lessons.without_projection(_EPSILONS, seeds=MANY_SEEDS),
        lambda table: _bucket(_mean(table, "epsilon", _STRICT), 0.9, 0.6),
        _line("epsilon", "ε, privacy budget (log scale)", "The price of privacy, all 64 pixels"),
        "More privacy, more noise, less accuracy. The rest of the lesson is about paying less for the same promise.",
        {**_DIGITS, "method": "dp_sgd", "epsilon": 0.1, "view": "classes"},
        "Which digits suffer most at ε = 0.1? Raise **ε** and watch them come back.",
    ),
    Step(
        "Fewer directions, less noise",
        "Noise goes into *everything that the model may change*. A tenth of the images is **public**: nobody needs protection there. From "
        "them we learn the directions in which digits differ most, and the private training may use only the first **k** of them.",
        "Same strict ε = 0.1. What happens with 10 directions instead of 50?",
        ("worse: most of the picture is thrown away", "about the same", "better: as private as before, with less noise"),
        "k, directions kept",
        _KS,
        50,
        lambda: lessons.directions(_KS, epsilon=_STRICT, seeds=MANY_SEEDS),
        _gain,
        _line("k", "k, how many public directions (log scale)", "Same ε everywhere: the noise has fewer places to go"),
        "This is PILLAR's idea. Too few directions lose the signal, too many drown it; between them lies a best k, at no cost in privacy.",
        {**_DIGITS, "method": "pillar", "epsilon": 0.1, "k": 50, "view": "k"},
        "Move **k** from 50 down and watch the star climb. Then set **ε** to 8: where has the best k gone?",
    ),
    Step(
        "Public data must fit",
        "Directions are only as good as the public rows they come from. Take the same private digits, ε = 1 and k = 10, and learn the "
        "directions elsewhere: from digits whose **pixels were scrambled** (one shuffle for all images), or from images of **pure noise**.",
        "Which public rows are the worse teachers?",
        ("scrambled digits", "pure noise", "no difference: neither knows digits"),
        "Public rows",
        tuple(_SOURCES),
        "same",
        lambda: lessons.public_rows(tuple(_SOURCES), epsilon=_COMMON, k=_K, seeds=SEEDS),
        _worse,
        _line("source", "public rows", "Same private rows, same ε, other public rows"),
        "Noise points everywhere, so some of it helps by luck. Scrambled digits point *confidently* in wrong directions. Public data that "
        "looks rich but differs can be worse than none: screen it before you trust it.",
        {**_DIGITS, "method": "pillar", "epsilon": 1.0, "k": 10, "view": "k"},
        "Lower the **share that is public** to 1 %: how few public rows still find good directions?",
        _SOURCES,
    ),
    Step(
        "Privacy is cheap in crowds",
        "The noise has the same size whether 200 or 200,000 people take part; the signal grows with each of them. "
        "Keep ε = 1 and k = 10, and train on fewer private digits.",
        "With 400 private digits instead of 1,293, accuracy …",
        ("stays: the promise is the same", "drops a little, by less than 5 points", "drops by 5 points or more"),
        "Private rows",
        _COUNTS,
        1293,
        lambda: lessons.rows(_COUNTS, epsilon=_COMMON, k=_K, seeds=SEEDS),
        _cost_of_few,
        _line("n_private", "private rows (log scale)", "Same ε: more rows, the same noise shared by more"),
        "At one ε, what counts is signal against noise: with twice as many rows the noise weighs half as much. "
        "Small data sets pay the most for privacy.",
        {"data": "spiked_features", "method": "pillar", "epsilon": 0.1, "k": 40, "view": "solve"},
        "45,000 rows here. **Solve** says how many rows your target accuracy would need.",
    ),
    Step(
        "Budgets add up",
        "You train **ten models** on the same people, each with ε = 1, and publish all of them.",
        "What do you promise those people altogether?",
        ("still ε = 1: every model is private", "something between 2 and 5", "ε = 10, the plain sum"),
        "Models released",
        _RELEASES,
        10,
        lambda: lessons.releases(_RELEASES, epsilon=_COMMON),
        lambda table: 2 - _bucket(float(table.set_index("releases")["total"][10]), 9.5, 1.5),
        lambda table, here, mode: plots.total_budget(table, here=here, mode=mode),
        "Each look at private data spends budget, and the spending adds up, more slowly than the plain sum. Trying ten settings and "
        "publishing the best is ten looks, too.",
        {**_DIGITS, "epsilon": 1.0},
        "Open **Accounting** and let the number of steps grow: the same square root is at work inside one training.",
        is_measured=False,
    ),
)
