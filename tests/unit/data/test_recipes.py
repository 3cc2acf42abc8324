"""Recipes as JSON, and tables with words, gaps and several rows of a person that become features
through them."""

import dataclasses
import json

import numpy as np
import pandas as pd
import pytest

import pillar_core as pc
from pillar_core.data import raw, recipes, uploads
from pillar_core.data.arrays import features
from pillar_core.data.encoding import NUMBERS, WORDS, Column, Recipe
from pillar_core.data.parts import pack, unpack
from pillar_core.errors import DataError, SettingError
from unit.image_files import all_rows, sizes
from users import is_noted, output_of, raises, refuses, run_command

RECIPE = Recipe(
    "sick",
    ("note",),
    (
        Column("age", NUMBERS, fill=50.0, range=(0.0, 120.0)),
        Column("sex", WORDS, categories=("female", "male")),
    ),
    "patient",
    2,
    ("no", "yes"),
    ("?", -999),
)
BY_HAND = dataclasses.replace(RECIPE, left_out=("note", "weight"), rows_per_person=1)


def test_a_recipe_is_the_same_after_a_file_and_another_file_is_refused(tmp_path):
    form = recipes.form_of(RECIPE)
    assert form["columns"][0] == {
        "name": "age",
        "kind": "numbers",
        "categories": None,
        "fill": 50.0,
        "low": 0.0,
        "high": 120.0,
    }
    path = tmp_path / "r.json"
    path.write_text(json.dumps(form), encoding="utf-8")
    assert recipes.recipe_of(path) == recipes.recipe_of(form) == RECIPE
    (tmp_path / "r.json").write_text("{", encoding="utf-8")
    for path, said in (
        (tmp_path / "r.json", "no recipe"),
        (tmp_path / "none.json", "could not be read"),
    ):
        refuses(said, recipes.recipe_of, path)
    refuses("no 'label'", recipes.recipe_of, {"format": recipes.FORMAT, "columns": []})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"format": "pillar-recipe-9"}, "pillar-recipe-1"),
        ({"columns": [{"name": "age", "kind": "dates"}]}, "numbers, words or text as its kind"),
        (
            {"columns": [{"name": "age", "kind": "numbers", "low": 3, "high": 1}]},
            "the smaller first",
        ),
        (
            {"columns": [{"name": "age", "kind": "numbers", "fill": float("nan")}]},
            "a number or null",
        ),
        ({"columns": [{"name": "sick", "kind": "numbers"}]}, "sick have several"),
        ({"columns": []}, "no column to learn from"),
        ({"rows_per_person": 0}, "from 1 to 100"),
        ({"label": None}, "names of columns"),
        ({"columns": 3}, "damaged"),
    ],
)
def test_damaged_recipes_are_refused(change, said):
    refuses(said, recipes.recipe_of, recipes.form_of(RECIPE) | change)


def test_names_and_recipe_stay_with_the_rows_and_columns_are_matched_by_them():
    plain = features(np.eye(4, 2), [0, 1, 0, 1])
    named = dataclasses.replace(
        plain, names=("age", "weight"), recipe=recipes.form_of(RECIPE), test_drawn=True
    )
    assert named.fingerprint == plain.fingerprint
    back = uploads.load(uploads.keep(named))
    for other in (unpack(pack(named)), back):
        assert (other.names, other.recipe, other.test_drawn) == (named.names, named.recipe, True)
    assert unpack(pack(plain)).names is None
    rows = np.random.default_rng(0).normal(size=(60, 3)).astype(np.float32)
    private = dataclasses.replace(pc.features(rows[:30], np.arange(30) % 2), names=("a", "b", "c"))
    public = dataclasses.replace(
        pc.features(rows[30:][:, [2, 0, 1]], np.arange(30) % 2), names=("c", "a", "b")
    )
    split = pc.split(private, public=public)
    np.testing.assert_array_equal(split.public_x, rows[30:])
    assert is_noted(split.notes, "matched by name")
    with pytest.raises(DataError, match="lack the columns a, b"):
        pc.split(private, public=dataclasses.replace(public, names=("c", "d", "e")))


def visits(n: int, seed: int, prefix: str) -> pd.DataFrame:
    """About two visits of each person: words, gaps and a note."""
    draw = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "patient": [f"{prefix}{row // 2}" for row in range(n)],
            "age": draw.normal(60, 10, n).round(3),
        }
    )
    frame["sex"] = draw.choice(["female", "male"], n)
    frame["weight"] = draw.normal(70, 9, n).round(3)
    frame.loc[draw.random(n) < 0.1, "weight"] = np.nan
    frame["note"] = [f"came by bus, spoke of pain, phone 0{row}" for row in range(n)]
    frame["sick"] = np.where(
        frame["age"] + 10 * (frame["sex"] == "male") + draw.normal(0, 5, n) > 65, "yes", "no"
    )
    return frame


@pytest.fixture
def tables(tmp_path):
    private, public = str(tmp_path / "ward.csv"), str(tmp_path / "open.csv")
    visits(600, 0, "p").to_csv(private, index=False)
    visits(200, 1, "q")[["sick", "sex", "weight", "note", "patient", "age"]].to_csv(
        public, index=False
    )
    return private, public


def test_a_raw_table_and_a_public_one_in_another_order_are_one_run_in_library_and_command(
    tables, tmp_path
):
    private, public = tables
    recipe = str(tmp_path / "r.json")
    assert (
        "note (text)"
        in output_of(
            f"recipe {private} --label sick --person patient --public {public} --output {recipe}"
        ).err
    )
    rows = f"run --dataset {private} --public {public} --method pillar_kalman --epsilon 2 --json"
    said = output_of(f"{rows} --recipe {recipe}")
    assert "matched by name" in said.err
    printed = json.loads(said.out)
    assert (
        json.loads(output_of(f"{rows} --label sick --person patient --leave-out note").out)[
            "accuracy"
        ]
        == printed["accuracy"]
    )
    features = pc.load_features(private, recipe=recipe, public=public)
    assert features.names == ("age", "sex=female", "sex=male", "weight")
    assert features.recipe == json.loads((tmp_path / "r.json").read_text())
    split = pc.split(features, public=public)
    assert (
        len(split.public_x),
        sum(sizes(features)),
        split.rows_per_person,
    ) == (200, 300, 1)
    assert split.is_apart
    record = pc.run("pillar_kalman", split, epsilon=2.0)
    assert (record.accuracy, record.guarantee.epsilon.upper) == (
        printed["accuracy"],
        printed["guarantee"]["epsilon"],
    )
    assert printed["guarantee"]["privacy_unit"] == "person"


def test_every_command_reads_a_raw_table_and_counts_several_rows_of_a_person(tables, tmp_path):
    private, public = tables
    columns = "--label sick --person patient --leave-out note"
    assert (
        run_command(f"screen --private {private} --public {public} --score class_signal {columns}")
        == 0
    )
    assert run_command(f"advise --dataset {private} --candidates {public} {columns}") == 0
    data = f"--dataset {private} --public {public}"
    assert (
        run_command(f"compare {data} {columns} --methods pillar_kalman --epsilon 1 --seeds 1") == 0
    )
    grid = tmp_path / "grid.yaml"
    grid.write_text(
        f"dataset: {private}\npublic: {public}\nmethod: pillar_kalman\nepsilon: 1\n",
        encoding="utf-8",
    )
    assert run_command(f"sweep {grid} --output {tmp_path / 't.csv'} {columns}") == 0
    assert pd.read_csv(tmp_path / "t.csv")["n_public"].tolist() == [200]
    assert run_command("run --dataset digits --label sick --epsilon 1") == 2
    rows = f"run --dataset {private} --public {public} --label sick --person patient --method pillar_kalman"
    assert (
        json.loads(output_of(f"{rows} --epsilon 2 --rows-per-person 2 --json").out)["guarantee"][
            "privacy_unit"
        ]
        == "person with up to 2 rows"
    )


def test_without_recipe_or_public_rows_the_columns_are_named(tables):
    private, public = tables
    with pytest.raises(DataError) as refusal:
        pc.load_features(private, label="sick", person="patient", leave_out=("note",))
    said = str(refusal.value)
    assert all(word in said for word in ("'sex'", "'weight'"))
    assert "'age'" not in said
    assert {*refusal.value.arguments} == {"public", "recipe"}
    numbers = visits(40, 0, "p")[["age", "patient", "sick"]]
    assert pc.load_features(numbers, label="sick", person="patient").names == ("age",)
    raises(SettingError, "keys name arrays", pc.load_features, private, keys=("a", "b"))
    refuses("no column 'ward'", pc.load_features, private, label="ward")
    with pytest.raises(SettingError, match="go with tables"):
        pc.load_features(pc.features(np.eye(4), [0, 1, 0, 1]), label="sick")
    frame = pd.read_csv(public)
    dated = frame.drop(columns="weight").assign(
        age=[f"2024-01-{1 + row % 28:02d}" for row in range(len(frame))]
    )
    with pytest.raises(
        DataError, match=r"(?s)lack the columns weight.*'age' holds dates"
    ):  # all at once
        pc.load_features(private, label="sick", leave_out=("note", "patient"), public=dated)


def test_columns_that_public_rows_repeat_or_hold_constant_are_left_out_and_said(
    tmp_path, monkeypatch
):
    """KEEL's texture has three such columns and optdigits five: each was refused by name."""
    monkeypatch.chdir(tmp_path)
    for name, seed in (("private.csv", 0), ("public.csv", 1)):
        draw = np.random.default_rng(seed)
        frame = pd.DataFrame(draw.normal(size=(200, 3)), columns=["a", "b", "c"]).assign(
            nothing=0, none=0, word=draw.choice(["x", "y"], 200)
        )
        frame = frame.assign(again=frame["a"] + (seed == 0), said=frame["word"])
        frame.assign(label=(frame["a"] > 0).astype(int)).to_csv(name, index=False)
    features = pc.load_features("private.csv", public="public.csv")
    assert features.names == ("a", "b", "c", "word=x", "word=y")
    told = (
        "Left out, as public rows show them: nothing (one value), none (one value), again (a copy),"
        " said (a copy)."
    )
    assert told in features.notes
    other = pc.load_features("private.csv", public="public.csv", leave_out=["a", "word"])
    assert other.names == ("b", "c", "again", "said=x", "said=y")
    run = "run --dataset private.csv --public public.csv --epsilon 4"
    assert told in output_of(run).err
    new = pd.read_csv("public.csv")[["b", "a", "c", "word"]]
    assert raw.new_rows(new, recipes.recipe_of(features.recipe))[0].shape == (200, 5)


def test_a_recipe_by_hand_gives_categories_fills_and_ranges(tables):
    private, _ = tables
    form = recipes.form_of(BY_HAND)
    frame = pd.read_csv(private)
    frame.loc[0, "sex"], frame.loc[2, "age"], frame.loc[4, "sex"] = "diverse", -999, "?"
    features = pc.load_features(frame, recipe=form)
    assert features.names == ("age", "sex=female", "sex=male")
    rows = all_rows(features)
    assert (rows.min(), rows.max()) == (0, 1)
    assert (rows[:, 0] == np.float32(50 / 120)).sum() == 1
    assert (rows[:, 1:].sum(axis=1) == 0).sum() == 2
    assert is_noted(features.notes, "1 of 'sex'")
    refuses(
        "the recipe's classes are no, maybe",
        pc.load_features,
        private,
        recipe=form | {"classes": ["no", "maybe"]},
    )
    weight = {"name": "weight", "kind": "numbers"}
    refuses(
        r"'weight' has .* empty cells",
        pc.load_features,
        private,
        recipe=form | {"left_out": ["note"], "columns": [*form["columns"], weight]},
    )


def test_rows_are_made_up_from_what_a_recipe_declares_and_from_nothing_else(tables, tmp_path):
    private, _ = tables
    form = recipes.form_of(BY_HAND)
    features = pc.load_features(private, recipe=form)
    others = pc.load_features(
        pd.read_csv(private).iloc[100:].assign(age=lambda frame: frame["age"] / 2), recipe=form
    )
    split = pc.split(features, public="made_up")
    np.testing.assert_array_equal(split.public_x, pc.split(others, public="made_up").public_x)
    age, sex = split.public_x[:, 0], split.public_x[:, 1:]
    assert (len(age), age.min() < 0.01, age.max() > 0.99) == (1000, True, True)
    assert (sex.sum(axis=1) == 1).all()
    assert 400 < sex[:, 0].sum() < 600
    predicted = {
        each.method: each.middle
        for each in pc.advise(split, alike=["own"]).predictions
        if each.public == "own"
    }
    assert max(predicted.values()) < 0.75, (
        "rows of no real spectrum promised 91 % where models reached 50"
    )
    declared = [
        line
        for line in pc.run("pillar_kalman", split, epsilon=1.0).guarantee.assumptions
        if "made up" in line
    ]
    assert len(declared) == 1
    pd.read_csv(private).iloc[:50].to_csv(tmp_path / "made_up.csv", index=False)
    with pytest.raises(
        DataError, match="private"
    ):  # somebody's rows in a file of that name are compared with the private ones
        pc.split(features, public=tmp_path / "made_up.csv")
    path = tmp_path / "r.json"
    path.write_text(json.dumps(form), encoding="utf-8")
    run = f"run --dataset {private} --recipe {path} --epsilon 1 --json --method"
    for method, n_assumed in (("pillar_kalman", 1), ("dp_sgd", 0)):
        said = output_of(f"{run} {method}")
        assert said.out.count("made up from ranges and categories") == n_assumed
        assert said.err.count("nobody's row") == n_assumed
    for unfit in (
        pc.load_features(pd.read_csv(private)[["age", "sick"]], label="sick"),
        pc.load_dataset("digits"),
    ):
        refuses(
            r"made up: (of the columns age|these rows have no recipe)",
            pc.split,
            unfit,
            public="made_up",
        )
