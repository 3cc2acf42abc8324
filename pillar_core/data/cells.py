"""Cells of a table as numbers: thousands, decimal commas, currency and percent, each column in one
reading, and words that mark a gap."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from pillar_core.arrays import Array
from pillar_core.data.wording import join
from pillar_core.deferred import pandas as pd

GAPS_OF_WORDS = frozenset(
    (
        "",
        "#n/a",
        "#n/a n/a",
        "#na",
        "-1.#ind",
        "-1.#qnan",
        "-nan",
        "1.#ind",
        "1.#qnan",
        "<na>",
        "n/a",
        "na",
        "null",
        "nan",
        "none",
        "?",
    )
)
"""What marks a gap among words, in small letters: pandas' own list, and a question mark. A label is
never read so."""
GAPS = GAPS_OF_WORDS | {"-", "--", "–", ".", "unknown", "missing", "k.a.", "k. a."}
"""What marks a gap among numbers."""
SENTENCE, LINE = 3, 30
"""Words or letters of a value on average: beyond, a column most of whose values occur once holds
texts."""
_WORD = r"[\u3040-\u30ff\u3400-\u9fff]{1,2}|[^\s\u3040-\u30ff\u3400-\u9fff]+"
"""Between blanks; of Chinese and Japanese, which have none, two signs."""
FIRST_DAY = 1900_00_00
LARGEST, LARGEST_APART, KEPT_APART = float(np.finfo(np.float32).max), 2.0**24, 0.9
"""The largest number of float32, the one up to which it tells whole numbers apart, and the least
share of different ones it may keep."""
MERGE = (
    "column {!r} holds large numbers, different ones of which become one in 32 bits: {}write"
    " differences such as days since a fixed day, or leave it out."
)
WITH_PUBLIC = "give public rows with such numbers, declare its range in a recipe (low, high), "
"""What a table may do."""
OF_ARRAYS = "give a DataFrame, whose large numbers public rows or a range make small, "
SENTINELS = (-999.0, -9999.0, -99.0, 999.0, 9999.0, 99999.0)
NEARLY_ALL, LONGEST_SIGN = 0.9, 3
"""Share of cells with a unit that makes it the column's; longer units than so many letters have a
plural."""
_CURRENCY = r"(?:[$€£¥₹]|EUR|USD|GBP|CHF|JPY|SEK|NOK|DKK|PLN)"
_ADORNED = re.compile(rf"([+-]?)(?:{_CURRENCY})?([^%]*?)(?:{_CURRENCY}|(%))?")
_LETTERS = re.compile(r"[^\W\d_]{4}")
"""More of them than a currency, an exponent or a gap has beside a number."""
_WITH_UNIT = re.compile(
    r"([+-]?[.,]?\d(?:[\d.,'’ \u00a0\u2009\u202f]*\d)?)\s*((?:[^\W\d_]|[°µ])[²³\w°/.^]*)"
)
"""A number and a word behind it."""
_GROUPS = re.compile(r"(?<=\d)[ '’\u00a0\u2009\u202f](?=\d{3}(?!\d))")
NUMBER = re.compile(r"[+-]?(\d+(?:\.\d*)?|\.\d+)([eE][+-]?\d+)?")
"""A plain number, each in one way: of a pattern that has two, a repetition takes for ever."""
POINT = re.compile(r"[+-]?(?:(?:\d+|\d{1,3}(?:,\d{3})+)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_UNCERTAIN = re.compile(r"[+-]?[1-9]\d{0,2}(\.\d{3})?")
"""A cell whose point may stand between thousands."""
COMMA = re.compile(r"[+-]?(?:(?:\d+|\d{1,3}(?:\.\d{3})+)(?:,\d*)?|,\d+)(?:[eE][+-]?\d+)?")
_MONTH = r"(?:jan|feb|m[aä]r|apr|ma[iy]|jun|jul|aug|sep|o[ck]t|nov|de[cz])[a-zä]*\.?"
_DATE = re.compile(
    r"(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}|"
    rf"\d{{1,2}}\.?[ -]?{_MONTH}[ ,-]*\d{{2,4}}|{_MONTH} \d{{1,2}},?"
    r" \d{4}|\d{1,2}:\d{2}(?::\d{2})?\s*(?:[ap]m)?$)",
    re.I,
)


def is_number(text: str) -> bool:
    """Whether a cell reads as a number in some way."""
    bare, _ = bare_number(text)
    return bool(POINT.fullmatch(bare) or COMMA.fullmatch(bare))


def with_numbers(
    frame: pd.DataFrame, notes: list[str], *, as_written: Sequence[str] = ()
) -> pd.DataFrame:
    """The frame, its columns of numbers as numbers; `notes` say which were not plain. A column of
    other words stays as it is written.

    A column whose cells are mostly numbers keeps what is none as a word: `unreadable` names such
    cells.
    """
    frame = with_long_numbers_as_words(frame)
    types, kinds = pd.api.types, dict(frame.dtypes)
    wordy = [
        name
        for name in frame.columns
        if not types.is_numeric_dtype(kinds[name])
        and name not in as_written
        and types.infer_dtype(frame[name], skipna=True) in ("string", "mixed-integer")
    ]
    texts = {name: _distinct(frame[name]) for name in wordy}
    units = {name: unit for name, (_, values) in texts.items() if (unit := _common_unit(values))}
    for title, unit in units.items():
        codes, values = texts[title]
        texts[title] = (
            codes,
            [
                number if word == unit else value
                for value in values
                for number, word in [_split_unit(value)]
            ],
        )
    commas = with_commas({name: {*map(readings, values)} for name, (_, values) in texts.items()})
    read = {
        name: pair
        for name, (codes, values) in texts.items()
        if (pair := _read(codes, values, name in commas)) is not None
    }
    converted = {name: column for name, (column, _) in read.items()}
    for way in _WAYS:
        if names := [name for name, (_, ways) in read.items() if way in ways]:
            notes.append(f"{_WAYS[way]}: {join(names)}.")
    if taken := [f"{name} ({unit})" for name, unit in units.items() if name in read]:
        notes.append(f"Units were taken off: {join(taken)}.")
    for name in frame.select_dtypes("number"):
        if sentinels := sentinels_of(frame[name]):
            notes.append(
                f"Column {name!r} holds {join([f'{value:g}' for value in sentinels])}: if that"
                " marks a gap, empty those cells."
            )
    return with_columns(frame, converted)


_WAYS = {
    "percent": "Percentages are read as numbers (12 % as 12)",
    "currency": "Signs of currency were taken off",
    "comma": "A decimal comma is read (1.041,50 as 1041.5)",
    "thousands": "Signs between thousands were taken off (1,041 as 1041)",
    "point": (
        "Points are read as decimal points: take them out where they stand between thousands (1.041"
        " for 1041)"
    ),
}


def with_long_numbers_as_words(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with whole numbers of more digits than 64 bits hold as words: among numbers they
    would be rounded, or infinite."""
    kinds = dict(frame.dtypes)
    long = [
        name
        for name in frame.columns
        if kinds[name].kind == "O" and pd.api.types.infer_dtype(frame[name]) == "integer"
    ]
    return with_columns(frame, {name: frame[name].map(str, na_action="ignore") for name in long})


def without_categories(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame, its columns of pandas' categories as the words or numbers that they hold."""
    return with_columns(
        frame,
        {name: frame[name].astype(object) for name in map(str, frame.select_dtypes("category"))},
    )


def with_columns(frame: pd.DataFrame, columns: Mapping[str, Any]) -> pd.DataFrame:
    """The frame with these columns in the places of those of the same names; pandas' `assign` takes
    time in the square of their number."""
    if not columns:
        return frame
    changed = pd.concat(
        [frame.drop(columns=list(columns)), pd.DataFrame(dict(columns), index=frame.index)], axis=1
    )[list(frame.columns)]
    changed.attrs = dict(frame.attrs)
    return changed


def are_long(column: pd.Series) -> bool:
    """Whether the values of a column have some words or many letters on average, as texts have."""
    values = column.dropna().astype(str)
    return bool(len(values)) and bool(
        values.str.len().mean() >= LINE or values.str.count(_WORD).mean() >= SENTENCE
    )


def unreadable(column: pd.Series) -> Array:
    """The places of cells in a column of numbers that are neither a gap nor a number that float32
    holds: words, and what is infinite."""
    values = numbers(column)
    is_bad = np.abs(values) > LARGEST
    return np.flatnonzero(
        is_bad
        if pd.api.types.is_numeric_dtype(column)
        else is_bad | (np.isnan(values) & column.notna().to_numpy())
    )


def numbers(column: pd.Series) -> Array:
    """(n,) float64 numbers of a column, NaN where a cell is none."""
    if not pd.api.types.is_numeric_dtype(column):
        column = pd.to_numeric(column, errors="coerce")
    return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))


def quote(cell: object) -> str:
    """What a message says of an `unreadable` cell: a word as it is written; a number is not
    shown."""
    return (
        repr(str(cell)[:80])
        if pd.isna(pd.to_numeric(str(cell), errors="coerce"))
        else "an infinite number"
    )


def merge_in_float32(column: pd.Series | Array, values: Array, kept: Array) -> bool:
    """Whether different numbers of a column with large `values` have become one in `kept`, (n,)
    float32: a tenth of them or more."""
    is_large = np.abs(values).max(initial=0) > LARGEST_APART
    return bool(is_large) and len(np.unique(kept)) < KEPT_APART * pd.Series(column).nunique()


def sentinels_of(column: pd.Series) -> tuple[float, ...]:
    """Values such as -999 that often mark a gap, where they lie outside all other values of a
    column of numbers."""
    values = np.asarray(column, dtype=np.float64)
    is_one = np.isin(values, SENTINELS)
    rest = values[np.isfinite(values) & ~is_one] if is_one.any() else values[:0]
    if not len(rest):
        return ()
    present = [value for value in SENTINELS if (values == value).any()]
    low, high = rest.min(), rest.max()
    return tuple(
        value
        for value in present
        if value < min(low, 0) - (high - low) / 2 or value > high + (high - low) / 2
    )


def are_dates(codes: Array, words: Iterable[object]) -> bool:
    """Whether nearly all cells read as dates or times: their places among the different `words`."""
    return bool(len(codes)) and bool(
        np.array([_DATE.match(str(word).strip()) is not None for word in words])[codes].mean() > 0.8
    )


def are_days(values: Array) -> bool:
    """Whether all numbers read as days of the years 1900 to 2100, such as 20210512."""
    month, day = values // 100 % 100, values % 100
    is_day = (
        (values > FIRST_DAY)
        & (values <= 2100_12_31)
        & (month >= 1)
        & (month <= 12)
        & (day >= 1)
        & (day <= 31)
    )
    return bool(len(values)) and bool((is_day & (values == np.rint(values))).all())


def _distinct(column: pd.Series) -> tuple[Array, list[str]]:
    codes, values = pd.factorize(column)
    return codes, [str(value).strip() for value in values]


def bare_number(text: str) -> tuple[str, str]:
    """(a cell without currency, percent sign and blanks between thousands, which of them it
    had)."""
    if _LETTERS.search(text):  # a long text costs more below than all else of its file
        return text, ""
    text = text.strip().replace("\u2212", "-")
    match = _ADORNED.fullmatch(text)
    bare = match[1] + match[2].strip() if match else text
    way = "percent" if match and match[3] else "currency" if bare != text else ""
    return _GROUPS.sub("", bare), way


def _common_unit(values: list[str]) -> str:
    """The unit behind nearly all different cells of a column, such as kg, with year for years; ""
    where there is none."""
    words = [_split_unit(value)[1] for value in values if value.lower() not in GAPS]
    unit, count = Counter(words).most_common(1)[0] if words else ("", 0)
    return unit if count >= NEARLY_ALL * len(words) and not re.search(_CURRENCY, unit) else ""


def _split_unit(value: str) -> tuple[str, str]:
    """(the number in a cell, the unit behind it in the singular); the cell and "" where it is no
    such pair."""
    match = _WITH_UNIT.fullmatch(value)
    return (
        (match[1], match[2].removesuffix("s") if len(match[2]) > LONGEST_SIGN else match[2])
        if match
        else (value, "")
    )


def readings(text: str) -> tuple[bool, bool, bool]:
    """Whether a cell can be read with a decimal comma, whether with a point, as a gap with both;
    and whether as it is written with a point alone."""
    if text.lower() in GAPS:
        return True, True, False
    bare = text if COMMA.fullmatch(text) else bare_number(text)[0]
    comma, point = (pattern.fullmatch(bare) is not None for pattern in (COMMA, POINT))
    return comma, point, point and not comma and bare == text


def with_commas(columns: Mapping[Any, Iterable[tuple[bool, bool, bool]]]) -> set[Any]:
    """The columns of a file whose numbers have a decimal comma, by the `readings` of their cells.
    One that can be read so alone decides for all."""
    if not any(
        all(comma for comma, *_ in of) and not all(point for _, point, _ in of)
        for of in columns.values()
    ):
        return set()
    return {name for name, of in columns.items() if not any(is_alone for *_, is_alone in of)}


def _read(codes: Array, values: list[str], has_comma: bool) -> tuple[pd.Series, set[str]] | None:
    """(a column of numbers, in which ways its cells were not plain); None for a column of words.

    Where few cells are no numbers, the column holds numbers as text and these cells as they are
    written.
    """
    pattern = COMMA if has_comma else POINT
    results: list[float | str] = []
    ways: set[str] = set()
    n_percent = n_numbers = 0
    for value in values:
        bare, way = bare_number(value)
        if value.lower() in GAPS:
            results.append(np.nan)
        elif pattern.fullmatch(bare):
            plain = (
                bare.replace(".", "").replace(",", ".")
                if pattern is COMMA
                else bare.replace(",", "")
            )
            results.append(_number(plain))
            n_numbers += 1
            n_percent += way == "percent"
            ways |= {way} - {""}
            ways |= {"comma" if pattern is COMMA else "thousands"} if plain != bare else set()
            ways |= {"thousands"} if _GROUPS.search(value) else set()
        else:
            results.append(value)
    if "." in "".join(values) and all(
        value.lower() in GAPS or _UNCERTAIN.fullmatch(bare_number(value)[0]) for value in values
    ):
        ways |= {"point"} if pattern is POINT else set()
    counts = np.bincount(codes[codes >= 0], minlength=len(values))
    is_word = np.array([isinstance(result, str) for result in results], dtype=bool)
    is_value = np.array(
        [not isinstance(result, str) and result == result for result in results], dtype=bool
    )
    if (
        not n_numbers
        or counts[is_word].sum() >= counts[is_value].sum()
        or 0 < n_percent < n_numbers
    ):
        return None
    if not is_word.any():
        if any(
            isinstance(result, int) and abs(result) >= 2**53 for result in results
        ):  # an identifier: reading would round it
            return None
        return pd.Series(np.array([*results, np.nan], dtype=np.float64)[codes]), ways
    words = np.array(
        [
            *(
                result if isinstance(result, str) else str(result) if result == result else None
                for result in results
            ),
            None,
        ]
    )
    return pd.Series(words[codes], dtype=object), ways


def _number(plain: str) -> float | int:
    try:
        return int(plain)
    except ValueError:
        return float(plain)
