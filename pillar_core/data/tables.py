"""Tables (csv, parquet): one row per example, a label column, an optional column that says train or test."""

import csv
import io
import itertools
import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from pillar_core.arrays import Array
from pillar_core.data.arrays import not_finite
from pillar_core.data.labels import LONGEST_WORD, plain
from pillar_core.data.partition import stratified
from pillar_core.data.parts import MOST_COLUMNS, ROW_BYTES, TABLE_UNPACKED, WORD_BYTES, Parts, check_unpacked, size_of
from pillar_core.data.wording import cut, listed
from pillar_core.errors import DataError

LABEL_NAMES = ("label", "y")
LONGEST_QUOTED = 80
LONGEST_START = 200 * MOST_COLUMNS
LARGEST = 16 * 2**30
FILE_SIZE = "bytes of the file"
"""An attribute of a table that was read: what it may become, too, goes by it."""
FEWEST_DISTINCT = 20
"""A column with more values than these may name something, such as a person."""
MOST_CLASSES, ROWS_A_CLASS = 50, 10
"""More label values than the first need as many rows each as the second: else they are numbers to predict."""


def read_table(content: io.BytesIO | Path, *, ending: str) -> Parts:
    """The parts of a csv or parquet table; row numbers in messages count from 0, without the header.

    The label column is the one named label or y, else the last that is not numeric. An empty label column means
    unlabelled rows. Without a split column a stratified fifth of the labelled rows becomes the test rows; the notes say so.

    Raises:
        DataError: unreadable, no label column, text among the numbers, values that are missing, or an unknown split.
    """
    frame = frame_of(content, ending)
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
        _check_width(content, ending)
        if ending == ".csv":
            kinds: dict[str, type[str]] = {} if as_written is None else {as_written: str}
            frame = _short(pd.read_csv(content, low_memory=False, skipinitialspace=True, dtype=kinds))
        else:
            frame = _read_parquet(content)
    except DataError:
        raise
    # of what a parquet file says of itself, too; pandas and pyarrow derive theirs from these
    except (ValueError, OSError, KeyError, TypeError, AttributeError, RecursionError, NotImplementedError, csv.Error) as error:
        raise DataError(f"the {ending[1:]} table cannot be read ({error}): it is damaged, empty or another format.") from error
    frame.columns = _names(map(str, frame.columns))
    repeated = frame.columns[frame.columns.duplicated()]
    if len(repeated) or not len(frame) or len(frame.columns) < 2:
        raise DataError(
            f"a table must have rows, at least two columns and each column name once; got {len(frame)} rows, {len(frame.columns)} columns"
            + (f", {listed(repeated)} repeated." if len(repeated) else ".")
        )
    frame = frame.reset_index(drop=True)
    frame.attrs[FILE_SIZE] = size_of(content)
    return frame


def _names(columns: Iterable[str]) -> list[str]:
    """Names of columns, which notes and cards repeat.

    Raises:
        DataError: one is too long.
    """
    names = list(columns)
    longest = max(names, key=len, default="")
    if len(longest) > LONGEST_WORD:
        raise DataError(f"a column has a name of at most {LONGEST_WORD} characters; {cut(longest)!r} has {len(longest):,}.")
    return names


def _short(frame: Any) -> Any:
    """The table with whole numbers of more digits than 64 bits hold as words, which pandas reads as infinite where they are."""
    import pandas as pd

    for name in frame.columns:
        if frame[name].dtype == object and pd.api.types.infer_dtype(frame[name]) == "integer":
            frame[name] = frame[name].map(str, na_action="ignore")
    return frame


def _check_width(content: io.BytesIO | Path, ending: str) -> None:
    """Refuses a table by what its first lines, or its own description, say: every column costs time, an empty one too.

    Raises:
        DataError: more than MOST_COLUMNS columns, or more numbers than the file can hold.
    """
    if ending == ".csv":
        with io.BytesIO(content.getbuffer()[:LONGEST_START]) if isinstance(content, io.BytesIO) else content.open("rb") as stream:
            start = stream.read(LONGEST_START)
        rows = csv.reader(io.StringIO(start.decode("latin-1"), newline=""), skipinitialspace=True)
        lines = list(itertools.islice((row for row in rows if len(row) > 1 or any(cell.strip() for cell in row)), 2))
        if len(lines) < 2 and len(start) == LONGEST_START:
            raise DataError(f"a table names its columns and has a row within its first {LONGEST_START:,} bytes; this one does not.")
        columns = max(map(len, lines), default=0)
        numbers = (ROW_BYTES + 8 * min(columns, MOST_COLUMNS)) * _lines(content)  # a short row is filled up
        check_unpacked("the csv table", numbers, content, most=math.inf)
    else:
        import pyarrow.parquet

        described = pyarrow.parquet.read_metadata(content)
        columns = described.num_columns
        schema = pyarrow.parquet.read_schema(content)
        kinds = [kind.value_type if pyarrow.types.is_dictionary(kind) else kind for kind in schema.types]
        unread = [name for name, kind in zip(schema.names, kinds, strict=True) if not any(test(kind) for test in _readable(pyarrow.types))]
        is_repeated = any(described.schema.column(column).max_repetition_level for column in range(min(columns, MOST_COLUMNS)))
        if is_repeated or any(map(pyarrow.types.is_nested, kinds)):
            raise DataError("the parquet table holds lists or records: write each of their values as a column of its own.")
        if unread:
            raise DataError(f"the columns {listed(unread)} hold neither words nor numbers: write them so.")
        widths = [max(8, described.schema.column(column).length or 0) for column in range(min(columns, MOST_COLUMNS))]
        words = WORD_BYTES * sum(not pyarrow.types.is_primitive(kind) for kind in schema.types)
        check_unpacked(
            "the parquet table", (ROW_BYTES + sum(widths) + words) * described.num_rows, content, most=LARGEST, always=TABLE_UNPACKED
        )
        unpacked = sum(described.row_group(group).total_byte_size for group in range(described.num_row_groups))
        check_unpacked("the parquet table", unpacked, content, most=LARGEST, always=TABLE_UNPACKED)
    if columns > MOST_COLUMNS:
        raise DataError(
            f"a table has at most {MOST_COLUMNS:,} columns; this one has {columns:,}. Keep wide rows as npz (x_train, y_train)."
        )


def _lines(content: io.BytesIO | Path) -> int:
    """How many lines a text has, at most."""
    with io.BytesIO(content.getbuffer()) if isinstance(content, io.BytesIO) else content.open("rb") as stream:
        return 1 + sum(part.count(b"\n") + part.count(b"\r") for part in iter(lambda: stream.read(2**24), b""))


def _readable(types: Any) -> tuple[Callable[[Any], bool], ...]:
    """What the values of a column may be, by pyarrow's types."""
    return (types.is_primitive, types.is_null, types.is_decimal, types.is_string, types.is_large_string, types.is_string_view)


def _read_parquet(content: io.BytesIO | Path) -> Any:
    """The table, in which a word that the file holds once is in memory once."""
    import pyarrow.parquet

    schema = pyarrow.parquet.read_schema(content)
    types = pyarrow.types
    columns = [one.name for one in schema if types.is_string(one.type) or types.is_large_string(one.type) or types.is_string_view(one.type)]
    try:
        table = pyarrow.parquet.read_table(content, read_dictionary=columns)
    except OSError as error:
        if "Delta" not in str(error):
            raise
        raise DataError(  # of such words a few bytes say any amount
            "the parquet table holds words that are written as differences (DELTA_BYTE_ARRAY, DELTA_LENGTH_BYTE_ARRAY): write it with "
            "dictionary or plain encoding."
        ) from error
    table.validate(full=True)
    numbers = [field.with_type(pyarrow.float64()) if types.is_decimal(field.type) else field for field in table.schema]
    table = table.cast(pyarrow.schema(numbers, metadata=table.schema.metadata))  # a decimal would become a Python object a row
    once = [name for name, kind in zip(table.column_names, table.schema.types, strict=True) if pyarrow.types.is_dictionary(kind)]
    check_unpacked("the parquet table", sum(_letters(table[name]) for name in once), content, most=LARGEST)
    return table.to_pandas().astype(dict.fromkeys({*columns, *once}, object))


def _letters(column: Any) -> int:
    """The bytes of all words of a column that holds each of them once."""
    import pyarrow.compute

    total = 0
    for chunk in column.chunks:
        if pyarrow.types.is_string(chunk.type.value_type) or pyarrow.types.is_large_string(chunk.type.value_type):
            total += pyarrow.compute.sum(pyarrow.compute.binary_length(chunk.dictionary).cast("int64").take(chunk.indices)).as_py() or 0
    return total


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
    if len(names) > MOST_CLASSES and len(vector.values) < ROWS_A_CLASS * len(names):
        raise DataError(
            f"the label column has {len(names):,} values in {len(vector.values):,} rows. Is it a number to predict? Cut it into bins, or "
            "choose another column."
        )
    if len(names) > 1 and counts.min() < 2:
        rare = listed(names[counts < 2])
        raise DataError(f"the classes {rare} have one row each, which cannot be in train and test rows: bring more, join or remove them.")
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
        frame = _short(
            pd.read_csv(file, header=None, names=_names(names), comment="%", na_values="?", quotechar="'", skipinitialspace=True)
        )
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
