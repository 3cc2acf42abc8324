"""Exported models: only from runs with secret noise, readable without pickle, equal to what was
trained."""

from __future__ import annotations

import dataclasses
import json
import zipfile

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from safetensors.numpy import save
from safetensors.torch import save_file as save_torch

import pillar_core as pc
from pillar_core.errors import DataError, PillarError, UnsupportedError
from pillar_core.runs.models import FORMAT, model_bytes, zip_of
from pillar_core.runs.statement import IN_SIGHT, in_sight
from unit.image_files import bright
from users import raises, refuses, run_command, texts_in


def saved(record, split, folder):
    return pc.save_model(record, folder / "model.zip", classes=split.features.classes)


@pytest.mark.parametrize("method", ["pillar", "dp_sgd", "jl"])
def test_a_saved_model_predicts_as_the_record(split, method, tmp_path):
    record = pc.run(method, split, epsilon=2.0, seed=None)
    path = saved(record, split, tmp_path)
    model = pc.load_model(path)
    assert_array_equal(
        model.predict(split.features.x_test), record.classifier.predict(split.features.x_test)
    )
    assert model.card["guarantee"]["epsilon"] <= 2.0
    assert model.classes == split.features.classes


def test_the_card_holds_no_private_number_and_refuses_rows_of_another_width_or_with_nan(
    split, tmp_path
):
    record = pc.run("pillar", split, epsilon=2.0, seed=None)
    model = pc.load_model(saved(record, split, tmp_path))
    assert "accuracy" not in model.card
    assert "seed" not in json.dumps(model.card["settings"])
    refuses("shape", model.predict, np.zeros((2, 3)))
    refuses("NaN", model.predict, np.full((2, 64), np.nan))


def test_seeded_runs_and_choices_on_test_rows_are_no_release(split, tmp_path):
    raises(
        UnsupportedError,
        "known seed",
        pc.save_model,
        pc.run("pillar", split, epsilon=2.0),
        tmp_path / "model.zip",
        classes=split.features.classes,
    )
    assert not (tmp_path / "model.zip").exists()
    # At σ = 10⁶ ε is 0 but for δ: "no private row was read", and the seed that takes the noise away
    # was no hindrance.
    record = pc.run("pillar_one_shot", split, noise_multiplier=1e6)
    assert record.guarantee.epsilon.upper == 0.0
    raises(
        UnsupportedError,
        "known seed",
        pc.save_model,
        record,
        tmp_path / "model.zip",
        classes=split.features.classes,
    )
    text = pc.statement(record).text
    assert text.startswith("NOT FOR RELEASE")
    assert "no private row was read" not in text
    assert "no private row was read" in pc.statement(pc.run("only_public", split)).text
    record = pc.run("pillar", split, epsilon=2.0, seed=None)
    unpaid = dataclasses.replace(
        record, guarantee=dataclasses.replace(record.guarantee, covers_choice=False)
    )
    raises(UnsupportedError, "unpaid", in_sight, unpaid)


@pytest.mark.parametrize("content", [b"", b"PK\x05\x06" + b"\0" * 18, b"not a zip at all"])
def test_other_files_are_refused(content, tmp_path):
    path = tmp_path / "model.zip"
    path.write_bytes(content)
    refuses("no model", pc.load_model, path)
    refuses("no file", pc.load_model, tmp_path / "absent.zip")


def model_file(folder, *, card=None, **arrays):
    """A model file of two classes and three features, some of its parts replaced."""
    path = folder / "model.zip"
    parts = {
        "weights": np.ones((3, 2), np.float32),
        "bias": np.zeros(2, np.float32),
        **arrays,
    }
    plain = {
        "format": FORMAT,
        "transform": {"normalise": False},
        "classes": ["a", "b"],
        "input": {"kind": "features", "dims": 3},
    }
    text = card if isinstance(card, str) else json.dumps(plain | (card or {}))
    return zipped(path, {"model.safetensors": save(parts), "model.json": text.encode()})


CARDS = ("[]", '"text"', "NaN", "[" * 200_000)
FIELDS = (
    {"classes": 5},
    {"classes": ["a"]},
    {"classes": [["a"], {}]},
    {"transform": []},
    {"transform": {}},
)


@pytest.mark.parametrize(
    "card", [*CARDS, *FIELDS], ids=lambda card: str(card)[:30].strip() or "blank"
)
def test_a_card_that_cannot_be_is_refused(card, tmp_path):
    refuses("no model", pc.load_model, model_file(tmp_path, card=card))


@pytest.mark.parametrize(
    "arrays",
    [
        {"weights": np.ones(3, np.float32)},
        {"bias": np.zeros(5, np.float32)},
        {"weights": np.full((3, 2), np.nan, np.float32)},
        {"weights": np.ones((0, 2), np.float32)},
        {"mean": np.ones(9, np.float32)},
        {"mean": np.ones((4, 4), np.float32)},
        {"projection": np.ones((7, 9), np.float32)},
        {"mean": np.ones(4, np.float32), "projection": np.ones((7, 3), np.float32)},
    ],
    ids=str,
)
def test_weights_that_do_not_fit_each_other_are_refused(arrays, tmp_path):
    with pytest.raises(DataError):
        pc.load_model(model_file(tmp_path, **arrays))


def test_a_damaged_model_is_refused_or_predicts_rows_of_its_own_width(tmp_path):
    path = model_file(tmp_path)
    whole, refused = path.read_bytes(), 0
    for place in range(0, len(whole), 3):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x45]) + whole[place + 1 :])
        try:
            pc.load_model(path).predict(np.ones((1, 3)))
        except PillarError:
            refused += 1
    assert refused > len(whole) / 6
    model = pc.load_model(model_file(tmp_path))
    assert model.predict(np.ones((4, 3))).tolist() == [0] * 4
    for rows in (np.ones((2, 9)), np.ones(3), "rows", None, [[1, "a"]]):
        with pytest.raises(PillarError):
            model.predict(rows)


def test_a_choice_in_sight_is_declared_and_names_of_classes_are_no_markup(split):
    record, classes = pc.run("pillar", split, epsilon=2.0, seed=None), split.features.classes
    claimed = dataclasses.replace(
        record, guarantee=dataclasses.replace(record.guarantee, chosen_in_sight=True)
    )
    raises(UnsupportedError, "claims to cover", model_bytes, claimed, classes=classes)
    promised = card_of(model_bytes(in_sight(record), classes=classes))
    assert (promised["covers_choice"], promised["chosen_in_sight"]) == (False, True)
    assert IN_SIGHT in promised["assumptions"]
    assert promised["epsilon"] == record.guarantee.epsilon.upper
    names = tuple(f'{digit}\n```\n# <b>[x](http://a.b)</b>, "' for digit in range(10))
    lines = texts_in(model_bytes(record, classes=names))["README.md"].splitlines()
    assert [line for line in lines if "http" in line] == [json.dumps(list(names))]
    assert lines[lines.index(json.dumps(list(names))) - 1] == "```json"


def test_what_is_not_known_of_a_choice_is_not_claimed(split, tmp_path, own_cache):
    """Settings that are given may have been tuned on test accuracy, which no record shows; runs of
    `digits` come with the library, so that a command knows that they were in sight."""
    asked = {"epsilon": 2.0, "seed": None}
    runs = {
        "rules": pc.run("pillar", split, **asked),
        "given": pc.run("pillar", split, **asked, k=5),
        "beforehand": pc.run("pillar", split, **asked, k=5, chosen_beforehand=True),
        "looked": pc.run("pillar", split, **asked, k=5, chosen_beforehand=False),
    }
    promised = {
        name: card_of(model_bytes(record, classes=split.features.classes))
        for name, record in runs.items()
    }
    covered = {name: card["covers_choice"] for name, card in promised.items()}
    assert covered == {"rules": True, "given": None, "beforehand": True, "looked": False}
    assert [name for name, card in promised.items() if card["chosen_in_sight"]] == ["looked"]
    assert [
        name for name, record in runs.items() if "settings: not known" in pc.statement(record).text
    ] == ["given"]
    rows = split.features
    for n in (1000, 1100):
        part = {"x_train": rows.x_train[:n], "y_train": rows.y_train[:n]}
        np.savez(tmp_path / f"{n}.npz", **part)
    for options, expected in (
        (f"{tmp_path / '1000.npz'}", True),
        (f"{tmp_path / '1100.npz'} --set k=5", None),
        (f"{tmp_path / '1100.npz'} --set k=5", False),
        ("digits --set k=5", False),
        ("digits --set k=5 --chosen-beforehand", True),
    ):
        line = f"run --dataset {options} --public-fraction 0.1 --epsilon 2 --release --export"
        assert run_command(f"{line} {tmp_path / 'm.zip'}") == 0
        assert card_of((tmp_path / "m.zip").read_bytes())["covers_choice"] is expected


def card_of(model: bytes) -> dict[str, object]:
    return dict(json.loads(texts_in(model)["model.json"])["guarantee"])


@pytest.mark.parametrize(
    "settings",
    [
        {"method": "from_scratch"},
        {"method": "private_fine_tuning", "trainable": "lora", "lora_rank": 2},
    ],
)
def test_a_trained_network_leaves_and_predicts_as_the_record(settings, tmp_path):
    if "trainable" in settings:
        pytest.importorskip("peft", reason="low-rank additions need peft: pip install '.[lora]'")
    split = pc.split(bright())
    record = pc.run(split=split, epsilon=50.0, seed=None, steps=3, batch_size=20, **settings)
    path = saved(record, split, tmp_path)
    model = pc.load_model(path)
    x = split.features.x_test
    assert_allclose(model.classifier.scores(x), record.classifier.scores(x), rtol=1e-5, atol=1e-6)
    assert model.classes == ("dark", "bright")
    refuses(r"shape \(n, 64\)", model.predict, np.zeros((2, 3)))
    assert "A network on images of 64 pixels" in texts_in(path)["README.md"]


def test_a_network_of_timm_leaves_without_the_folder_of_its_weights(tmp_path):
    timm = pytest.importorskip("timm", reason="networks named timm:… need timm: pip install timm")
    weights = tmp_path / "a folder of mine" / "weights.safetensors"
    weights.parent.mkdir()
    save_torch(dict(timm.create_model("test_efficientnet", num_classes=0).state_dict()), weights)
    network, split = f"timm:test_efficientnet?weights={weights}&size=32", pc.split(bright())
    record = pc.run(
        "private_fine_tuning",
        split,
        epsilon=50.0,
        seed=None,
        steps=1,
        batch_size=8,
        trainable="head",
        network=network,
    )
    path = saved(record, split, tmp_path)
    x = split.features.x_test
    expected = record.classifier.scores(x)
    weights.unlink()  # the file holds the whole network
    assert_allclose(pc.load_model(path).classifier.scores(x), expected, rtol=1e-5, atol=1e-6)
    assert not any("folder of mine" in text for text in texts_in(path).values())


def rewritten(path, **members):
    """The model's zip with members in other words, None to leave one out, and sums that fit."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()} | {
            name.replace("__", "."): new for name, new in members.items()
        }
    del parts["SHA256SUMS"]
    return zipped(path, {name: content for name, content in parts.items() if content is not None})


def zipped(path, parts):
    """The parts as a model's zip, with sums that fit."""
    path.write_bytes(zip_of(parts))
    return path


def test_networks_of_another_making_are_refused(tmp_path):
    split = pc.split(bright())
    record = pc.run("from_scratch", split, epsilon=50.0, seed=None, steps=1, batch_size=8)
    path = saved(record, split, tmp_path)
    card = json.loads(texts_in(path)["model.json"])
    for changed in (
        *(
            {"network": "timm:hf-hub:somebody/something"},
            {"network": "timm:test_efficientnet?checkpoint_path=/etc/passwd"},
        ),
        *(
            {"network": "wrn_16_4"},
            {"n_classes": 3},
            {"shape": "ab"},
            {"shape": [4, 4, 5]},
            {"layers": None},
            {"unknown": 1},
        ),
    ):
        rewritten(
            path, model__json=json.dumps(card | {"network": card["network"] | changed}).encode()
        )
        refuses("no model", pc.load_model, path)
