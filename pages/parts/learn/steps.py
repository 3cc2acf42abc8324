"""The six steps of the lesson: a question to guess at, one control, and how the guess is judged by what was measured."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from pages.frame.settings import Value
from pillar_core import plots
from pillar_core.registry import facts
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


def _step(name: str, values: Sequence[Any], start: Any, **others: Any) -> Step:
    """The step whose words `steps.toml` has."""
    words = facts(Path(__file__).with_suffix(".toml"))[name]
    return Step(**{**words, "options": tuple(words["options"])}, values=tuple(values), start=start, **others)


STEPS: tuple[Step, ...] = (
    _step(
        "limits",
        _EPSILONS,
        _COMMON,
        measure=lambda: lessons.guesses(_EPSILONS),
        right=lambda table: 2 - _bucket(float(table.set_index("epsilon")["guesses"][_COMMON]), 150, 60),
        draw=lambda table, here, mode: plots.odds_dots(table[table["epsilon"] == here], mode=mode, protected="somebody"),
        is_measured=False,
    ),
    _step(
        "cost",
        _EPSILONS,
        _STRICT,
        measure=lambda: lessons.without_projection(_EPSILONS, seeds=MANY_SEEDS),
        right=lambda table: _bucket(_mean(table, "epsilon", _STRICT), 0.9, 0.6),
        draw=_line("epsilon", "ε, privacy budget (log scale)", "The price of privacy, all 64 pixels"),
    ),
    _step(
        "directions",
        _KS,
        50,
        measure=lambda: lessons.directions(_KS, epsilon=_STRICT, seeds=MANY_SEEDS),
        right=_gain,
        draw=_line("k", "k, how many public directions (log scale)", "Same ε everywhere: the noise has fewer places to go"),
    ),
    _step(
        "fit",
        tuple(_SOURCES),
        "same",
        measure=lambda: lessons.public_rows(tuple(_SOURCES), epsilon=_COMMON, k=_K, seeds=SEEDS),
        right=_worse,
        draw=_line("source", "public rows", "Same private rows, same ε, other public rows"),
        words=_SOURCES,
    ),
    _step(
        "crowds",
        _COUNTS,
        1293,
        measure=lambda: lessons.rows(_COUNTS, epsilon=_COMMON, k=_K, seeds=SEEDS),
        right=_cost_of_few,
        draw=_line("n_private", "private rows (log scale)", "Same ε: more rows, the same noise shared by more"),
    ),
    _step(
        "budgets",
        _RELEASES,
        10,
        measure=lambda: lessons.releases(_RELEASES, epsilon=_COMMON),
        right=lambda table: 2 - _bucket(float(table.set_index("releases")["total"][10]), 9.5, 1.5),
        draw=lambda table, here, mode: plots.total_budget(table, here=here, mode=mode),
        is_measured=False,
    ),
)
