"""Screening kept on disk: the same question is answered once, brought images are found again, and a
job stops when told to."""

import dataclasses
import math

import numpy as np
import pandas as pd
import pytest

from pillar_core.data import uploads
from pillar_core.errors import Cancelled, DataError, SettingError, StoreError
from pillar_core.fingerprint import fingerprint
from pillar_core.jobs.kind import JOB_KINDS
from pillar_core.rng import stream
from pillar_core.screening import SCORES
from pillar_core.studies.screening import answers as screening_kept
from pillar_core.studies.screening.answers import OWN_HALF, OWN_PART, Ask
from pillar_core.types import Dataset
from users import raises

ASK = Ask("ranking", "digits", ("drawn_digits", "drawn_noise"), k=2, n_examples=40, repeats=2)


pytestmark = pytest.mark.usefixtures("own_cache")


def asked(**changes):
    return dataclasses.replace(ASK, **changes)


def mine(n=60):
    rows = stream(0, "pixels").integers(256, size=(n, 10, 10)).astype(np.uint8)
    return Dataset(
        "mine",
        rows,
        np.arange(n) % 3,
        classes=("a", "b", "c"),
        title="Mine",
        notes=("one file was skipped",),
    )


@pytest.mark.parametrize(
    "changes", [{}, {"repeats": 1}, {"epsilon": 2.0}, {"score": "gsd_pure", "epsilon": 2.0}]
)
def test_what_was_computed_comes_back_as_it_was(changes):
    ask = asked(**changes)
    assert screening_kept.stored_answer(ask) is None
    made = screening_kept.answer(ask)
    again = screening_kept.stored_answer(ask)
    pd.testing.assert_frame_equal(made, again, check_exact=True)
    for name in ("random_subspaces", "guarantee", "self_distance"):
        assert again.attrs.get(name) == made.attrs.get(name)
    assert list(made.attrs["notes"]) == again.attrs["notes"]


def test_an_answer_is_found_by_every_part_of_its_question_and_version(monkeypatch):
    others = {
        "what": "angles",
        "private": "drawn_shapes",
        "public": ("drawn_noise", "drawn_digits"),
        "model": "probe",
        "k": 3,
        "n_examples": 41,
        "seed": 1,
        "score": "missed_energy",
        "repeats": 3,
        "epsilon": 1.0,
        "method": "pda_dpmd",
    }
    assert set(others) == {field.name for field in dataclasses.fields(Ask)}
    keys = {ASK.key} | {asked(**{name: value}).key for name, value in others.items()}
    assert len(keys) == 1 + len(others)
    assert Ask.of(ASK.payload) == ASK
    first = ASK.key
    assert first == fingerprint("screening", screening_kept.VERSION, ASK.payload), (
        "a first version asks as before scores had versions"
    )
    other = asked(score="missed_energy")
    unchanged = other.key
    monkeypatch.setitem(SCORES._items, "gsd", dataclasses.replace(SCORES["gsd"], version=2))
    assert ASK.key != first
    assert other.key == unchanged


def test_parts_and_draws_of_the_private_set_are_candidates_without_epsilon_alone():
    ask = asked(
        private="mnist", public=(OWN_PART, "drawn_noise"), score="class_signal", epsilon=1.0
    )
    private, public = screening_kept.feature_sets_of(ask)
    whole = screening_kept.features_of("mnist").x_train
    np.testing.assert_array_equal(public[OWN_PART].x_train, whole[9::10])
    np.testing.assert_array_equal(private.x_train, np.delete(whole, np.s_[9::10], axis=0))
    table = screening_kept.answer(ask)
    assert table["public"].tolist() == [OWN_PART, "drawn_noise"]
    assert "split into private and public rows is treated as fixed" in table.attrs["guarantee"]
    assert not table.attrs["rivals"]
    ask = asked(
        private="drawn_digits", public=("drawn_digits", "drawn_digits~0.5"), epsilon=1.0, repeats=1
    )
    assert len(screening_kept.answer(ask)) == 2
    with pytest.raises(SettingError, match="a number"):
        screening_kept.answer(dataclasses.replace(ask, public=("drawn_digits~half",)))


@pytest.mark.parametrize("score", ["class_signal", "gsd"])
@pytest.mark.parametrize(
    ("private", "public"),
    [("mnist", "mnist"), ("mnist", "mnist+drawn_noise"), ("fashion_mnist_2k", "fashion_mnist")],
)
def test_the_private_set_is_no_candidate_under_epsilon_by_any_name(score, private, public):
    """Read a second time it was another object: the command and jobs ranked it, and its rows stood
    without noise in what is public."""
    with pytest.raises(DataError, match="rows of the private set itself"):
        screening_kept.answer(
            asked(private=private, public=(public, "drawn_noise"), score=score, epsilon=0.3)
        )


def test_the_own_half_is_disjoint_the_nearest_and_no_candidate_under_epsilon():
    private, public = screening_kept.sets_of(asked(public=(OWN_HALF, "drawn_noise")))
    whole, _ = screening_kept.sets_of(ASK)
    np.testing.assert_array_equal(private.x_train, whole.x_train[::2])
    np.testing.assert_array_equal(public[OWN_HALF].x_train, whole.x_train[1::2])
    assert public[OWN_HALF].x_test is None
    table = screening_kept.answer(asked(public=("drawn_noise", OWN_HALF), n_examples=150))
    assert table["public"].tolist() == [OWN_HALF, "drawn_noise"]
    assert table.attrs["self_distance"] == 0.0
    with pytest.raises(DataError, match="private rows"):
        screening_kept.answer(asked(public=(OWN_HALF, "drawn_noise"), epsilon=1.0))


def test_brought_images_are_screened_mixed_and_forgotten():
    name = uploads.keep(mine())
    found = screening_kept.images_of(name)
    np.testing.assert_array_equal(found.x_train, mine().x_train)
    np.testing.assert_array_equal(found.y_train, mine().y_train)
    assert (found.title, found.notes, found.classes) == (
        "Mine",
        ("one file was skipped",),
        ("a", "b", "c"),
    )
    assert len(screening_kept.images_of(f"{name}+drawn_noise").x_train) == 2 * 60
    ask = asked(private=name, public=("drawn_noise",), n_examples=30)
    assert len(screening_kept.answer(ask)) == 1
    uploads.forget(name)
    raises(StoreError, "Bring the same rows again", screening_kept.images_of, name)
    with pytest.raises(DataError, match="holds numbers"):
        screening_kept.images_of(
            uploads.keep(Dataset("numbers", np.arange(12, dtype=np.float32).reshape(4, 3), None))
        )


def test_accuracy_carries_the_line_without_public_data():
    table = screening_kept.answer(
        Ask("accuracy", "digits", ("drawn_digits",), epsilon=8.0, n_examples=60)
    )
    assert len(table) == len(screening_kept.SEEDS)
    assert 0.5 < table.attrs["baseline"] <= 1
    assert not math.isnan(table["accuracy"].mean())


def test_a_job_computes_what_the_page_will_find_and_stops_when_told():
    kind = JOB_KINDS["screening"]
    assert kind.cached(ASK.payload) is None
    with pytest.raises(Cancelled):
        kind.run(ASK.payload, lambda *_: None, lambda: True)
    seen = []
    key = kind.run(ASK.payload, lambda done, *_: seen.append(done), lambda: False)
    assert key == ASK.key
    assert seen
    assert kind.cached(ASK.payload) == ASK.key
    assert screening_kept.stored_answer(ASK) is not None


def test_sets_that_change_after_they_were_read_get_no_answer_of_the_old_ones(tmp_path, monkeypatch):
    state = ["old"]
    monkeypatch.setattr(
        screening_kept.splitting, "state", lambda name: state[-1] if name == "mnist" else ""
    )
    ask = asked(private="mnist")
    key = ask.key
    sets = screening_kept.sets_of(ask)
    state.append("new")
    screening_kept.answer(ask, sets=sets, key=key)
    screening_kept.answer(ask, sets=sets)
    assert screening_kept.stored_answer(ask) is None
    screening_kept.answer(ask)
    assert screening_kept.stored_answer(ask) is not None
