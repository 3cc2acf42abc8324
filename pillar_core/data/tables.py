"""Tables (csv, parquet): one row per example, a label column, an optional column that says train or test."""

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np

from pillar_core.arrays import Array
from pillar_core.data.arrays import not_finite
from pillar_core.data.labels import plain
from pillar_core.data.partition import stratified
from pillar_core.data.parts import Parts
from pillar_core.data.wording import listed
from pillar_core.errors import DataError

LABEL_NAMES = ("label", "y")
LONGEST_QUOTED = 80
FEWEST_DISTINCT = 20
"""A column with more values than these may name something, such as a person."""


def read_table(content: io.BytesIO | Path, *, ending: str) -> Parts:
    """The parts of a csv or parquet table; row numbers in messages count from 0, without the header.

    The label column is the one named label or y, else the last that is not numeric. An empty label column means
    unlabelled rows. Without a split column a stratified fifth of the labelled rows becomes the test rows; the notes say so.

    Raises:
        DataError: unreadable, no label column, text among the numbers, values that are missing, or an unknown split.
    """
    return parts_of(frame_of(content, ending))


def parts_of(frame: Any) -> Parts:
    """The parts of a table that `frame_of` read.

    Raises:
        DataError: no label column, text among the numbers, values that are missing, or an unknown split.
    """
    notes: list[str] = []
    frame = without_row_numbers(frame, notes)
    split = taken(frame, ("split",))
    label = label_column(frame, split)
    inputs = [column for column in frame.columns if column not in (split, label)]
    x = numbers_of(frame, inputs)
    notes.append(f"Labels come from column {label!r}; {len(inputs)} feature columns.")
    y = None if frame[label].isna().all() else labels_of(frame[label])
    if y is None:
        notes.append(f"Column {label!r} is empty: the rows are unlabelled.")
    train, test = partition(frame, split, y, notes)
    if not len(train):
        raise DataError("the split column must call at least one row train; got none.")
    x_test = x[test] if len(test) else None
    if y is None:
        return Parts(x[train], None, x_test, None, None, tuple(notes))
    return Parts(x[train], y[train], x_test, y[test] if len(test) else None, None, tuple(notes))


def frame_of(content: io.BytesIO | Path, ending: str, *, as_written: str | None = None) -> Any:
    """The table. as_written: a column of a csv that stays text, where 1.1 and 1.10 are two names.

    Raises:
        DataError: it cannot be read, or is none.
    """
    import pandas as pd

    try:
        if ending == ".csv":
            kinds: dict[str, type[str]] = {} if as_written is None else {as_written: str}
            frame = _short(pd.read_csv(content, low_memory=False, skipinitialspace=True, dtype=kinds))
        else:
            frame = _read_parquet(content)
    except DataError:
        raise
    # of what a parquet file says of itself, too; pandas and pyarrow derive theirs from these
    except (ValueError, OSError, KeyError, TypeError, AttributeError, RecursionError, NotImplementedError, csv.Error) as error:
        if "out of memory" in str(error):  # pandas' parser says so in a ValueError
            raise MemoryError(str(error)) from error
        raise DataError(f"the {ending[1:]} table cannot be read ({error}): it is damaged, empty or another format.") from error
    frame.columns = list(map(str, frame.columns))
    repeated = frame.columns[frame.columns.duplicated()]
    if len(repeated) or not len(frame) or len(frame.columns) < 2:
        raise DataError(
            f"a table must have rows, at least two columns and each column name once; got {len(frame)} rows, {len(frame.columns)} columns"
            + (f", {listed(repeated)} repeated." if len(repeated) else ".")
        )
    return frame.reset_index(drop=True)


def _short(frame: Any) -> Any:
    """The table with whole numbers of more digits than 64 bits hold as words, which pandas reads as infinite where they are."""
    import pandas as pd

    for name in frame.columns:
        if frame[name].dtype == object and pd.api.types.infer_dtype(frame[name]) == "integer":
            frame[name] = frame[name].map(str, na_action="ignore")
    return frame


def _read_parquet(content: io.BytesIO | Path) -> Any:
    """The table of numbers and words; decimals, which would become a Python object a row, are numbers."""
    import pyarrow.parquet

    types, schema = pyarrow.types, pyarrow.parquet.read_schema(content)
    kinds = {field.name: field.type.value_type if types.is_dictionary(field.type) else field.type for field in schema}
    if nested := [name for name, kind in kinds.items() if types.is_nested(kind)]:
        raise DataError(f"the columns {listed(nested)} hold lists or records: write each of their values as a column of its own.")
    tests = (types.is_primitive, types.is_null, types.is_decimal, types.is_string, types.is_large_string, types.is_string_view)
    if unread := [name for name, kind in kinds.items() if not any(test(kind) for test in tests)]:
        raise DataError(f"the columns {listed(unread)} hold neither words nor numbers: write them so.")
    table = pyarrow.parquet.read_table(content)
    table.validate(full=True)
    numbers = [field.with_type(pyarrow.float64()) if types.is_decimal(field.type) else field for field in table.schema]
    frame = table.cast(pyarrow.schema(numbers, metadata=table.schema.metadata)).to_pandas()
    return frame.astype(dict.fromkeys(frame.select_dtypes("category"), object))


def without_row_numbers(frame: Any, notes: list[str]) -> Any:
    """Drops the unnamed first column that spreadsheets and pandas write for the row number, whatever private rows hold there."""
    first = frame.columns[0]
    if first.startswith("Unnamed: 0"):
        notes.append("The unnamed first column was left out, as one of row numbers: name it to keep it.")
        return frame.drop(columns=first)
    return frame


def taken(frame: Any, names: tuple[str, ...]) -> str | None:
    by_lower = {column.strip().lower(): column for column in frame.columns}
    return next((by_lower[name] for name in names if name in by_lower), None)


def label_column(frame: Any, split: str | None) -> str:
    named = taken(frame, LABEL_NAMES)
    if named is not None:
        return named
    texts = [column for column in frame.columns if column != split and is_text(frame[column]) and not mostly_numbers(frame[column])]
    if not texts:
        raise DataError("the table has no label column: name it label or y (leave it empty for unlabelled rows).")
    return str(texts[-1])


def distinct_of(column: Any) -> tuple[Array, Any]:
    """(n,) which of the distinct values each cell has, and those values, so that a word of very many rows is worked on and held once."""
    import pandas as pd

    codes, values = pd.factorize(column, use_na_sentinel=False)
    return codes, pd.Series(values, name=column.name)


def is_text(column: Any) -> bool:
    import pandas as pd

    return not pd.api.types.is_numeric_dtype(column)


def mostly_numbers(column: Any) -> bool:
    import pandas as pd

    return bool(pd.to_numeric(column, errors="coerce").notna().mean() > 0.5)


def numbers_of(frame: Any, columns: list[str]) -> Array:
    import pandas as pd

    if not columns:
        raise DataError("the table has no feature columns beside label and split.")
    problems = []
    for column in columns:
        if not is_text(frame[column]):
            continue
        if not mostly_numbers(frame[column]):
            problems.append(f"column {column!r} holds words, not numbers: encode it as numbers, drop it, or name the label column label.")
            continue
        parsed = pd.to_numeric(frame[column], errors="coerce")
        for row in np.flatnonzero(parsed.isna() & frame[column].notna())[:20]:
            problems.append(f"table row {row}: column {column!r} holds {str(frame[column].iloc[row])[:LONGEST_QUOTED]!r}, not a number.")
    if problems:
        raise DataError(*problems)
    x = np.ascontiguousarray(frame[columns].to_numpy(dtype=np.float32, na_value=np.nan))
    problems = not_finite(x, "table", columns=columns)
    if problems:
        raise DataError(*problems)
    return x


def labels_of(column: Any) -> Array:
    values = column.astype(object).to_numpy() if is_text(column) else column.to_numpy(dtype=np.float64, na_value=np.nan)
    vector, problems = plain(values, name="label column")
    if vector is None:
        raise DataError(*problems)
    if vector.missing.any():
        raise DataError(f"label column has no label in table rows {listed(np.flatnonzero(vector.missing))}: fill them, or remove the rows.")
    names, counts = np.unique(vector.values, return_counts=True)
    if len(names) > 1 and counts.min() < 2:
        rare = listed(names[counts < 2])
        why = f"the classes {rare} have one row each, which cannot be in train and test rows"
        raise DataError(f"{why}: bring more, join or remove them; cut a number to predict into bins.")
    return vector.values


def sides_of(column: Any) -> Array:
    """(n,) what a column of train and test says, in small letters."""
    codes, values = distinct_of(column)
    words: Array = values.astype(str).fillna("nothing").str.strip().str.lower().to_numpy(dtype=object)
    return words[codes]


def partition(frame: Any, split: str | None, y: Array | None, notes: list[str], *, persons: Array | None = None) -> tuple[Array, Array]:
    if split is not None:
        sides = sides_of(frame[split])
        unknown = np.flatnonzero(~np.isin(sides, ("train", "test")))
        if len(unknown):
            others = listed(sorted(set(sides[unknown].tolist())))
            raise DataError(f"column {split!r} must say train or test; rows {listed(unknown)} say {others}.")
        notes.append(f"Train and test rows are those that column {split!r} names.")
        return np.flatnonzero(sides == "train"), np.flatnonzero(sides == "test")
    if y is None:
        return np.arange(len(frame)), np.arange(0)
    notes.append("No column says train or test: a stratified fifth of the rows became the test rows (the same fifth every time).")
    return stratified(np.unique(y, return_inverse=True)[1], seed=0, name="table", persons=persons)


def read_arff(path: Path) -> tuple[Any, str]:
    """(frame, label column) of an ARFF file of dense rows: the column named class, else the last that is not numeric.

    Raises:
        DataError: no ARFF, sparse rows, or no label column.
    """
    import pandas as pd

    names: list[str] = []
    texts: list[str] = []
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            head = line.strip()
            if head.lower().startswith("@data"):
                break
            if head.lower().startswith("@attribute"):
                name, kind = _attribute(head)
                names.append(name)
                texts += [name] if kind.startswith("{") or kind.lower() == "string" else []
        else:
            raise DataError(f"{path} has no line @data: it is cut short, or no ARFF file.")
        frame = _short(pd.read_csv(file, header=None, names=names, comment="%", na_values="?", quotechar="'", skipinitialspace=True))
    if len(frame) and str(frame.iloc[0, 0]).startswith("{"):
        raise DataError(f"{path} holds sparse rows: save it as csv or parquet.")
    label = taken(frame, ("class", *LABEL_NAMES)) or (texts[-1] if texts else None)
    if label is None:
        raise DataError(f"{path} has no label column: name it class, or make it nominal.")
    return frame, label


def _attribute(line: str) -> tuple[str, str]:
    """(name, type) of an @attribute line; names may be quoted."""
    rest = line[len("@attribute") :].strip()
    if rest[:1] in ("'", '"'):
        name, _, kind = rest[1:].partition(rest[0])
    else:
        name, _, kind = rest.replace("\t", " ").partition(" ")
    return name, kind.strip()
