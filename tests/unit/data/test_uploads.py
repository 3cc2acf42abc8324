"""Rows that somebody brought: kept under a name with a card, listed, loaded as they were, and
forgotten whole."""

import dataclasses
import json

import numpy as np
import pytest

import pillar_core as pc
from pillar_core import store
from pillar_core.data import uploads
from pillar_core.errors import StoreError
from pillar_core.runs import receipts, splitting
from pillar_core.types import Dataset, Persons
from users import raises

pytestmark = pytest.mark.usefixtures("own_cache")


def images(n: int = 20, *, labelled: bool = True) -> Dataset:
    rows = np.arange(n * 48, dtype=np.uint8).reshape(n, 4, 4, 3)
    y = np.arange(n) % 2 if labelled else None
    return Dataset(
        "blots",
        rows,
        y,
        rows[:5],
        None if y is None else y[:5],
        ("dark", "light") if labelled else (),
        notes=("a note",),
    )


def numbers(scale: float = 1.0) -> pc.types.FeatureSet:
    rows = np.arange(40, dtype=np.float32).reshape(8, 5) * scale
    return dataclasses.replace(pc.features(rows, [0, 1, 2, 0, 1, 2, 0, 1]), name="cells")


def test_the_card_says_what_was_kept_and_the_rows_come_back():
    name = uploads.keep(images(), title="x-rays.zip")
    card = uploads.card(name)
    assert card == uploads.list_uploads()[0]
    card_without_time = dataclasses.replace(card, kept_at=0.0, understood="")
    assert card_without_time == uploads.Upload(
        name, "x-rays.zip", "images", 20, 5, 2, (4, 4, 3), True, ("a note",)
    )
    assert (
        "one of 2 classes (dark, light) from colour pictures, 4 wide and 4 high. 25 rows: 20 to"
        " learn from, 5 (20%) to test on" in card.understood
    )
    found = uploads.load(name)
    assert (found.fingerprint, found.name, found.title, found.notes) == (
        images().fingerprint,
        "blots",
        "x-rays.zip",
        ("a note",),
    )
    table = uploads.card(uploads.keep(numbers()))
    assert (table.title, table.kind, table.n_train, table.n_test, table.n_classes, table.shape) == (
        "cells",
        "features",
        8,
        0,
        3,
        (5,),
    )
    assert uploads.load(table.name).fingerprint == numbers().fingerprint
    assert not uploads.card(uploads.keep(images(labelled=False))).is_labelled


def test_sets_live_side_by_side_and_those_that_left_the_cache_are_not_offered():
    name = uploads.keep(numbers(), title="cells.csv")
    store.default().delete("arrays", uploads.key_of(name))
    assert uploads.list_uploads() == ()
    assert uploads.card(name) is None
    assert "not here" in uploads.title_of(name)
    names = [uploads.keep(numbers(scale), title="cells.csv") for scale in (1.0, 2.0, 3.0)]
    assert [uploads.card(name).title for name in names] == [
        "cells.csv",
        "cells.csv (2)",
        "cells.csv (3)",
    ]
    assert [one.name for one in uploads.list_uploads()] == names[::-1]
    assert uploads.title_of(
        uploads.keep(images(), title=pc.DATASETS["digits"].title)
    ) != uploads.title_of("digits")
    assert {one.name for one in uploads.list_uploads("features")} == set(names)
    assert uploads.keep(numbers(2.0)) == names[1]
    assert uploads.title_of(names[1]) == "cells.csv (2)", (
        "kept again without a title, such as by a sweep"
    )
    uploads.keep(numbers(2.0), title=" other\nfile.csv ")
    assert uploads.title_of(names[1]) == "other file.csv"
    assert uploads.title_of("/home/me/public.csv") == "public.csv"


def test_forgetting_removes_rows_card_and_all_that_was_made_from_them():
    name, other = uploads.keep(images()), uploads.keep(numbers())
    splitting.load_named_features(name, "scattering")
    store.default().put_json("record", f"margins-{uploads.key_of(name)}-{32 * '0'}", {"rows": []})
    receipts.forget_data(name)
    assert uploads.card(name) is None
    assert [one.name for one in uploads.list_uploads()] == [other]
    assert store.default().keys("arrays") == [uploads.key_of(other)]
    assert store.default().keys("blob") == [f"upload-{uploads.key_of(other)}"]
    assert not store.default().keys("record")
    raises(StoreError, "Bring the same rows again", uploads.load, name)
    receipts.forget_data(name)


@pytest.mark.parametrize(
    "text",
    [
        "stored:",
        "stored:" + "0" * 31,
        "stored:" + "G" * 32,
        "given:" + "0" * 32,
        "images:" + "0" * 32,
        "",
        None,
    ],
)
def test_other_words_are_no_names(text):
    assert not uploads.is_name(text)
    assert uploads.card(text) is None
    raises(StoreError, "32 of 0-9 and a-f", uploads.key_of, str(text))


@pytest.mark.parametrize(
    "content",
    [b"", b"\xff", b"[]", b"{}", b'{"title": 1}', json.dumps({"shape": 3, "notes": 4}).encode()],
)
def test_a_damaged_card_costs_the_title_and_not_the_rows(content):
    name = uploads.keep(numbers(), title="cells.csv")
    store.default().delete("blob", f"upload-{uploads.key_of(name)}")
    store.default().put_bytes(f"upload-{uploads.key_of(name)}", content)
    assert uploads.list_uploads() == ()
    assert uploads.card(name).title == "cells"
    assert uploads.load(name).fingerprint == numbers().fingerprint


@pytest.mark.parametrize(
    "damage",
    [
        *(
            {"rows_per_person": None},
            {"persons": None},
            {"rows_per_person": np.array("x")},
            {"rows_per_person": np.arange(3)},
        ),
        *(
            {"rows_per_person": np.array(0)},
            {"persons": np.array(["a"] * 8)},
            {"persons": np.zeros((8, 2))},
        ),
    ],
)
def test_damaged_persons_are_refused_in_our_words_and_their_rows_never_taken_for_single_ones(
    damage,
):
    name = uploads.keep(dataclasses.replace(numbers(), persons=Persons(np.arange(8) // 2, 2)))
    assert uploads.load(name).persons.most == 2
    key = uploads.key_of(name)
    arrays = dict(store.default().get_arrays(key)) | damage
    store.default().delete("arrays", key)
    store.default().put_arrays(
        key, **{part: array for part, array in arrays.items() if array is not None}
    )
    raises(StoreError, r"persons of .* are damaged", uploads.load, name)
    assert [one.name for one in uploads.list_uploads()] == [name]
    assert uploads.forget(name)
    assert uploads.list_uploads() == ()


def test_what_is_made_anew_makes_no_room_of_brought_rows(monkeypatch):
    """They have no other copy."""
    monkeypatch.setenv("PILLAR_CACHE_BYTES", str(10**5))
    name = uploads.keep(numbers(), title="the first")
    for seed in range(3):
        store.default().put_arrays(f"{seed:032x}", x=np.zeros(20_000, np.float32))
    assert len(store.default().ls("arrays")) == 2
    assert len(uploads.load(name).x_train)
    store.default().prune(0)
    assert not uploads.list_uploads()
