"""`python -m pillar_core data`: what is here, what is not, how to get it, what it holds; offline
throughout."""

import dataclasses
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import pillar_core as pc
from pillar_core import store
from pillar_core.data import DATASETS, uploads
from pillar_core.runs.receipts import account_of, training_on
from unit.image_files import pictures, written
from users import output_of


@pytest.fixture(autouse=True)
def own_folders(monkeypatch, tmp_path):
    monkeypatch.setenv("PILLAR_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("PILLAR_CACHE", str(tmp_path / "cache"))


def _flowers(root: Path) -> Path:
    return written(root, pictures(("aster", "rose"), 10))


def test_all_sets_are_listed_and_a_card_says_how_to_get_it(tmp_path):
    _flowers(tmp_path / "data" / "flower_16")
    lines = {line.split()[0]: line for line in output_of("data").out.splitlines() if line.strip()}
    assert set(DATASETS) <= set(lines)
    assert "; here; PILLAR" in lines["flower_16"]
    assert "not here, 45 GB; GSD" in lines["chest_xray14"]
    assert "; here" in lines["digits"]
    printed = output_of("data torchvision:cifar10").out
    for words in (
        "50,000 train",
        "163 MB",
        "PILLAR, Semi-private learning, GSD",
        "--download",
        "cifar-10-python.tar.gz",
        "setting root",
    ):
        assert words in printed
    assert str(tmp_path / "data") in printed


def test_reading_says_what_it_holds_and_forgetting_deletes(tmp_path, monkeypatch):
    monkeypatch.setattr("pillar_core.data.scratch.LARGEST_IN_MEMORY", 1000)
    root = _flowers(tmp_path / "mine")
    setting = f"--dataset-setting root={root}"
    assert (
        "16 train and 4 test rows of 6 × 8 × 3" in output_of(f"data flower_16 --read {setting}").out
    )
    assert len(store.default().ls("arrays")) == 1
    assert (
        "entries deleted from the cache: 1" in output_of(f"data flower_16 --forget {setting}").out
    )
    assert not store.default().ls("arrays")


def test_all_that_images_left_is_forgotten_of_a_set_and_of_a_folder(tmp_path, monkeypatch):
    """Of a registered set the features stayed, and of a folder the decoded pixels."""
    monkeypatch.setattr("pillar_core.data.scratch.LARGEST_IN_MEMORY", 1000)
    root = _flowers(tmp_path / "mine")
    for name in ("flower_16", str(root)):
        setting = f"--dataset-setting root={root}" * (name == "flower_16")
        output_of(f"extract --dataset {name} {setting} --backbone scattering")
        assert len(store.default().ls("arrays")) == 2
        said = output_of(f"data {name} --forget {setting}").out
        assert "entries deleted from the cache: 2" in said
        assert not store.default().ls("arrays")


def test_rows_that_a_command_kept_for_its_workers_are_forgotten_by_name():
    name = uploads.keep(pc.features([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]))
    assert uploads.is_here(name)
    assert "entries deleted from the cache: 2" in output_of(f"data {name} --forget").out
    assert not uploads.is_here(name)


@pytest.mark.parametrize("ending", ["csv", "npz"])
def test_what_a_training_left_of_a_files_rows_is_forgotten_with_the_file_in_its_place(
    tmp_path, ending
):
    """The hashes by which sums find single rows stayed for ever: the file was no data set."""
    path, rows = tmp_path / f"ward.{ending}", pc.load_dataset("breast_cancer")
    if ending == "npz":
        np.savez(path, x_train=rows.x_train, y_train=rows.y_train)
    else:
        pd.DataFrame(rows.x_train).assign(sick=rows.y_train).to_csv(path, index=False)
    label = "--label sick" * (ending == "csv")
    split = pc.split(pc.load_features(path, label="sick" if label else None))
    training = training_on(split, "PILLAR", (1.0, 1e-5, "add_or_remove_one"))
    account_of(split.features).keep(training)
    doubled = dataclasses.replace(split.features, x_train=split.features.x_train * 2)
    if label:  # through another encoder a table has other numbers
        account_of(doubled).keep(training)
    assert "test rows of 30" in output_of(f"data {path} --read {label}").out
    said = output_of(f"data {path} --forget {label}")
    assert f"entries deleted from the cache: {1 + bool(label)}" in said.out
    assert "stay" not in said.err
    assert not store.default().ls("arrays")
    assert path.exists()
    part = dataclasses.replace(split.features, x_train=rows.x_train[:99], y_train=None, cells=None)
    account_of(dataclasses.replace(part, given=None)).keep(training)
    account_of(split.features).keep(training)
    if not label:
        assert "same rows, stay: 1." in output_of(f"data {path} --forget").err


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("data nothing", "There is no dataset named"),
        ("data nothing.csv", "there is no file"),
        ("data --read", "need the name"),
        ("data cub_200 --read", "By hand: unpack CUB_200_2011"),
        ("data cub_200 --download", "By hand: unpack CUB_200_2011"),
        ("data cub_200 --read --dataset-setting rot=x", "has no setting rot"),
    ],
)
def test_refusals_name_the_fix(line, says):
    assert says in output_of(line, status=2).err
