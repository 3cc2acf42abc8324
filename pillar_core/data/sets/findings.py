"""Several findings of one chest x-ray as one label: any finding or none, or only images with exactly one."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from pillar_core.arrays import Array
from pillar_core.data.cards import own
from pillar_core.data.places import RootSettings

FINDINGS = {"pleural": "pleural thickening"}
"""Words that a source uses for a finding, where another says more."""


@dataclasses.dataclass(frozen=True)
class FindingsSettings(RootSettings):
    """Where the files are, and how several findings of one image become one label."""

    labels: str = own("shared", "labels")


@dataclasses.dataclass(frozen=True)
class Findings:
    """How rows of marks, one column for each of the findings `names`, become one label."""

    names: Sequence[str]
    how: str

    @property
    def classes(self) -> list[str]:
        """The names of the labels, in the order of their codes."""
        return ["no finding", "finding"] if self.how == "any" else list(self.names)

    def of(self, marks: Array) -> tuple[Array, Array]:
        """((m,) int64 labels of the rows kept, (n,) bool which those are) from (n, findings) bool marks."""
        counts = marks.sum(axis=1)
        keep = np.ones(len(marks), dtype=bool) if self.how == "any" else counts == 1
        labels = (counts > 0).astype(np.int64) if self.how == "any" else marks.argmax(axis=1).astype(np.int64)
        return labels[keep], keep

    def notes(self, n_left_out: int) -> tuple[str, ...]:
        """What was decided, in words."""
        if self.how == "any":
            return ("An image may show several findings; the label says whether it shows any.",)
        return (f"Only images with exactly one finding are kept; {n_left_out:,} with none or several were left out.",)
