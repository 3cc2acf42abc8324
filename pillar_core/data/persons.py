"""Whose rows are: the one reader of names of persons, which tables, archives, lists of images and
callers write in their own ways."""

from __future__ import annotations

import hashlib
import math
import re
import unicodedata
from collections.abc import Iterable, Set
from typing import Any

import numpy as np

from pillar_core.arrays import Array
from pillar_core.data.tables import FEWEST_DISTINCT, PERSON, distinct_of, sides_of, split_column
from pillar_core.data.wording import join
from pillar_core.deferred import pandas as pd
from pillar_core.errors import DataError
from pillar_core.types import Dataset, FeatureSet, Persons, Unit

_UNSEEN = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufe00-\ufe0f\ufeff]")
_OF_A_CELL = re.compile(r"=\"(.*)\"|'(.*)")
"""What spreadsheets write around a cell that stays text."""
_NUMBER = re.compile(r"([+-]?)(\d+|\d{1,3}(?:[,'’ ]\d{3})+)(?:\.(\d*))?(?:e([+-]\d{1,3}))?")
"""A number, perhaps with signs between thousands; an E without + or - after it belongs to a code,
such as 12E4."""
_ROUNDED = re.compile(r"[+-]?\d+[.,]\d+e[+-]\d+")
Named = tuple[frozenset[str], bool]
WHOSE = "persons must hold a word or a whole number for each train row: whose it is."


def persons_of(names: Iterable[Any], most: int, *, n_rows: int) -> Persons:
    """The persons of `n_rows` train rows from a word or whole number for each row, of which `most`
    rows count.

    Raises DataError: another number of names, something else than words and whole numbers, a row
    that names nobody, names that could be one person's or cannot be told apart, or no whole number
    of rows.
    """
    try:
        values = names if isinstance(names, np.ndarray) else np.fromiter(names, dtype=object)
        if values.shape == (n_rows,):
            column = pd.Series(
                np.char.decode(values, "utf-8") if values.dtype.kind == "S" else values,
                name="persons",
            ).infer_objects()
            is_number = column.dtype.kind in "iu"
            are_names = is_number or all(map(_is_name, distinct_of(column)[1]))
    except (TypeError, ValueError) as error:
        raise DataError(WHOSE) from error
    if values.shape != (n_rows,):
        raise DataError(
            f"persons must name the person of each of the {n_rows:,} train rows; got shape"
            f" {values.shape}."
        )
    if not are_names:
        raise DataError(WHOSE)
    numbers = column.to_numpy() if is_number else names_of_persons(column)[0]
    return Persons(np.unique(numbers, return_inverse=True)[1], most)


def _is_name(value: Any) -> bool:
    """Whether a cell is a word, a whole number or empty."""
    if isinstance(value, float):
        return math.isnan(value) or (value.is_integer() and abs(value) < 2**53)
    if isinstance(value, int | np.integer):
        return not isinstance(value, bool)
    return value is None or isinstance(value, str)


def person_column(frame: pd.DataFrame) -> str | None:
    """The column that seems to name the person of each row, by its name, where there are several
    persons."""
    named = (name for name in frame.columns if PERSON.fullmatch(str(name)))
    return next((name for name in named if frame[name].nunique() > FEWEST_DISTINCT), None)


def first_rows(
    frame: pd.DataFrame,
    column: str,
    identities: tuple[Array, Array],
    *,
    most: int,
    theirs: Set[str],
) -> pd.DataFrame:
    """The first `most` rows of each person, in the frame's order, all on the side (train or test)
    of the first, with a note in its `attrs` on what is left out.

    One person more or less is then at most so many rows more or less, all of them on one side.
    identities: as `names_of_persons` reads `column`, which then holds its numbers. theirs: who has
    public rows (`named_in`), and none here.

    Raises DataError: nobody is left.
    """
    codes, persons = identities
    is_left = np.array([name not in theirs for name in persons.tolist()])
    named = frame.assign(**{column: codes})[is_left[codes]]
    if not len(named):
        raise DataError(
            f"every person of column {column!r} has public rows, too, and none is left whom ε could"
            " protect."
        )
    split = split_column(frame)
    if split is not None:
        sides = pd.Series(sides_of(named[split]), index=named.index)
        named = named[sides == sides.groupby(named[column]).transform("first")]
    counts = named[column].value_counts().to_numpy()
    kept = named[named.groupby(column).cumcount() < most].reset_index(drop=True)
    n_both = len(persons) - int(is_left.sum())
    told = _kept_text(len(frame), counts, most, n_both=n_both)
    kept.attrs["notes"] = [*frame.attrs.get("notes", ()), told]
    return kept


def _kept_text(n_rows: int, counts: Array, most: int, *, n_both: int) -> str:
    """How many rows are used, what is left out, and what more rows of a person would bring. counts:
    (persons,) the rows of each who has rows here; n_both: how many others have public rows."""
    used = {rows: int(counts.clip(max=rows).sum()) for rows in range(most, most + 4)}
    first = (
        "the first row of each is"
        if most == 1
        else f"the first {most} of each, {used[most]:,} rows, are"
    )
    both = f" {n_both:,} of them have public rows, too, and none here; of the others" * (n_both > 0)
    summary = (
        f"{n_rows:,} rows of {len(counts) + n_both:,} persons:{both} {first} used, and ε protects a"
        f" {Unit(most)}."
    )
    left_out = f"{n_rows - used[most]:,} rows are left out."
    more = [
        f"{used[rows]:,} with {rows} of a person"
        for rows in used
        if rows > most and used[rows] > used[rows - 1]
    ]
    return " ".join(
        [
            summary,
            left_out,
            *(
                [f"Used would be {', '.join(more)}; the noise grows with that number."]
                if more
                else []
            ),
        ]
    )


def named_in(table: pd.DataFrame, column: str | None) -> Named:
    """(the canonical names of the persons in a public table, whether every row names one).

    Raises DataError: names that cannot be told apart.
    """
    if column is None or column not in table:
        return frozenset(), False
    return frozenset(_canonical_names(*distinct_of(table[column]))), not table[column].isna().any()


def names_of_persons(names: pd.Series) -> tuple[Array, Array]:
    """((n,) int64 numbers of the rows' persons, in the order of their names as written; the
    canonical names by number).

    Numbers of one value are one person, however they are written: taken for two, more of one
    person's rows would count than ε says. Raises DataError: a row that names nobody, words that
    could be one person's, or names that cannot be told apart.
    """
    codes, distinct = distinct_of(names)
    persons, written = (
        pd.Series(_canonical_names(codes, distinct)),
        distinct.astype(str).str.strip(),
    )
    unnamed = np.flatnonzero((persons == "").to_numpy()[codes])
    if len(unnamed):
        raise DataError(
            f"column {names.name!r} is empty in rows {join(unnamed)}: say whose they are, or take"
            " them out."
        )
    _, first, numbers = np.unique(
        written.to_numpy(dtype=object), return_index=True, return_inverse=True
    )
    persons = persons[first]
    is_number = np.array([_NUMBER.fullmatch(name) is not None for name in persons], dtype=bool)
    several = written[first][persons.duplicated(keep=False) & ~is_number]
    if len(several):
        ways = join(map(repr, sorted(several, key=str.casefold)))
        raise DataError(
            f"column {names.name!r} holds {ways}: write each person in one way, unseen signs too,"
            " and two persons in different words."
        )
    same, persons_by_number = pd.factorize(persons.to_numpy(dtype=object))
    return same[numbers][codes], persons_by_number


def digests_of(names: Iterable[str]) -> frozenset[bytes]:
    """Digests of 128 bits of canonical names, by which two tables' persons are compared."""
    return frozenset(
        hashlib.blake2b(str(name).encode(errors="replace"), digest_size=16).digest()
        for name in names
    )


def are_apart(private: Dataset | FeatureSet | None, theirs: frozenset[bytes] | None) -> bool:
    """Whether the persons of public rows, by `digests_of` their names, were compared with those of
    the private ones, and have no row there. theirs: None where rows name nobody.

    Raises DataError: people who have both.
    """
    mine = private.persons.named if private and private.persons else None
    if mine is None or theirs is None:
        return False
    if both := mine & theirs:
        raise DataError(
            f"{len(both):,} persons have public and private rows, by their names. Bring both tables"
            " together, which leaves their private rows out, or take them out of the public table."
        ).naming(public=())
    return True


def refuse_shared(private: Dataset | FeatureSet, *public: Dataset | FeatureSet) -> None:
    """Refuses public sets that share persons with the private rows, as `are_apart`."""
    for data in public:
        are_apart(private, data.persons.named if data.persons else None)


def _canonical_names(codes: Array, names: pd.Series) -> list[str]:
    """Names without case, width and unseen signs, numbers by value; "" where nobody is named.
    codes: which of them each row has."""
    if names.dtype.kind == "f" and ((names.abs() >= 2**53) | (names % 1 > 0)).any():
        why = "holds numbers with a fraction or from 2**53 on, of which several may have become one"
        raise DataError(
            f"column {names.name!r} {why}; write persons' names as words, with a letter before each"
            " number."
        )
    seen = [_without_signs(name) for name in names.astype(str).where(names.notna(), "")]
    rounded = np.flatnonzero(
        np.array([_ROUNDED.fullmatch(name) is not None for name in seen], dtype=bool)[codes]
    )
    if len(rounded):
        raise DataError(
            f"column {names.name!r} holds names of a form such as 3.91E+16 (rows {join(rounded)}),"
            " where a spreadsheet has lost digits: several persons may have become one. Export the"
            " column as text, or name another column."
        )
    return [_by_value(name) for name in seen]


def _without_signs(name: str) -> str:
    """A name without case and width of letters, outer and double blanks, unseen signs, and what
    marks a cell as text."""
    seen = " ".join(
        _UNSEEN.sub("", unicodedata.normalize("NFKC", name).casefold())
        .replace("\u2212", "-")
        .split()
    )
    marked = _OF_A_CELL.fullmatch(seen)
    return (marked[1] or marked[2] or "").strip() if marked else seen


def _by_value(name: str) -> str:
    """A whole number as its sign and digits; any other name as it is: 1.1 and 1.10 are two codes,
    such as ward and bed."""
    if (number := _NUMBER.fullmatch(name)) is None:
        return name
    digits, decimals, power = re.sub(r"\D", "", number[2]), number[3] or "", int(number[4] or 0)
    digits, places = digits + decimals + "0" * power, len(decimals) + max(-power, 0)
    digits = digits.zfill(places + 1)
    whole, part = (
        digits[: len(digits) - places].lstrip("0") or "0",
        digits[len(digits) - places :].rstrip("0"),
    )
    return name if part else ("-" if number[1] == "-" and whole != "0" else "") + whole
