"""Feature files and dry runs: what is read, what was decided, and what each kind of bad file is
told."""

import io
import pickle
import zipfile
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pillar_core as pc
from pillar_core import data
from pillar_core.data import load, reports
from pillar_core.errors import DataError
from unit.image_files import all_rows, npz, sizes
from users import is_noted, refuses

X = np.arange(40, dtype=np.float32).reshape(20, 2)
Y = np.arange(20) % 2


def _csv(frame: pd.DataFrame, *, index: bool = False) -> bytes:
    return bytes(frame.to_csv(index=index), "utf-8")


def _table() -> pd.DataFrame:
    return pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "label": np.where(Y, "yes", "no")})


def test_npz_round_trip(tmp_path):
    path = tmp_path / "mine.npz"
    rows = {"x_train": X.astype(np.float16), "y_train": Y, "x_test": X[:2], "y_test": Y[:2]}
    path.write_bytes(npz(**rows, classes=["n", "y"], meta='{"width": 2}', more=1))
    features = load(path)
    np.testing.assert_array_equal(features.x_train, X)
    assert (features.name, features.classes, len(features.x_test)) == ("mine", ("n", "y"), 2)
    assert features.notes == ("Keys left aside: more.", "Made by: width 2")
    assert load(path.read_bytes(), filename="mine.npz").fingerprint == features.fingerprint


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_tables_with_a_split_column(ending, tmp_path):
    frame = _table().assign(split=["Train"] * 15 + [" test"] * 5)
    path = tmp_path / f"rows.{ending}"
    frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(path)
    features = load(path)
    np.testing.assert_array_equal(features.x_train, X[:15])
    np.testing.assert_array_equal(features.x_test, X[15:])
    np.testing.assert_array_equal(features.y_test, Y[15:])
    assert features.classes == ("no", "yes")
    assert is_noted(features.notes, "column 'split'")


def test_tables_without_a_split_column_give_labels_and_a_stratified_fifth():
    features = load(_csv(_table()), filename="t.csv")
    assert (*sizes(features), np.bincount(features.y_test).tolist()) == (
        16,
        4,
        [2, 2],
    )
    assert is_noted(features.notes, "stratified fifth")
    both = all_rows(features)
    np.testing.assert_array_equal(both[np.argsort(both[:, 0])], X)
    features = load(_csv(pd.DataFrame({"a": X[:, 0], "y": Y}), index=True), filename="t.csv")
    assert features.d == 1
    assert is_noted(features.notes, "row numbers")
    shuffled = pd.DataFrame({"a": X[:, 0], "y": Y}, index=np.arange(len(Y))[::-1])
    assert load(_csv(shuffled, index=True), filename="t.csv").d == 1, (
        "one private value decides no width"
    )
    features = load(_with(label=np.nan), filename="t.csv")
    assert features.y_train is None
    assert len(features.x_train) == 20
    table = pa.table(
        {
            "x": pa.array([1, 2, 3, 5] * 5, pa.int32()).cast(pa.decimal128(12, 1)),
            "label": ["a", "b"] * 10,
        }
    )
    pq.write_table(table, stream := io.BytesIO())
    assert sorted(set(load(stream.getvalue(), filename="a.parquet").x_train.ravel())) == [
        1,
        2,
        3,
        5,
    ]


def _with(**columns: Any) -> bytes:
    """The table with other columns, as csv."""
    return _csv(_table().assign(**columns))


def _broken_cell() -> pd.DataFrame:
    frame = _table().astype({"a": object})
    frame.loc[7, "a"] = "12,5x"
    return frame


def _truncated() -> bytes:
    return npz(x_train=np.random.default_rng(0).random((200, 9)), y_train=np.arange(200) % 2)[
        :-4_000
    ]


def _corrupt() -> bytes:
    content = bytearray(npz(x_train=X, y_train=Y))
    content[150:170] = bytes(20)
    return bytes(content)


def _parquet(cells: Any, *, is_coded: bool = True) -> bytes:
    """A parquet table whose column a holds these cells."""
    pq.write_table(
        pa.table({"a": cells, "b": X[:, 0], "label": Y}),
        out := io.BytesIO(),
        use_dictionary=is_coded,
    )
    return out.getvalue()


_BYTES = [b"\xff", b"b"] * 10
_NO_UTF8 = pa.Array.from_buffers(pa.string(), 20, pa.array(_BYTES).buffers())
_MOST = (
    np.array(101),
    np.array(2**64 - 1, dtype=np.uint64),
    np.array(0),
    np.array(3.0),
    np.array([3, 4]),
)
_DIGITS = f"{'9' * 400},0\n" + "1,1\n2,0\n" * 10
BAD: dict[str, tuple[bytes, str, str]] = (
    {
        "ending": (b"", "rows.pdf", "must end in"),
        "no name": (b"", "", "must end in"),
        "empty npz": (b"", "a.npz", "no npz"),
        "text as npz": (b"hello there", "a.npz", "no npz"),
        "pickle": (pickle.dumps({"x_train": [1]}), "a.npz", "pickle"),
        "pickled array inside": (
            npz(x_train=np.array([{"a": 1}], dtype=object)),
            "a.npz",
            "pickle",
        ),
        "npy": (b"\x93NUMPY\x01\x00", "a.npz", "one bare array"),
        "truncated": (_truncated(), "a.npz", "damaged"),
        "corrupt": (_corrupt(), "a.npz", "damaged"),
        "other keys": (npz(table=X), "a.npz", r"holds table \(20, 2\)"),
        "table of classes": (
            npz(x_train=X, y_train=Y, classes=[["a"], ["b"]]),
            "a.npz",
            r"one name for each class.*got shape \(2, 1\)",
        ),
        "NaN": (
            npz(x_train=np.where(X == 6, np.nan, X), y_train=Y),
            "a.npz",
            "row 3 is not finite in columns 0",
        ),
        "empty csv": (b"", "a.csv", "cannot be read"),
        "binary csv": (bytes(range(256)) * 4, "a.csv", "cannot be read"),
        "text as parquet": (b"hello there", "a.parquet", "cannot be read"),
        "no label": (
            _csv(_table().drop(columns="label")),
            "a.csv",
            "which label column is meant is not certain",
        ),
        "only labels": (_csv(_table()[["label"]]), "a.csv", "at least two columns"),
        "labels and split": (
            _csv(_table()[["label"]].assign(split="train")),
            "a.csv",
            "no feature columns",
        ),
        "words among features": (_with(city="Ulm"), "a.csv", "'city' holds words"),
        "cell": (_csv(_broken_cell()), "a.csv", "table row 7: column 'a' holds '12,5x'"),
        "gap": (
            _with(b=np.where(Y, X[:, 1], np.nan)),
            "a.csv",
            "'b' has 10 empty cells",
        ),
        "no label in a row": (
            _with(label=["yes", None] * 10),
            "a.csv",
            "no label in table rows 1, 3",
        ),
        "split word": (
            _with(split=["train"] * 19 + ["exam"]),
            "a.csv",
            "rows 19 say exam",
        ),
        "split gap": (
            _with(split=["train"] * 18 + ["exam", None]),
            "a.csv",
            "rows 18, 19 say exam, nothing.",
        ),
        "no train": (_with(split="test"), "a.csv", "at least one row train"),
        "regression": (_with(label=X[:, 0] + 0.5), "a.csv", "regression"),
        "digits": (f"a,label\n{_DIGITS}".encode(), "a.csv", "an infinite number"),
        "digits as label": (f"label,a\n{_DIGITS}".encode(), "a.csv", "one row each"),
        "records": (_parquet([{"b": row} for row in range(20)]), "a.parquet", "lists or records"),
        "no utf-8, coded": (_parquet(_NO_UTF8), "a.parquet", r"cannot be read.*UTF8"),
        "no utf-8": (_parquet(_NO_UTF8, is_coded=False), "a.parquet", r"cannot be read.*UTF8"),
        "no rows": (
            npz(x_train=X[:0], y_train=np.zeros(0, bool), classes=["a", "b"]),
            "a.npz",
            "x_train must have at least one row",
        ),
        "few persons": (npz(x_train=X, y_train=Y, persons=np.arange(3)), "a.npz", "person"),
        "persons in parts": (
            npz(x_train=X, y_train=Y, persons=np.full(20, 0.5)),
            "a.npz",
            "person",
        ),
        "no persons": (npz(x_train=X, y_train=Y, rows_per_person=2), "a.npz", "person"),
    }
    | {
        f"bytes as {kind}": (
            _parquet(pa.array(_BYTES, kind)),
            "a.parquet",
            "columns a hold neither words nor numbers",
        )
        for kind in (pa.binary(), pa.large_binary(), pa.binary(1))
    }
    | {
        f"{most} of a person": (
            npz(x_train=X, y_train=Y, persons=np.arange(20), rows_per_person=most),
            "a.npz",
            "rows_per_person must be a whole number from 1 to 100",
        )
        for most in _MOST
    }
)


@pytest.mark.parametrize("case", BAD)
def test_bad_files_are_refused_with_the_reason(case):
    content, filename, message = BAD[case]
    refuses(message, load, content, filename=filename)


def test_missing_file_is_refused(tmp_path):
    for name in ("absent.npz", "absent.csv"):
        refuses("there is no file", load, tmp_path / name)


def test_it_is_said_what_a_good_file_holds_and_which_rows_are_public():
    rows = load(
        npz(x_train=X, y_train=Y, x_test=X[:3], y_test=Y[:3], classes=["n", "y"]),
        filename="mine.npz",
    )
    assert "23 rows: 20 to learn from, 3 (13%) to test on" in reports.understood(rows)
    assert reports.preview(rows)[1] == {"row": 1, "label": "y", "x0": 2.0, "x1": 3.0}
    assert reports.share_words(rows, None).startswith("All 20 train rows are private")
    words = reports.share_words(load(npz(x_train=X[:18]), filename="mine.npz"), 0.25)
    split = pc.split(pc.features(X[:18], None), public_fraction=0.25)
    assert words.startswith(f"{len(split.public_x)} of these 18 train rows become public")
    labels = np.arange(40) % 2
    labels[3] = 2
    (lone,) = reports.lone_rows(pc.features(np.eye(40), labels))
    assert lone.startswith("One train row alone has the class 2:")


@pytest.mark.parametrize("fraction", [0.01, 0.1, 0.25, 0.5])
@pytest.mark.parametrize("sizes", [(10, 10), (40, 3, 17), (3, 2, 2, 2), (99, 1, 1)])
def test_the_words_count_the_public_rows_of_the_split(sizes, fraction):
    labels = np.repeat(np.arange(len(sizes)), sizes)
    rows = pc.features(np.arange(2.0 * len(labels)).reshape(-1, 2), labels)
    made = pc.split(rows, public_fraction=fraction)
    if len(made.public_x) < 3:
        refuses(f"makes {len(made.public_x)} of them public", reports.share_words, rows, fraction)
        return
    words = reports.share_words(rows, fraction)
    assert words.startswith(
        f"{len(made.public_x)} of these {len(labels)} train rows become public: ε does not"
        " protect them"
    )
    assert f"The other {len(made.private)} are private." in words


@pytest.mark.parametrize("is_image", [False, True])
def test_an_archive_may_say_whose_its_rows_are(is_image):
    who = np.array([f"p{row // 4}" for row in range(200)])
    x = (
        np.random.default_rng(0)
        .integers(256, size=(200, 5, 5) if is_image else (200, 5))
        .astype(np.uint8)
    )
    whole = {"x_train": x, "y_train": (np.arange(200) // 4) % 2, "persons": who}
    read = load(npz(**whole, rows_per_person=3), filename="mine.npz")
    assert read.persons.most == 3
    # each row's own person, told by its content
    place = {row.tobytes(): number for number, row in enumerate(x.astype(read.x_train.dtype))}
    numbers = np.unique(who, return_inverse=True)[1]
    assert read.persons.of.tolist() == [numbers[place[row.tobytes()]] for row in read.x_train]
    # a fifth becomes test rows: whole persons of four rows each
    assert np.bincount(read.persons.of, minlength=50).tolist().count(4) == 40
    assert np.bincount(read.y_test).tolist() == [20, 20], "as many of each class"
    split = pc.split(read, public_fraction=0.2)
    assert split.rows_per_person == 3
    n_public, persons = len(split.public_x) // 4, 40
    assert reports.share_words(read, 0.2).startswith(
        f"{n_public} of these {persons} persons with train rows become public"
    )
    assert len(split.private) == 3 * (persons - n_public)
    assert is_noted(read.notes, "the first ones: at most 3")
    alone = load(npz(**whole), filename="mine.npz").persons
    assert alone.most == 1


def test_it_is_told_why_three_rows_are_too_few():
    few = npz(x_train=X[:3], y_train=[0, 1, 0], x_test=X[:1], y_test=[0])
    refuses(
        r"(?s)makes 2 of them.*at least 3 public rows.*another data set",
        reports.share_words,
        load(few, filename="mine.npz"),
        0.1,
    )


def test_the_state_of_a_folder_asks_for_few_files_and_sees_them_change(tmp_path):
    for name in ("cat/1.png", "cat/2.png", "dog/deep/3.png"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"one")
    states = [data.state_of(str(tmp_path))]
    (tmp_path / "dog/deep/3.png").write_bytes(b"other")
    states.append(data.state_of(str(tmp_path)))
    (tmp_path / "cat/2.png").unlink()
    states.append(data.state_of(str(tmp_path)))
    assert len(set(states)) == 3
    for number in range(1200):
        (tmp_path / "cat" / f"more{number}.png").touch()
    assert data.state_of(str(tmp_path)).split()[0] == "201"
    assert data.state_of(str(tmp_path / "nothing")) == ""


def test_the_state_of_a_link_is_that_of_the_file_it_names(tmp_path):
    target = tmp_path / "rows.csv"
    target.write_text("a,b\n1,2\n")
    folder = tmp_path / "set"
    folder.mkdir()
    (folder / "rows.csv").symlink_to(target)
    (folder / "nowhere.csv").symlink_to(tmp_path / "nothing")
    before = data.state_of(str(folder))
    target.write_text("a,b\n1,2\n3,4\n")
    assert before not in ("", data.state_of(str(folder)))


def _claiming(shape: tuple[int, ...], held: int, *, dtype: str = "<f4") -> bytes:
    """A npz whose x_train says that it is of this shape and holds so many bytes."""
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        head, {"descr": dtype, "fortran_order": False, "shape": shape}
    )
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("x_train.npy", head.getvalue() + bytes(held))
    return stream.getvalue()


@pytest.mark.parametrize(
    ("shape", "dtype"),
    [((2**32,), "<f4"), ((10, 5), "<f4"), ((2, 5), "<f4"), ((-1, 5), "<f4"), ((10**12, 1), "<U0")],
)
def test_an_array_that_claims_what_it_does_not_hold_is_refused_before_there_is_room_for_it(
    shape, dtype, monkeypatch
):
    monkeypatch.setattr(np.lib.format, "read_array", None)
    monkeypatch.setattr("pillar_core.data.scratch.on_disk", None)
    with pytest.raises(
        DataError, match=r"x_train.npy says that it is of shape .* and holds (80|0) bytes"
    ):
        load(_claiming(shape, 0 if dtype == "<U0" else 80, dtype=dtype), filename="a.npz")
