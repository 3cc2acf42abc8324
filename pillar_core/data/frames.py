"""Files of tables as pandas frames, read as their owner wrote them; what was understood stands in
`frame.attrs["notes"]`."""

from __future__ import annotations

import contextlib
import csv
import gzip
import importlib
import io
import itertools
import numbers
import re
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from pillar_core.data import cells, room
from pillar_core.data.wording import join
from pillar_core.deferred import pandas as pd
from pillar_core.errors import DataError
from pillar_core.extras import needed

TEXTS = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz")
TEXT = "text"
"""What the column of a list or a file of texts is called."""
SEPARATORS = {"\t": "tabs", ";": "semicolons", "|": "bars", ",": "commas"}
ENCODINGS = {"utf-16": "UTF-16", "cp1252": "Latin-1 (Windows)"}
SAMPLE = 2**18
"""Bytes at the start of a text that decide its separator and its header."""
FEWEST_LINES = 4
"""Of that start, the last of which may be cut."""
ROWS_LOOKED_AT = 100
PIECE = 8_192
"""Rows of a text that are read at once where its pieces are."""
MOST_WORDS = 4
"""Of a name in the first line of a .txt file: longer cells are sentences with commas."""
NO_CELLS = "the columns {} hold neither words nor numbers: write them so."
_INDEX = re.compile(r"__index_level_\d+__")
INDEX_LEFT_OUT = (
    "The index was left out: to keep it, write it as a column of its own (reset_index in pandas)."
)
_UNREADABLE = (
    ValueError,
    OSError,
    EOFError,
    KeyError,
    TypeError,
    AttributeError,
    RecursionError,
    NotImplementedError,
    csv.Error,
    zlib.error,
)
"""What pandas and pyarrow raise on damaged files and on what a file says of itself; theirs derive
from these."""


def ending_of(name: str | Path) -> str:
    """The ending of a table's name in small letters, `.csv.gz` as one; that of any other name as
    pathlib has it."""
    path = Path(name)
    double = "".join(path.suffixes[-2:]).lower()
    return double if double in READERS else path.suffix.lower()


@room.limited()
def frame_of(
    content: io.BytesIO | Path, ending: str, *, as_written: Sequence[str] = ()
) -> pd.DataFrame:
    """The table: numbers as numbers, words and dates as text, gaps as NaN. as_written: columns of a
    text file that stay text.

    Raises DataError: it cannot be read, or is none. MissingDependencyError: a package that its
    format needs is absent.
    """
    try:
        frame = READERS[ending](content, ending, as_written)
    except DataError:
        raise
    except _UNREADABLE as error:
        if "out of memory" in str(error):  # pandas' parser says so in a ValueError
            raise MemoryError(str(error)) from error
        raise DataError(
            f"the {ending[1:]} table cannot be read ({error}): it is damaged, empty or another"
            " format."
        ) from error
    notes = frame.attrs.pop("notes", [])
    frame.columns = [
        str(name).strip() or f"Unnamed: {place}" for place, name in enumerate(frame.columns)
    ]
    frame = _without_empty(frame, notes)
    if (
        0
        < len(frame.columns) / 2
        < (nameless := sum(name.startswith("Unnamed: ") for name in frame.columns))
    ):
        raise DataError(
            f"the first row names {len(frame.columns) - nameless} of {len(frame.columns)} columns,"
            " as a title does: take away what stands above the row of names."
        )
    refuse_repeated(frame.columns)
    if not len(frame) or (
        len(frame.columns) < 2
        and not as_written
        and not all(cells.are_long(frame[name]) for name in frame)
    ):
        raise DataError(
            f"a table must have rows and at least two columns; got {len(frame)} rows,"
            f" {len(frame.columns)} columns."
        )
    frame = cells.with_numbers(frame.reset_index(drop=True), notes, as_written=as_written)
    if notes:  # pandas copies them each time that a column is taken
        frame.attrs["notes"] = list(notes)
    return _without_row_numbers(frame)


def pieces_of(path: Path, ending: str, *, as_written: Sequence[str] = ()) -> Iterator[pd.DataFrame]:
    """The table in a text file as `frame_of` reads it, some thousand rows at a time; no more is in
    memory.

    Raises:
        DataError: as `frame_of`, at the rows that cannot be read.
    """
    try:
        how, _ = _reading_of(path, ending, as_written)
        with (
            _lines_of(path, how) if how["sep"] == "" else pd.read_csv(path, **how, chunksize=PIECE)
        ) as pieces:
            are_empty = False  # cells beyond the header
            for frame, is_cut in _watched(pieces):
                are_empty = are_empty or (is_cut and bool(_wider(path, how)))
                frame.columns = [str(name).strip() for name in frame.columns]
                yield cells.with_numbers(
                    _without_empty(frame, []).reset_index(drop=True), [], as_written=as_written
                )
    except _UNREADABLE as error:
        raise DataError(
            f"{path} cannot be read piece by piece ({error}): write it as UTF-8, with as many cells"
            " in each row."
        ) from error


def _watched(pieces: Iterator[pd.DataFrame]) -> Iterator[tuple[pd.DataFrame, bool]]:
    """Each piece, and whether pandas left out cells beyond the header."""
    while True:
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always", pd.errors.ParserWarning)
            piece = next(pieces, None)
        if piece is None:
            return
        yield piece, any(issubclass(one.category, pd.errors.ParserWarning) for one in seen)


def is_frame(rows: object) -> bool:
    """Whether an object is a pandas DataFrame, without importing pandas."""
    return type(rows).__name__ == "DataFrame" and hasattr(rows, "columns")


def are_texts(rows: Any) -> bool:
    """Whether rows are a list or an array of texts, not the paths of two .npy files."""
    values = rows.tolist() if isinstance(rows, np.ndarray) and rows.ndim == 1 else rows
    if not isinstance(values, list | tuple) or not any(isinstance(text, str) for text in values):
        return False
    is_pair = len(values) == 2 and all(str(text).endswith(".npy") for text in values)
    return not is_pair and all(text is None or isinstance(text, str) for text in values)


def of_frame(source: pd.DataFrame, *, as_written: Sequence[str] = ()) -> pd.DataFrame:
    """The table that somebody's frame holds, each column as a file of the same has it.

    Raises DataError: a name that several columns have; cells that are neither words nor numbers.
    """
    refuse_repeated(source.columns)
    is_plain = pd.api.types.is_integer_dtype(source.index) and source.index.name is None
    notes = [] if is_plain else [INDEX_LEFT_OUT]
    frame = source.set_axis([str(name) for name in source.columns], axis=1).reset_index(drop=True)
    frame.attrs = {}
    frame = _with_plain_cells(cells.without_categories(frame))
    notes += notes_of(frame)
    frame = cells.with_numbers(frame, notes, as_written=as_written)
    kept = {"notes": notes, "text": source.attrs.get("text")}
    frame.attrs = {name: value for name, value in kept.items() if value}
    return frame


def _with_plain_cells(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame, what is neither words nor numbers as `of_arrow` reads it."""
    others = [name for name in frame.columns if not _has_plain_cells(frame[name])]
    if not others:
        return frame
    read = of_arrow(_arrow_of(frame[others]))
    lists = [name for name in others if name not in read.columns]
    changed = {name: read[name] for name in others if name not in lists}
    plain = cells.with_columns(frame, changed).drop(columns=lists)
    plain = pd.concat([plain, read.drop(columns=list(changed))], axis=1)
    plain.attrs = {"notes": [*notes_of(frame), *notes_of(read)]}
    return plain


def _has_plain_cells(column: pd.Series) -> bool:
    """Whether a column holds words, real numbers and gaps alone."""
    kind = column.dtype
    if kind.kind == "O" and not isinstance(kind, pd.StringDtype):
        plain = (str, numbers.Real, np.bool_, type(None), type(pd.NA))
        return all(issubclass(type_, plain) for type_ in set(map(type, column)))
    return isinstance(kind, pd.StringDtype) or kind.kind in "biuf"


def _arrow_of(frame: pd.DataFrame) -> Any:
    """The Arrow table of columns whose cells are no plain ones; a period counts as its first day.

    Raises DataError: cells that Arrow has no type for.
    """
    import pyarrow

    periods = {
        str(name): pd.PeriodIndex(column).to_timestamp()
        for name, column in frame.items()
        if pd.api.types.infer_dtype(column, skipna=True) == "period"
    }
    parts = {}
    for name, column in cells.with_columns(frame, periods).items():
        try:
            parts[str(name)] = pyarrow.array(column, from_pandas=True)
        except (pyarrow.ArrowException, TypeError, ValueError) as error:
            raise DataError(NO_CELLS.format(join([name]))) from error
    return pyarrow.table(parts)


def of_texts(rows: Any, y: Any = None) -> Any:
    """A DataFrame of texts and their labels."""
    frame = pd.DataFrame(
        {TEXT: np.array(rows, dtype=object), "label": np.full(len(rows), None) if y is None else y}
    )
    frame.attrs["text"] = TEXT
    return frame


def notes_of(frame: pd.DataFrame) -> list[str]:
    """What was understood while the table was read."""
    return list(frame.attrs.get("notes", ()))


def _without_row_numbers(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame, with a note, less the unnamed first column that spreadsheets and pandas write for
    row numbers, whatever it holds."""
    first = frame.columns[0]
    if not first.startswith("Unnamed: 0"):
        return frame
    frame, notes = frame.drop(columns=first), notes_of(frame)
    frame.attrs["notes"] = [
        *notes,
        "The unnamed first column was left out, as one of row numbers: name it to keep it.",
    ]
    return frame


def _reading_of(
    content: io.BytesIO | Path, ending: str, as_written: Sequence[str]
) -> tuple[dict[str, Any], list[str]]:
    """(how pandas reads a text, what was understood); `sep` is "" where each line is a text."""
    csv.field_size_limit(
        2**31 - 1
    )  # a header of many thousand names is one field of any other separator
    start = _start(content, ending)
    encoding = _encoding(start)
    lines = start.decode(encoding, errors="replace").splitlines()
    lines = lines[:-1] if len(start) >= SAMPLE else lines
    skipped, stated = _preamble(lines)
    separator = stated or _separator(lines[skipped:], default="" if ending == ".txt" else ",")
    if ending == ".txt" and not stated and not _names_columns(lines[skipped:], separator):
        how = {"sep": "", "encoding": encoding, "skiprows": skipped}
        return how, ["Each line is a text: nothing cuts the lines into cells."]
    rows = list(
        itertools.islice(
            csv.reader(lines[skipped:], delimiter=separator, skipinitialspace=True), ROWS_LOOKED_AT
        )
    )
    has_header = _has_header(rows)
    names = None if has_header or not rows else [f"x{place}" for place in range(len(rows[0]))]
    if has_header and rows:
        refuse_repeated(rows[0])
    how = {
        "sep": separator,
        "encoding": encoding,
        "compression": "gzip" if ending.endswith(".gz") else None,
        "skiprows": skipped,
        "header": 0 if has_header else None,
        "names": names,
        "index_col": False,
        "skipinitialspace": True,
        "low_memory": False,
        "keep_default_na": False,
        "na_values": [""],
        # With commas between cells a decimal comma is rare, and numbers can be read at once; else
        # each column says how it is written.
        "dtype": str if separator != "," else dict.fromkeys(as_written, str),
    }
    notes = [f"{skipped} lines before the header were left out."] if skipped else []
    return how, notes + (
        []
        if has_header
        else ["The first row holds values, no names: the columns are called x0, x1, …"]
    )


def _read_text(content: io.BytesIO | Path, ending: str, as_written: Sequence[str]) -> pd.DataFrame:
    how, notes = _reading_of(content, ending, as_written)
    separator, is_wider = how["sep"], False
    if separator == "":
        with _lines_of(content, how) as pieces:
            frame: pd.DataFrame = pd.concat(pieces, ignore_index=True)
        frame.attrs["notes"] = notes
        return frame
    while True:
        try:
            with warnings.catch_warnings():  # without it, cells beyond the header are lost
                warnings.simplefilter("error", pd.errors.ParserWarning)
                frame = pd.read_csv(_rewound(content), **how)
            break
        except UnicodeDecodeError:
            how |= {"encoding": "cp1252", "encoding_errors": "replace"}
        except (pd.errors.ParserWarning, pd.errors.ParserError) as error:
            is_text = b"\0" not in _start(content, ending)
            if is_wider or not is_text or "out of memory" in str(error):
                raise ValueError(str(error)) from error
            how, is_wider = how | _wider(content, how), True
    encoding = how["encoding"]
    ways = (
        [SEPARATORS.get(separator, repr(separator)) + " between cells"] if separator != "," else []
    )
    ways += [ENCODINGS[encoding]] if encoding in ENCODINGS else []
    frame.attrs["notes"] = [*([f"Read as a text with {', '.join(ways)}."] if ways else []), *notes]
    return frame


def _names_columns(lines: list[str], separator: str) -> bool:
    """Whether the first line is one of cells, not of sentences."""
    return separator != "" and all(
        len(cell.split()) <= MOST_WORDS for cell in next(csv.reader(lines, delimiter=separator), [])
    )


@contextlib.contextmanager
def _lines_of(content: io.BytesIO | Path, how: dict[str, Any]) -> Iterator[Iterator[pd.DataFrame]]:
    """The lines of a file in which nothing stands between cells, a text each, some thousand at a
    time."""
    stream = _open(content, is_packed=False)
    with io.TextIOWrapper(stream, encoding=how["encoding"], errors="replace") as text:
        lines = itertools.islice(text, how["skiprows"], None)
        pieces = iter(lambda: [line.strip() or None for line in itertools.islice(lines, PIECE)], [])
        yield (pd.DataFrame({TEXT: piece}, dtype=object) for piece in pieces)


def refuse_repeated(names: Iterable[Any]) -> None:
    """Refuses a name that several columns have, which pandas would number in a file."""
    counts = Counter(str(name).strip() for name in names)
    if repeated := [name for name, count in counts.items() if name and count > 1]:
        raise DataError(
            f"several columns are called {join(repeated)}: give each column a name of its own, or"
            " remove copies."
        )


def _rewound(content: io.BytesIO | Path) -> io.BytesIO | Path:
    if isinstance(content, io.BytesIO):
        content.seek(0)
    return content


def _open(content: io.BytesIO | Path, *, is_packed: bool) -> Any:
    """The bytes of a text from its start on, unpacked."""
    source = content if isinstance(content, Path) else io.BytesIO(content.getvalue())
    if is_packed:
        return gzip.open(source)
    return source.open("rb") if isinstance(source, Path) else source


def _start(content: io.BytesIO | Path, ending: str) -> bytes:
    """The first bytes of a text, unpacked: `SAMPLE`, or as many times that as two lines take."""
    with _open(content, is_packed=ending.endswith(".gz")) as stream:
        start = more = bytes(stream.read(SAMPLE))
        while len(more) >= SAMPLE and len(start.splitlines()) < FEWEST_LINES:
            start += (more := stream.read(len(start)))
        return start


def _encoding(start: bytes) -> str:
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    try:
        start.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start < len(start) - 3:  # else a letter is cut at the end of the sample
            return "cp1252"
    return "utf-8-sig"


def _preamble(lines: list[str]) -> tuple[int, str | None]:
    """(how many lines stand before the header, the separator that Excel's line `sep=;` states)."""
    if lines and (stated := re.fullmatch(r"\ufeff?\"?sep=(.)\"?", lines[0].strip(), re.I)):
        return 1, stated[1]
    comments = sum(
        1 for _ in itertools.takewhile(lambda line: line.lstrip("\ufeff").startswith("#"), lines)
    )
    if (
        comments
        and len(lines) > comments
        and _separator(lines[comments - 1 : comments])
        == (separator := _separator(lines[comments:]))
    ):
        widths = [
            len(next(csv.reader([line], delimiter=separator), []))
            for line in lines[comments - 1 : comments + 1]
        ]
        comments -= widths[0] == widths[1] > 1  # a header may begin with #
    return comments, None


def _separator(lines: list[str], *, default: str = ",") -> str:
    """What stands between cells: the first that cuts the header and nearly all lines into equally
    many, more than one."""
    for separator in SEPARATORS:
        rows = [
            row
            for row in itertools.islice(csv.reader(lines, delimiter=separator), ROWS_LOOKED_AT)
            if row
        ]
        counts = Counter(map(len, rows))
        if (
            rows
            and len(rows[0]) > 1
            and sum(counts[width] for width in (len(rows[0]), len(rows[0]) + 1)) >= 0.9 * len(rows)
        ):
            return separator
    return default


def _has_header(rows: list[list[str]]) -> bool:
    """Whether the first row holds names: something in it is no value of its column."""
    if len(rows) < 2:
        return True
    first, rest = rows[0], rows[1:]
    numbers = [cells.is_number(cell) for cell in first]
    if not any(numbers):
        return True
    if all(numbers) and [cell.strip() for cell in first] in (
        [str(place + start) for place in range(len(first))] for start in (0, 1)
    ):
        return True
    for place, cell in enumerate(first):
        column = [row[place] for row in rest if place < len(row) and row[place].strip()]
        if not numbers[place] and cell.strip() and cell not in column:
            return True
        if numbers[place] and column and not any(map(cells.is_number, column)):
            return True
    return False


def _wider(content: io.BytesIO | Path, how: dict[str, Any]) -> dict[str, Any]:
    """How to read a text whose rows have empty cells beyond the header."""
    stream = _open(content, is_packed=how["compression"] is not None)
    with io.TextIOWrapper(stream, encoding=how["encoding"], errors="replace", newline="") as text:
        lines = csv.reader(text, delimiter=how["sep"], skipinitialspace=True)
        rows = (row for row in itertools.islice(lines, how["skiprows"], None) if row)
        header = how["names"] or next(rows, [])
        widest, unnamed = len(header), []
        for number, row in enumerate(rows):
            widest = max(widest, len(row))
            if any(cell.strip() for cell in row[len(header) :]):
                unnamed.append(number)
    if unnamed:
        raise DataError(
            f"{len(unnamed):,} rows have more cells than the header has names, {len(header)} (rows"
            f" {join(unnamed)}): put numbers with a comma inside in quotes, or use semicolons"
            " between cells. If the first cells are names of rows, name their column, too."
        )
    names = [*header, *(f"Unnamed: {place}" for place in range(len(header), widest))]
    return {"names": names, "header": None, "skiprows": how["skiprows"] + (how["names"] is None)}


def _read_json(content: io.BytesIO | Path, *_: Any) -> pd.DataFrame:
    frame: pd.DataFrame = importlib.import_module("pandas").read_json(
        content, lines=True, dtype=False
    )
    return _with_plain_cells(frame)


def _read_excel(content: io.BytesIO | Path, *_: Any) -> pd.DataFrame:
    with (
        needed("reading xlsx (the sheet saved as CSV UTF-8 will do instead)"),
        pd.ExcelFile(content) as book,
    ):
        first, *others = book.sheet_names
        frame = pd.read_excel(book, keep_default_na=False, na_values=[""])
        refuse_repeated(
            pd.read_excel(book, header=None, nrows=1, dtype=str, keep_default_na=False)
            .to_numpy()
            .ravel()
        )
    frame.attrs["notes"] = (
        [f"The sheet {first!r} was read; left out: {join(others)}."] if others else []
    )
    return _with_plain_cells(frame)


def _read_parquet(content: io.BytesIO | Path, *_: Any) -> pd.DataFrame:
    import pyarrow.parquet

    refuse_repeated(pyarrow.parquet.read_schema(content).names)
    return of_arrow(pyarrow.parquet.read_table(_rewound(content)))


def _read_feather(content: io.BytesIO | Path, *_: Any) -> pd.DataFrame:
    import pyarrow.feather

    try:
        return of_arrow(pyarrow.feather.read_table(content))
    except pyarrow.ArrowInvalid:
        with pyarrow.ipc.open_stream(
            _rewound(content) if isinstance(content, io.BytesIO) else content.read_bytes()
        ) as stream:
            return of_arrow(stream.read_all())


READERS: dict[str, Callable[[io.BytesIO | Path, str, Sequence[str]], pd.DataFrame]] = {
    **dict.fromkeys(TEXTS, _read_text),
    ".parquet": _read_parquet,
    ".feather": _read_feather,
    ".arrow": _read_feather,
    ".jsonl": _read_json,
    ".xlsx": _read_excel,
}
"""What reads the tables of an ending, given their content, that ending and the columns of a text
that stay text; `frame_of` says the rest."""


def of_arrow(table: Any) -> pd.DataFrame:
    """The frame of an Arrow table: named indexes stay columns, decimals are numbers, lists of
    numbers of one length many columns.

    An index without a name, of words or of numbers, is left out, and a note says so.
    """
    import pyarrow

    types = pyarrow.types
    table.validate(full=True)
    kinds = {
        field.name: field.type.value_type if types.is_dictionary(field.type) else field.type
        for field in table.schema
    }
    lists = {name: kind for name, kind in kinds.items() if _is_list_of_numbers(kind)}
    if nested := [
        name for name, kind in kinds.items() if types.is_nested(kind) and name not in lists
    ]:
        raise DataError(
            f"the columns {join(nested)} hold lists or records: write each of their values as a"
            " column of its own."
        )
    tests = (
        types.is_primitive,
        types.is_null,
        types.is_decimal,
        types.is_string,
        types.is_large_string,
        types.is_string_view,
    )
    if unread := [
        name
        for name, kind in kinds.items()
        if name not in lists and not any(test(kind) for test in tests)
    ]:
        raise DataError(NO_CELLS.format(join(unread)))
    parts = {name: _columns_of_list(name, table[name]) for name in lists}
    numbers = [
        field.with_type(pyarrow.float64()) if types.is_decimal(field.type) else field
        for field in table.schema
    ]
    frame = (
        table.cast(pyarrow.schema(numbers)).drop_columns([*lists]).to_pandas(ignore_metadata=True)
    )
    frame = cells.without_categories(frame)
    indexes = [name for name in frame.columns if _INDEX.fullmatch(str(name))]
    frame = _dates_as_text(frame.drop(columns=indexes))
    notes = [*frame.attrs["notes"], *([INDEX_LEFT_OUT] if indexes else [])]
    notes += [
        f"Column {name!r} of lists became {part.shape[1]} columns." for name, part in parts.items()
    ]
    frame = pd.concat([frame, *parts.values()], axis=1) if parts else frame
    frame.attrs["notes"] = notes
    return frame


def _is_list_of_numbers(kind: Any) -> bool:
    from pyarrow import types

    is_list = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    return bool(
        is_list and (types.is_floating(kind.value_type) or types.is_integer(kind.value_type))
    )


def _columns_of_list(name: str, column: Any) -> pd.DataFrame:
    """(n, width) frame with the values of a column of lists."""
    import pyarrow.compute

    lengths = pyarrow.compute.list_value_length(column)
    widths = pyarrow.compute.unique(lengths).to_pylist()
    if len(widths) != 1 or not widths[0]:
        raise DataError(
            f"column {name!r} holds lists of several lengths ({join(widths)}): write as many"
            " numbers in each row."
        )
    values = (
        pyarrow.compute.list_flatten(column)
        .to_numpy(zero_copy_only=False)
        .reshape(len(column), widths[0])
    )
    return pd.DataFrame(values, columns=[f"{name}[{place}]" for place in range(widths[0])])


def _dates_as_text(frame: pd.DataFrame) -> pd.DataFrame:
    """Times as ISO text, which is known as dates; durations as days."""
    notes, types, read = frame.attrs.get("notes", []), pd.api.types, dict[Any, Any]()
    for name, kind in dict(frame.dtypes).items():
        if types.is_timedelta64_dtype(kind):
            read[name] = pd.to_timedelta(cast("pd.Series[Any]", frame[name])) / pd.Timedelta(days=1)
            notes = [*notes, f"Column {name!r} holds durations, read as days."]
        elif types.is_datetime64_any_dtype(kind) or (
            kind.kind == "O" and types.infer_dtype(frame[name]) in ("date", "datetime", "time")
        ):
            read[name] = frame[name].map(str, na_action="ignore").astype(object)
    frame = cells.with_columns(frame, read)
    frame.attrs["notes"] = notes
    return frame


def _without_empty(frame: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    """The frame without rows that hold nothing, and without columns that hold nothing and have no
    name."""
    is_gap = frame.isna()
    unnamed = [
        name for name in frame.columns if name.startswith("Unnamed: ") and is_gap[name].all()
    ]
    empty_rows = np.flatnonzero(is_gap.to_numpy().all(axis=1))
    if unnamed:
        notes.append(f"{len(unnamed)} empty columns without a name were left out.")
        frame = frame.drop(columns=unnamed)
    if len(empty_rows):
        notes.append(f"{len(empty_rows):,} empty rows were left out.")
        frame = frame.drop(index=frame.index[empty_rows])
    return frame
