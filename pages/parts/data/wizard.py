"""A table becomes numbers: its label, columns left out, words, gaps and ranges; all of it from public rows or from the user."""

import dataclasses
import io
from pathlib import Path
from typing import Any

import streamlit as st

from pages.frame import failures, local, memory, plain
from pages.frame.settings import PART, Settings
from pages.parts.data import brought
from pages.parts.data.brought import FILE
from pillar_core.data import encoding, files, persons, reports, trial, uploads
from pillar_core.data.encoding import Column, Recipe
from pillar_core.data.parts import Parts, opened
from pillar_core.data.tables import frame_of, label_column, taken, without_row_numbers
from pillar_core.errors import DataError
from pillar_core.types import FeatureSet

SUFFIXES = (".csv", ".parquet")
MOST_OF_A_PERSON = 16
_UNNAMED = "{} does not name its persons: ε assumes that none of them is private, too."


@dataclasses.dataclass(frozen=True)
class Encoded:
    """Private rows as numbers, the public sets beside them with their titles, and the recipe's notes."""

    private: FeatureSet
    public: tuple[tuple[FeatureSet, str], ...]


def panel(private: brought.File, public: list[brought.File], settings: Settings) -> None:
    """The questions about a private table and its public rows, what is wrong, and the button that keeps them."""
    if not is_readable(private):  # the report above says so
        return
    frame = _frame(private.key, private)
    st.markdown("**What the columns mean**")
    label = _label(frame)
    if label is None:
        return
    person, most = _person(frame, label)
    sources, unnamed = [(_frame(file.key, file, person), file.name) for file in public], []
    if person is not None:
        frame = _frame(private.key, private, person)
        n_rows, frame = len(frame), persons.rows_of_persons(frame, person, most=most, public=[table for table, _ in sources])
        unnamed = [Path(name).name for table, name in sources if person not in table or table[person].isna().any()]
        used = "the first row of each is" if most == 1 else f"the first {most} of each, {len(frame):,} rows, are"
        st.caption(f"{n_rows:,} rows of {frame[person].nunique():,} persons: {used} used, and ε protects a person.")
    columns = encoding.columns_of(frame if person is None else frame.drop(columns=person), label)
    left_out = _left_out(columns, label)
    shares, other = None, None
    if not sources:
        shares = brought.share_or_none()
        if shares is None:
            return
        if shares:
            frame, carved = encoding.divided(frame, label, settings.public_fraction, person=person)
            sources = [(carved, f"public part of {Path(private.name).name}")]
    recipe = encoding.learnt(sources[0][0], columns, label=label, left_out=left_out) if sources else _declared(columns, label, left_out)
    problems = encoding.problems_of(columns, recipe, is_scaled=bool(sources))
    if problems:
        brought.refused(problems)
        return
    parts = encoding.private_parts(frame, columns, recipe, person=person, most=most)
    parts = dataclasses.replace(parts, notes=(*parts.notes, *map(_UNNAMED.format, unnamed)))
    ready = _encoded(parts, sources, columns, recipe, private.name)
    report = reports.described(ready.private, (), None)
    brought.verdict(report)
    for rows, title in ready.public if public else ():
        brought.doubt_roles(report, reports.described(rows, (), None), title)
    if not sources:
        other = brought.other_public(is_images=False, dims=report.dims)
        if other and person is not None:
            st.caption(plain.text(_UNNAMED.format(uploads.title_of(other))))
    elif shares:
        n_public, n_private = len(ready.public[0][0].x_train), report.n_train
        brought.consequence(
            f"{n_public:,} of these {n_public + n_private:,} train rows become public: ε does not protect them, and what is released may "
            "show them. They are kept as a set of their own.",
            is_shared=True,
        )
    for line in ready.private.notes:
        st.caption(plain.text(line))
    _use(ready if sources or other else None, private.name, other or PART)
    st.dataframe(list(report.preview), hide_index=True, key="upload-preview")


def is_readable(private: brought.File) -> bool:
    """Whether the file is a table that can be read, of whatever words and numbers."""
    try:
        _frame(private.key, private)
    except DataError:
        return False
    return True


def has_questions(private: brought.File) -> bool:
    """Whether a table holds columns other than numbers, or one that names persons with several rows."""
    frame = _frame(private.key, private)
    return persons.person_column(frame) is not None or any(
        one.kind != encoding.NUMBERS for one in encoding.columns_of(frame, label_column(frame, taken(frame, ("split",))))
    )


def _use(ready: Encoded | None, name: str, public: str = PART) -> None:
    brought.use_button(_kept, (ready, name, public), is_ready=ready is not None)


def _kept(ready: Encoded, name: str, public: str) -> None:
    with failures.noted("The rows could not be stored"):
        brought.take(ready.private, list(ready.public), name, public)


def _label(frame: Any) -> str | None:
    names = [str(name) for name in frame.columns]
    try:
        guess = names.index(label_column(frame, taken(frame, ("split",))))
    except DataError:
        guess = None
    hint = "What the model shall tell: one of a few values in each row."
    return st.selectbox("Which column is the label?", names, index=guess, key=local.unlinked("upload-label", FILE), help=hint)


def _person(frame: Any, label: str) -> tuple[str | None, int]:
    """The column of persons, if any, and how many rows of one are used at most."""
    names = [str(name) for name in frame.columns if name not in (label, taken(frame, ("split",)))]
    guess = persons.person_column(frame[names])
    hint = "Images of a patient, visits of a customer: ε is then a person's. The first rows of each are used, none of one in a public file."
    person = st.selectbox(
        "Which column says whose row it is?",
        names,
        index=None if guess is None else names.index(guess),
        key=local.unlinked(f"upload-person-{label}", FILE),
        placeholder="none: every row is somebody else's",
        help=hint,
    )
    if person is None:
        return None, 1
    hint = (
        "ε protects a person with all of these rows. Twice the rows need about twice the noise and sum up to twice as much: one a person "
        "loses little where rows of a person are alike."
    )
    key = local.unlinked(f"upload-most-{label}", FILE)
    return person, int(st.number_input("How many rows of a person are used, at most?", 1, MOST_OF_A_PERSON, 1, key=key, help=hint))


def _left_out(columns: tuple[Column, ...], label: str) -> list[str]:
    suggested = [one.name for one in columns if one.kind in encoding.LEFT_OUT]
    kinds = {one.name: one.kind for one in columns}
    hint = "Identifiers say who somebody is, nothing to learn. Suggested: what looks like one, and columns of one value."
    return st.multiselect(
        "Columns to leave out",
        [one.name for one in columns],
        default=suggested,
        format_func=lambda name: f"{name} ({kinds[name]})",
        key=local.unlinked(f"upload-left-out-{label}", FILE),
        help=hint,
    )


def _declared(columns: tuple[Column, ...], label: str, left_out: list[str]) -> Recipe:
    """What the user says where no public row does: never what the private rows hold."""
    st.markdown("**Say what these columns can hold**, without looking at the private rows: there are no public rows to learn it from.")
    categories: dict[str, tuple[str, ...]] = {}
    fills: dict[str, float] = {}
    ranges: dict[str, tuple[float, float]] = {}
    for one in columns:
        if one.name in left_out or one.kind in encoding.ADVICE:
            continue
        if one.kind != encoding.NUMBERS:
            words = _answer(one.name, "its words, with commas between them", "female, male")
            categories[one.name] = tuple(word.strip() for word in words.split(",") if word.strip())
            continue
        ends = _answer(one.name, "its smallest and largest value" + (", and what fills gaps" if one.gaps else ""), "0, 120, 50")
        numbers = _numbers(ends)
        if len(numbers) >= 2 and numbers[0] < numbers[1]:
            ranges[one.name] = (numbers[0], numbers[1])
        if len(numbers) == 3:
            fills[one.name] = numbers[2]
    return Recipe(label, tuple(left_out), categories, fills, ranges)


def _answer(name: str, what: str, example: str) -> str:
    return str(st.text_input(f"{plain.text(name)}: {what}", key=local.unlinked(f"upload-declared-{name}", FILE), placeholder=example) or "")


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        return []


@memory.of_rows(max_entries=8, show_spinner="Reading the table …", of_files=True)
def _frame(fingerprint_: str, _file: brought.File, person: str | None = None) -> Any:
    """The table, the names of persons as they are written."""
    ending = Path(_file.name).suffix.lower()
    if ending not in SUFFIXES:
        raise DataError(f"{Path(_file.name).name} is no table: beside a private table, public rows must be csv or parquet files, too.")
    trial.check_table(_file.content, _file.name)
    content = io.BytesIO(_file.content) if _file.content is not None else opened(_file.name)
    return without_row_numbers(frame_of(content, ending, as_written=person), [])


def _encoded(parts: Parts, sources: list[tuple[Any, str]], columns: tuple[Column, ...], recipe: Recipe, name: str) -> Encoded:
    private = files.checked_features(parts, name=Path(name).stem)
    public = tuple(
        (files.checked_features(encoding.public_parts(rows, columns, recipe), name=Path(title).stem), title) for rows, title in sources
    )
    return Encoded(private, public)
