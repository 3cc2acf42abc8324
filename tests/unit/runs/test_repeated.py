"""The command in a model's README: it names files, and trains the same on another machine."""

import json
import shlex

import numpy as np
import pandas as pd
import pytest

import pillar_core as pc
from pillar_core import rng
from pillar_core.__main__ import main
from pillar_core.data.npz import npz_of
from pillar_core.types import Dataset
from users import refuses, texts_in


def visits():
    draw = rng.stream(7, "visits")
    age, ward = draw.uniform(20, 90, size=600), draw.choice(["north", "south"], size=600)
    sick = np.where((age > 55) ^ (draw.uniform(size=600) < 0.1), "yes", "no")
    frame = pd.DataFrame({"age": age, "ward": ward, "patient": np.arange(600) // 2, "sick": sick})
    frame.loc[3::50, "age"] = np.nan
    return frame


def command_in(path):
    _, _, text = texts_in(path)["README.md"].partition("## Train it again")
    return shlex.split(text.partition("```bash\n")[2].partition("\n```")[0])


def test_the_command_of_a_model_of_persons_runs_beside_the_saved_rows_on_another_machine(
    tmp_path, monkeypatch, capsys
):
    frame = visits()
    columns = [{"name": "age", "kind": "numbers", "fill": 50, "low": 0, "high": 100}]
    columns += [{"name": "ward", "kind": "words", "categories": ["north", "south"]}]
    recipe = {
        "format": "pillar-recipe-1",
        "label": "sick",
        "person": "patient",
        "rows_per_person": 2,
        "columns": columns,
    }
    features = pc.load_features(frame, recipe=recipe)
    (tmp_path / "table.npz").write_bytes(npz_of(features))
    split = pc.split(features, public_fraction=0.2, allow_overlap=True, seed=3)
    record = pc.run("dp_sgd", split, epsilon=20.0, seed=None)
    command = command_in(pc.save_model(record, tmp_path / "model.zip", split=split))
    assert command[:3] == ["python", "-m", "pillar_core"]
    assert "stored:" not in " ".join(command)
    assert "table.npz" in command
    monkeypatch.setenv("PILLAR_CACHE", str(tmp_path / "empty"))
    monkeypatch.chdir(tmp_path)
    assert main([*command[3:], "--json", "--allow-overlap"]) == 0
    repeated = json.loads(capsys.readouterr().out)
    assert repeated["settings"] == json.loads(json.dumps(dict(record.settings)))
    assert repeated["guarantee"]["privacy_unit"] == "person with up to 2 rows"
    assert repeated["guarantee"]["epsilon"] == pytest.approx(
        record.guarantee.epsilon.upper, rel=1e-6
    )
    assert abs(repeated["accuracy"] - record.accuracy) < 0.15


def test_a_saved_set_comes_back_with_all_that_was_said_of_it(tmp_path):
    frame = visits().dropna()[["age", "sick"]].assign(more=1.5)
    features = pc.load_features(frame, label="sick")
    x = rng.stream(1, "images").integers(256, size=(30, 8, 8)).astype(np.uint8)
    y = np.arange(30) % 2
    images = Dataset(
        "pixels", x, y, x[:10], y[:10], ("a", "b"), caveats=("the size",), test_drawn=True
    )
    for data, fields in (
        (features, ("names", "recipe", "caveats", "test_drawn")),
        (pc.load_features(images), ("caveats", "test_drawn")),
    ):
        (tmp_path / "set.npz").write_bytes(npz_of(data if data.images is None else data.images))
        again = pc.load_features(tmp_path / "set.npz")
        assert again.fingerprint == data.fingerprint
        assert [getattr(again, field) for field in fields] == [
            getattr(data, field) for field in fields
        ]


def test_a_saved_set_whose_recipe_or_names_were_changed_is_refused(tmp_path):
    arrays = {
        "x_train": np.zeros((4, 2), np.float32),
        "y_train": np.arange(4) % 2,
        "caveats": np.array((), dtype=str),
    }
    for said, value in (("recipe", "{"), ("recipe", "{}"), ("names", ["a"])):
        np.savez(tmp_path / "set.npz", **arrays, **{said: np.array(value)})
        refuses(said, pc.load_features, tmp_path / "set.npz")
    np.savez(
        tmp_path / "set.npz",
        x_train=np.ones((40, 2)),
        y_train=np.arange(40) % 2,
        names=np.array(["somebody"] * 40),
    )
    assert pc.load_features(tmp_path / "set.npz").names is None, (
        "a npz of somebody else, with names of rows"
    )
