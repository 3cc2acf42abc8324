"""Tables with words and gaps as numbers. Categories, fill values and ranges come from public rows
or from whoever brings the table."""

from __future__ import annotations

import dataclasses
import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from pillar_core import texts
from pillar_core.arrays import Array
from pillar_core.data import cells, scratch
from pillar_core.data.partition import stratify
from pillar_core.data.persons import digests_of, persons_of
from pillar_core.data.progress import TEXTS, progress_of
from pillar_core.data.tables import (
    FEWEST_DISTINCT,
    IDENTIFYING,
    are_texts,
    distinct_of,
    is_text,
    labels_of,
    mostly_numbers,
    partition,
    split_column,
)
from pillar_core.data.wording import join
from pillar_core.deferred import pandas as pd
from pillar_core.errors import DataError
from pillar_core.fingerprint import fingerprint
from pillar_core.texts import token_vectors
from pillar_core.types import BY_COIN, Dataset, is_of_text, names_of_text

NUMBERS, WORDS, IDENTIFIER, DATE, COPY, CONSTANT = (
    "numbers",
    "words",
    "an identifier",
    "dates",
    "a copy",
    "one value",
)
TEXT = "text"
OF_WORDS, LEFT_OUT = (WORDS, IDENTIFIER), (IDENTIFIER, TEXT, CONSTANT, COPY)
"""Kinds of categories, and kinds that are left out unless somebody asks for them."""
ADVICE = {
    DATE: (
        "holds dates: leave it out, or write a number instead, such as an age or days since a"
        " fixed day"
    ),
    COPY: "repeats another column: leave one of them out",
}
BEGINNING = 300
"""Signs of a text that pages show, and that earlier versions kept."""
OTHER_SIGNS = 2 / 3
"""Of a text: with a larger share of signs that are no Latin, Greek or Cyrillic letters, blanks
among them, it is counted."""
_LETTER = re.compile("[a-zA-Z\u00c0-\u052f]+")
SOON_DONE = 20_000
"""So many texts become means of token vectors before anybody asks how far it is."""
CENTRED = (
    "The median of the public rows was taken off large numbers, which 32 bits would make equal"
)
MISFIT = 0.05
"""Share of a public column's numbers outside the stated range, beyond which it does not fit."""
MISFITS = "Public numbers do not fit the range that you stated, perhaps for another unit"
FEWEST_NAMES = 10
"""More words than these, each of which occurs once, name something."""


@dataclasses.dataclass(frozen=True)
class Column:
    """A feature column: its kind as it looks, how many of its cells are empty, and how the others
    become numbers.

    `categories` of words; `fill` of gaps; `range` (low, high) where no public row scales it;
    `centre`, taken off large numbers in float64.
    """

    name: str
    kind: str
    gaps: int = 0
    categories: tuple[str, ...] = ()
    fill: float | None = None
    range: tuple[float, float] | None = None
    centre: float | None = None


@dataclasses.dataclass(frozen=True)
class Recipe:
    """How a table becomes numbers.

    `columns`: those that are used, in order. `person`: the column that says whose the rows are, of
    which `rows_per_person` count. `classes`: the labels that there are. `gaps`: words and numbers
    that count as empty cells. `encoder`: what makes numbers of a text, as `texts.IDENTITY`.
    """

    label: str
    left_out: tuple[str, ...] = ()
    columns: tuple[Column, ...] = ()
    person: str | None = None
    rows_per_person: int = 1
    classes: tuple[str, ...] = ()
    gaps: tuple[str | float, ...] = ()
    encoder: Mapping[str, Any] = dataclasses.field(default_factory=lambda: texts.IDENTITY)

    @property
    def names(self) -> list[str]:
        """The names of the columns, in order."""
        return [column.name for column in self.columns]

    @property
    def text(self) -> str | None:
        """The column of texts."""
        return next((column.name for column in self.columns if column.kind == TEXT), None)


def columns_of(
    frame: pd.DataFrame, label: str, *, public: pd.DataFrame | None = None, text: str | None = None
) -> tuple[Column, ...]:
    """The feature columns of a table, in order, as they look in `public` rows; without those no ε
    covers what is seen.

    Only public rows say that a column repeats another. text: the column that somebody says holds
    texts.
    """
    roles = (label, split_column(frame))
    seen = frame if public is None else public
    first: dict[bytes, str] = {}
    columns = []
    for name in (name for name in frame.columns if name not in roles):
        if name not in seen or name == text:
            columns.append(Column(name, TEXT if name == text else NUMBERS, 0))
            continue
        column = seen[name]
        kind = _kind(name, column)
        if public is not None and kind != CONSTANT:
            digest = hashlib.sha256(
                pd.util.hash_pandas_object(column, index=False).to_numpy().tobytes()
            ).digest()
            twin = first.setdefault(digest, name)
            kind = COPY if twin != name and column.equals(seen[twin]) else kind
        columns.append(Column(name, kind, int(column.isna().sum())))
    return tuple(columns)


def learn_recipe(
    public: pd.DataFrame | None, columns: Sequence[Column], *, label: str, left_out: Sequence[str]
) -> Recipe:
    """The recipe that public rows with these columns give: their words are the categories, their
    medians fill gaps and are taken off large numbers. None: no public row says anything.

    Raises DataError: the public rows hold cells that are no numbers in a column of numbers.
    """
    without = frozenset(left_out)
    used = (column for column in columns if column.name not in without)
    if public is not None:
        used = (_as_public(column, public[column.name]) for column in used)
    return Recipe(label, tuple(left_out), tuple(used))


def _as_public(column: Column, public: pd.Series) -> Column:
    if column.kind == WORDS:
        words = tuple(sorted(set(_words(public)) - {""}))
        return dataclasses.replace(column, categories=words)
    if column.kind != NUMBERS or not np.isfinite(numbers := _readable_numbers(public)).any():
        return column
    median = float(np.nanmedian(numbers))
    is_large = np.nanmax(np.abs(numbers)) > cells.LARGEST_APART
    return dataclasses.replace(column, fill=median, centre=median if is_large else None)


def problems_of(columns: Sequence[Column], *, is_scaled: bool) -> list[str]:
    """Why these columns cannot be encoded so, one line each. is_scaled: public rows give the
    ranges."""
    problems = []
    if len(columns_of_texts := [column.name for column in columns if column.kind == TEXT]) > 1:
        problems.append(
            f"the columns {join(columns_of_texts)} hold texts, and one is read: join them, or leave"
            " out all but one."
        )
    for column in columns:
        if column.kind in ADVICE:
            problems.append(f"column {column.name!r} {ADVICE[column.kind]}.")
        elif column.kind in OF_WORDS:
            if not column.categories:
                problems.append(
                    f"column {column.name!r} holds words, and none of its categories is known: name"
                    " them, or leave it out."
                )
        elif column.kind != TEXT:
            if column.gaps and column.fill is None:
                problems.append(
                    f"column {column.name!r} has {column.gaps:,} empty cells: say what fills them,"
                    " or leave it out."
                )
            if not is_scaled and column.range is None:
                problems.append(
                    f"column {column.name!r} needs a range: no public row says how large its values"
                    " are."
                )
    return problems


def width(recipe: Recipe, *, of: Column | None = None) -> int:
    """How many columns of numbers `encode_columns` makes, of all columns or of one."""
    return sum(
        (texts.width_of(recipe.encoder) if column.kind == TEXT else len(column.categories) or 1)
        for column in (recipe.columns if of is None else (of,))
    )


def encode_columns(
    frame: pd.DataFrame, recipe: Recipe, *, is_trained_on: bool = False
) -> tuple[Array, tuple[str, ...]]:
    """((n, d) float32 rows, the d columns' names): numbers with their gaps filled, less their
    centre, words as one column a category, a text as what `texts.blocks` makes of it alone.

    A word that is no category, and an empty cell among words, is 0 in all of them.

    Raises DataError: the table lacks a column, nothing is left, or cells that are no numbers; of
    rows that are trained on, large numbers that become one.
    """
    parts: list[Array] = []
    names = []
    for column in recipe.columns:
        name = column.name
        if name not in frame.columns:
            raise DataError(
                f"the table lacks the column {name!r}: bring all tables with the same columns, or"
                " leave it out."
            )
        cell_values = frame[name]
        if column.kind == TEXT:
            shape = (len(frame), texts.width_of(recipe.encoder))
            parts.append(
                scratch.in_room(
                    _report_progress(
                        texts.blocks(cell_values, recipe.encoder),
                        len(frame),
                        soon_done=SOON_DONE if recipe.encoder == texts.IDENTITY else 0,
                    ),
                    np.float32,
                    shape,
                )
            )
            names += names_of_text(shape[1])
        elif categories := column.categories:
            words = _words(cell_values, categories)
            parts += [(words == category).astype(np.float32) for category in categories]
            names += [f"{name}={category}" for category in categories]
        else:
            if is_text(cell_values) and not mostly_numbers(cell_values):
                raise DataError(
                    f"column {name!r} holds words here and numbers in another table: write it in"
                    " one way, or leave it out."
                )
            values = _readable_numbers(cell_values)
            values = np.where(np.isnan(values), column.fill or 0.0, values)
            if column.range:
                low, high = column.range
                in_range = np.clip((values - low) / (high - low), 0, 1)
            else:
                in_range = values - (column.centre or 0.0)
            parts.append(in_range.astype(np.float32))
            names.append(name)
            if (
                is_trained_on
                and not column.range
                and cells.merge_in_float32(cell_values, values, parts[-1])
            ):
                raise DataError(cells.MERGE.format(name, cells.WITH_PUBLIC)).naming(
                    public=(), ranges=()
                )
    if not parts:
        raise DataError("no feature column is left: keep at least one.")
    if len(parts) == 1 and parts[0].ndim == 2:
        return parts[0], tuple(names)
    shape = (len(frame), len(names))
    joined_rows = (
        np.column_stack([part[rows] for part in parts]) for rows in scratch.parts_of(shape, 4)
    )
    return scratch.in_room(joined_rows, np.float32, shape), tuple(names)


def _report_progress(blocks: Iterable[Array], n_rows: int, *, soon_done: int) -> Iterator[Array]:
    """The blocks of so many rows; after each, whoever watches is told how far it is."""
    progress, n_done = progress_of(TEXTS) if n_rows > soon_done else None, 0
    for block in blocks:
        yield block
        n_done += len(block)
        if progress is not None:
            progress(n_done, n_rows)


def count_gaps(frame: pd.DataFrame, columns: Sequence[Column]) -> tuple[Column, ...]:
    """The columns with how many cells are empty in this table, where it has them; a word among
    numbers is no gap."""
    return tuple(
        (
            dataclasses.replace(column, gaps=int(frame[column.name].isna().sum()))
            if column.kind == NUMBERS and column.name in frame
            else column
        )
        for column in columns
    )


def private_parts(
    frame: pd.DataFrame, recipe: Recipe, *, by_coin: bool = False, person_names: Array | None = None
) -> Dataset:
    """The private table through a recipe; without a column split, a stratified fifth becomes the
    test rows.

    Of each person, where the recipe names their column, `first_rows` kept as many rows as it says.
    Names are replaced by numbers, which `person_names` gives back. by_coin: see `tables.partition`.

    Raises DataError: as `encode_columns`; labels that are none, or too few rows of a class.
    """
    x, names = encode_columns(frame, recipe, is_trained_on=True)
    notes = [
        f"Labels come from column {recipe.label!r}. Features: {join(_titles(names))}.",
        *count_notes(count_unknown_words(frame, recipe)),
    ]
    centres = {
        column.name: column.centre
        for column in recipe.columns
        if column.centre is not None and column.range is None
    }
    if centres:
        named = join(f"{centre:.15g} from {name!r}" for name, centre in centres.items())
        notes.append(f"{CENTRED}: {named}.")
    said = texts_of(frame, recipe)
    notes += text_notes(frame, recipe, said)
    y = None if frame[recipe.label].isna().all() else labels_of(frame[recipe.label])
    notes += [f"Column {recipe.label!r} is empty: the rows are unlabelled."] if y is None else []
    classes = None if y is None else _classes(y, recipe)
    of = None if recipe.person is None else frame[recipe.person].to_numpy()
    side = split_column(frame)
    is_drawn = side is None or bool(frame.attrs.get("is_drawn"))
    by_coin = by_coin and is_drawn
    if by_coin and classes is None and y is not None:  # coins may leave a class without train rows
        classes, y = tuple(map(str, np.unique(y))), y.astype(str)
    train, test = partition(frame, side, y, notes, persons=of, by_coin=by_coin)
    if not len(train):
        raise DataError("the split column must call at least one row train; got none.")
    persons = (
        None if of is None else persons_of(of[train], recipe.rows_per_person, n_rows=len(train))
    )
    if persons is not None and of is not None and person_names is not None:
        persons = dataclasses.replace(persons, named=digests_of(person_names[np.unique(of)]))
    x_test = scratch.take_rows(x, test) if len(test) else None
    y_train, y_test = (None if y is None else y[rows] for rows in (train, test))
    said = tuple(said[row] for row in np.concatenate([train, test])) if said else ()
    return Dataset(
        "table",
        scratch.take_rows(x, train),
        y_train,
        x_test,
        None if x_test is None else y_test,
        classes or (),
        notes=tuple(notes),
        persons=persons,
        names=names,
        texts=said,
        cells=hash_cells(
            frame.iloc[train].drop(columns={recipe.label, side, recipe.person} & {*frame})
        ),
        test_drawn=is_drawn and len(test) > 0 and (BY_COIN if by_coin else True),
    )


def hash_cells(frame: pd.DataFrame) -> Array:
    """(n,) uint64 hashes of rows: of the cells by their columns' names, in whatever order."""
    hashes = np.zeros(len(frame), dtype=np.uint64)
    for name, column in frame.items():
        kind = np.float64 if pd.api.types.is_numeric_dtype(column) else str
        weight = np.uint64(int(fingerprint(str(name))[:16], 16) | 1)
        hashes += weight * pd.util.hash_pandas_object(column.astype(kind), index=False).to_numpy()
    return hashes


def public_parts(frame: pd.DataFrame, recipe: Recipe) -> Dataset:
    """A public table through the same recipe: all its rows, labelled where it has the label column.

    Raises DataError: as `encode_columns`; labels that are none.
    """
    x, names = encode_columns(frame, recipe)
    has_labels = recipe.label in frame.columns and frame[recipe.label].notna().any()
    said, outside = texts_of(frame, recipe), columns_outside(frame, recipe)
    notes = (
        *([f"{MISFITS}: {join(outside.values())}."] if outside else []),
        *count_notes(count_unknown_words(frame, recipe)),
        *text_notes(frame, recipe, said),
    )
    return Dataset(
        "table",
        x,
        labels_of(frame[recipe.label]) if has_labels else None,
        notes=notes,
        names=names,
        texts=said,
    )


def sole_text(kinds: Mapping[str, str]) -> str | None:
    """The column that alone looks like texts, where nothing else is left to learn from. kinds: of
    all columns but label and person."""
    columns = [name for name, kind in kinds.items() if kind == TEXT]
    return (
        columns[0]
        if len(columns) == 1 and all(kind in (*LEFT_OUT, *ADVICE) for kind in kinds.values())
        else None
    )


def with_text_column(frame: pd.DataFrame, name: str | None) -> pd.DataFrame:
    """The table, whose one column, or one that is of texts or looks like them, takes this name
    where no column has it."""
    if name is None or name in frame.columns:
        return frame
    stated = frame.attrs.get("text")
    columns = (
        [stated]
        if stated in list(frame.columns)
        else [
            column
            for column in frame.columns
            if len(frame.columns) == 1 or _kind(column, frame[column]) == TEXT
        ]
    )
    return frame.rename(columns={columns[0]: name}) if len(columns) == 1 else frame


def texts_of(frame: pd.DataFrame, recipe: Recipe) -> tuple[str, ...]:
    """What counts of the text of each row; () without texts."""
    return () if recipe.text is None else tuple(map(token_vectors.clean, frame[recipe.text]))


def beginnings(said: Iterable[str]) -> list[str]:
    """As much of each text as is shown."""
    return [text[:BEGINNING] for text in said]


def text_notes(frame: pd.DataFrame, recipe: Recipe, said: Sequence[str]) -> list[str]:
    """How a text became numbers, and how many texts are empty or too long to be read whole."""
    if (name := recipe.text) is None:
        return []
    made = f"{texts.width_of(recipe.encoder)} numbers through {recipe.encoder['name']}"
    notes = [f"Column {name!r} holds texts: each became {made}, from its own words alone."]
    if len(recipe.columns) > 1:
        notes.append(
            "The numbers of a text share one scale: together they count as much as all other"
            " columns."
        )
    n_empty, n_long = (
        said.count(""),
        int((frame[name].astype(str).str.len() > token_vectors.LONGEST).sum()),
    )
    if n_empty == len(said):
        raise DataError(
            f"column {name!r} holds no text: its {n_empty:,} cells are empty, blank or tags. Name"
            " another column, or fill it."
        )
    notes += [f"{n_empty:,} texts are empty: their numbers are 0."] if n_empty else []
    n_other = sum(len(_LETTER.sub("", text)) > OTHER_SIGNS * len(text) for text in beginnings(said))
    little = (
        f"of such signs the vocabulary of {recipe.encoder['name']} has few, and their numbers say"
        " little."
    )
    notes += (
        [
            f"{n_other:,} texts are mostly figures, emoji or other letters than Latin and Cyrillic:"
            f" {little}"
        ]
        if n_other
        else []
    )
    return [
        *notes,
        *(
            [f"Of {n_long:,} texts the first {token_vectors.LONGEST:,} signs count."]
            if n_long
            else []
        ),
    ]


def _titles(names: Sequence[str]) -> list[str]:
    """The names of columns, those of a text as one."""
    return list(dict.fromkeys("text" if is_of_text(name) else name for name in names))


def split_off_public(
    frame: pd.DataFrame, label: str, share: float, *, person: str | None = None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """(the private rows with all test rows, the public rows): a stratified share of the train rows,
    the same every time.

    All rows of one person, whom the column `person` names, are on one side.
    Raises DataError: labels that are none.
    """
    y, split = labels_of(frame[label]), split_column(frame)
    of = None if person is None else frame[person].to_numpy()
    train, test = partition(frame, split, y, [], persons=of)
    persons = None if of is None else of[train]
    private, public = stratify(
        np.unique(y[train], return_inverse=True)[1],
        seed=0,
        name="public share",
        share=share,
        persons=persons,
    )
    sides = np.full(len(frame), "train")
    sides[test] = "test"
    rows = np.sort(np.concatenate([train[private], test]))
    named = (frame if split is None else frame.drop(columns=split)).assign(split=sides)
    named.attrs["is_drawn"] = split is None
    return named.iloc[rows].reset_index(drop=True), named.iloc[train[public]].drop(
        columns="split"
    ).reset_index(drop=True)


def _classes(y: Array, recipe: Recipe) -> tuple[str, ...] | None:
    """The classes that a recipe names, where labels are words; numbers are named by themselves."""
    unknown = (
        sorted(set(map(str, np.unique(y).tolist())) - set(recipe.classes)) if recipe.classes else []
    )
    if unknown:
        raise DataError(
            f"column {recipe.label!r} holds {join(unknown)}, and the recipe's classes are"
            f" {join(recipe.classes)}: correct one of them."
        )
    return recipe.classes if recipe.classes and y.dtype.kind == "U" else None


def identifier_notes(frame: pd.DataFrame, names: Sequence[str]) -> list[str]:
    """A note that names columns that are learnt from and look like identifiers, where there are
    some."""
    looking_so = [
        name
        for name in names
        if IDENTIFYING.search(name) and _kind(name, frame[name]) == IDENTIFIER
    ]
    return (
        [f"Learnt from, and perhaps identifiers: {join(looking_so)}. You can leave them out."]
        if looking_so
        else []
    )


def count_unknown_words(frame: pd.DataFrame, recipe: Recipe) -> Counter[tuple[str, str]]:
    """How many cells hold words that are no category, by note and column."""
    note, counts = "Words that are none of the categories count as none", Counter[tuple[str, str]]()
    for column in recipe.columns:
        if column.categories:
            words = _words(frame[column.name], column.categories)
            counts[note, column.name] = int((~np.isin(words, ("", *column.categories))).sum())
    return counts


def count_notes(counts: Counter[tuple[str, str]]) -> list[str]:
    """A line for each note on cells, which counts them by column."""
    lines: dict[str, list[str]] = {}
    for (note, name), count in counts.items():
        if count:
            lines.setdefault(note, []).append(f"{count:,} of {name!r}")
    return [f"{note}: {join(some)}." for note, some in lines.items()]


def columns_outside(frame: pd.DataFrame, recipe: Recipe) -> dict[str, str]:
    """Of the columns of public rows that do not fit the ranges that were stated, as more than
    `MISFIT` of the numbers lie outside: how many, by name."""
    return {
        column.name: f"{outside:,} of {count:,} of {column.name!r} ({low:g} to {high:g})"
        for column, outside, count in _counts_outside(frame, recipe)
        for low, high in [column.range or (0, 0)]
        if outside > MISFIT * count
    }


def _counts_outside(frame: pd.DataFrame, recipe: Recipe) -> Iterator[tuple[Column, int, int]]:
    """Of each column with a range, how many numbers lie outside, and how many there are."""
    for column in recipe.columns:
        if column.range:
            values = cells.numbers(frame[column.name])
            values = values[np.isfinite(values)]
            low, high = column.range
            yield column, int(((values < low) | (values > high)).sum()), len(values)


def misfits(notes: Iterable[str]) -> tuple[str, ...]:
    """Of the notes on public rows, those on `columns_outside`."""
    return tuple(note for note in notes if note.startswith(MISFITS))


def refuse_misfits(notes: Iterable[str]) -> None:
    """Raises DataError: notes on public rows that do not fit the ranges that were stated."""
    if found := misfits(notes):
        raise DataError(*found)


def count_replaced(
    frame: pd.DataFrame, columns: Sequence[Column], recipe: Recipe
) -> Counter[tuple[str, str]]:
    """How many gaps new rows had filled, and how many of their numbers are out of range, by note
    and column. columns: as `count_gaps` counts."""
    filled = {
        ("Cells without a number took the model's value for gaps", column.name): column.gaps
        for column in columns
        if column.kind == NUMBERS and column.fill is not None
    }
    note = "Numbers outside the model's range count as its nearest end"
    outside = _counts_outside(frame, recipe)
    return Counter(filled | {(note, column.name): count for column, count, _ in outside})


def _kind(name: str, column: pd.Series) -> str:
    values = column.dropna()
    distinct = int(values.nunique())
    if distinct <= 1:
        return CONSTANT
    if is_text(column) and not mostly_numbers(column):
        codes, words = distinct_of(values)
        if cells.are_dates(codes, words):
            return DATE
        if are_texts(values):
            return TEXT
        is_name = (
            distinct > max(FEWEST_DISTINCT, len(values) / 2)
            or distinct == len(values) > FEWEST_NAMES
        )
        return IDENTIFIER if is_name else WORDS
    numbers = cells.numbers(values)
    numbers = numbers[np.isfinite(numbers)]
    if cells.are_days(numbers):
        return DATE
    is_counted = distinct == len(values) and bool((numbers == np.rint(numbers)).all())
    return IDENTIFIER if is_counted and IDENTIFYING.search(name) else NUMBERS


def _readable_numbers(column: pd.Series) -> Array:
    """(n,) float64 numbers of a column, NaN in its gaps. Raises DataError: cells that are neither,
    by row."""
    if len(unreadable := cells.unreadable(column)):
        quoted = join(f"row {row}: {cells.quote(column.iloc[row])}" for row in unreadable)
        raise DataError(
            f"column {column.name!r} holds {len(unreadable):,} cells that are neither numbers nor"
            f" gaps ({quoted}): correct them, empty them, or leave the column out."
        )
    return cells.numbers(column)


def _words(column: pd.Series, categories: Sequence[str] = ()) -> Array:
    """(n,) objects: the words of a column, "" where there is none; a number as the categories write
    it."""
    codes, values = distinct_of(column)
    words = [
        "" if missing else str(value).strip()
        for value, missing in zip(values, values.isna(), strict=True)
    ]
    numbers = {
        float(category): category for category in categories if cells.NUMBER.fullmatch(category)
    }
    words = [
        (
            numbers.get(float(word), word)
            if word not in categories and cells.NUMBER.fullmatch(word)
            else word
        )
        for word in words
    ]
    words = ["" if word.lower() in cells.GAPS_OF_WORDS else word for word in words]
    return np.array(words, dtype=object)[codes]
