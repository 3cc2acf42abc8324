"""Exported models on raw rows: by the library, by the command and by `use.py` alone, agreeing;
damaged files and wrong rows refused."""

from __future__ import annotations

import ast
import contextlib
import csv
import dataclasses
import io
import json
import runpy
import shutil
import subprocess
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image

import pillar_core as pc
from pillar_core import rng
from pillar_core.__main__ import main
from pillar_core.backbones import efficientnet_lite0
from pillar_core.data import encoding, raw, recipes
from pillar_core.errors import DataError, UnsupportedError
from pillar_core.runs import loaded, use
from pillar_core.runs.splitting import public_features
from unit.image_files import bright
from users import output_of, raises, refuses, run_command, texts_in

RELEASE = {"epsilon": 20.0, "seed": None}


def saved(split, folder, method="pillar_one_shot", *, onnx=False, **settings):
    """The file of a release on a split."""
    record = pc.run(method, split, **RELEASE, **settings)
    return pc.save_model(record, folder / "model.zip", split=split, onnx=onnx)


def ward(n: int, seed: int) -> pd.DataFrame:
    """Visits of patients, two each: numbers with gaps, words, and a label that age and ward
    decide."""
    draw = rng.stream(seed, "ward")
    age = draw.uniform(20, 90, size=n).round(3)
    ward_ = draw.choice(["north", "south", "=east()"], size=n)
    sick = np.where((age > 55) ^ (ward_ == "north"), "=yes", "no")
    sex = draw.choice(["f", "m"], size=n)
    frame = pd.DataFrame(
        {
            "age": age,
            "ward": ward_,
            "bed": draw.integers(1, 4, size=n),
            "sex": sex,
            "patient": np.arange(n) // 2,
        }
    )
    frame.loc[3::17, "age"] = np.nan
    return frame.assign(sick=sick)


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """A folder with the model of a private table, and new rows without label in another order, the
    last words unknown."""
    folder = tmp_path_factory.mktemp("table")
    recipe = {
        "format": "pillar-recipe-1",
        "label": "sick",
        "person": "patient",
        "rows_per_person": 2,
        "columns": [
            {"name": "age", "kind": "numbers", "fill": 50, "low": 0, "high": 100},
            {"name": "ward", "kind": "words", "categories": ["north", "south", "=east()"]},
            {"name": "bed", "kind": "words", "categories": ["1", "2", "3"]},
            {"name": "sex", "kind": "words", "categories": ["f", "m"]},
        ],
    }
    features = pc.load_features(ward(400, 1), recipe=recipe)
    split = pc.split(features, public_fraction=0.2, allow_overlap=True)
    record = pc.run("pillar_one_shot", split, **RELEASE)
    path = pc.save_model(record, folder / "model.zip", split=split)
    new = ward(57, 2).drop(columns=["sick", "patient"])[["sex", "bed", "age", "ward"]]
    new.loc[50:, "ward"] = "west"
    new.to_csv(folder / "new.csv", index=False)
    return folder, path, new, record, split


BLOCKED = ["pillar_core", "pandas", "torch", "scipy", "safetensors"]


def alone(path, rows, *options, folder):
    """What `use.py` of the unpacked zip prints where of our packages only numpy is found."""
    shutil.rmtree(folder / "unpacked", ignore_errors=True)
    with zipfile.ZipFile(path) as archive:
        archive.extractall(folder / "unpacked")
    program, out, err, status = str(folder / "unpacked" / "use.py"), io.StringIO(), io.StringIO(), 0
    hidden = [name for name in sys.modules if name.split(".")[0] in BLOCKED]
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        for name in {*BLOCKED, *hidden}:
            patch.setitem(sys.modules, name, None)
        patch.setattr(sys, "argv", [program, str(rows), *options])
        try:
            runpy.run_path(program, run_name="__main__")
        except SystemExit as end:
            status = end.code
    return subprocess.CompletedProcess(sys.argv, status, out.getvalue(), err.getvalue())


def answers(text):
    """(labels, (n, C) probabilities) of a csv, its header and row numbers checked."""
    header, *rows = csv.reader(io.StringIO(text))
    assert header[:2] == ["row", "label"]
    assert [row[0] for row in rows] == [str(number) for number in range(len(rows))]
    return [row[1] for row in rows], np.array([row[2:] for row in rows], dtype=float)


def agree(path, rows, folder, capsys, *options):
    """The csv of `predict`, after the library, the command and `use.py` gave the same."""
    assert main(["predict", str(path), str(rows), *options]) == 0
    said = capsys.readouterr()
    labels, p = answers(said.out)
    done = alone(path, rows, *options, folder=folder)
    assert done.returncode == 0, done.stderr
    own_labels, own_p = answers(done.stdout)
    assert own_labels == labels
    assert_allclose(own_p, p, atol=1e-6)
    model = pc.load_model(path)
    assert_allclose(model.predict_proba(rows), p, atol=1e-6)
    if not options:
        assert [
            use.without_formula(model.classes[label]) for label in model.predict(rows)
        ] == labels
    assert model.predict(rows).dtype == np.int64
    assert_allclose(p.sum(axis=1), 1, atol=1e-6)
    return said, labels


def test_a_table_with_words_gaps_and_persons_goes_all_the_way(tables, capsys):
    folder, path, new, record, split = tables
    said, labels = agree(path, folder / "new.csv", folder, capsys)
    assert said.out.startswith("row,label,p_=yes,p_no\n")
    assert set(labels) == {"'=yes", "no"}
    assert "7 of 'ward'" in said.err
    model = pc.load_model(path)
    assert (model.card["predicts"], model.classes) == ("sick", ("=yes", "no"))
    expected = record.classifier.scores(split.features.x_test)
    assert_allclose(
        np.log(model.predict_proba(split.features.x_test)) @ [1, -1], expected @ [1, -1], atol=1e-4
    )
    assert_array_equal(model.predict(new), model.predict(folder / "new.csv"))
    assert "west" not in json.dumps(model.card)
    new.to_parquet(folder / "new.parquet")
    assert_array_equal(model.predict(folder / "new.parquet"), model.predict(new))


@pytest.mark.parametrize("words", ["", "ab"])
def test_a_csv_without_names_is_read_as_the_one_that_the_model_learnt_from(words, tmp_path, capsys):
    draw = rng.stream(7, "nameless")
    rows = pd.DataFrame(draw.normal(size=(80, 2)).round(3)).assign(smokes=draw.random(80) < 0.5)
    rows["sick"] = np.where(rows[0] > 0, "yes", "no")
    if words:
        rows.insert(0, "ward", draw.choice([*words], size=80))
    names = [f"x{place}" for place in range(rows.shape[1])]
    rows.set_axis(names, axis=1).to_csv(tmp_path / "ward.csv", index=False, header=not words)
    columns = [{"name": name, "kind": "numbers"} for name in names[:-1]]
    columns[0] |= {"kind": "words", "categories": [*words]} if words else {}
    recipe = {"format": "pillar-recipe-1", "label": names[-1], "columns": columns}
    split = pc.split(pc.load_features(tmp_path / "ward.csv", recipe=recipe), public_fraction=0.2)
    rows.drop(columns="sick").to_csv(tmp_path / "new.csv", index=False, header=False)
    _, labels = agree(saved(split, tmp_path), tmp_path / "new.csv", tmp_path, capsys)
    assert len(labels) == 80


def test_a_gap_at_any_place_of_any_column_of_numbers_is_filled_alike(tables, tmp_path):
    draw, n = rng.stream(5, "gaps"), 60
    whole = draw.integers(20, 90, size=n)
    signed = draw.integers(-9, 9, size=n)
    long = draw.integers(10**11, 10**12, size=n)
    numbers = {
        "whole": whole,
        "signed": signed,
        "long": long,
        "decimal": draw.normal(size=n).round(3),
        "small": draw.normal(size=n) * 1e-9,
    }
    rows = pd.DataFrame(numbers | {"ward": draw.choice(["north", "south"], size=n)}).astype(object)
    columns = [{"name": name, "kind": "numbers", "fill": 3} for name in numbers]
    columns += [{"name": "ward", "kind": "words", "categories": ["north", "south"]}]
    recipe = {"format": "pillar-recipe-1", "label": "sick", "columns": columns}
    features = pc.load_features(rows.assign(sick=np.where(whole > 55, "yes", "no")), recipe=recipe)
    split = pc.split(features, public_fraction=0.2, allow_overlap=True)
    path = saved(split, tmp_path)
    model, file = pc.load_model(path), tmp_path / "new.csv"
    places = [
        (row, [rows.columns[row % 6]]) for row in range(n)
    ]  # every row, and with it every column
    places += [(row, [name]) for row in (0, n - 1) for name in rows] + [
        (slice(None, None, 2), list(rows)),
        (slice(None), ["whole"]),
    ]
    for row, names in places:
        new = rows.copy()
        new.loc[new.index[row], names] = ""
        new.to_csv(file, index=False)
        read = np.concatenate([*use.read(file, model.card["input"], model.classifier.width)])
        assert_array_equal(read, model.features(file))
    many = pd.concat([rows] * 200, ignore_index=True)
    many.loc[len(many) - 2, "whole"] = ""
    many.to_csv(file, index=False)
    done = alone(path, file, folder=tmp_path)
    assert (done.returncode, done.stdout.count("\n")) == (0, len(many) + 1)
    assert "1 of 'whole'" in done.stderr


def test_the_card_holds_declared_values_alone(tables):
    form = pc.load_model(tables[1]).card["input"]["recipe"]
    assert form["person"] is None
    assert form["columns"][0] == {
        "name": "age",
        "kind": "numbers",
        "categories": None,
        "fill": 50.0,
        "low": 0.0,
        "high": 100.0,
    }
    assert "rows_per_person" not in form
    assert pc.load_model(tables[1]).card["public_set"] == {
        "name": "",
        "rows": 64,
        "content": None,
        "fraction": 0.2,
        "per_class": None,
    }


@pytest.mark.parametrize(
    "options", [("--threshold", "0.9"), ("--threshold", "0.9", "--positive", "=yes")]
)
def test_a_threshold_moves_labels_of_two_classes(tables, capsys, options):
    folder, path, *_ = tables
    _, labels = agree(path, folder / "new.csv", folder, capsys, *options)
    p = pc.load_model(path).predict_proba(folder / "new.csv")[
        :, 0 if "--positive" in options else 1
    ]
    assert (np.array(labels) == ("'=yes" if "--positive" in options else "no")).tolist() == (
        p >= 0.9
    ).tolist()


def test_thresholds_that_cannot_be_are_refused_and_whole_numbers_read_with_and_without_a_point(
    tables, capsys
):
    folder, path, new, *_ = tables
    for options in (["--threshold", "1.5"], ["--threshold", "nan"], ["--positive", "maybe"]):
        assert main(["predict", str(path), str(folder / "new.csv"), *options]) == 2
        assert alone(path, folder / "new.csv", *options, folder=folder).returncode == 2
        assert capsys.readouterr().err.startswith("error: ")
    # A gap in a column of codes makes pandas read 1 as 1.0, and a word among them leaves each as it
    # is written.
    model = pc.load_model(path)
    gappy = new.assign(bed=new["bed"].astype(float).mask(new.index == 4))
    mixed = new.assign(bed=new["bed"].map("0{}.0".format).mask(new.index == 4, "x"))
    same = new.index != 4
    for table in (gappy, mixed):
        table.to_csv(folder / "codes.csv", index=False)
        assert_array_equal(model.predict_proba(table)[same], model.predict_proba(new)[same])
        own = answers(alone(path, folder / "codes.csv", folder=folder).stdout)[1]
        assert_allclose(own, model.predict_proba(folder / "codes.csv"), atol=1e-6)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda new: new.drop(columns=["ward", "age"]), "lacks the columns age, ward"),
        (lambda new: new.assign(age="old"), "age"),
        (lambda new: new.assign(age=new["age"].astype(str).where(new.index != 3, "12x")), "12x"),
        (
            lambda new: new.assign(age=new["age"].astype(str).where(new.index != 3, "1e400")),
            "infinite number",
        ),
        (lambda new: new[:0], "rows"),
    ],
    ids=["absent", "words", "a word", "infinite", "none"],
)
def test_wrong_tables_are_refused(tables, change, said):
    folder, path, new, *_ = tables
    change(new).to_csv(folder / "wrong.csv", index=False)
    refuses(said, pc.load_model(path).predict, folder / "wrong.csv")
    done = alone(path, folder / "wrong.csv", folder=folder)
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr


def test_gaps_that_were_filled_and_numbers_out_of_range_are_counted(tables, capsys):
    """A column in months under a model of years gave labels without a word."""
    folder, path, new, *_ = tables
    new.assign(age=(new["age"] * 12).round(3)).to_csv(folder / "months.csv", index=False)
    assert run_command(f"predict {path} {folder / 'months.csv'}") == 0
    done = alone(path, folder / "months.csv", folder=folder)
    for said in (capsys.readouterr().err, done.stderr):
        assert f"took the model's value for gaps: {new['age'].isna().sum()} of 'age'" in said
        assert f"count as its nearest end: {(new['age'] * 12 > 100).sum()} of 'age'" in said


def test_large_numbers_are_read_from_the_models_centre_with_and_without_the_library(
    tmp_path, capsys
):
    draw = rng.stream(5, "times")
    times = 1_700_000_000_000 + 1000 * draw.permutation(400)
    frame = pd.DataFrame(
        {
            "seen": times,
            "dose": draw.normal(size=400).round(2),
            "sick": np.where(times % 400_000 < 200_000, "yes", "no"),
        }
    )
    public, new = frame[:100], frame[300:].drop(columns="sick")
    features = pc.load_features(frame[100:300], label="sick", public=public)
    split = pc.split(features, public=public_features(public, features))
    path = saved(split, tmp_path)
    new.to_csv(tmp_path / "new.csv", index=False)
    agree(path, tmp_path / "new.csv", tmp_path, capsys)
    x = pc.load_model(path).features(tmp_path / "new.csv")
    (own,) = use.read(tmp_path / "new.csv", pc.load_model(path).card["input"], 2)
    assert_array_equal(own, x)
    assert len(np.unique(x[:, 0])) == len(new)


def test_a_large_table_is_read_piece_by_piece(tables, monkeypatch):
    folder, path, new, *_ = tables
    many = pd.concat([new] * 200, ignore_index=True)
    many.to_csv(folder / "many.csv", index=False)
    model = pc.load_model(path)
    whole = model.predict_proba(folder / "many.csv")
    monkeypatch.setattr(loaded, "LARGE", 1000)
    assert max(map(len, model.blocks(folder / "many.csv"))) == use.AT_ONCE
    assert_allclose(model.predict_proba(folder / "many.csv"), whole, atol=1e-6)
    assert (
        "11,400 of 11,400 rows"
        in output_of(
            f"predict {path} {folder / 'many.csv'} --output {folder / 'many-labels.csv'}"
        ).err
    )
    assert len(pd.read_csv(folder / "many-labels.csv")) == len(many)
    for separator in ",;":
        many.to_csv(folder / "many.csv", index=False, decimal=",", sep=separator)
        assert_allclose(model.predict_proba(folder / "many.csv"), whole, atol=1e-6)
        _, theirs = answers(alone(path, folder / "many.csv", folder=folder).stdout)
        assert_allclose(theirs, whole, atol=1e-6)


@pytest.mark.parametrize(
    "lines",
    [
        ["a;b;c", "1,5;1.041;-", "2;2.500;1.041,25"],
        ["a;b;c", "1.5;1,041;7", "2;2,500;1"],
        ["c;b;a", "7;1.041;1.5", "1;2;0,5"],
        ["a,b,c", '"1,5",1.041,3', '2,2.5,"1,25"'],
        ["a,b,c", '"1,041",1.041,3', '2,2.5,"1,250,000.5"'],
        ["a;b;c;price", "1;1.041;3;1,50 €", "2;2.500;4;2,99 €"],
        ["a;b;c;price", "1;1.041;3;1,50", "2;2.500;4;2.99"],
    ],
)
@pytest.mark.parametrize("written", ["utf-8", "cp1252", "utf-16"])
def test_use_py_reads_commas_and_letters_as_the_library_does(tmp_path, lines, written):
    path = tmp_path / "rows.csv"
    lines = [
        f"{line}{';,'[line[1] == ',']}{'ß' if place else 'ä'}" for place, line in enumerate(lines)
    ]
    path.write_text("\n".join(lines), encoding=written, errors="replace")
    columns = tuple(encoding.Column(name, encoding.NUMBERS, fill=0.5) for name in "abc")
    recipe = encoding.Recipe("label", columns=columns)
    form = {"kind": "table", "recipe": recipes.form_of(recipe)}
    try:
        theirs, _ = raw.new_rows(path, recipe)
    except DataError:
        refuses("write a plain number", lambda: list(use.read(path, form, 3)))
    else:
        assert_array_equal(np.concatenate(list(use.read(path, form, 3))), theirs)


def test_gaps_that_nobody_filled_are_refused(tmp_path):
    frame = ward(200, 3)[["age", "sick"]].dropna()
    frame["more"] = frame["age"] ** 2
    split = pc.split(pc.load_features(frame, label="sick"), public_fraction=0.2)
    path = saved(split, tmp_path)
    gappy = frame.drop(columns="sick").assign(more=np.nan)
    gappy.to_csv(tmp_path / "rows.csv", index=False)
    refuses("no value for gaps", pc.load_model(path).predict, gappy)
    assert "no value for gaps" in alone(path, tmp_path / "rows.csv", folder=tmp_path).stderr


def test_features_in_files(tmp_path, capsys):
    draw = rng.stream(5, "features")
    y = np.arange(300) % 3
    x = (draw.normal(size=(300, 6)) + 2 * np.eye(6)[y]).astype(np.float32)
    split = pc.split(pc.features(x, y, x[:60], y[:60]), public_fraction=0.2)
    path = pc.save_model(pc.run("pillar", split, **RELEASE), tmp_path / "model.zip", split=split)
    assert pc.load_model(path).card["input"] == {"kind": "features", "dims": 6}
    np.savez(tmp_path / "rows.npz", x=x)
    np.save(tmp_path / "rows.npy", x)
    pd.DataFrame(x).assign(label=y).to_csv(tmp_path / "rows.csv", index=False)
    for name in ("rows.npz", "rows.npy", "rows.csv"):
        agree(path, tmp_path / name, tmp_path, capsys)
    for option in ("--threshold=0.5", "--positive=0"):
        assert run_command(f"predict {path} {tmp_path / 'rows.npz'} {option}") == 2
    for wrong in (
        x[:, :4],
        x.astype(complex),
        x.astype("datetime64[s]"),
        x.astype(str),
        x[:0],
        x[0],
    ):
        np.savez(tmp_path / "rows.npz", x=wrong)
        assert run_command(f"predict {path} {tmp_path / 'rows.npz'}") == 2
        done = alone(path, tmp_path / "rows.npz", folder=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
    assert (
        "there is no file"
        in output_of(f"predict {tmp_path / 'gone.zip'} {tmp_path / 'rows.npz'}", status=2).err
    )


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    """Sixty small grey images in a folder, and as an array."""
    folder, data = tmp_path_factory.mktemp("images"), bright(shape=(32, 32))
    (folder / "new").mkdir()
    for number, image in enumerate(data.x_train):
        Image.fromarray(image).save(folder / "new" / f"{number:03}.png")
    return folder, data


def test_pixels_as_images_as_arrays_and_in_both_ranges(images, tmp_path, capsys):
    folder, data = images
    split = pc.split(data, public_fraction=0.2)
    path = saved(split, tmp_path)
    model = pc.load_model(path)
    assert model.card["input"] == {"kind": "pixels", "shape": [32, 32], "range": [0, 1]}
    expected = model.predict_proba(split.features.x_train)
    assert model.notes == ()
    flat = data.x_train.reshape(60, -1)
    for rows, n_notes in (
        (data.x_train, 0),
        (flat, 0),
        (flat.astype(float), 1),
        (folder / "new", 0),
    ):
        assert_array_equal(model.predict_proba(rows), expected)
        assert ["divided by 255" in note for note in model.notes] == [True] * n_notes
    for wrong in (flat * 2.5, -split.features.x_train, flat + 0.5):
        refuses("0 to 255", model.predict, wrong)
    np.savez(tmp_path / "rows.npz", x=data.x_train)
    agree(path, tmp_path / "rows.npz", tmp_path, capsys)
    np.savez(tmp_path / "rows.npz", x=flat * 2.5)
    assert "0 to 255" in alone(path, tmp_path / "rows.npz", folder=tmp_path).stderr
    assert_allclose(
        answers(alone(path, folder / "new", folder=tmp_path).stdout)[1], expected, atol=1e-6
    )


def test_images_go_through_the_backbone_that_the_card_names(images, tmp_path, monkeypatch):
    folder, data = images
    split = pc.split(pc.load_features(data, "scattering"), public_fraction=0.2)
    path = saved(split, tmp_path)
    model = pc.load_model(path)
    made_by = model.card["input"]["backbone"]
    assert (made_by["name"], model.card["input"]["shape"]) == ("scattering", [32, 32])
    expected = model.predict_proba(split.features.x_train)
    assert_allclose(model.predict_proba(folder / "new"), expected, atol=1e-6)
    assert_allclose(model.predict_proba(data.x_train), expected, atol=1e-6)
    shutil.copytree(folder / "new", tmp_path / "a folder of images")
    monkeypatch.chdir(tmp_path)
    start = "These lines of the library make them:\n\n```python\n"
    lines = texts_in(path)["README.md"].partition(start)[2]
    exec(lines.partition("\n```")[0], {})  # as they are written
    assert_allclose(
        answers(alone(path, tmp_path / "features.npz", folder=tmp_path).stdout)[1],
        expected,
        atol=1e-6,
    )
    refuses("uint8 of shape", model.predict, data.x_train[:, :20])
    model.card["input"]["backbone"] = made_by | {"version": -1}
    refuses("others here", model.predict, folder / "new")


def pictures(folder, shape):
    """Image files of another size and of many kinds: colour, grey, a palette, transparent, turned
    by a camera."""
    folder.mkdir()
    draw, sideways = rng.stream(9, "pictures"), Image.Exif()
    sideways[0x0112] = 6
    for number, (kind, ending) in enumerate(
        (("RGB", "png"), ("L", "png"), ("P", "gif"), ("RGBA", "png"), ("RGB", "jpg"), ("LA", "png"))
    ):
        noise = draw.integers(0, 256, size=(9, 7, 4)).astype(np.uint8)
        image = Image.fromarray(noise).resize((150, 110 + number)).convert(kind)
        image.save(folder / f"{number}.{ending}", **({"exif": sideways} if ending == "jpg" else {}))
    (folder / "b").mkdir()
    Image.new("RGB", shape[1::-1], "red").save(folder / "b" / "0.PNG")


def shorter(*names, network=efficientnet_lite0.network):
    """The first stages of the network, one block of the third, and its head on them: every kind of
    layer."""
    module = network(*names)
    del module.blocks[3:], module.blocks[2][1:]
    module.conv_head.weight = torch.nn.Parameter(module.conv_head.weight[:, :40])
    return module


def test_images_go_through_a_network_without_the_library(tmp_path, own_cache, monkeypatch):
    """Raw files, onnxruntime, Pillow and numpy alone; grey images become three channels inside the
    file."""
    monkeypatch.setattr(efficientnet_lite0, "network", shorter)
    data, shape = bright(20, (20, 28)), (20, 28)
    x = data.x_train
    split = pc.split(pc.load_features(data, "efficientnet_lite0"), public_fraction=0.2)
    path = saved(split, tmp_path, onnx=True)
    pictures(tmp_path / "new", shape)
    model = pc.load_model(path)
    expected = model.predict_proba(tmp_path / "new")
    done = alone(path, tmp_path / "new", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert_allclose(answers(done.stdout)[1], expected, atol=1e-4)
    assert np.ptp(expected[:, 0]) > 1e-3, "answers differ by more than they are compared to"
    np.savez(tmp_path / "rows.npz", x=x[:5])
    done = alone(path, tmp_path / "rows.npz", folder=tmp_path)
    assert_allclose(answers(done.stdout)[1], model.predict_proba(x[:5]), atol=1e-4)
    np.savez(tmp_path / "rows.npz", x=x[:5, :9])
    assert "images must be uint8" in alone(path, tmp_path / "rows.npz", folder=tmp_path).stderr
    _, _, on_onnx = texts_in(path)["README.md"].partition("`model.onnx` runs in any language")
    assert "licence" in on_onnx


def test_networks_and_pixels_in_colour_come_as_onnx_and_the_rest_is_said(
    images, tmp_path, monkeypatch
):
    data, new = images[1], tmp_path / "new"
    pixels = np.stack([data.x_train, 255 - data.x_train, data.x_train // 2], axis=-1)[:20]
    new.mkdir()
    for number, image in enumerate(pixels):
        Image.fromarray(image).save(new / f"{number:03}.png")
    data = dataclasses.replace(data, x_train=pixels, y_train=data.y_train[:20], x_test=pixels)
    split = pc.split(data, public_fraction=0.2)
    for method, few in (("from_scratch", {"steps": 3, "batch_size": 8}), ("pillar_one_shot", {})):
        path = saved(split, tmp_path, method, **few)
        assert "as nobody asked for it" in texts_in(path)["README.md"]
        expected = pc.load_model(path).predict_proba(new)
        done = alone(path, new, folder=tmp_path)
        if method == "pillar_one_shot":
            assert_allclose(answers(done.stdout)[1], expected, atol=1e-6)
        else:
            assert "README.md says how" in done.stderr
            pc.load_model(path).save_onnx(tmp_path / "unpacked" / "model.onnx")
            command = [sys.executable, tmp_path / "unpacked" / "use.py", new]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            assert_allclose(answers(done.stdout)[1], expected, atol=1e-4)
    split = pc.split(pc.load_features(data, "scattering"), public_fraction=0.2)
    for why, package in (("no network of torch", "onnxscript"), ("pip install onnxscript", None)):
        monkeypatch.setitem(
            sys.modules, "onnxscript", sys.modules.get("onnxscript") if package else None
        )
        texts = texts_in(saved(split, tmp_path, onnx=True))
        for words in (why, "converted to RGB and resized to", "(`scattering`, version"):
            assert words in texts["README.md"]
        assert "model.onnx" not in texts
    record = pc.run("pillar_one_shot", split, **RELEASE)
    raises(
        UnsupportedError,
        "models of images",
        pc.load_model(pc.save_model(record, path, classes=("a", "b"))).save_onnx,
        tmp_path / "model.onnx",
    )


@pytest.mark.parametrize("damage", ["missing", "swapped", "added", "twice"])
def test_a_zip_that_is_not_whole_is_refused(tables, tmp_path, damage):
    with zipfile.ZipFile(tables[1]) as archive:
        parts = [(name, archive.read(name)) for name in archive.namelist()]
    for name in [name for name, _ in parts if name != "SHA256SUMS"] + (
        ["SHA256SUMS"] if damage == "missing" else []
    ):
        others = [(other, content) for other, content in parts if other != name]
        changed = {
            "missing": [],
            "swapped": [(name, b"{}")],
            "added": [(name, dict(parts)[name]), ("more.txt", b"")],
        }
        twice = [(name, dict(parts)[name]), ("use2.py", b"")]
        with zipfile.ZipFile(tmp_path / "bad.zip", "w") as archive:
            for other, content in [*others, *changed.get(damage, twice)]:
                archive.writestr(other, content)
        refuses("no model", pc.load_model, tmp_path / "bad.zip")


def test_use_imports_numpy_alone_refuses_changed_files_and_escapes_cells(tables, tmp_path):
    tree = ast.parse(texts_in(tables[1])["use.py"])
    for nodes, allowed in (
        (tree.body, {"numpy"}),
        (ast.walk(tree), {"numpy", "PIL", "onnxruntime"}),
    ):  # the last two only for images
        imports = [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
        names = [
            [node.module] if isinstance(node, ast.ImportFrom) else [one.name for one in node.names]
            for node in imports
        ]
        assert {name.split(".")[0] for some in names for name in some} <= {
            *sys.stdlib_module_names,
            *allowed,
        }
    assigned = [node for node in tree.body if isinstance(node, ast.Assign)]
    names = [
        name.id
        for node in assigned
        for name in ast.walk(node.targets[0])
        if isinstance(name, ast.Name)
    ]
    names += [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    assert len(names) == len(set(names))  # else a line of one module would read another's number
    folder, path, *_ = tables
    expected = alone(path, folder / "new.csv", folder=tmp_path)
    block = f"import sys; sys.modules.update(dict.fromkeys({BLOCKED})); import runpy; "
    code = f"{block}sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"
    command = [
        sys.executable,
        "-I",
        "-c",
        code,
        str(tmp_path / "unpacked" / "use.py"),
        str(folder / "new.csv"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (
        expected.returncode,
        expected.stdout,
        expected.stderr,
    )
    (tmp_path / "unpacked" / "model.npz").write_bytes(b"other")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, "model.npz is not the file" in done.stderr) == (2, True)
    words = ["=1+1", "plain", "-5", "a;=b", "@x", "x\r=y", "-x"]
    assert [use.without_formula(word) for word in words] == [
        "'=1+1",
        "plain",
        "-5",
        "a;'=b",
        "'@x",
        "x\n'=y",
        "'-x",
    ]
