"""Writes what was measured of an open question into the library, for research/open_questions.md and
for the pages' figures."""

import pandas as pd

from pillar_core.studies.open_questions import FILE


def keep(question: str, means: pd.DataFrame) -> None:
    """Writes the means of one question, columns row, series, mean and half (of the 95 % interval),
    in the place of former ones."""
    former = pd.read_csv(FILE)
    lines = pd.concat(
        [former[former["question"] != question], means.round(2).assign(question=question)]
    )
    lines[list(former)].sort_values("question", kind="stable").to_csv(FILE, index=False)
