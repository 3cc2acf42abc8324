"""What a script says of its run, and the same while it is being read."""

import ast
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from pillar_core.studies.check.bindings import FILE
from pillar_core.studies.check.constants import Value
from pillar_core.studies.check.source import Source

CALLS: Mapping[str, Any] = FILE["calls"]
NOISE = {"noise_multiplier", "epsilon"}


@dataclasses.dataclass(frozen=True)
class Schedule:
    """σ in each pass (or step, if `is_by_step`), as shares of the first where `is_share`; `words`
    name the line."""

    sigmas: tuple[float, ...]
    words: str
    is_share: bool
    is_by_step: bool = False


@dataclasses.dataclass(frozen=True)
class Reading:
    """What a script says: the library ("" where none is known), values by field, and what could not
    be read, in words.

    hidden: fields that are said, but not as one number: their value must not be guessed. refused:
    why no ε is proven, whatever the numbers. schedule: σ where it changes as the text says.
    trainings: how many, each as long as said. options: fields that options of a command line say.
    """

    library: str = ""
    values: Mapping[str, Value] = dataclasses.field(default_factory=dict)
    unread: Sequence[str] = ()
    hidden: frozenset[str] = frozenset()
    refused: Sequence[str] = ()
    schedule: Schedule | None = None
    trainings: int = 1
    options: frozenset[str] = frozenset()


class Draft:
    """A reading that is being made of the known `calls` of a text, of which `set_ups` begin
    privacy."""

    def __init__(
        self,
        source: Source,
        library: str,
        calls: Sequence[tuple[str, ast.Call]],
        set_ups: Sequence[ast.Call],
    ) -> None:
        self.source, self.library, self.calls, self.set_ups = source, library, calls, set_ups
        self.values: dict[str, Any] = {}
        self.hidden, self.options = set[str](), set[str]()
        self.told, self.refused = list[str](), list[str]()
        self.schedule: Schedule | None = None
        self.trainings = 1

    def tell(self, place: ast.AST, words: str, *hidden: str) -> None:
        """Notes words about a line, and the numbers that it hides."""
        self.told.append(f"{self.source.place(place)}{words}")
        self.hidden |= set(hidden)

    def reading(self) -> Reading:
        """What was read, without what is hidden."""
        return Reading(
            self.library,
            {field: value for field, value in self.values.items() if field not in self.hidden},
            tuple(self.told),
            frozenset(self.hidden),
            tuple(self.refused),
            self.schedule,
            self.trainings,
            frozenset(self.options),
        )


def first_line(part: ast.AST) -> str:
    """The first line of a part, as Python writes it."""
    return ast.unparse(part).partition("\n")[0]
