"""Exact duplicates against brute force."""

import dataclasses
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import stats

import pillar_core as pc
from pillar_core.data import duplicates, matching, raw, uploads
from pillar_core.data.encoding import Column, Recipe
from pillar_core.data.npz import npz_of
from pillar_core.data.partition import (
    BY_COIN_NOTE,
    SET_APART,
    TEST_FRACTION,
    stratify,
    toss,
    with_tossed_test,
    without_drawn_test,
)
from pillar_core.types import BY_COIN, Persons
from unit.image_files import sizes
from users import refuses

SMALL = arrays.arrays(
    np.float32,
    st.tuples(st.integers(0, 8), st.just(3)),
    elements=st.sampled_from([0.0, -0.0, 1.0, -1.0, 2.5]),
)


def _brute(x_a: np.ndarray, x_b: np.ndarray) -> list[list[int]]:
    pairs = []
    for row, values in enumerate(x_a):
        equal = [other for other, candidate in enumerate(x_b) if (candidate == values).all()]
        pairs += [[row, equal[0]]] if equal else []
    return pairs


@given(SMALL, SMALL)
def test_agrees_with_brute_force(x_a, x_b):
    found = duplicates(x_a, x_b)
    assert found.dtype == np.int64
    assert found.shape == (len(found), 2)
    assert found.tolist() == _brute(x_a, x_b)
    odd = np.arange(1, len(x_a), 2)
    assert duplicates(x_a, x_b, rows=odd).tolist() == [
        pair for pair in _brute(x_a, x_b) if pair[0] % 2
    ]


def test_finds_planted_rows_among_many_and_no_nearly_equal_ones():
    generator = np.random.default_rng(0)
    x_a, x_b = (generator.standard_normal((n, 33), dtype=np.float32) for n in (9_000, 5_000))
    x_b[4_321], x_b[17] = x_a[8_765], x_a[2]
    assert duplicates(x_a, x_b).tolist() == [[2, 17], [8_765, 4_321]]
    row = np.ones((1, 4), dtype=np.float32)
    near = row.copy()
    near[0, 3] = np.nextafter(np.float32(1), np.float32(2))
    assert len(duplicates(row, near)) == 0


@pytest.mark.parametrize("other", [np.zeros((2, 4)), np.zeros(3)])
def test_other_widths_are_refused(other):
    refuses("equal width", duplicates, np.zeros((2, 3)), other)


X, Y = np.arange(400, dtype=np.float32).reshape(200, 2), np.arange(200) % 2


def _fits_coins(draws: list[tuple[bool, ...]]) -> bool:
    """Whether draws of two rows are as two coins of `TEST_FRACTION` give them, by a χ² test at 1 in
    a million."""
    expected = [
        len(draws) * np.prod([TEST_FRACTION if side else 1 - TEST_FRACTION for side in pair])
        for pair in np.ndindex(2, 2)
    ]
    counts = Counter(draws)
    return bool(
        stats.chisquare([counts[pair] for pair in np.ndindex(2, 2)], expected).pvalue > 1e-6
    )


def test_two_coins_know_nothing_of_each_other_and_a_stratified_draw_does():
    """What the larger ε of training and private test rests on: given all other rows' sides, a row's
    own is a coin."""
    assert _fits_coins([tuple(row in toss(2)[1] for row in range(2)) for _ in range(4000)])
    labels = np.zeros(2, dtype=np.int64)
    assert not _fits_coins(
        [
            tuple(row in stratify(labels, seed=seed, name="x")[1] for row in range(2))
            for seed in range(4000)
        ]
    )


def test_a_person_is_wholly_on_one_side_and_every_row_on_one():
    persons = np.repeat(np.arange(300), 3)[np.random.default_rng(0).permutation(900)]
    train, test = toss(900, persons=persons)
    assert sorted([*train, *test]) == list(range(900))
    assert not set(persons[train]) & set(persons[test])
    assert 20 < len(set(persons[test])) < 110, "300 coins of a fifth"
    features = dataclasses.replace(
        pc.features(X, Y), persons=Persons(np.arange(200), 1), test_drawn=True
    )
    for refused in (features, dataclasses.replace(features, persons=None, test_drawn=False)):
        refuses("drawn while reading", with_tossed_test, refused)


@pytest.mark.parametrize("shape", [(200, 2), (200, 4, 4)])
def test_rows_of_any_source_are_drawn_anew_and_travel_so(shape, tmp_path):
    x = X if len(shape) == 2 else np.repeat(np.arange(200, dtype=np.uint8), 16).reshape(shape)
    np.savez(tmp_path / "rows.npz", x_train=x, y_train=Y)
    data = uploads.load(
        uploads.keep(
            pc.load_features(tmp_path / "rows.npz")
            if len(shape) == 2
            else pc.load_images(tmp_path / "rows.npz")
        )
    )
    data = dataclasses.replace(data, test_drawn=True)
    drawn, again = with_tossed_test(data), with_tossed_test(data)
    assert (BY_COIN_NOTE in drawn.notes, SET_APART in drawn.notes) == (True, False)
    assert sum(sizes(drawn)) == 200
    assert drawn.x_test.tobytes() != again.x_test.tobytes(), "no seed"
    (tmp_path / "kept.npz").write_bytes(npz_of(drawn))
    for copy in (
        uploads.load(uploads.keep(drawn)),
        pc.load_features(tmp_path / "kept.npz"),
        pc.load_features(drawn),
    ):
        assert copy.test_drawn == BY_COIN
    assert len(without_drawn_test(drawn).x_train) == 200, "as a public set, it has them all"


def test_a_table_is_drawn_by_persons_and_keeps_a_class_that_no_train_row_has():
    frame = pd.DataFrame(
        {
            "a": range(1200),
            "who": np.repeat(range(400), 3),
            "label": ["x"] * 600 + ["y"] * 597 + ["z"] * 3,
        }
    )
    recipe = Recipe("label", columns=(Column("a", "numbers", 0),), person="who", rows_per_person=3)
    draws = [raw.private_features(frame, recipe, name="ward", by_coin=True) for _ in range(12)]
    for features in draws:
        assert (features.test_drawn, features.classes) == (BY_COIN, ("x", "y", "z"))
        assert not {int(value) // 3 for value in features.x_train[:, 0]} & {
            int(value) // 3 for value in features.x_test[:, 0]
        }
    assert len({features.x_test.tobytes() for features in draws}) == 12
    named = frame.assign(split=["test"] * 3 + ["train"] * 1197)
    assert len(raw.private_features(named, recipe, name="ward", by_coin=True).x_test) == 3, (
        "rows that the source names stay"
    )


def _coarse(n: int, seed: int, *, values: int) -> np.ndarray:
    """Rows of two numbers, such as age and ward, of so many different pairs."""
    drawn = np.random.default_rng(seed).integers(0, values, n)
    return np.stack([drawn // 40, drawn % 40], axis=1).astype(np.float32)


@pytest.mark.parametrize("values", [1_400, 40_000])
@pytest.mark.parametrize("n", [60, 800, 3_000])
def test_tables_drawn_apart_share_what_chance_gives_and_copies_share_more(n, values, monkeypatch):
    """A twentieth of the smaller table was the limit, though chance pairs grow with both."""
    monkeypatch.setattr(matching, "ERROR", 1e-8)
    private, public = _coarse(n, 0, values=values), _coarse(400, 1, values=values)
    shared = matching.shared_rows(private, public)
    together = {tuple(row) for row in private.tolist()}
    assert shared is None or shared.is_chance
    assert (shared.n if shared else 0) == sum(tuple(row) in together for row in public.tolist())
    monkeypatch.undo()
    for copies in (private, private[: n // 2]):
        assert not matching.shared_rows(private, copies).is_chance
    mixed = np.concatenate([private[:200], public[:200]])
    assert n == 3_000 > values or not matching.shared_rows(private, mixed).is_chance


def test_a_copy_is_refused_where_every_row_repeats_and_a_split_keeps_its_share():
    private = _coarse(3_000, 0, values=20)
    assert matching.shared_rows(private, _coarse(400, 1, values=20)).is_chance
    assert not matching.shared_rows(private, private[::-1]).is_chance
    assert not matching.shared_rows(private, private[:400], is_one_table=True).is_chance
    shared = matching.shared_rows(private, _coarse(40, 1, values=20))
    assert str(shared) == "40 of 40 public rows"
