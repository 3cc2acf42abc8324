"""What was measured of questions that the papers leave open, in points: the benchmarks write
open_questions.csv, pages draw it."""

from pathlib import Path

from pillar_core.deferred import pandas as pd

FILE = Path(__file__).with_suffix(".csv")


def table(question: str) -> "pd.DataFrame":
    """The means of one question in the document's order, with the ends of their 95 % intervals:
    columns row, series, mean, low, high."""
    lines = pd.read_csv(FILE).query("question == @question").reset_index(drop=True)
    return lines.assign(low=lines["mean"] - lines["half"], high=lines["mean"] + lines["half"])[
        ["row", "series", "mean", "low", "high"]
    ]
