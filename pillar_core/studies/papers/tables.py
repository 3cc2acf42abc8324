"""Which published tables and figures our learners can run, each as the axes that the paper's numbers do not tell."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path

from pillar_core.registry import Registry, toml_tables
from pillar_core.types import Values

_FILE: Values = toml_tables(Path(__file__).with_suffix(".toml"))
CLASSES: Mapping[str, int] = _FILE["classes"]
"""Classes of the rows that stand in for a data set."""
SOURCES: Mapping[str, str] = _FILE["sources"]
"""Our names of the papers' private data sets."""
BACKBONES: Mapping[str, str] = _FILE["backbones"]
"""Backbones of the papers whose weights are on a hub; the first is taken where a figure names none."""


@dataclasses.dataclass(frozen=True)
class PaperTable:
    """One published table or figure that our learners can run.

    `axes` are what the facts do not tell: methods and budgets of a figure without printed numbers, or a public share.
    """

    name: str
    title: str
    paper: str
    table: str
    datasets: tuple[str, ...]
    seeds: int
    axes: Values = dataclasses.field(default_factory=dict)

    @property
    def shown_axes(self) -> tuple[str, ...]:
        """Axes beside learner, budget and public share that tell one measured line from another."""
        return tuple(name for name, value in self.axes.items() if isinstance(value, list) and name not in ("method", "epsilon"))


TABLES: Registry[PaperTable] = Registry("published table")
for _table in _FILE["tables"]:
    TABLES.register(PaperTable(**{**_table, "datasets": tuple(_table["datasets"])}))
