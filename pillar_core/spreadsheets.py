"""Tables that a spreadsheet opens without computing anything."""

import re

import pandas as pd

_FORMULA = re.compile(r"(^|[;\t\r\n])(?![+-]?[\d.]+(?:e[+-]?\d+)?(?:;|$))(?=[=+\-@\t\r＝＋－＠])")
"""Before what spreadsheets take for the start of a formula, numbers apart: some of them begin a cell after these signs, too."""


def without_formulas(table: pd.DataFrame) -> pd.DataFrame:
    """The table with an apostrophe before what would be a formula in its texts, column names too."""
    return table.map(_cell).rename(columns=_cell)


def _cell(value: object) -> object:
    if not isinstance(value, str):
        return value
    return _FORMULA.sub(r"\1'", value).replace("\r", "\n")  # a lone carriage return is written without quotes: it would begin a row
