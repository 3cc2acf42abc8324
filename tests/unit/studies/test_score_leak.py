"""The attack on a gradient subspace distance: the shortcut equals the score, and the attackers are
as strong as they must be."""

import dataclasses

import numpy as np
import pytest
import torch

import pillar_core as pc
from pillar_core import rng, screening
from pillar_core.auditing import lira
from pillar_core.auditing import score_leak as attacks
from pillar_core.errors import DataError
from pillar_core.studies.evidence import score_leak
from pillar_core.subspace import projection_distance, top_directions
from users import refuses


def test_a_batchs_distance_is_that_of_its_directions_and_shows_a_row_in_the_digits():
    draws = rng.stream(0, "gradients")
    pool, basis = draws.standard_normal((40, 90)), np.linalg.qr(draws.standard_normal((90, 5)))[0]
    distance = attacks.BatchDistance(pool @ pool.T, pool @ basis)
    for batch in (np.arange(20), np.array([3, 9, 11, 20, 33, 39])):
        expected = projection_distance(
            top_directions(torch.from_numpy(pool[batch]), 5).basis, basis
        )
        assert distance(batch) == pytest.approx(expected, abs=1e-9)
    refuses("at least k = 5", distance, np.arange(4))
    with pytest.raises(DataError, match="fewer than k"):
        attacks.BatchDistance(np.ones((9, 9)), np.ones((9, 5)))(np.arange(9))
    with_row, without = np.array([0.51, 0.512, 0.5, 0.5]), np.array([0.50, 0.511, 0.5 + 1e-4, 0.5])
    assert attacks.known_others(with_row, without, decimals=None).value == pytest.approx(
        (1 + 3 / 4) / 2
    )
    wide = attacks.known_others(with_row, without, decimals=2)
    assert wide.value == pytest.approx((1 + 1 / 4) / 2)
    assert 0.5 <= wide.low < wide.value < wide.high <= 1


def test_the_whole_batch_gives_the_librarys_score():
    """Same rows in the same order, same labels, same start: the score of `screening.gsd`."""
    data = pc.load_dataset("digits")
    numbers = np.asarray(data.x_train, dtype=np.float32).reshape(len(data.x_train), -1)
    flat = dataclasses.replace(data, x_train=numbers, x_test=None, y_test=None)
    private, public = (
        dataclasses.replace(flat, x_train=flat.x_train[part], y_train=None)
        for part in (slice(0, 400), slice(400, 800))
    )
    distance = score_leak.batch_distance(
        private.x_train, public.x_train, model="linear_head", k=8, rows=200, public_rows=200, seed=1
    )
    expected = screening.gsd(private, public, model="linear_head", k=8, n_examples=200, seed=1)
    # gradients are float32
    assert distance(np.arange(200)) == pytest.approx(expected, abs=1e-5)


def test_who_knows_a_part_finds_a_row_that_moves_the_score_and_no_other():
    """400 batches, one row that moves the score by four deviations, or none that does: 5 standard
    errors around the truth."""
    stream = rng.stream(0, "batches")
    included = lira.halves(400, 10, stream)
    noise = stream.standard_normal(400)
    blind = attacks.known_part(noise, included)
    assert blind.value == pytest.approx(0.5, abs=5 * 0.5 / np.sqrt(400 * 10) + 0.02)
    told = attacks.known_part(noise + 4.0 * included[:, 0], included)
    # that row is told in Φ(2) = 97.7 % of the batches; batches of a fixed size then hold each other
    # row in 4 of 9 cases, or 5 of 9
    others = 0.977 * 5 / 9 + 0.023 * 4 / 9
    assert told.value == pytest.approx((0.977 + 9 * others) / 10, abs=0.03)
    assert told.low > 0.5


def test_the_attack_on_real_rows_says_what_each_attacker_gains():
    split = pc.split(pc.load_dataset("digits"), public_fraction=0.3)
    rows = split.features.x_train[split.private]
    found, again = (
        score_leak.score_leak(rows, split.public_x, k=8, batch=100, batches=32, candidates=20)
        for _ in range(2)
    )
    success = found.table.set_index("sees")["success"]
    assert (found.table["low"] <= found.table["success"]).all()
    assert (found.table["success"] <= found.table["high"]).all()
    assert found.table.equals(again.table)
    assert success.iloc[0] == 1.0
    assert success.iloc[0] >= success.iloc[1] >= success.iloc[2] >= 0.5
    assert found.largest_movement > 0
    refuses("at least 20 private rows", score_leak.score_leak, rows[:15], split.public_x, k=8)
