"""Tables with words, gaps, identifiers: what is learnt comes from public rows or the person, and
what cannot be read is refused."""

import dataclasses
import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pillar_core as pc
from pillar_core.data import encoding, persons, raw, recipes
from pillar_core.data.encoding import Recipe
from pillar_core.data.frames import frame_of
from pillar_core.errors import DataError
from unit.image_files import all_rows, sizes
from users import is_noted, refuses


def ward(n: int = 60) -> pd.DataFrame:
    rows = np.arange(n)
    frame = pd.DataFrame(
        {
            "patient id": 1000 + rows[::-1],
            "age": rows % 50 + 0.5,
            "sex": np.where(rows % 3, "female", "male"),
        }
    )
    frame["seen on"] = [f"2024-01-{day % 28 + 1:02d}" for day in rows]
    frame["years"], frame["clinic"], frame["sick"] = (
        frame["age"],
        "north",
        np.where(rows % 2, "yes", "no"),
    )
    frame.loc[[3, 5], "age"] = np.nan
    frame.loc[[3, 5], "years"] = np.nan
    return frame


def kinds(frame: pd.DataFrame) -> dict[str, str]:
    return {one.name: one.kind for one in encoding.columns_of(frame, "sick", public=frame)}


def first_rows(
    frame: pd.DataFrame,
    most: int = 1,
    public: list[pd.DataFrame] | tuple[()] = (),
    column: str = "patient",
) -> pd.DataFrame:
    """The first rows of each person, as the wizard has them."""
    theirs = frozenset().union(*(persons.named_in(table, column)[0] for table in public))
    return persons.first_rows(
        frame, column, persons.names_of_persons(frame[column]), most=most, theirs=theirs
    )


def kept(frame: pd.DataFrame, **more: Any) -> list[int]:
    """Which rows of a table of patients are first ones."""
    return first_rows(frame, **more)["x"].tolist()


def of_patients(names: list[object]) -> pd.DataFrame:
    """A row for each name, and its number."""
    return pd.DataFrame({"patient": names, "x": range(len(names))})


def test_a_text_is_no_category():
    """A share of 132 visits held 65 distinct notes with phone numbers: each became a column, whose
    name is the whole note."""
    rows = np.arange(132)
    told = (
        "lives alone, daughter visits",
        "wound clean and dry",
        "no complaints",
        "discharged against advice",
    )
    frame = pd.DataFrame(
        {"note": [told[row % 4] + (f", phone 0{500 + row}" if row % 2 else "") for row in rows]}
    )
    frame["ward"] = np.array(["Internal medicine", "Intensive care unit, first floor", "Surgery"])[
        rows % 3
    ]
    frame["sick"] = np.where(rows % 2, "yes", "no")
    columns = encoding.columns_of(frame, "sick")
    assert [one.kind for one in columns] == [encoding.TEXT, encoding.WORDS]
    assert encoding.TEXT in encoding.LEFT_OUT
    whole = encoding.learn_recipe(frame, columns, label="sick", left_out=[])
    assert encoding.problems_of(whole.columns, is_scaled=True) == []
    x, names = encoding.encode_columns(frame, whole)
    assert x.shape == (132, 259)
    assert names[256:] == tuple(f"ward={ward}" for ward in whole.columns[1].categories)


def test_columns_are_told_by_what_they_hold_and_dates_and_copies_refused():
    expected = {
        "patient id": encoding.IDENTIFIER,
        "age": encoding.NUMBERS,
        "sex": encoding.WORDS,
        "seen on": encoding.DATE,
    }
    assert kinds(ward()) == expected | {"years": encoding.COPY, "clinic": encoding.CONSTANT}
    assert {one.name: one.kind for one in encoding.columns_of(ward(), "sick")}[
        "years"
    ] == encoding.NUMBERS
    columns = encoding.columns_of(ward(), "sick", public=ward())
    recipe = encoding.learn_recipe(ward(), columns, label="sick", left_out=["patient id", "clinic"])
    problems = encoding.problems_of(recipe.columns, is_scaled=True)
    assert len(problems) == 2
    assert "'seen on' holds dates: leave it out, or write a number instead" in problems[0]
    assert "'years' repeats another column" in problems[1]


def test_public_rows_say_what_columns_are_whatever_one_private_row_holds():
    public = ward(40).assign(rare=np.arange(40) % 2)
    private = ward().assign(rare=0)
    before = encoding.columns_of(private, "sick", public=public)
    private.loc[0, ["rare", "clinic", "sex", "age"]] = [1, "south", "x", 77.0]
    assert encoding.columns_of(private, "sick", public=public) == before
    assert {one.name: one.kind for one in before} == kinds(public)
    assert [
        one.name for one in encoding.columns_of(private, "sick", public=public.drop(columns="age"))
    ] == [one.name for one in before]
    columns = tuple(one for one in before if one.name == "age")
    with pytest.raises(DataError, match="'age' holds words here and numbers in another table"):
        encoding.encode_columns(private.assign(age="old"), Recipe("sick", columns=columns))


def test_categories_and_fill_values_come_from_public_rows_alone():
    private, public = ward(), ward(20)
    private.loc[7, "sex"] = "diverse"
    private.loc[9, "age"] = 1e9
    columns = encoding.columns_of(private, "sick")
    recipe = encoding.learn_recipe(
        public, columns, label="sick", left_out=["patient id", "clinic", "seen on", "years"]
    )
    age, sex = recipe.columns
    assert sex.categories == ("female", "male")
    assert age.fill == float(np.nanmedian(public["age"]))
    assert encoding.problems_of(recipe.columns, is_scaled=True) == []
    x, names = encoding.encode_columns(private, recipe)
    assert names == ("age", "sex=female", "sex=male")
    assert x[3, 0] == pytest.approx(age.fill)
    assert x[7].tolist()[1:] == [0.0, 0.0]
    assert x[6].tolist()[1:] == [0.0, 1.0]


def test_without_public_rows_words_gaps_and_ranges_are_asked_for():
    age, sex = encoding.columns_of(ward()[["age", "sex", "sick"]], "sick")
    problems = encoding.problems_of((age, sex), is_scaled=False)
    assert sum("'age'" in line for line in problems) == 2
    assert any("'sex' holds words" in line for line in problems)
    declared = (
        dataclasses.replace(age, fill=40.0, range=(0.0, 80.0)),
        dataclasses.replace(sex, categories=("female", "male")),
    )
    assert encoding.problems_of(declared, is_scaled=False) == []


def test_a_public_share_leaves_the_private_rows_and_has_every_class_and_column():
    private, public = encoding.split_off_public(ward(), "sick", 0.2)
    assert set(private["patient id"]).isdisjoint(public["patient id"])
    assert len(private) + len(public) == 60
    assert set(public["sick"]) == {"yes", "no"} == set(private[private["split"] == "train"]["sick"])
    assert (private["split"] == "test").sum() == 12


def test_the_first_rows_of_each_person_are_kept_on_one_side():
    """Somebody who comes or leaves moves one row of the others' table, wherever theirs stand."""
    frame = of_patients(["a ", "b", "a", "c", "b"])
    assert kept(frame) == [0, 1, 3]
    assert kept(frame[frame["patient"] != "b"]) == [0, 3]
    refuses("patient", first_rows, frame.assign(patient=["a", None, "a", "c", "b"]))
    sides = ["train", "test", "test", " Train", "train", "train", "train"]
    frame = of_patients(["a", "b", "a", "a ", "b", "a", "c"]).assign(split=sides)
    assert kept(frame, most=2) == [0, 1, 3, 6]
    assert kept(frame.drop(columns="split"), most=2) == [
        0,
        1,
        2,
        4,
        6,
    ]
    other = frame.assign(x=-1, label="any")  # what a row holds decides nothing
    assert len(first_rows(other, most=2)) == 4


@pytest.mark.parametrize("most", [1, 2, 4])
def test_a_person_is_train_test_or_public_as_a_whole(most):
    rows = np.arange(240)
    whole = pd.DataFrame(
        {
            "who": [f"p{row % 60}" for row in rows],
            "x": rows / 7,
            "label": np.where(rows % 60 % 3, "yes", "no"),
        }
    )
    frame = first_rows(whole, most=most, column="who")
    private, public = encoding.split_off_public(frame, "label", 0.2, person="who")
    columns = encoding.columns_of(frame.drop(columns="who"), "label")
    recipe = Recipe("label", columns=columns, person="who", rows_per_person=most)
    parts = encoding.private_parts(private, recipe)
    at = {round(float(x), 3): who for x, who in zip(whole["x"], whole["who"], strict=True)}
    train, test = (
        {at[round(float(x), 3)] for x in side[:, 0]} for side in (parts.x_train, parts.x_test)
    )
    assert not train & test
    beside = {at[round(float(x), 3)] for x in public["x"]}
    assert not (train | test) & beside
    assert len(train | test | beside) == 60
    assert 5 < len(test) < 20
    assert 5 < len(beside) < 20
    assert parts.persons.most == most
    named = [at[round(float(x), 3)] for x in parts.x_train[:, 0]]
    assert (
        np.unique(named, return_inverse=True)[1]
        == np.unique(parts.persons.of, return_inverse=True)[1]
    ).all()
    if most == 1:
        alone = encoding.private_parts(_alone(frame), Recipe("label", columns=columns))
        assert (alone.x_train == parts.x_train).all()
        assert (alone.x_test == parts.x_test).all()


def _alone(frame: pd.DataFrame) -> pd.DataFrame:
    """The same table where nobody says whose the rows are."""
    return encoding.split_off_public(frame.drop(columns="who"), "label", 0.2)[0]


@pytest.mark.parametrize(
    "ways", [["A1", "a1", "Ａ1"], ['="A1"', "A1"], ["anna", "an\u200bna"], ["anna b", "anna\tb"]]
)
def test_names_that_could_be_one_persons_are_asked_for(ways):
    """Told apart they would be two rows of one; taken together, one who leaves would bring in
    another's row."""
    frame = of_patients([*ways, "z"])
    with pytest.raises(DataError, match=r"'patient'.*in one way") as refused:
        first_rows(frame)
    assert all(repr(str(way).strip()) in str(refused.value) for way in ways), (
        "the message shows what is hidden"
    )
    assert kept(frame[~frame["patient"].isin(ways[1:])]) == [0, len(ways)]


@pytest.mark.parametrize(
    "ways",
    [
        ["1", "1.0"],
        ["7", "007", "+7"],
        [1, "1 ", "1."],
        ["100000", "1E+05", "100,000"],
        ["1000", "1,000", "1'000", "1\u202f000"],
        ["12", "'12", '="12"', "\u200b12"],
        ["-25", "\u221225.0", "-250E-1"],
    ],
)
def test_numbers_of_one_value_are_one_person(ways):
    frame = of_patients([*ways, "z"])
    assert kept(frame) == [0, len(ways)]
    for way in ways:  # in a public file, too
        public = [pd.DataFrame({"patient": [way]})]
        assert kept(frame, most=9, public=public) == [len(ways)]


@pytest.mark.parametrize("lost", ["3.91E+16", "1.00000e+05", "3,91E+16", "'3.91E+16", 3.91e16])
def test_names_that_lost_digits_in_a_spreadsheet_are_refused_and_not_shown(lost):
    frame = of_patients(pd.Series(["a1", lost, "b2"], dtype=object))
    with pytest.raises(
        DataError, match=r"'patient' holds names .*rows 1\).* lost digits"
    ) as refused:
        first_rows(frame)
    assert "1.00" not in str(refused.value)
    refuses("lost digits", first_rows, frame[["x"]].assign(patient=["a", "b", "c"]), public=[frame])


def test_other_names_stay_apart_and_are_numbered_in_their_order():
    names = [
        "1-23",
        "12-3",
        "1.23",
        "12.3",
        "12E4",
        "120000",
        "12,34",
        "1234",
        "-5",
        "5",
        "Anna",
        "\u0410\u043d\u043d\u0430",
        "Jos\u00e9",
        "Jose",
        "a b",
        "ab",
        "100",
        "1",
    ]
    frame = of_patients(names)
    assert len(first_rows(frame)) == len(names)
    # What is kept of them is made of these numbers, and the key of their rows with it.
    codes, alike = persons.names_of_persons(
        pd.Series(["b", "\u00e9va", "B2 ", "a", "B2", "b"], name="who")
    )
    assert codes.tolist() == [2, 3, 0, 1, 0, 2]
    assert alike.tolist() == ["b2", "a", "b", "\u00e9va"]


def test_names_in_a_file_stay_as_they_are_written(tmp_path):
    """Read as numbers, 1.1 and 1.10 were one person."""
    rows = [f"1.{row},{row},{'ab'[row % 2]}" for row in range(1, 41)]
    (tmp_path / "ward.csv").write_text("\n".join(["patient,a,label", *rows]))
    assert sum(sizes(pc.load_features(tmp_path / "ward.csv", person="patient"))) == 40


@pytest.mark.parametrize("name", [" ", "\u200b", None])
def test_a_name_of_nothing_names_nobody(name):
    refuses("empty in rows 1", first_rows, of_patients(["a", name]))


def test_numbers_that_reading_rounded_name_nobody():
    """A gap makes a column of whole numbers one of floats, which tell 10**16 from 10**16 + 1 no
    more."""
    private = frame_of(
        io.BytesIO(b"patient,x\n" + b"".join(b"%d,1\n" % (10**16 + row) for row in range(9))),
        ".csv",
    )
    named = b"patient,x\n" + b"".join(b"%d,1\n" % (10**16 + row) for row in range(4))
    public = [frame_of(io.BytesIO(named + gap), ".csv") for gap in (b"", b",1\n")]
    refuses(r"'patient'.*as words", first_rows, private, public=public)
    assert len(first_rows(private, public=public[:1])) == 5


def test_persons_of_a_public_table_are_not_private_too():
    """Whose rows are public however they are written there, has none that ε claims to protect."""
    frame = of_patients(["a1", "7", "c", "a1", "7"])
    public = [
        pd.DataFrame({"patient": ["A1 ", None]}),
        pd.DataFrame({"patient": [7.0]}),
        pd.DataFrame({"x": [2.0]}),
    ]
    assert kept(frame, public=public) == [2]
    assert kept(frame, public=public[2:]) == [0, 1, 2]
    refuses(r"every person .* public", first_rows, frame[frame["x"] != 2], public=public)


@pytest.mark.parametrize(
    ("name", "count", "is_found"),
    [
        ("patient", 40, True),
        ("user_id", 40, True),
        ("customer_age", 40, False),
        ("subject", 120, True),
        ("client", 2, False),
    ],
)
def test_a_column_of_persons_is_told_by_its_name_where_it_names_many(name, count, is_found):
    frame = pd.DataFrame({"x": range(120), name: [f"p{row % count}" for row in range(120)]})
    assert persons.person_column(frame) == (name if is_found else None)


def infinite(place: Path, bad: str) -> tuple[Any, Any]:
    """A private table with infinite numbers, and a public one without."""
    table = pd.DataFrame(
        {"a": np.arange(40.0), "b": np.arange(40) * 7 % 50, "label": ["no", "yes"] * 20}
    )
    public = table.assign(b=table["b"] + 1)
    if bad == "a DataFrame":
        return table.assign(a=table["a"].where(table["a"] != 4, -np.inf)), public
    if bad == "parquet":
        table.assign(a=table["a"].where(table["a"] != 4, np.inf)).to_parquet(place / "p.parquet")
        return place / "p.parquet", public
    separator = ";" if bad.startswith(";") else ","
    text = table.astype(str).assign(a=table["a"].astype(str).where(table["a"] != 4, bad.strip(";")))
    text.to_csv(place / "p.csv", index=False, sep=separator)
    return place / "p.csv", public


@pytest.mark.parametrize(
    "bad", ["inf", "1e400", "-1e39", ";inf", ";1e400", "parquet", "a DataFrame"]
)
def test_what_is_infinite_is_refused_with_row_and_column_and_never_filled(bad, tmp_path):
    private, public = infinite(tmp_path, bad)
    for more in ({}, {"public": public}):
        with pytest.raises(DataError, match=r"row 4\b") as refused:
            pc.load_features(private, **more)
        assert re.search(r"column(s a| 'a')", str(refused.value))
        assert "e39" not in str(refused.value)
    refuses(r"column 'a' .*row 4\b", pc.load_features, public, public=private)


def times(start: int, step: int, *, seed: int = 0) -> pd.DataFrame:
    """Whole numbers in equal steps, and labels."""
    numbers = np.random.default_rng(seed).permutation(np.arange(200) * step + start)
    return pd.DataFrame({"t": numbers, "b": np.arange(200) % 7, "label": ["no", "yes"] * 100})


@pytest.mark.parametrize(
    ("start", "step"), [(1_700_000_000, 60), (1_700_000_000_000, 1000), (2**24, 1)]
)
def test_large_numbers_keep_their_differences_from_a_public_centre_or_in_a_declared_range(
    start, step, tmp_path
):
    private, public = times(start, step), times(start, step, seed=1).iloc[:100]
    features = pc.load_features(private, public=public)
    x = all_rows(features)[:, 0]
    assert len(np.unique(x)) == 200
    assert sorted(x + np.float64(public["t"].median())) == sorted(private["t"]), (
        "less the public median, whatever the private one is"
    )
    assert is_noted(features.notes, "median of the public rows was taken off")
    assert pc.load_features(private.iloc[:150], public=public).recipe == features.recipe, (
        "private rows decide nothing of it"
    )
    again, _ = raw.new_rows(private.drop(columns="label"), recipes.recipe_of(features.recipe or {}))
    assert len(np.unique(again[:, 0])) == 200
    form = dict(features.recipe or {})
    form["columns"] = [
        column | ({"low": start, "high": start + 200 * step} if column["name"] == "t" else {})
        for column in form["columns"]
    ]
    declared = pc.load_features(private, recipe=form)
    assert len(np.unique(all_rows(declared)[:, 0])) == 200
    assert not is_noted(declared.notes, "median of the public rows was taken off")
    private.to_csv(tmp_path / "p.csv", index=False)
    pair = private[["t", "b"]].to_numpy(np.float64), private["label"].to_numpy()
    for source, said in ((private, "'t'"), (tmp_path / "p.csv", "'t'"), (pair, "column 0")):
        refuses(rf"{said} holds large numbers", pc.load_features, source)
    with pytest.raises(DataError, match="'t' holds large numbers"):
        pc.load_features(private, public=public.assign(t=public["t"] - start))


def test_numbers_that_32_bits_tell_apart_are_read_as_before_however_large():
    """Incomes to a thousand million differ by more than is lost."""
    incomes = pd.DataFrame(
        {"income": np.random.default_rng(0).integers(10**9, size=400), "label": ["no", "yes"] * 200}
    )
    features = pc.load_features(incomes)
    assert sorted(all_rows(features)[:, 0]) == sorted(incomes["income"].astype(np.float32))
    small = pd.DataFrame({"a": np.arange(-50.0, 50) / 3, "label": ["no", "yes"] * 50})
    recipe = pc.load_features(small, public=small).recipe or {}
    assert "centre" not in recipe["columns"][0], "files without large numbers keep their form"
