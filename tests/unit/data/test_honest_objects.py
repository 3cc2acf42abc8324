"""What people hold in Python is read as they mean it, and endings that are not read come with the
line that converts them."""

import re
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image
from sklearn.utils import Bunch

import pillar_core as pc
from pillar_core.data import frames, reading
from unit.image_files import all_rows, sizes
from users import is_noted, refuses

X = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
Y = np.arange(40) % 2
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])
PIXELS = np.random.default_rng(1).integers(0, 255, (40, 6, 6, 3), dtype=np.uint8)
HUB_PICTURES = datasets.Features(
    image=datasets.Image(), label=datasets.ClassLabel(names=["cat", "dog"])
)
DOCUMENT = Path(__file__).parents[3] / "docs" / "data.md"


def _hub_pictures() -> Any:
    return datasets.Dataset.from_dict(
        {"image": [Image.fromarray(rows) for rows in PIXELS], "label": Y.tolist()},
        features=HUB_PICTURES,
    )


@pytest.mark.parametrize(
    "source",
    [
        lambda: (X, Y),
        lambda: (X.tolist(), Y.tolist()),
        lambda: (FRAME, pd.Series(Y, name="sick")),
        lambda: FRAME.assign(label=Y),
        lambda: Bunch(data=X, target=Y),
        lambda: torch.utils.data.TensorDataset(torch.tensor(X), torch.tensor(Y)),
        lambda: datasets.Dataset.from_pandas(FRAME.assign(label=Y)),
        lambda: datasets.DatasetDict(train=datasets.Dataset.from_pandas(FRAME.assign(label=Y))),
    ],
)
def test_rows_of_any_kind_become_the_same_features(source):
    features = pc.load_features(source())
    assert (*sizes(features), features.classes) == (32, 8, ("0", "1"))
    rows = all_rows(features)
    np.testing.assert_array_equal(rows[np.lexsort(rows.T)], X[np.lexsort(X.T)])
    assert pc.split(source(), public_fraction=0.1).facts.n_private in (28, 29)


@pytest.mark.parametrize("kind", [np.asarray, torch.tensor])
def test_an_array_without_labels_is_public_rows(kind):
    split = pc.split(pc.features(X, Y), public=kind(X + 1))
    assert (split.facts.n_public, split.public_y) == (40, None)


def test_names_of_a_bunch_stay_and_a_number_to_predict_is_no_class():
    features = pc.load_features(
        Bunch(
            data=X, target=Y, feature_names=["a", "b", "c"], target_names=np.array(["well", "sick"])
        )
    )
    assert (features.names, features.classes) == (("a", "b", "c"), ("well", "sick"))
    refuses("cut it into bins", pc.load_features, (X, 10 * np.arange(len(X))))


def test_no_note_beside_public_rows_says_how_large_a_private_row_is():
    public = FRAME.assign(a=FRAME["a"] + 0.01, label=Y)
    private = FRAME.assign(label=Y)
    larger = private.assign(b=private["b"].where(private.index > 0, 1e4))
    notes = [pc.split(rows, public=public).notes for rows in (private, larger)]
    assert notes[0] == notes[1]


@pytest.mark.parametrize("source", [lambda: (PIXELS, Y), _hub_pictures])
def test_pictures_become_pixels(source):
    features = pc.load_features(source())
    assert (features.backbone, features.x_train.shape, features.x_train.max() <= 1) == (
        "raw_pixels",
        (32, 108),
        True,
    )


def test_a_pair_of_npy_files_has_labels_and_one_alone_has_none(tmp_path):
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", Y)
    assert pc.load_features((tmp_path / "x.npy", str(tmp_path / "y.npy"))).classes == ("0", "1")
    alone = pc.load_features(tmp_path / "x.npy")
    assert (alone.y_train, len(alone.x_train)) == (None, 40)
    np.save(tmp_path / "objects.npy", np.array([{}]))
    refuses("npy", pc.load_features, tmp_path / "objects.npy")


@pytest.mark.parametrize("source", [3, (X,), {"rows": X}, object()])
def test_other_objects_are_refused_with_what_is_read(source):
    refuses("TensorDataset", pc.load_features, source)


def test_the_documents_table_of_formats_is_that_of_the_readers():
    table = re.search(r"\| format \| how it is read \|\n(.*?)\n\n", DOCUMENT.read_text(), re.DOTALL)
    rows = [line.split(" | ")[0] for line in table[1].splitlines()]
    read, converted = (
        set(re.findall(r"`(\.[a-z0-9.]+)`", " ".join(rows[:-1]))),
        set(re.findall(r"`(\.[a-z0-9]+)`", rows[-1])),
    )
    assert read == {*frames.READERS, *reading.FORMATS} - {reading.FOLDER}
    for ending in converted:
        refuses(r"This line of Python.*rows\.", pc.load_features, f"rows{ending}")
    assert converted == {endings[0] for endings in reading.CONVERSIONS}


def test_numbers_of_a_hub_set_keep_their_names_and_lists_become_columns():
    rows = {"age": X[:, 0].tolist(), "embedding": X.tolist(), "label": Y.tolist()}
    features = pc.load_features(
        datasets.DatasetDict(
            train=datasets.Dataset.from_dict(rows), test=datasets.Dataset.from_dict(rows)
        )
    )
    assert features.names == ("age", "embedding[0]", "embedding[1]", "embedding[2]")
    np.testing.assert_array_equal(features.x_train[:, 1:], X)


def test_a_npz_may_name_its_columns_and_public_ones_are_matched_by_them(tmp_path):
    order = [2, 0, 1]
    np.savez(tmp_path / "ward.npz", x_train=X, y_train=Y, feature_names=np.array(["a", "b", "c"]))
    np.savez(
        tmp_path / "open.npz", x_train=X[:, order] + 1, y_train=Y, names=np.array(["c", "a", "b"])
    )
    np.savez(tmp_path / "plain.npz", x_train=X[:, order] + 1, y_train=Y)
    np.savez(tmp_path / "classes.npz", x_train=X, y_train=Y, names=np.array(["well", "ill"]))
    split = pc.split(tmp_path / "ward.npz", public=tmp_path / "open.npz")
    assert split.features.names == ("a", "b", "c")
    assert sorted(map(tuple, split.public_x.tolist())) == sorted(map(tuple, (X + 1).tolist()))
    assert is_noted(split.notes, "in another order")
    assert is_noted(
        pc.split(tmp_path / "ward.npz", public=tmp_path / "plain.npz").notes, "have no names"
    )
    assert pc.load_features(tmp_path / "classes.npz").names is None


def test_public_rows_have_one_order_whatever_they_come_as(tmp_path):
    """A recipe's table had that of its file, and seeded other noise."""
    frame = FRAME.assign(label=np.where(X[:, 0] > 0, "y", "n"))
    public = FRAME.assign(a=FRAME["a"] + 1, label=frame["label"])
    public.to_csv(tmp_path / "public.csv", index=False)
    pair = public[["a", "b", "c"]].to_numpy(), public["label"].to_numpy()
    np.savez(tmp_path / "public.npz", x_train=public[["a", "b", "c"]], y_train=pair[1].astype(str))
    splits = [
        pc.split(pc.load_features(private), public=rows)
        for private in (frame, (X, frame["label"].to_numpy()))
        for rows in (public, pair, tmp_path / "public.csv", tmp_path / "public.npz")
    ]
    assert len({split.fingerprint for split in splits}) == 1
    assert len(splits[0].public_x) == 40
