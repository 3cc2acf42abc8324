"""The lessons as data: questions to guess at, one control each, and how a guess is judged by what
was measured."""

import dataclasses
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from pages.frame.settings import Value
from pillar_core import plots
from pillar_core.plots.theme import Figure
from pillar_core.studies.lessons import MEASURES, reconstruction
from pillar_core.types import Form, Values

_APART = 10
"""Between the numbers of two lessons' first steps in links."""


@dataclasses.dataclass(frozen=True)
class Step:
    """One step: its words, the measure of `studies.lessons` with its arguments, and how the figure
    is drawn.

    judge: the option that the measured table supports, see digits.toml. explore: settings to go on
    with on `page`, where `task` says what to look at. words: names of the control's values. kind:
    "measured", or "exact" where nothing is trained. is_watched: the control is k, and a training of
    `explore` at it can be seen step by step.
    """

    title: str
    story: str
    question: str
    options: tuple[str, ...]
    control: str
    measure: str
    values: tuple[str | float, ...]
    start: str | float
    judge: Values
    figure: Values
    moral: str
    task: str
    explore: Mapping[str, Value]
    arguments: Values = dataclasses.field(default_factory=dict)
    words: tuple[str, ...] = ()
    page: str = "curves"
    kind: str = "measured"
    is_watched: bool = False

    def table(self) -> pd.DataFrame:
        """The table behind the answer; its first column is the control's value."""
        return MEASURES[self.measure](self.values, **self.arguments)

    @property
    def command(self) -> str:
        """The shell command that prints the table."""
        given = [self.values, *self.arguments.values()]
        named = ["", *(f"{name}=" for name in self.arguments)]
        words = ", ".join(name + repr(value) for name, value in zip(named, given, strict=True))
        call = f"MEASURES['{self.measure}']({words})"
        return f'python -c "from pillar_core.studies.lessons import MEASURES; print({call})"'

    def right(self, table: pd.DataFrame) -> int:
        """The option that the table supports."""
        edges: list[float] = self.judge["edges"]
        minus = self.judge.get("minus")
        value = self._mean(table, self.judge["at"])
        if minus is not None:
            value -= float(table["limit"].mean()) if minus == "limit" else self._mean(table, minus)
        passed = sum(value >= edge for edge in edges)
        return passed if edges[0] <= edges[-1] else len(edges) - passed

    def draw(self, table: pd.DataFrame, position: str | float) -> Figure:
        """The figure with the control at `position`."""
        x = table.columns[0]
        match self.figure.get("kind"):
            case "odds":
                return plots.odds_dots(table[table[x] == position], protected="somebody")
            case "strip":
                seen = reconstruction(self.values)
                return plots.reconstruction_strip(
                    table,
                    seen.image,
                    seen.pictures,
                    candidates=seen.candidates,
                    present=float(position),
                )
            case "total":
                return plots.total_budget(table, present=int(position))
        words = dict(zip(self.values, self.words, strict=True)) if self.words else None
        return plots.accuracy_by(table, x=x, present=position, words=words, **self.figure)

    def _mean(self, table: pd.DataFrame, at: str | float) -> float:
        return float(
            table[table[table.columns[0]] == at][str(self.figure.get("value", "accuracy"))].mean()
        )


@dataclasses.dataclass(frozen=True)
class Question:
    """A question before and after a lesson, with the option that is right."""

    ask: str
    options: tuple[str, ...]
    answer: int


@dataclasses.dataclass(frozen=True)
class Lesson:
    """A lesson: the number of its first step in links, its words, its steps."""

    first: int
    name: str
    title: str
    about: str
    questions: tuple[Question, ...]
    steps: tuple[Step, ...]

    @property
    def numbers(self) -> range:
        """Of the steps, in links."""
        return range(self.first, self.first + len(self.steps))


def of_number(number: int) -> tuple[Lesson, int]:
    """The lesson and the number of the step nearest to a link's number."""
    lesson = LESSONS[min(max(number, 0) // _APART, len(LESSONS) - 1)]
    return lesson, min(max(number, lesson.first), lesson.numbers[-1])


def step_of(number: int) -> Step:
    """The step with this number."""
    lesson, number = of_number(number)
    return lesson.steps[number - lesson.first]


def _read(place: int, name: str) -> Lesson:
    words = tomllib.loads(Path(__file__).with_name(f"{name}.toml").read_text(encoding="utf-8"))
    steps = tuple(Step(**_frozen(step)) for step in words.pop("steps"))
    questions = tuple(Question(**_frozen(question)) for question in words.pop("questions"))
    return Lesson(first=_APART * place + 1, questions=questions, steps=steps, **words)


def _frozen(words: Values) -> Form:
    return {
        name: tuple(value) if isinstance(value, list) else value for name, value in words.items()
    }


LESSONS = tuple(_read(place, name) for place, name in enumerate(("digits", "public", "audits")))
