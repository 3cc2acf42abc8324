"""A table becomes numbers: its label, columns left out, words, gaps and ranges; all of it from
public rows or from the user."""

import dataclasses
import functools
import itertools
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import streamlit as st

from pages.frame import failures, local, memory, plain
from pages.frame.settings import PART, Settings
from pages.parts.rows import brought
from pages.parts.rows.brought import FILE, File
from pillar_core import splits
from pillar_core.arrays import Array
from pillar_core.data import cells, encoding, persons, raw, recipes, reports, room, uploads
from pillar_core.data.arrays import MOST_CLASSES_OF_NUMBERS
from pillar_core.data.encoding import Column, Recipe
from pillar_core.data.frames import notes_of
from pillar_core.data.partition import BY_COIN_NOTE, SET_APART
from pillar_core.data.parts import COLUMNS_SEEN
from pillar_core.data.reader import Encoding
from pillar_core.data.tables import (
    alike_labels,
    bins,
    is_text,
    joined_labels,
    label_column,
    mostly_numbers,
    split_column,
)
from pillar_core.data.wording import join
from pillar_core.errors import Cancelled, DataError
from pillar_core.fingerprint import fingerprint
from pillar_core.runs import splitting
from pillar_core.types import FeatureSet

Tables = tuple[pd.DataFrame, list[tuple[Callable[[], pd.DataFrame], str]]]
"""A private table, and what reads each public one, with its title."""
FeatureMakers = list[tuple[Callable[[], FeatureSet], str]]
"""What makes the features of each public table, with its title."""
_ABSENT = "missing in the public file"
_UNNAMED = "{} does not name its persons: you state that none of them is private, too."


@dataclasses.dataclass(frozen=True)
class Answers:
    """What somebody said of a private table and the public ones beside it; their rows are made from
    it whenever they are wanted.

    `share`: of the private rows, which is public; None where the public rows come from elsewhere.
    `edges`: where a number to predict is cut into classes. `is_joined`: labels that differ by case
    and blanks alone are one. `text`: the column of texts to learn from. `by_coin`: how test rows
    are drawn, see `tables.partition`.
    """

    private: File
    public: list[File]
    label: str
    person: str | None
    most: int
    share: float | None = None
    edges: tuple[float, ...] = ()
    is_joined: bool = False
    text: str | None = None
    by_coin: bool = False

    def table(self, file: File) -> pd.DataFrame:
        """A table with its labels as they were answered: cut into bins, or joined where they differ
        by case and blanks alone.

        The one column of texts of a public table is called as that of the private one.
        """
        frame = encoding.with_text_column(_table(file, self.person, self.text), self.text)
        if self.label not in frame or not (self.edges or self.is_joined):
            return frame
        labels = (
            bins(frame[self.label], self.edges) if self.edges else joined_labels(frame[self.label])
        )
        return frame.assign(**{self.label: labels})

    def unnamed_files(self) -> list[str]:
        """The public files that do not name the person of every row, where persons are asked
        for."""
        if self.person is None:
            return []
        return [
            file.name
            for file in self.public
            if not _names_in(file.key, _table(file, self.person, self.text), self.person)[1]
        ]

    def tables(self) -> Tables:
        """The tables, of whose private one the rows are left that may be used."""
        frame = self.table(self.private)
        if self.person is not None:
            theirs = frozenset().union(
                *(
                    _names_in(file.key, _table(file, self.person, self.text), self.person)[0]
                    for file in self.public
                )
            )
            identities = _person_names(self.private.key, frame, self.person)
            frame = persons.first_rows(
                frame, self.person, identities, most=self.most, theirs=theirs
            )
        if self.share is None:
            return frame, [(functools.partial(self.table, file), file.name) for file in self.public]
        frame, carved = encoding.split_off_public(frame, self.label, self.share, person=self.person)
        return frame, [(lambda: carved, brought.PART_OF.format(Path(self.private.name).name))]

    def rows(self, tables: Tables, recipe: Recipe) -> tuple[FeatureSet, FeatureMakers]:
        """The private rows as numbers, and what makes those of each public table."""
        frame, sources = tables
        others = tuple(column for column in recipe.columns if column.kind != encoding.TEXT)
        n_categories = encoding.width(dataclasses.replace(recipe, columns=others))
        room.check_memory(
            "One number for each category takes", 8 * len(frame) * n_categories, room.memory_limit()
        )
        recipe = dataclasses.replace(recipe, person=self.person, rows_per_person=self.most)
        key = fingerprint(
            self.private.key,
            [file.key for file in self.public],
            recipes.form_of(recipe),
            self.share,
            self.edges,
            self.is_joined,
        )
        title, caveats = Path(self.private.name).stem, () if sources else (COLUMNS_SEEN,)
        if self.by_coin:
            private = raw.private_features(frame, recipe, name=title, caveats=caveats, by_coin=True)
        else:
            making = _features(key, frame, recipe, title, caveats)
            brought.wait_for(making, key)
            private = making.rows
        unnamed = self.unnamed_files()

        def public(read: Callable[[], pd.DataFrame], title: str) -> FeatureSet:
            is_apart = self.person is not None and title not in unnamed
            apart_from = (private.fingerprint,) if is_apart else ()
            return raw.public_features(read(), recipe, name=Path(title).stem, apart_from=apart_from)

        return private, [(functools.partial(public, read, title), title) for read, title in sources]


def panel(private: File, public: list[File], settings: Settings) -> None:
    """The questions about a private table and its public rows, what is wrong, and the button that
    keeps them."""
    if not is_readable(private):  # the report above says so
        return
    frame = _table(private)
    st.markdown("**What the columns mean**")
    st.dataframe(frame.head(), hide_index=True, key="upload-raw")
    label = _label(frame)
    edges = () if label is None else _edges(frame[label])
    if label is None or edges is None:
        return
    is_joined = not edges and _ask_to_join(frame[label])
    person, most = _person(frame, label)
    text = _text(private, label, person)
    answers, n_rows = (
        Answers(private, public, label, person, most, edges=edges, is_joined=is_joined, text=text),
        len(frame),
    )
    frame, sources = answers.tables()
    if person is not None:
        everything = dataclasses.replace(answers, most=n_rows).tables()[0]
        st.caption(persons.kept_text(n_rows, everything[person].value_counts().to_numpy(), most))
    shares, public_name = None, None
    if not public:
        shares = brought.share_or_none()
        if shares is None:
            return
        if shares:
            answers = dataclasses.replace(answers, share=settings.public_fraction)
            frame, sources = answers.tables()
    known = sources[0][0]() if sources else None
    columns = encoding.columns_of(
        frame if person is None else frame.drop(columns=person), label, public=known, text=text
    )
    left_out = _left_out(columns, label, known, text)
    if remedies := _remedies(columns, left_out, known, _table(private)):
        _offer_to_leave_out(remedies, left_out, _left_out_key(label, text))
        return
    recipe = (
        _declare_recipe(columns, label, left_out)
        if known is None
        else encoding.learn_recipe(known, columns, label=label, left_out=left_out)
    )
    problems = encoding.problems_of(columns, recipe, is_scaled=bool(sources))
    misfits: list[str] = []
    if public and any(column.kind == encoding.NUMBERS for column in columns):
        recipe, misfits = _with_ranges(recipe, known, problems)
    if problems:
        st.info("**Still to say:**", icon=":material/help:")
        brought.list_lines(problems)
        return
    try:
        rows, makers = answers.rows((frame, sources), recipe)
    except Cancelled as stopped:
        brought.verdict(reports.refusal_report(stopped))
        brought.check_again()
        return
    report = reports.describe_rows(rows, (), None)
    brought.verdict(report)
    n_public, public_notes = 0, []
    for make, title in makers:  # one at a time, and none of them stays
        public_rows = make()
        public_report = reports.describe_rows(public_rows, (), None)
        n_public += public_report.n_train
        if public:
            brought.doubt_roles(report, public_report, title)
            unused = (
                ""
                if public_rows.y_train is None
                else splits.unused_labels(public_rows.classes, rows.classes)
            )
            said = (
                *filter(None, [unused]),
                *public_rows.notes,
                *splitting.match_private(public_rows, rows)[1],
            )
            public_notes += [
                f"{Path(title).name}: {note}"
                for note in dict.fromkeys(said)
                if note not in rows.notes
            ]
    unnamed = answers.unnamed_files()
    if not sources:
        public_name = brought.other_public(
            is_images=False, dims=report.dims, can_make_up=text is None
        )
        is_anybodys = public_name not in (None, raw.MADE_UP)
        unnamed += (
            [uploads.title_of(public_name)]
            if public_name and is_anybodys and person is not None
            else []
        )
    elif shares:
        brought.consequence(
            f"{n_public:,} of these {n_public + report.n_train:,} train rows become public: ε does"
            " not protect them, and what is released may show them. They are kept as a set of"
            " their own.",
            is_shared=True,
        )
    words = [name for name in recipe.categories if name not in left_out]
    notes = [f"Columns of words that become categories: {join(words)}."] if words else []
    notes += [
        *notes_of(_table(private)),
        *rows.notes,
        *misfits,
        *public_notes,
        *(_UNNAMED.format(Path(name).name) for name in unnamed),
    ]
    if rows.test_drawn and brought.asks_for_coin("row" if person is None else "person"):
        answers = dataclasses.replace(answers, by_coin=True)
        notes = [BY_COIN_NOTE if note == SET_APART else note for note in notes]
    brought.list_notes(notes)
    brought.use_button(
        _keep,
        (answers, recipe, public_name or PART),
        is_ready=bool(sources or public_name),
    )
    brought.preview(rows, report)


def is_readable(private: File) -> bool:
    """Whether the file is a table that can be read, of whatever words and numbers."""
    try:
        _table(private)
    except DataError:
        return False
    return True


@memory.cache(max_entries=4, of_files=True, by=lambda private: private.key)
def has_questions(private: File) -> bool:
    """Whether a table holds columns other than numbers, labels that may be one, or a column that
    names persons with several rows."""
    frame = _table(private)
    label = label_column(frame)
    is_plain = all(
        column.kind == encoding.NUMBERS for column in encoding.columns_of(frame, label)
    ) and not alike_labels(frame[label])
    return persons.person_column(frame) is not None or not is_plain


def _keep(answers: Answers, recipe: Recipe, public: str) -> None:
    with failures.note_refusal("The rows could not be stored"):
        rows, makers = answers.rows(answers.tables(), recipe)
        made_up = (
            functools.partial(raw.made_up, rows),
            brought.MADE_UP_FOR.format(Path(answers.private.name).name),
        )
        brought.take(
            rows, [made_up] if public == raw.MADE_UP else makers, answers.private.name, public
        )
        if (
            public != raw.MADE_UP and answers.text is None and not raw.why_not_made_up(rows)
        ):  # a candidate on Public data
            brought.keep_public(made_up[0](), made_up[1], rows)
        brought.let_go([answers.private, *answers.public])


def _label(frame: pd.DataFrame) -> str | None:
    names = [str(name) for name in frame.columns]
    try:
        guess = names.index(label_column(frame))
    except DataError:
        guess = None
    return st.selectbox(
        label="Which column is the label?",
        key=local.unlinked_key("upload-label", FILE),
        help="What the model should predict: one of a few values in each row.",
        options=names,
        index=guess,
    )


def _edges(labels: pd.Series) -> tuple[float, ...] | None:
    """Where a number to predict is cut into classes; () for labels that are classes, None before
    somebody says."""
    if is_text(labels) or labels.nunique() <= MOST_CLASSES_OF_NUMBERS:
        return ()
    st.info(
        f"**A number to predict.** It has {labels.nunique():,} different values: cut it into"
        " classes.",
        icon=":material/help:",
    )
    name = plain.text(labels.name)
    text = st.text_input(
        label=f"Cut {name} at",
        key=local.unlinked_key(f"upload-edges-{name}", FILE),
        help=(
            "Choose them without looking at the private rows, for instance at limits that matter to"
            " you."
        ),
        placeholder="10, 20, 50",
    )
    edges = tuple(_numbers(text or ""))
    return edges if edges and all(low < high for low, high in itertools.pairwise(edges)) else None


def _ask_to_join(labels: pd.Series) -> bool:
    """Whether labels that differ by case and blanks alone are taken as one, once somebody says
    so."""
    groups = alike_labels(labels)
    if not groups:
        return False
    named = "; ".join(" and ".join(map(repr, group)) for group in groups)
    return st.toggle(
        plain.text(f"Take these labels as one: {named}"),
        value=True,
        key=local.unlinked_key("upload-join", FILE),
    )


def _remedies(
    columns: tuple[Column, ...],
    left_out: list[str],
    known: pd.DataFrame | None,
    private: pd.DataFrame,
) -> dict[str, str]:
    """Why columns cannot be used as they are, by name: dates, copies, words among numbers, and
    those that public rows lack."""
    used = [column for column in columns if column.name not in left_out]
    reasons = {
        column.name: encoding.ADVICE[column.kind]
        for column in used
        if column.kind in encoding.ADVICE
    }
    if known is not None:
        reasons |= {column.name: f"is {_ABSENT}" for column in used if column.name not in known}
    for name in (
        column.name
        for column in used
        if column.kind == encoding.NUMBERS and mostly_numbers(private[column.name])
    ):
        if len(rows := cells.unreadable(private[name])):
            quoted = join((f"{private[name].iloc[row]!r} in row {row:,}" for row in rows), most=3)
            reasons.setdefault(
                name,
                f"holds words among its numbers ({quoted}): leave it out, or correct these cells in"
                " the file",
            )
    return reasons


def _left_out_key(label: str, text: str | None) -> str:
    return f"upload-left-out-{label}" + (f"-without-{text}" if text else "")


def _offer_to_leave_out(reasons: dict[str, str], left_out: list[str], key: str) -> None:
    st.info("**Some columns cannot be used as they are.**", icon=":material/help:")
    brought.list_lines([f"{name} {why}" for name, why in reasons.items()])
    label, arguments = plain.text(f"Leave out {join(reasons)}"), (key, [*left_out, *reasons])
    st.button(
        label, key="upload-leave-out", type="primary", on_click=brought.answer_with, args=arguments
    )


def _person(frame: pd.DataFrame, label: str) -> tuple[str | None, int]:
    """The column of persons, if any, and how many rows of one are used at most."""
    names = [str(name) for name in frame.columns if name not in (label, split_column(frame))]
    guess = persons.person_column(frame[names])
    person = st.selectbox(
        label="Which column says whose row it is?",
        key=local.unlinked_key(f"upload-person-{label}", FILE),
        help=(
            "Images of a patient, visits of a customer: ε is then a person's. The first rows of"
            " each are used, none of one in a public file."
        ),
        placeholder="none: one row a person",
        options=names,
        index=None if guess is None else names.index(guess),
    )
    if person is None:
        return None, 1
    return person, int(
        st.number_input(
            label="How many rows of a person are used, at most?",
            key=local.unlinked_key(f"upload-most-{label}", FILE),
            help=(
                "ε protects a person with all of these rows. Twice the rows need about twice the"
                " noise and sum up to twice as much: one a person loses little where rows of a"
                " person are alike."
            ),
            min_value=1,
            max_value=16,
            value=1,
        )
    )


def _text(private: File, label: str, person: str | None) -> str | None:
    """The column of texts to learn from, if any; suggested where it looks like texts and nothing
    else is left to learn from.

    Emoji, short words that differ, and words among numbers do not look like texts, but may be.
    """
    frame = _table(private)
    kinds = {
        name: kind for name, kind in _kinds(private.key, frame, label).items() if name != person
    }
    unlike = [
        name
        for name, kind in kinds.items()
        if kind in (encoding.IDENTIFIER, encoding.NUMBERS) and is_text(frame[name])
    ]
    names = [name for name, kind in kinds.items() if kind == encoding.TEXT] or unlike
    if not names:
        return None
    sole = encoding.sole_text(kinds)
    return st.selectbox(
        label="Which column holds texts to learn from?",
        key=local.unlinked_key(f"upload-text-{label}", FILE),
        help=(
            "Each text becomes 256 numbers by itself, the mean of the vectors of its words. Nothing"
            " is learnt from your texts on the way."
        ),
        placeholder="none: texts are left out",
        options=names,
        index=names.index(sole) if sole else None,
    )


@memory.cache(max_entries=2, of_files=True)
def _features(
    fingerprint_: str, _frame: pd.DataFrame, _recipe: Recipe, name: str, caveats: tuple[str, ...]
) -> Encoding:
    return Encoding(
        functools.partial(raw.private_features, _frame, _recipe, name=name, caveats=caveats)
    )


@memory.cache(max_entries=8, of_files=True)
def _kinds(fingerprint_: str, _frame: pd.DataFrame, label: str) -> dict[str, str]:
    return {column.name: column.kind for column in encoding.columns_of(_frame, label)}


def _left_out(
    columns: tuple[Column, ...], label: str, known: pd.DataFrame | None, text: str | None
) -> list[str]:
    suggested = [
        column.name
        for column in columns
        if column.kind in encoding.LEFT_OUT and column.name != text
    ]
    kinds = {
        column.name: column.kind if known is None or column.name in known else _ABSENT
        for column in columns
    }
    names = [column.name for column in columns if column.name != text]
    return st.multiselect(
        label="Columns to leave out",
        key=local.unlinked_key(_left_out_key(label, text), FILE),
        help=(
            "Identifiers and free text can name a person. Suggested: columns that look like one,"
            " and columns of one value."
        ),
        options=names,
        default=suggested,
        format_func=lambda name: f"{name} ({kinds[name]})",
    )


def _declare_recipe(columns: tuple[Column, ...], label: str, left_out: list[str]) -> Recipe:
    """What the user says where no public row does: never what the private rows hold."""
    st.markdown(
        "**Say what these columns can hold** from what anybody may know, not from the rows above:"
        " no public rows tell it."
    )
    categories: dict[str, tuple[str, ...]] = {}
    fills: dict[str, float] = {}
    ranges: dict[str, tuple[float, float]] = {}
    used = tuple(column for column in columns if column.name not in left_out)
    for column in used:
        if column.kind in (encoding.TEXT, *encoding.ADVICE):
            continue
        if column.kind in encoding.OF_WORDS:
            words = _answer(column.name, "its words, with commas between them", "word, other word")
            categories[column.name] = tuple(
                word.strip() for word in words.split(",") if word.strip()
            )
            continue
        more = (", and what fills gaps", ", what fills gaps") if column.gaps else ("", "")
        ends = _answer(
            column.name, f"its smallest and largest value{more[0]}", f"smallest, largest{more[1]}"
        )
        numbers = _numbers(ends)
        if len(numbers) >= 2 and numbers[0] < numbers[1]:
            ranges[column.name] = (numbers[0], numbers[1])
        if len(numbers) == 3:
            fills[column.name] = numbers[2]
    return Recipe(label, tuple(left_out), categories, fills, ranges, used)


def _with_ranges(
    recipe: Recipe, public: pd.DataFrame | None, problems: list[str]
) -> tuple[Recipe, list[str]]:
    """The recipe with ranges that somebody states though public rows scale the columns, and notes
    on columns that do not fit; what is wrong with the ranges joins the problems."""
    ranges = str(
        st.text_input(
            "What can columns of numbers hold, in your unit?",
            help="From what anybody may know, not from the rows. Public rows are compared with it:"
            " a column in another unit is left out. Numbers outside count as the nearest end.",
            placeholder="optional: age=0:120, hb=5:20",
            key=local.unlinked_key("upload-ranges", FILE),
        )
        or ""
    )
    try:
        return recipes.with_ranges(recipe, recipes.ranges_of(ranges), public)
    except DataError as error:
        problems += error.problems
    return recipe, []


def _answer(name: str, hint: str, example: str) -> str:
    return str(
        st.text_input(
            f"{plain.text(name)}: {hint}",
            key=local.unlinked_key(f"upload-declared-{name}", FILE),
            placeholder=example,
        )
        or ""
    )


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        return []


def _table(file: File, *as_written: str | None) -> pd.DataFrame:
    """The table, names of persons and texts as they are written."""
    return file.reading(*filter(None, as_written)).table


@memory.cache(max_entries=4, show_spinner="Reading the names …", of_files=True)
def _person_names(fingerprint_: str, _frame: pd.DataFrame, person: str) -> tuple[Array, Array]:
    return persons.names_of_persons(_frame[person])


@memory.cache(max_entries=8, show_spinner="Reading the names …", of_files=True)
def _names_in(fingerprint_: str, _frame: pd.DataFrame, person: str) -> tuple[frozenset[str], bool]:
    return persons.named_in(_frame, person)
