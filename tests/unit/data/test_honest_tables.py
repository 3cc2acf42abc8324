"""Tables as people write them: separators, decimal commas, gaps, dates, labels; what each must
become, or what is asked."""

import gzip
import io
import re
from decimal import Decimal
from pathlib import Path

import hypothesis
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import strategies as st

import pillar_core as pc
from pillar_core.data import cells, encoding, raw
from pillar_core.data.frames import READERS, frame_of
from pillar_core.data.tables import alike_labels, bins, label_column
from pillar_core.errors import DataError
from unit.image_files import all_rows
from users import is_noted, refuses

DOCUMENT = Path(__file__).parents[3] / "docs" / "data.md"
ROWS = pd.DataFrame(
    {
        "age": [50, 61, 39, 47] * 5,
        "income": [1041.5, 985.0, 2412.87, 1210.0] * 5,
        "label": ["a", "b"] * 10,
    }
)
GERMAN = (
    "Alter;Größe;Einkommen;label\n"
    + "50;1,81;1.041,50;a\n61;1,69;985,00;b\n39;1,75;12.412,87;a\n" * 5
)


def read(text: str | bytes, ending: str = ".csv") -> pd.DataFrame:
    """The table in a text."""
    return frame_of(io.BytesIO(text if isinstance(text, bytes) else text.encode()), ending)


def written(ending: str) -> bytes:
    """`ROWS` as a file of this ending."""
    buffer = io.BytesIO()
    separator = "\t" if "tsv" in ending else ","
    if ending == ".parquet":
        return ROWS.to_parquet()
    if ending in (".feather", ".arrow"):
        ROWS.to_feather(buffer)
    elif ending == ".jsonl":
        ROWS.to_json(buffer, orient="records", lines=True)
    elif ending == ".xlsx":
        pytest.importorskip("openpyxl")
        ROWS.to_excel(buffer, index=False)
    else:
        text = ROWS.to_csv(index=False, sep=separator).encode()
        return gzip.compress(text) if ending.endswith(".gz") else text
    return buffer.getvalue()


@pytest.mark.parametrize("ending", READERS)
def test_every_format_gives_the_same_rows(ending, tmp_path):
    (tmp_path / f"rows{ending}").write_bytes(written(ending))
    features = pc.load_features(tmp_path / f"rows{ending}")
    assert features.classes == ("a", "b")
    rows = all_rows(features)
    assert sorted(map(tuple, rows.tolist())) == sorted(
        map(tuple, ROWS[["age", "income"]].to_numpy(np.float32).tolist())
    )


def test_a_european_export_is_read_as_it_was_meant():
    for encoding_ in ("utf-8", "utf-8-sig", "cp1252", "utf-16"):
        frame = read(GERMAN.encode(encoding_))
        assert frame.columns.tolist() == ["Alter", "Größe", "Einkommen", "label"]
        assert frame["Einkommen"].head(3).tolist() == [1041.5, 985.0, 12412.87]
        assert frame["Größe"].head(3).tolist() == [1.81, 1.69, 1.75]
        assert is_noted(frame.attrs["notes"], "semicolons")
        assert is_noted(frame.attrs["notes"], "decimal comma", "Einkommen")
    # 1.041 in another column is then a thousand, no fraction.
    frame = read("a;b;label\n" + "1.041;0,5;x\n985;0,25;y\n" * 4)
    assert frame["a"].head(2).tolist() == [1041.0, 985.0]
    assert read("a;b;label\n" + "1.041;0.5;x\n985;0.25;y\n" * 4)["a"].head(2).tolist() == [
        1.041,
        985.0,
    ]


@pytest.mark.parametrize(
    ("written", "values"),
    [
        (['"1,041"', "985", "12"], [1041.0, 985.0, 12.0]),
        (['"$2,412.87"', "$985.00", "$1.00"], [2412.87, 985.0, 1.0]),
        (["1041 €", "985 €", "EUR 3"], [1041.0, 985.0, 3.0]),
        (["12 %", "7%", "100 %"], [12.0, 7.0, 100.0]),
        (["1 041", "985", "12 000 000"], [1041.0, 985.0, 12_000_000.0]),
        (["1'041.5", "985", "3"], [1041.5, 985.0, 3.0]),
        (["3.5", "-", "?"], [3.5, np.nan, np.nan]),
        (["3.5", "NA", "k.A."], [3.5, np.nan, np.nan]),
        (["1e3", "-2.5E-1", "+4"], [1000.0, -0.25, 4.0]),
        (["-£985", "$-3", "\u22124 €"], [-985.0, -3.0, -4.0]),
    ],
)
def test_cells_are_the_numbers_that_people_wrote(written, values):
    frame = read(
        "v,w,label\n" + "".join(f"{cell},{place},x\n" for place, cell in enumerate(written))
    )
    np.testing.assert_array_equal(frame["v"].to_numpy(dtype=float), values)


@hypothesis.given(st.lists(st.text("019.,eE+-% '€", max_size=8), min_size=1, max_size=6))
def test_codes_of_digits_signs_and_letters_are_numbers_or_words(texts):
    """An ICD code such as E11 was taken for a number without a first digit, and ended the
    reading."""
    (name,) = frame = cells.with_numbers(pd.DataFrame({"code": texts}), [])
    for text, cell in zip(texts, frame[name], strict=True):
        assert pd.isna(cell) or isinstance(cell, float | str), (text, cell)
    assert cells.with_numbers(pd.DataFrame({"code": ["E11", "I10", "J45"]}), [])[
        "code"
    ].tolist() == [
        "E11",
        "I10",
        "J45",
    ]
    for text in ("E11", ".E5", "-E10", "E+3", ",e5"):
        assert not cells.is_number(text)


def test_sentences_are_no_numbers_at_sight(monkeypatch):
    """What takes signs off numbers took most of the time in which a million texts were read."""
    monkeypatch.setattr(cells, "_ADORNED", None)
    said = pd.DataFrame(
        {"message": [f"the printer of room {place} is on fire" for place in range(9)]}
    )
    assert cells.with_numbers(said, [])["message"].tolist() == said["message"].tolist()


def test_a_cell_that_is_no_number_is_named_and_never_filled():
    frame = read("income,label\n" + "1041,a\n985,b\n" * 10 + "about 900,a\n")
    assert cells.unreadable(frame["income"]).tolist() == [20]
    refuses(r"row 20.*about 900", raw.plain_features, frame, name="rows")
    columns = encoding.columns_of(frame, "label")
    refuses(r"row 20.*about 900", encoding.learn_recipe, frame, columns, label="label", left_out=())
    recipe = encoding.learn_recipe(frame[:20], columns, label="label", left_out=())
    refuses(r"row 20.*about 900", encoding.encode_columns, frame, recipe)
    assert not pd.api.types.is_numeric_dtype(read("v,label\n" + "12 %,a\n7,b\n" * 4)["v"])


@pytest.mark.parametrize(
    "text",
    [
        "sep=;\na;b;label\n1;2;x\n3;4;y\n",
        "# made on Monday\n# by hand\na,b,label\n1,2,x\n3,4,y\n",
        "a\tb\tlabel\n1\t2\tx\n3\t4\ty\n",
        "a|b|label\n1|2|x\n3|4|y\n",
        "a,b,label,\n1,2,x,\n3,4,y,\n",
        "a,b,label\n1,2,x,\n3,4,y,\n",
        "a,b,label\n1,2,x\n3,4,y,,\n",
        "a,b,label,Unnamed: 32\n1,2,x,\n3,4,y,\n,,,\n,,,\n",
    ],
)
def test_dialects_give_the_same_table(text):
    frame = read(text)
    assert frame.to_dict("list") == {"a": [1, 3], "b": [2, 4], "label": ["x", "y"]}


def test_headers_are_found_and_one_comma_more_shifts_no_column():
    refuses(
        "more cells than the header has names",
        read,
        "age,income,label\n" + "50,1,041,a\n61,985,b\n" * 3,
    )
    refuses("more cells than the header has names", read, "age,income,label\n" + "50,1,041,a\n" * 3)
    late = b"name,age,income,label\n" + b"anna,20,1,041,a\n" * 20_000
    for content in (late + "jürg,30,2,100,b\n".encode("cp1252"), late + b"anna,20,1,041,a,\n"):
        refuses("more cells than the header has names", read, content)
    refuses("several columns", read, "v, v ,label\n1,2,x\n3,4,y\n")
    assert read("#id,b,label\n1,2,x\n3,4,y\n").columns.tolist() == ["#id", "b", "label"]
    frame = read("1.5,2,cat\n2.5,3,dog\n0.5,1,cat\n")
    assert frame.columns.tolist() == ["x0", "x1", "x2"]
    assert len(frame) == 3
    assert is_noted(frame.attrs["notes"], "no names")
    assert read("0,1,label\n5,6,a\n7,8,b\n").columns.tolist() == ["0", "1", "label"]
    refuses("as a title does", read, "Patients of ward 3,,\n,,\na,b,label\n1,2,x\n3,4,y\n")


def test_the_label_is_asked_for_unless_it_is_certain():
    heart = pd.DataFrame({"Age": [40, 50], "Sex": ["m", "f"], "HeartDisease": [0, 1]})
    refuses("HeartDisease", label_column, heart)
    assert label_column(heart, "HeartDisease") == "HeartDisease"
    refuses("no column 'sick'", label_column, heart, "sick")
    for name in ("Target", "LABEL", "y", " class", "Outcome"):
        assert label_column(heart.rename(columns={"HeartDisease": name})) == name
    with pytest.raises(DataError, match="may all be it"):
        label_column(heart.rename(columns={"HeartDisease": "class", "Sex": "target"}))


def test_labels_called_na_and_alike_ones_are_told():
    rows = raw.plain_features(read("v,label\n" + "1,NA\n2,None\n3,NA\n4,None\n"), name="rows")
    assert rows.classes == ("NA", "None")
    assert alike_labels(pd.Series(["Yes", "yes", "NO ", "No", "maybe"])) == (
        ("Yes", "yes"),
        ("NO ", "No"),
    )
    notes = pc.load_features(ROWS.assign(label=["Yes", "yes", "No", "NO "] * 5)).notes
    assert sum("Are they one class?" in note for note in notes) == 2


def test_a_number_to_predict_is_cut_into_classes():
    prices = pd.DataFrame({"rooms": range(100), "y": np.linspace(1, 2, 100)})
    refuses("cut it into bins", raw.plain_features, prices, name="rows")
    cut = bins(prices["y"], [1.25, 1.75])
    assert cut.value_counts().to_dict() == {"up to 1.25": 25, "1.25 to 1.75": 50, "above 1.75": 25}


@pytest.mark.parametrize(
    "written",
    [
        "2024-03-01 10:00",
        "01.03.2024",
        "3/1/24",
        "1 March 2024",
        "Mar 1, 2024",
        "1. Mai 2024",
        "14:05",
    ],
)
def test_dates_of_all_kinds_are_dates(written):
    frame = pd.DataFrame({"seen": [written, "2024-03-02"] * 4, "label": ["a", "b"] * 4})
    assert [column.kind for column in encoding.columns_of(frame, "label")] == [encoding.DATE]


def test_times_of_a_parquet_file_are_dates_and_no_nanoseconds():
    rows = ROWS.assign(
        seen=pd.date_range("2024-01-01", periods=20), stay=pd.to_timedelta(np.arange(20), unit="h")
    )
    frame = read(rows.to_parquet(), ".parquet")
    assert {column.name: column.kind for column in encoding.columns_of(frame, "label")}[
        "seen"
    ] == encoding.DATE
    assert frame["stay"].max() == pytest.approx(19 / 24)
    refuses("seen", raw.plain_features, frame, name="rows")


def test_a_parquet_file_keeps_a_word_index_and_embeddings_as_columns():
    def parquet(frame):
        return read(frame.to_parquet(), ".parquet")

    named = ROWS.assign(pid=[f"p{row}" for row in range(20)]).set_index("pid")
    assert set(parquet(named)) == {"pid", *ROWS.columns}
    assert list(parquet(ROWS.set_index(pd.Index(range(20, 40))))) == list(ROWS)
    frame = parquet(ROWS.assign(embedding=[[1.0, 2.0, 3.0]] * 20))
    assert frame[["embedding[0]", "embedding[2]"]].iloc[0].tolist() == [1.0, 3.0]
    refuses("several lengths", parquet, ROWS.assign(embedding=[[1.0], [1.0, 2.0]] * 10))


@pytest.mark.parametrize(
    ("cells_", "same_as"),
    [
        (pd.date_range("2024-01-01", periods=20, tz="Europe/Berlin"), None),
        (
            pd.period_range("2024-01", periods=20, freq="M"),
            pd.date_range("2024", periods=20, freq="MS"),
        ),
        (pd.to_timedelta(np.arange(20), unit="h"), None),
        ([Decimal(f"1.{row}") for row in range(20)], None),
        ([[1.0, row] for row in range(20)], None),
        (pd.array(range(20), dtype=pd.ArrowDtype(pa.duration("s"))), None),
    ],
    ids=["time", "month", "duration", "decimal", "list", "arrow"],
)
def test_a_frame_is_read_like_a_file_of_it(cells_, same_as):
    rows = ROWS.assign(more=cells_)
    filed = ROWS.assign(more=cells_ if same_as is None else same_as)
    framed, _ = raw.table_of(rows)
    read_from_file = read(filed.to_parquet(), ".parquet")
    pd.testing.assert_frame_equal(framed, read_from_file)
    assert framed.attrs == read_from_file.attrs


def test_times_and_lists_of_json_lines_are_dates_and_columns():
    line = '{"timestamp": "2023-11-14T22:13:20", "at": [1.0, 2.0], "label": "a"}'
    frame = read("\n".join([line] * 4), ".jsonl")
    assert list(frame) == ["timestamp", "label", "at[0]", "at[1]"]
    assert frame["timestamp"].iloc[0].startswith("2023-11-14")
    refuses("lists or records", read, "\n".join(['{"x": {"y": 1}, "label": "a"}'] * 4), ".jsonl")


def test_cells_of_a_frame_that_are_neither_words_nor_numbers_are_refused_by_name():
    for cells_ in ([["a"]] * 20, [{"a": 1}] * 20, [1j] * 20, [b"a"] * 20, pd.interval_range(0, 20)):
        refuses(
            "more.*(lists or records|neither words nor)", raw.table_of, ROWS.assign(more=cells_)
        )
    repeated = pd.concat([ROWS, ROWS[["age"]]], axis=1)
    refuses("several columns are called age", pc.load_features, repeated, label="label")
    model = pc.PrivateClassifier("dp_raft")
    refuses("several columns are called age", model.fit, repeated, ROWS["label"])


def test_numbers_that_may_mean_something_else_are_said():
    frame = read("v,w,label\n" + "1,999,a\n2,1000,b\n3,1001,a\n" * 3 + "-999,998,b\n")
    assert cells.sentinels_of(frame["v"]) == (-999.0,)
    assert cells.sentinels_of(frame["w"]) == ()
    assert frame["v"].min() == -999
    assert is_noted(frame.attrs["notes"], "-999")
    asks = [
        is_noted(read("a;label\n" + f"{cell};x\n985;y\n" * 4).attrs["notes"], "between thousands")
        for cell in ("1.041", "1.04")
    ]
    assert asks == [True, False]
    refuses("'seen' holds dates", pc.load_features, ROWS.assign(seen=[20240131, 20231201] * 10))
    assert "visits" in pc.load_features(ROWS.assign(visits=[20240131, 20239901] * 10)).names


def test_gaps_words_and_numbers_that_are_called_id_are_told_apart():
    """A column is named once, with how many cells are empty; a cell with a word is no empty one."""
    with pytest.raises(DataError) as gaps:
        pc.load_features(ROWS.assign(age=[None, 61, 39, 47] * 5))
    assert "'age' has 5 empty cells" in gaps.value.problems[0]
    with pytest.raises(DataError, match="'4l', not a number") as word:
        pc.load_features(ROWS.assign(age=["4l", *["61"] * 19]))
    assert len(word.value.problems) == 1
    table = ROWS.assign(id=range(20))
    assert is_noted(pc.load_features(table).notes, "perhaps identifiers: id")
    assert not is_noted(pc.load_features(table, leave_out=["id"]).notes, "perhaps identifiers")
    assert not is_noted(pc.load_features(ROWS.assign(idle=range(20))).notes, "perhaps identifiers")


def test_other_sheets_are_named_and_the_empty_path_is_none():
    pytest.importorskip("openpyxl")
    buffer = io.BytesIO()
    with pd.ExcelWriter(buffer) as book:
        ROWS.to_excel(book, sheet_name="data", index=False)
        ROWS.to_excel(book, sheet_name="legend", index=False)
    assert (
        "The sheet 'data' was read; left out: legend."
        in read(buffer.getvalue(), ".xlsx").attrs["notes"]
    )
    refuses("the path is empty", pc.load_features, "")


def test_one_unit_behind_the_numbers_of_a_column_is_taken_off_and_said():
    frame = read(
        "weight;height;age;label\n72,5 kg;1,80 m;1 year;a\n81 kg;1,75 m;3 years;b\nunknown;1,60 m;4"
        " years;a\n"
    )
    assert frame["weight"].tolist()[:2] == [72.5, 81.0]
    assert np.isnan(frame["weight"][2])
    assert frame[["height", "age"]].to_numpy().tolist() == [[1.8, 1], [1.75, 3], [1.6, 4]]
    assert "Units were taken off: weight (kg), height (m), age (year)." in frame.attrs["notes"]
    mixed = (
        "weight,x,label\n"
        + "".join(f"{60 + row} kg,{row},{'ab'[row % 2]}\n" for row in range(20))
        + "160 lb,1,a\n"
    )
    with pytest.raises(DataError, match="row 20: column 'weight' holds '160 lb', not a number"):
        raw.plain_features(read(mixed), name="rows")
    assert read("size,label\n5 ml,a\n10 mg,b\n20 mg,a\n")["size"].tolist() == [
        "5 ml",
        "10 mg",
        "20 mg",
    ]


@pytest.mark.parametrize("ending", [".xlsx", ".parquet"])
def test_a_name_that_several_columns_have_is_refused(ending):
    """Pandas calls the second `age.1`, which no other table has."""
    if ending == ".xlsx":
        book = pytest.importorskip("openpyxl").Workbook()
        for row in (["age", "age", "label"], [1, 2, "a"], [3, 4, "b"]):
            book.active.append(row)
        buffer = io.BytesIO()
        book.save(buffer)
        content = buffer.getvalue()
    else:
        table, sink = (
            pa.table(
                [pa.array([1, 2]), pa.array([3, 4]), pa.array(["a", "b"])],
                names=["age", "age", "label"],
            ),
            io.BytesIO(),
        )
        pq.write_table(table, sink)
        content = sink.getvalue()
    refuses("several columns are called age", read, content, ending)


CELLS = (
    '`"1,041"`',
    "`72 kg`",
    "empty, ",
    "another word among",
    "`inf`",
    "numbers beyond",
    "−999",
    "dates",
    "a name that",
    "whole numbers, each once",
    "more cells",
    "empty rows",
    "a label of many",
)
"""How each row of the document's table begins; tests above and of `encoding` hold what it says."""


def test_the_document_says_of_all_these_cells_what_becomes_of_them():
    table = re.search(
        r"\| cells \| what they become \|\n\|---\|---\|\n(.*?)\n\n", DOCUMENT.read_text(), re.DOTALL
    )
    rows = table[1].splitlines()
    assert len(rows) == len(CELLS)
    assert all(row.startswith(f"| {cells}") for row, cells in zip(rows, CELLS, strict=True))
