"""Tables that a spreadsheet opens without computing anything."""

import re
from typing import Any

import pandas as pd

_FORMULA = re.compile(r"(?![+-]?[\d.]+(?:e[+-]?\d+)?$)[=+\-@\t\r]")
"""What spreadsheets take for the start of a formula, numbers apart."""


def without_formulas(table: pd.DataFrame) -> pd.DataFrame:
    """The table with an apostrophe before each text, column names too, that would be a formula."""
    return table.map(_cell).rename(columns=_cell)


def _cell(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    text = value.replace("\r", "\n")  # a lone carriage return is written without quotes: what follows would be a row
    return f"'{text}" if _FORMULA.match(value) else text
