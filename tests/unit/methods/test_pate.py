"""PATE: stable teachers, votes against brute force, GNMax's cost, and the published data-dependent
numbers."""

import json
import math

import numpy as np
import pytest
from scipy.stats import norm

import pillar_core as pc
from contract import checks
from contract.cases import case_for, small_split
from pillar_core import rng
from pillar_core.engine.logistic import grouped_ridge
from pillar_core.errors import SettingError
from pillar_core.methods import METHODS
from pillar_core.methods.voting import pate
from pillar_core.methods.voting.pate import data_dependent_epsilon, gnmax_rdp, log_chance_of_another
from pillar_core.types import Provenance

CONFIDENT = {"answers": 15, "threshold": 0.2}


def test_a_row_keeps_its_teacher_and_teachers_are_even():
    all_ids = np.arange(1000)
    few = all_ids[[3, 500, 999]]
    np.testing.assert_array_equal(pate.teacher_of(few, 37), pate.teacher_of(all_ids, 37)[few])
    teacher = pate.teacher_of(np.arange(20_000), 10)
    sizes = np.bincount(teacher, minlength=10)
    # Binomial(20000, 1/10): standard deviation 42; 5 of them.
    assert abs(sizes - 2000).max() <= 5 * 43
    every_tenth = np.bincount(teacher[::10], minlength=10)
    assert abs(every_tenth - 200).max() <= 5 * 14


def test_a_teacher_is_a_ridge_regression_on_its_own_rows_and_no_bit_hangs_on_others():
    generator = rng.stream(0, "teachers")
    z, y = generator.standard_normal((50, 4)).astype(np.float32), generator.integers(3, size=50)
    group = np.repeat([0, 2, 3], [20, 25, 5])
    weights, bias = grouped_ridge(z, y, group, n_groups=4, n_classes=3, penalty=0.7)
    for one in (0, 2, 3):
        rows, targets = z[group == one].astype(np.float64), np.eye(3)[y[group == one]]
        # The stationary point: Zᵀ(ZW + b − T) + λW = 0 and the residuals add up to 0.
        away = rows @ weights[one] + bias[one] - targets
        np.testing.assert_allclose(rows.T @ away + 0.7 * weights[one], 0, atol=1e-9)
        np.testing.assert_allclose(away.sum(axis=0), 0, atol=1e-9)
    assert not weights[1].any()
    assert not bias[1].any()
    generator = rng.stream(0, "teachers")
    y, group = generator.integers(3, size=600), generator.integers(5, size=600)
    rows = generator.uniform(-1, 1, (600, 7)).astype(np.float32)
    order = generator.permutation(600)[:500]
    order = np.concatenate([order[group[order] != 2], np.flatnonzero(group == 2)[::-1]])
    for z, is_own in ((np.rint(rows * 2**15) / 2**15, True), (rows, False)):
        one, other = (
            grouped_ridge(
                z[kept].astype(np.float32),
                y[kept],
                group[kept],
                n_groups=5,
                n_classes=3,
                penalty=0.3,
            )[0][2]
            for kept in (np.arange(600), order)
        )
        assert np.array_equal(one, other) is is_own


def test_confident_gnmax_keeps_the_contract():
    checks.keeps_the_contract(case_for(METHODS["pate"], **CONFIDENT))


def test_teachers_by_position_are_seen():
    def by_position(ids, teachers):
        return np.arange(len(ids)) * teachers // len(ids)

    sound = pate.teacher_of
    pate.teacher_of = by_position
    try:
        with pytest.raises(AssertionError, match="gaussian moved"):
            checks.is_within_sensitivity(case_for(METHODS["pate"]))
    finally:
        pate.teacher_of = sound


def test_of_questions_no_more_are_answered_than_are_asked():
    with pytest.raises(SettingError, match="answers must be at most 10"):
        pc.run("pate", small_split(), epsilon=1.0, queries=10, answers=11)


def test_teachers_are_trained_in_blocks_and_are_no_more_than_rows(monkeypatch):
    """A million of them asked for 75 GiB at once, whatever the rows."""
    split = small_split(n=900)
    with pytest.raises(SettingError, match="at most the number of private rows"):
        pc.run("pate", split, epsilon=2.0, teachers=1_000_000)
    whole = pc.run("pate", split, epsilon=2.0, teachers=50, k=4)
    monkeypatch.setattr(pate, "BLOCK", 7 * 16)
    assert pc.run("pate", split, epsilon=2.0, teachers=50, k=4).accuracy == whole.accuracy


@pytest.mark.parametrize("learns", ["votes", "labels"])
@pytest.mark.parametrize(("name", "voters"), [("pate", "teachers"), ("private_knn", "neighbours")])
def test_without_noise_the_student_learns(name, voters, learns):
    asked = {voters: 10, "student": learns, "k": 4}
    assert pc.run(name, small_split(n=900), epsilon=math.inf, **asked).accuracy > 0.8


def test_the_data_dependent_value_is_badged_and_below_the_cost_where_teachers_agree():
    record = pc.run("pate", small_split(n=2000), epsilon=4.0, teachers=100, k=4, queries=20)
    [(value, provenance)] = record.diagnostics.values()
    assert provenance is Provenance.NON_PRIVATE
    std = math.sqrt(2) * record.settings["noise_multiplier"]
    split_evenly = data_dependent_epsilon(np.full((20, 3), 100 / 3), std, delta=1e-5)
    assert value < 0.9 * split_evenly


def test_data_dependent_rdp_is_never_above_the_plain_one():
    orders = (1.5, 4.0, 32.0, 500.0)
    for votes in ([100, 0, 0], [34, 33, 33], [60, 40, 0], [1e6, 0, 0]):
        value = gnmax_rdp(np.array(votes, dtype=float), 10.0, orders)
        assert (value <= np.array(orders) / 100.0).all()
        assert (value >= 0).all()
    votes, sigma = np.array([90.0, 30.0, 75.0]), 12.0
    wanted = norm.sf(60 / (np.sqrt(2) * sigma)) + norm.sf(15 / (np.sqrt(2) * sigma))
    assert log_chance_of_another(votes, sigma) == pytest.approx(math.log(wanted))


def test_published_rdp(shared):
    for one in json.loads((shared / "oracles" / "pate.json").read_text()):
        votes, sigma, orders = np.array(one["counts"], dtype=float), one["sigma"], one["orders"]
        assert log_chance_of_another(votes, sigma) == pytest.approx(one["logq"], rel=1e-9)
        np.testing.assert_allclose(
            gnmax_rdp(votes, sigma, orders), one["rdp_data_dependent"], rtol=1e-9
        )
        np.testing.assert_allclose(
            np.array(orders) / sigma**2, one["rdp_data_independent"], rtol=1e-9
        )
