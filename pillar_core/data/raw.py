"""Raw tables, with words, gaps and several rows of a person, as features through a recipe, for
pages, commands and `load_features`."""

from __future__ import annotations

import contextlib
import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pillar_core import rng
from pillar_core.arrays import Array
from pillar_core.data import (
    arrays,
    cells,
    encoding,
    frames,
    matching,
    recipes,
    tables,
)
from pillar_core.data.encoding import NUMBERS, Column, Recipe
from pillar_core.data.partition import with_drawn_test, without_drawn_test
from pillar_core.data.parts import open_source
from pillar_core.data.persons import (
    Named,
    are_apart,
    digests_of,
    first_rows,
    named_in,
    names_of_persons,
)
from pillar_core.data.wording import join
from pillar_core.deferred import pandas as pd
from pillar_core.errors import DataError
from pillar_core.fingerprint import fingerprint
from pillar_core.types import FeatureSet

WAYS = (
    "Public rows with the same columns say all of it: bring them, or a recipe that says it, which"
    " the command recipe begins."
)
MADE_UP, MADE_UP_ROWS = "made_up", 1000
"""What asks for public rows that are drawn from what a recipe declares, and how many there are."""
MADE_UP_NAME = "made up / declared"
"""Of such rows, which no file can have."""
_TEXT = "column {!r} holds texts: say so to learn from it, or leave it out."


@dataclasses.dataclass(frozen=True)
class Roles:
    """What somebody says of a table's columns; None and () where nothing is said.
    `rows_per_person`: how many of a person's count.

    `text`: the column whose texts become numbers; `encoder`: the name of what they are to go
    through, so that there is such a column. `ranges`: (low, high) of columns of numbers, in their
    unit.
    `keys`: of no table, but the names of rows and labels in a npz (None: no labels).
    """

    label: str | None = None
    person: str | None = None
    leave_out: Sequence[str] = ()
    recipe: Any = None
    rows_per_person: int | None = None
    text: str | None = None
    encoder: str | None = None
    ranges: Mapping[str, tuple[float, float]] = dataclasses.field(default_factory=dict)
    keys: tuple[str, str | None] | None = None

    def __bool__(self) -> bool:
        """Whether anything is said of columns."""
        return any(
            value is not None and value != ()
            for value in (self.label, self.person, tuple(self.leave_out), self.recipe, self.text)
        ) or bool(self.ranges)


NOTHING_SAID = Roles()


def is_table(source: object, filename: str = "") -> bool:
    """Whether `source` is a DataFrame, or the path of a table, or bytes that are called so."""
    name = filename or source
    return frames.is_frame(source) or (
        isinstance(name, str | Path) and frames.ending_of(name) in frames.READERS
    )


def read_private(
    source: Any, roles: Roles, public: Sequence[Any] = (), *, filename: str = ""
) -> FeatureSet:
    """The features of a private table: by the recipe, else as the first of the `public` tables
    says, else plain numbers.

    Whom any of the public tables names has no rows here. filename: that of a table's bytes.

    Raises DataError: a table, recipe or role that cannot be used; words and gaps of which neither
    recipe nor public rows say what they mean.
    """
    written = None if roles.recipe is None else recipes.recipe_of(roles.recipe)
    person = roles.person or (written.person if written else None)
    text = roles.text or (written.text if written else None)
    frame, title = table_of(source, person, text, filename=filename)
    roles, found = (roles, []) if written else _with_text(frame, roles)
    if found:
        text = roles.text
        frame = table_of(source, person, text, filename=filename)[0]
    public_tables = [table_of(table, person, text)[0] for table in public]
    for name in (roles.label, roles.person, roles.text, *roles.leave_out):
        if name is not None and name not in frame.columns:
            raise DataError(f"{title} has no column {name!r}; it has {join(frame.columns)}.")
    if len(frame.columns) == 1 and not roles and not public_tables:
        return plain_features(frame, name=Path(title).stem)
    notes = [*found]
    if written is None:
        recipe, more = learnt_recipe(frame, roles, public_tables[0] if public_tables else None)
        notes += more
    else:
        if roles.label not in (None, written.label):
            raise DataError(
                f"the recipe's label is {written.label!r}; got {roles.label!r}. Write a recipe for"
                " each label."
            )
        if roles.text not in (None, written.text):
            raise DataError(
                f"the recipe reads no texts from the column {roles.text!r}: write one that does."
            )
        left_out = dict.fromkeys((*written.left_out, *roles.leave_out))
        columns = tuple(column for column in written.columns if column.name not in left_out)
        recipe = dataclasses.replace(
            written, person=person, columns=columns, left_out=tuple(left_out)
        )
    recipe, misfits = recipes.with_ranges(recipe, roles.ranges, next(iter(public_tables), None))
    notes += misfits
    most = roles.rows_per_person or recipe.rows_per_person
    recipe = dataclasses.replace(recipe, rows_per_person=most)
    if (
        recipe.person is not None and recipe.person not in frame.columns
    ):  # a recipe's, which the table lacks
        notes = [
            *notes,
            f"No column {recipe.person!r} says whose the rows are: each counts as somebody else's.",
        ]
        frame, public_tables, recipe = frame.assign(), [], dataclasses.replace(recipe, person=None)
    names: Array | None = None
    if recipe.person is not None:
        theirs: frozenset[str] = frozenset().union(
            *(named_in(table, recipe.person)[0] for table in public_tables)
        )
        identities = names_of_persons(frame[recipe.person])
        names = identities[1]
        frame = first_rows(
            frame, recipe.person, identities, most=recipe.rows_per_person, theirs=theirs
        )
    features = private_features(frame, recipe, name=Path(title).stem, person_names=names)
    notes = [*features.notes, *frames.notes_of(frame), *notes]
    return dataclasses.replace(features, notes=tuple(notes))


def read_public(
    source: Any, private: FeatureSet, *, encoder: Mapping[str, Any] | None = None
) -> FeatureSet:
    """The public table `source` through the recipe of private features: all its rows, labelled
    where it has their labels. encoder: of texts, in place of the recipe's.

    Raises DataError: a table that cannot be read, or lacks a column.
    """
    recipe = recipes.recipe_of(private.recipe or {})
    recipe = dataclasses.replace(recipe, encoder=encoder or recipe.encoder)
    frame, title = table_of(source, recipe.person, recipe.text)
    return public_features(frame, recipe, name=Path(title).stem, private=private)


def why_not_made_up(private: FeatureSet) -> str:
    """Why no rows can be made up for private features: columns without range or categories, or no
    recipe; "" where they can."""
    if private.recipe is None:
        return "these rows have no recipe"
    recipe = recipes.recipe_of(private.recipe)
    unknown = [
        column.name for column in recipe.columns if not column.range and not column.categories
    ]
    return (
        f"of the columns {join(unknown)} neither range nor categories are declared"
        if unknown
        else ""
    )


def made_up(private: FeatureSet) -> FeatureSet:
    """MADE_UP_ROWS unlabelled public rows for the features of a private table, drawn from what its
    recipe declares and nothing else.

    Numbers are uniform in their ranges, words in their categories, each column by itself; the same
    recipe gives the same rows. Raises DataError: no recipe, texts, or columns without range or
    categories, by name.
    """
    if reason := why_not_made_up(private):
        raise DataError(
            f"rows cannot be made up: {reason}. Give a recipe that declares them; the command"
            " recipe begins one."
        ).naming(recipe=())
    recipe = recipes.recipe_of(private.recipe or {})
    generator, parts = (
        rng.stream(0, MADE_UP, fingerprint(private.recipe)),
        [],
    )  # other tables of this form have other rows
    for column in recipe.columns:
        if words := column.categories:
            parts.append(np.eye(len(words))[generator.integers(len(words), size=MADE_UP_ROWS)])
        else:
            parts.append(generator.random((MADE_UP_ROWS, 1)))
    note = (
        f"{MADE_UP_ROWS:,} public rows were made up from the declared ranges and categories;"
        " nobody's row is among them."
    )
    x = np.hstack(parts).astype(np.float32)
    return FeatureSet(
        x,
        None,
        None,
        None,
        (),
        name=MADE_UP_NAME,
        names=private.names,
        recipe=private.recipe,
        notes=(note,),
    )


def new_rows(
    source: Any, recipe: Recipe, counts: Counter[tuple[str, str]] | None = None
) -> tuple[Array, tuple[str, ...]]:
    """((n, d) float32 rows of a table through a model's recipe, notes). Columns are found by name;
    others are left aside. counts: of cells of the table's earlier rows, which the notes count, too.

    Raises DataError: columns that the table lacks, by name; gaps that the recipe does not fill, or
    words among numbers.
    """
    text, names = recipe.text, recipe.names
    frame = encoding.with_text_column(table_of(source, text)[0], text)
    if absent := [name for name in names if name not in frame.columns]:
        raise DataError(
            f"the table lacks the columns {join(absent)}, which the model learnt from; it has"
            f" {join(frame.columns)}."
        )
    notes, frame = frames.notes_of(frame), _without_gaps(frame[names], recipe)
    kinds, numbers = dict(frame.dtypes), {}
    for name in (
        column.name
        for column in recipe.columns
        if column.kind != encoding.TEXT
        and not column.categories
        and tables.is_text(kinds[column.name])
    ):
        cells_ = frame[name].mask(frame[name].astype(str).str.strip().str.lower().isin(cells.GAPS))
        numbers[name] = cells_ if cells_.notna().any() else cells_.astype(float)
    columns = encoding.count_gaps(frame := cells.with_columns(frame, numbers), recipe.columns)
    unfilled = [
        column
        for column in columns
        if column.gaps and not column.categories and column.fill is None
    ]
    x, _ = encoding.encode_columns(frame, recipe)
    if unfilled:
        columns_text = join(f"{column.name} ({column.gaps:,})" for column in unfilled)
        raise DataError(
            f"the columns {columns_text} have empty cells, and the model has no value for gaps"
            " there: fill them."
        )
    counts = Counter() if counts is None else counts
    counts.update(encoding.count_unknown_words(frame, recipe))
    counts.update(encoding.count_replaced(frame, columns, recipe))
    return x, (*notes, *encoding.count_notes(counts))


def learnt_recipe(
    frame: pd.DataFrame, roles: Roles, public: pd.DataFrame | None = None
) -> tuple[Recipe, list[str]]:
    """The recipe of a private table and notes on it: what public rows say, else plain numbers as
    they are.

    Raises DataError: no label column, columns that public rows lack, or words and gaps without
    public rows, each by name.
    """
    seen = frame.drop(columns=list({*filter(None, [roles.person]), *roles.leave_out}))
    label = tables.label_column(seen.drop(columns=[roles.text] if roles.text else []), roles.label)
    notes = [] if roles.label else tables.label_notes(label)
    if public is None:
        taken = (label, tables.split_column(frame))
        inputs = [name for name in seen.columns if name not in taken]
        numbers = [name for name in inputs if name != roles.text]
        if roles.text is None or numbers:
            _refuse_words(seen, numbers, label)
        columns = tuple(
            Column(name, encoding.TEXT if name == roles.text else NUMBERS) for name in inputs
        )
        notes += encoding.identifier_notes(seen, inputs)
        return Recipe(label, tuple(roles.leave_out), columns, roles.person), notes
    public = encoding.with_text_column(public, roles.text)
    columns = encoding.columns_of(seen, label, public=public, text=roles.text)
    aside, present, absent = list[Column](), list[Column](), list[str]()
    for column in columns:
        if column.kind in encoding.LEFT_OUT and column.name != roles.text:
            aside.append(column)
        elif column.name in public.columns:
            present.append(column)
        else:
            absent.append(column.name)
    left_out = dict.fromkeys([*roles.leave_out, *(column.name for column in aside)])
    recipe = encoding.learn_recipe(public, present, label=label, left_out=[*left_out])
    problems = encoding.problems_of(recipe.columns, is_scaled=True)
    if absent:
        problems.insert(
            0,
            f"the public rows lack the columns {join(absent)}: bring them with the same columns, or"
            " leave these out.",
        )
    if problems:
        unusable = [*absent, *(column.name for column in present if column.kind in encoding.ADVICE)]
        raise DataError(*problems).naming(
            **({"leave_out": [*roles.leave_out, *unusable]} if unusable else {})
        )
    if aside:
        named = join(f"{column.name} ({column.kind})" for column in aside)
        notes.append(f"Left out, as public rows show them: {named}.")
    return dataclasses.replace(recipe, person=roles.person), notes


def template(
    source: Any, roles: Roles, public: pd.DataFrame | None = None
) -> tuple[Recipe, list[str]]:
    """(the recipe of a table, what is still to fill in, a line each).

    Without public rows, nothing that the rows hold is written but the columns' names, their kinds
    and the classes. Raises DataError: as `learnt_recipe`; dates and copies.
    """
    frame, _ = table_of(source, roles.person, roles.text)
    roles, found = _with_text(frame, roles)
    label = tables.label_column(frame.drop(columns=[roles.text] if roles.text else []), roles.label)
    classes = tuple(map(str, sorted(set(tables.labels_of(frame[label]).tolist()))))
    most = roles.rows_per_person or 1
    if public is not None:
        recipe, notes = learnt_recipe(frame, roles, table_of(public, roles.person, roles.text)[0])
        return dataclasses.replace(recipe, classes=classes, rows_per_person=most), notes
    columns = encoding.columns_of(
        frame.drop(columns=[roles.person] if roles.person else []), label, text=roles.text
    )
    aside = [
        column.name
        for column in columns
        if column.kind == encoding.TEXT and column.name not in (roles.text, *roles.leave_out)
    ]
    used = tuple(column for column in columns if column.name not in (*aside, *roles.leave_out))
    if problems := [
        f"column {column.name!r} {encoding.ADVICE[column.kind]}."
        for column in used
        if column.kind in encoding.ADVICE
    ]:
        raise DataError(*problems)
    recipe = Recipe(
        label,
        (*roles.leave_out, *aside),
        columns=used,
        person=roles.person,
        classes=classes,
        rows_per_person=most,
    )
    return recipe, [
        *found,
        *(_TEXT.format(name) for name in aside),
        *encoding.problems_of(used, is_scaled=False),
    ]


def private_features(
    frame: pd.DataFrame,
    recipe: Recipe,
    *,
    name: str,
    caveats: tuple[str, ...] = (),
    by_coin: bool = False,
    person_names: Array | None = None,
) -> FeatureSet:
    """The features of a private table whose rows `first_rows` took, where it names persons;
    by_coin: see `tables.partition`. person_names: of its persons, by the numbers in their place.

    Raises DataError: as `encoding.private_parts`; words without categories and gaps without fills,
    by column.
    """
    if recipe.label not in frame.columns:
        raise DataError(
            f"the table has no column {recipe.label!r}, the recipe's label; it has"
            f" {join(frame.columns)}."
        )
    frame = _without_gaps(frame, recipe)
    columns = encoding.count_gaps(frame, recipe.columns)
    if problems := encoding.problems_of(columns, is_scaled=True):
        raise DataError(*problems, WAYS).naming(public=(), recipe=())
    parts = encoding.private_parts(frame, recipe, by_coin=by_coin, person_names=person_names)
    features = arrays.checked_features(dataclasses.replace(parts, caveats=caveats), name=name)
    form = recipes.form_of(dataclasses.replace(recipe, classes=features.classes))
    return dataclasses.replace(features, recipe=form)


def public_features(
    frame: pd.DataFrame,
    recipe: Recipe,
    *,
    name: str,
    private: FeatureSet | None = None,
    named: Named | None = None,
) -> FeatureSet:
    """The features of a public table, all of its rows, in the order that any other public set of
    these rows has, since noise hangs on it. They are apart from the `private` rows whose recipe it
    is where each names its person. named: as `named_in` reads the frame.

    Raises DataError: people who have both; as `encoding.public_parts`.
    """
    frame = encoding.with_text_column(frame, recipe.text)
    features = whole_features(frame, recipe, name=name)
    ordered = without_drawn_test(with_drawn_test(features))
    theirs, are_all = named or named_in(frame, recipe.person)
    is_apart = are_apart(private, digests_of(theirs)) and are_all
    return dataclasses.replace(
        ordered,
        apart_from=(private.fingerprint,) if private and is_apart else (),
        notes=features.notes,
    )


def whole_features(frame: pd.DataFrame, recipe: Recipe, *, name: str) -> FeatureSet:
    """The features of a table's rows in its order. Raises DataError: as `encoding.public_parts`."""
    parts = encoding.public_parts(_without_gaps(frame, recipe), recipe)
    features = arrays.checked_features(parts, name=name)
    names = dict.fromkeys(recipe.names)
    is_ordered = [name for name in frame.columns if name in names] == [*names]
    notes = (
        *(note for note in features.notes if note != arrays.NO_TEST),
        *(() if is_ordered else (matching.REORDERED,)),
    )
    return dataclasses.replace(features, recipe=recipes.form_of(recipe), notes=notes)


def plain_features(frame: pd.DataFrame, *, name: str) -> FeatureSet:
    """The features of a table of which nobody says anything: numbers as they are, or unlabelled
    texts alone.

    Raises DataError: no label column that is certain, words or gaps, each column by name.
    """
    if len(frame.columns) == 1:  # such a table holds texts
        columns = (Column(frame.columns[0], encoding.TEXT, 0),)
        return whole_features(frame, Recipe("label", columns=columns), name=name)
    recipe, notes = learnt_recipe(frame, NOTHING_SAID)
    features = private_features(frame, recipe, name=name)
    return dataclasses.replace(features, notes=(*features.notes, *frames.notes_of(frame), *notes))


def _with_text(frame: pd.DataFrame, roles: Roles) -> tuple[Roles, list[str]]:
    """The roles with the column of texts that nobody named, and a note, where one alone can be it:
    nothing else is to learn from, or an encoder is named.

    Raises DataError: an encoder is named, and several columns can be it, by name.
    """
    if roles.text is not None or len(frame.columns) == 1:
        return roles, []
    aside = {tables.split_column(frame), roles.label, roles.person, *roles.leave_out}
    others = frame[[name for name in frame.columns if name not in aside]]
    wordy = [
        name
        for name in others.select_dtypes(exclude="number")
        if pd.api.types.infer_dtype(others[name], skipna=True) == "string"
    ]
    kinds = {column.name: column.kind for column in encoding.columns_of(others[wordy], "")}
    fitting = [name for name, kind in kinds.items() if kind == encoding.TEXT]
    label = roles.label
    if label is None:
        with contextlib.suppress(DataError):  # which whoever asks for the label gets
            label = tables.label_column(others.drop(columns=fitting))
    if label is None or not (fitting or roles.encoder):
        return roles, []
    if roles.encoder is None:
        columns = encoding.columns_of(others, label)
        text = encoding.sole_text({column.name: column.kind for column in columns})
    else:
        fitting = fitting or [
            name for name, kind in kinds.items() if kind in encoding.OF_WORDS and name != label
        ]
        if len(fitting) > 1:
            raise DataError(
                f"which column {roles.encoder} reads is not certain: {join(fitting)} may all be it."
                " Say which."
            ).naming(text=())
        text = next(iter(fitting), None)
    if text is None:
        return roles, []
    told = f"Texts: {text}, the only column that can be it. You can name another."
    return dataclasses.replace(roles, text=text), [told]


def _refuse_words(frame: pd.DataFrame, inputs: list[str], label: str) -> None:
    """Refuses columns that are more than numbers, each by name."""
    try:
        x = tables.numbers_of(frame, inputs)
    except DataError as refusal:
        columns = [column for column in encoding.columns_of(frame, label) if column.name in inputs]
        texts = [column for column in columns if column.kind == encoding.TEXT]
        others = [column for column in columns if column.kind != encoding.TEXT]
        problems = [
            *(_TEXT.format(column.name) for column in texts),
            *encoding.problems_of(others, is_scaled=True),
        ]
        cells_of_words = [line for line in refusal.problems if line.endswith("not a number.")]
        rest = problems or [line for line in refusal.problems if line not in cells_of_words]
        names = [*(["text"] if texts else []), *(["public", "recipe"] if rest else [])]
        raise DataError(*cells_of_words, *rest, *([WAYS] if rest else [])).naming(
            **dict.fromkeys(names, ())
        ) from refusal
    large = [
        inputs[place] for place in np.flatnonzero(x.min(axis=0) > cells.FIRST_DAY)
    ]  # float32 rounds such numbers
    if days := [name for name in large if cells.are_days(frame[name].to_numpy(np.float64))]:
        raise DataError(*(f"column {name!r} {encoding.ADVICE[encoding.DATE]}." for name in days))


def _without_gaps(frame: pd.DataFrame, recipe: Recipe) -> pd.DataFrame:
    """The table with the cells empty that hold what the recipe counts as a gap."""
    if not recipe.gaps:
        return frame
    gaps = [*recipe.gaps, *map(str, recipe.gaps)]
    names = [name for name in recipe.names if name in frame.columns]
    return cells.with_columns(
        frame, {name: frame[name].mask(frame[name].isin(gaps)) for name in names}
    )


def table_of(source: Any, *names: str | None, filename: str = "") -> tuple[pd.DataFrame, str]:
    """(the table, its title), columns of these names as they are written. filename: that of bytes.

    Raises DataError: no table, or one that cannot be read.
    """
    as_written = tuple(filter(None, names))
    if frames.is_frame(source):
        return frames.of_frame(source, as_written=as_written), "table"
    if not is_table(source, filename):
        raise DataError(
            f"rows of a table are a DataFrame or end in {join(frames.READERS)}; got"
            f" {str(source)[:80]!r}."
        )
    title = filename or str(source)
    return frames.frame_of(
        open_source(source), frames.ending_of(title), as_written=as_written
    ), title
