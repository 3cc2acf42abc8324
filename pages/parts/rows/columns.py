"""The columns of a table that somebody brings, as one table to edit: what each is taken for, and
what its owner says; the rest comes from public rows, never from private ones."""

import contextlib
import dataclasses
import functools
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from pages.frame import local, memory, plain
from pages.parts.rows.files import FILE, File, wait_for
from pillar_core.arrays import Array
from pillar_core.data import cells, encoding, persons, raw, recipes, room
from pillar_core.data.arrays import MOST_CLASSES_OF_NUMBERS
from pillar_core.data.encoding import Column, Recipe
from pillar_core.data.frames import notes_of
from pillar_core.data.partition import with_tossed_test
from pillar_core.data.parts import COLUMNS_SEEN
from pillar_core.data.persons import Named
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
from pillar_core.errors import DataError, PillarError
from pillar_core.fingerprint import fingerprint
from pillar_core.types import Dataset, FeatureSet

Maker = tuple[Callable[[], FeatureSet | Dataset], str]
"""What makes public rows when they are kept, and their title."""
Source = tuple[Callable[[], pd.DataFrame], str, Named]
"""What reads a public table, its title, and whom it names."""
PART_OF = "public part of {}"
"""The title of a share of a private table's rows that became a public set, by the table's own."""
ROLES = (LABEL, PERSON, TEXT, USE, LEAVE_OUT) = ("label", "person", "text", "use", "leave out")
_OF_ARRAYS = ("rows", "labels")
ROLE, HOLDS, FILL = "Role", "May hold", "Gaps become"
"""The columns of the table that can be edited."""
_HELP = {
    ROLE: (
        "**label**: what the model predicts. **person**: whose row it is; ε is then a person's, and"
        " nobody with public rows has private ones. **text**: each text becomes 256 numbers, from"
        " its own words alone. **leave out**: identifiers, free text, columns of one value."
    ),
    HOLDS: (
        "What anybody may know, not what these rows hold. Numbers: smallest and largest, “0, 120”;"
        " others count as the nearest end, and a public column in another unit is left out. Words:"
        " all of them, “f, m”. A label of many numbers: where to cut it, “10, 20, 50”."
    ),
    FILL: "The number that stands for an empty cell. Public rows give their median.",
}
_FIRST, _SIGNS, _AT_SIGHT = 3, 40, 25
"""Of how many rows the values are shown, and so many signs of each; up to how many columns stand
without scrolling."""
_ABSENT = "missing in the public file"
_USED_AS = {encoding.CONSTANT: encoding.NUMBERS}
_UNUSUAL = (*encoding.LEFT_OUT, *encoding.ADVICE)
"""Kinds of columns that are left out until their owner says more."""


_AS_READ = Recipe("")


@dataclasses.dataclass(frozen=True)
class Answers:
    """What somebody said of a private file and the public ones beside it; their rows are made from
    it whenever they are wanted.

    `recipe`: of a table's columns; one without a label stands for rows as the reader takes them.
    `share`: of a table's rows, which is public; None where the public rows come from elsewhere.
    `edges`: where a number to predict is cut into classes. `is_joined`: labels that differ by case
    and blanks alone are one. `by_coin`: how test rows are drawn, see `tables.partition`.
    """

    private: File
    public: Sequence[File]
    recipe: Recipe = _AS_READ
    share: float | None = None
    edges: tuple[float, ...] = ()
    is_joined: bool = False
    by_coin: bool = False

    def rows(self) -> tuple[FeatureSet | Dataset, list[Maker]]:
        """The private rows, and what makes each public set."""
        if not self.recipe.label:
            rows = self.private.rows()
            made = with_tossed_test(rows) if self.by_coin else rows
            return made, [(file.rows, file.name) for file in self.public]
        frame, sources = self.tables()
        columns = tuple(column for column in self.recipe.columns if column.kind != encoding.TEXT)
        width = encoding.width(dataclasses.replace(self.recipe, columns=columns))
        room.check_memory(
            "One number for each category takes", 8 * len(frame) * width, room.memory_limit()
        )
        form, files_ = recipes.form_of(self.recipe), [file.key for file in self.public]
        said = (self.share, self.edges, self.is_joined, self.by_coin)
        key = fingerprint(self.private.key, files_, form, *said)
        make = functools.partial(
            raw.private_features,
            frame,
            self.recipe,
            name=Path(self.private.name).stem,
            caveats=() if sources else (COLUMNS_SEEN,),
            by_coin=self.by_coin,
            person_names=self._person_names(),
        )
        making = _features(key, make)
        wait_for(making, key)
        private = making.rows
        public = functools.partial(public_rows, recipe=self.recipe, private=private)
        return private, [(functools.partial(public, *source), source[1]) for source in sources]

    def tables(self) -> tuple[pd.DataFrame, list[Source]]:
        """The private table's rows that may be used, and the public tables."""
        frame, person = self._table(self.private), self.recipe.person
        named = [names_in(file, self.recipe) for file in self.public]
        if person is not None:
            frame = persons.first_rows(
                frame,
                person,
                _person_names(self.private.key, frame, person),
                most=self.recipe.rows_per_person,
                theirs=frozenset[str]().union(*(names for names, _ in named)),
            )
        if self.share is None:
            return frame, [
                (functools.partial(self._table, file), file.name, theirs)
                for file, theirs in zip(self.public, named, strict=True)
            ]
        frame, part = encoding.split_off_public(frame, self.recipe.label, self.share, person=person)
        title = PART_OF.format(Path(self.private.name).name)
        return frame, [(lambda: part, title, (frozenset[str](), person is not None))]

    def _person_names(self) -> Array | None:
        """The names of the private file's persons, by the numbers that stand for them."""
        person = self.recipe.person
        if person is None:
            return None
        return _person_names(self.private.key, self._table(self.private), person)[1]

    def _table(self, file: File) -> pd.DataFrame:
        """A table with its labels as they were answered, whose one column of texts is called as
        that of the private one."""
        label = self.recipe.label
        frame = encoding.with_text_column(read_table(file, self.recipe), self.recipe.text)
        if label in frame and self.edges:
            return frame.assign(**{label: bins(frame[label], self.edges)})
        if label in frame and self.is_joined:
            return frame.assign(**{label: joined_labels(frame[label])})
        return frame


def read_table(file: File, recipe: Recipe = _AS_READ) -> pd.DataFrame:
    """The table, names of persons and texts as they are written."""
    return file.reading(*filter(None, (recipe.person, recipe.text))).table


def public_rows(
    read: Callable[[], pd.DataFrame], title: str, named: Named, recipe: Recipe, private: FeatureSet
) -> FeatureSet:
    """A public table, and whom it names, through the recipe of private rows."""
    name = Path(title).stem
    return raw.public_features(read(), recipe, name=name, private=private, named=named)


def names_in(file: File, recipe: Recipe) -> Named:
    """Whom a public table names."""
    return _names_in(file.key, read_table(file, recipe), recipe.person)


def ask(answers: Answers, share: float | None, *, is_answered: bool) -> Answers | None:
    """Draws the table of the columns and a line for what goes into no cell; what was answered, or
    None while something is still to say. Plain numbers of which nobody says anything are read as
    they are.

    share: of the rows, which is public. is_answered: whether somebody said which rows are.
    """
    private, frame = answers.private, read_table(answers.private)
    names = [str(name) for name in frame.columns if name != split_column(frame)]
    key, said = _said_of(names)
    roles, columns = _roles(private, frame, said)
    own = {column.name: column for column in columns}
    known, place, is_plain, problems = None, st.container(), False, list[str]()
    try:
        label, person, text = (_sole(roles, role) for role in (LABEL, PERSON, TEXT))
        if label is None:
            raise DataError(f"no column has the role {LABEL!r}: give it to what to predict.")
        if not (answers.public or person or text or any(said.values())):
            is_plain = _is_plain(private, columns, frame[label])
        if not is_plain:
            recipe = Recipe(
                label,
                columns=(Column(text, encoding.TEXT, 0),) if text else (),
                person=person,
                rows_per_person=_most() if person else 1,
            )
            edges = _edges(frame[label], said[label].get(HOLDS) or "")
            is_joined = _ask_to_join(frame[label])
            answers = dataclasses.replace(
                answers, recipe=recipe, share=share, edges=edges, is_joined=is_joined
            )
            used, sources = answers.tables()
            list_notes(notes_of(used))
            known = sources[0][0]() if sources else None
            columns = encoding.columns_of(
                used.drop(columns=person) if person else used, label, public=known, text=text
            )
    except DataError as error:
        problems += error.problems
    seen = own | {column.name: column for column in columns}
    looks = {
        name: _looks(column, own.get(name, column).gaps, known) for name, column in seen.items()
    }
    for column in columns:
        is_out = column.kind in _UNUSUAL or looks[column.name] == _ABSENT
        roles.setdefault(column.name, LEAVE_OUT if is_out else USE)
    with place:
        _draw(key, frame, said, roles, looks)
    if is_plain or not (problems or answers.public or is_answered):
        return answers if is_plain else None
    left_out = {each.name: each.kind for each in columns if roles[each.name] == LEAVE_OUT}
    try:
        if problems:
            raise DataError(*problems)
        recipe = _recipe_of(answers.recipe, columns, left_out, said, known, frame)
    except DataError as error:
        st.info("**Still to say:**", icon=":material/help:")
        list_lines(error.problems)
        return None
    advice = {name: encoding.ADVICE.get(kind) for name, kind in left_out.items()}
    list_notes([f"{name} {why}." for name, why in advice.items() if why])
    return dataclasses.replace(answers, recipe=recipe)


def ask_arrays(shapes: Mapping[str, tuple[int, ...]]) -> tuple[str, str] | None:
    """Draws the arrays of a npz whose names do not say what they are; those of rows and labels, or
    None before somebody says."""
    key, said = _said_of(list(shapes))
    st.info(
        "**Which arrays are the rows and the labels?** Their names do not say it: double-click"
        " under Role.",
        icon=":material/help:",
    )
    of = {cells.get(ROLE): name for name, cells in said.items()}
    sizes = [" × ".join(map(str, shape)) for shape in shapes.values()]
    _edit(key, {"Column": list(shapes), "Size": sizes, ROLE: ""}, _OF_ARRAYS)
    rows, labels = map(of.get, _OF_ARRAYS)
    return (rows, labels) if rows and labels else None


def list_lines(problems: Sequence[str]) -> None:
    """Line by line."""
    st.markdown("\n".join(f"- {plain.text(problem)}" for problem in problems))


def list_notes(notes: Sequence[str]) -> None:
    """What was decided while a file was read, in small letters, line by line."""
    st.caption("  \n".join(map(plain.text, dict.fromkeys(notes))))


def _said_of(names: list[str]) -> tuple[str, dict[str, Mapping[str, Any]]]:
    """The key of the table of these columns, and what was said in the cells of each."""
    key = local.unlinked_key(f"upload-columns-{fingerprint(names)}", FILE)
    edits = st.session_state.get(key, {}).get("edited_rows", {})
    return key, {name: edits.get(place, {}) for place, name in enumerate(names)}


def _draw(
    key: str,
    frame: pd.DataFrame,
    said: Mapping[str, Mapping[str, Any]],
    roles: Mapping[str, str],
    looks: Mapping[str, str],
) -> None:
    """Draws what was understood of each column, as the table to edit."""
    st.markdown("**What was understood.** Double-click a cell to change it.")
    head = frame.head(_FIRST)
    table = {
        "Column": list(said),
        ROLE: ["" if ROLE in cells else roles[name] for name, cells in said.items()],
        "Looks like": [looks.get(name, "") for name in said],
        HOLDS: "",
        FILL: math.nan,
        "First values": [", ".join(map(_beginning, head[name].dropna())) for name in said],
    }
    _edit(key, table, ROLES)


def _edit(key: str, table: Mapping[str, Any], roles: Sequence[str]) -> None:
    """Draws a table to edit. It holds nothing that was said: the browser takes back what it finds
    there already."""
    st.data_editor(
        pd.DataFrame(table),
        key=key,
        hide_index=True,
        height="content" if len(table["Column"]) <= _AT_SIGHT else "auto",
        placeholder="",
        disabled=[name for name in table if name not in _HELP],
        column_config={
            "Column": st.column_config.TextColumn(pinned=True),
            ROLE: st.column_config.SelectboxColumn(options=roles, required=True, help=_HELP[ROLE]),
            HOLDS: st.column_config.TextColumn(help=_HELP[HOLDS]),
            FILL: st.column_config.NumberColumn(help=_HELP[FILL]),
        },
        alt="What each column or array of the file is taken for; double-click a cell to change it",
    )


def _beginning(value: object) -> str:
    return (f"{value:.15g}" if isinstance(value, float) else str(value))[:_SIGNS]


def _sole(roles: Mapping[str, str], role: str) -> str | None:
    """The column with this role. Raises DataError: several have it."""
    names = [name for name, of in roles.items() if of == role]
    if len(names) > 1:
        raise DataError(f"the columns {join(names)} have the role {role!r}: keep one.")
    return names[0] if names else None


def _roles(
    private: File, frame: pd.DataFrame, said: Mapping[str, Mapping[str, Any]]
) -> tuple[dict[str, str], tuple[Column, ...]]:
    """(the roles that were said, and the label, person and text that a table seems to have where
    nobody named one; the other columns as they look)."""
    roles = {name: str(cells[ROLE]) for name, cells in said.items() if cells.get(ROLE)}
    if LABEL not in roles.values() and (seen := _label(private.key, frame)):
        roles.setdefault(seen, LABEL)
    label = next((name for name, role in roles.items() if role == LABEL), "")
    columns = _kinds(private.key, frame, label)
    free = [name for name in said if name not in roles]
    if PERSON not in roles.values() and (person := persons.person_column(frame[free])):
        roles[person] = PERSON
    kinds = {column.name: column.kind for column in columns if roles.get(column.name) != PERSON}
    if label and TEXT not in roles.values() and (text := encoding.sole_text(kinds)):
        roles.setdefault(text, TEXT)
    return roles, columns


def _looks(column: Column, gaps: int, known: pd.DataFrame | None) -> str:
    """What a column of the private table is; gaps: its own, whatever the public one has."""
    if known is not None and column.name not in known:
        return _ABSENT
    return f"{column.kind}, {gaps:,} empty" if gaps else column.kind


def _is_plain(private: File, columns: Sequence[Column], labels: pd.Series) -> bool:
    """Whether the reader takes a table as it is, and there is nothing to ask."""
    are_numbers = all(each.kind == encoding.NUMBERS and not each.gaps for each in columns)
    if are_numbers and not alike_labels(labels):
        with contextlib.suppress(PillarError):
            return private.rows() is not None
    return False


def _edges(labels: pd.Series, said: str) -> tuple[float, ...]:
    """Where a number to predict is cut into classes; () for labels that are classes.

    Raises DataError: nobody says where.
    """
    if is_text(labels) or labels.nunique() <= MOST_CLASSES_OF_NUMBERS:
        return ()
    edges = tuple(_numbers(said))
    if not edges or any(low >= high for low, high in itertools.pairwise(edges)):
        raise DataError(
            f"{labels.name} is a number to predict, of {labels.nunique():,} values: write under"
            f" “{HOLDS}” where to cut it into classes, such as 10, 20, 50. Choose limits that"
            " matter to you, without looking at the private rows."
        )
    return edges


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


def _most() -> int:
    return int(
        st.number_input(
            label="How many rows of a person are used, at most?",
            key=local.unlinked_key("upload-most", FILE),
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


def _recipe_of(
    recipe: Recipe,
    columns: tuple[Column, ...],
    left_out: Mapping[str, str],
    said: Mapping[str, Mapping[str, Any]],
    known: pd.DataFrame | None,
    private: pd.DataFrame,
) -> Recipe:
    """How the columns become numbers: as somebody says, else as public rows do, and never as the
    private rows hold.

    Raises DataError: what is still to say, or a range that is none.
    """
    used = tuple(
        dataclasses.replace(column, kind=_USED_AS.get(column.kind, column.kind))
        for column in columns
        if column.name not in left_out
    )
    problems = []
    for name in (column.name for column in used if column.kind == encoding.NUMBERS):
        if known is not None and name not in known:
            problems.append(f"column {name!r} is {_ABSENT}: leave it out.")
        elif mostly_numbers(private[name]) and len(rows := cells.unreadable(private[name])):
            quoted = join((f"{private[name].iloc[row]!r} in row {row:,}" for row in rows), most=3)
            problems.append(
                f"column {name!r} holds words among its numbers ({quoted}): leave it out, or"
                " correct these cells in the file."
            )
    if problems:
        raise DataError(*problems)
    learnt = encoding.learn_recipe(known, used, label=recipe.label, left_out=[*left_out])
    answered, ranges = list[Column](), dict[str, Any]()
    for column in learnt.columns:
        holds, fill = said[column.name].get(HOLDS) or "", said[column.name].get(FILL)
        words = tuple(dict.fromkeys(filter(None, map(str.strip, holds.split(",")))))
        if words and column.kind in encoding.OF_WORDS:
            column = dataclasses.replace(column, categories=words)
        elif words and column.kind == encoding.NUMBERS:
            ranges[column.name] = tuple(_numbers(holds))
        answered.append(column if fill is None else dataclasses.replace(column, fill=float(fill)))
    learnt = dataclasses.replace(
        learnt,
        columns=tuple(answered),
        person=recipe.person,
        rows_per_person=recipe.rows_per_person,
    )
    learnt, notes = recipes.with_ranges(learnt, ranges, known)
    if problems := encoding.problems_of(learnt.columns, is_scaled=known is not None):
        raise DataError(*problems)
    if categories := [column.name for column in learnt.columns if column.categories]:
        notes = [f"Columns of words that become categories: {join(categories)}.", *notes]
    list_notes(notes)
    return learnt


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        return []


@memory.cache(max_entries=2, of_files=True)
def _features(fingerprint_: str, _make: Callable[[], FeatureSet]) -> Encoding:
    return Encoding(_make)


@memory.cache(max_entries=8, show_spinner="Reading the columns …", of_files=True)
def _label(fingerprint_: str, _frame: pd.DataFrame) -> str:
    """The column of labels, "" where none is certain."""
    with contextlib.suppress(DataError):
        return label_column(_frame)
    return ""


@memory.cache(max_entries=8, show_spinner="Reading the columns …", of_files=True)
def _kinds(fingerprint_: str, _frame: pd.DataFrame, label: str) -> tuple[Column, ...]:
    return encoding.columns_of(_frame, label)


@memory.cache(max_entries=4, show_spinner="Reading the names …", of_files=True)
def _person_names(fingerprint_: str, _frame: pd.DataFrame, person: str) -> tuple[Array, Array]:
    return persons.names_of_persons(_frame[person])


@memory.cache(max_entries=8, show_spinner="Reading the names …", of_files=True)
def _names_in(fingerprint_: str, _frame: pd.DataFrame, person: str | None) -> Named:
    return persons.named_in(_frame, person)
