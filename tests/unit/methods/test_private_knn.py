"""Private-kNN: neighbours against brute force, ties, sensitivity under both relations, and the
student."""

import dataclasses
import math

import numpy as np
import pytest

from contract.cases import small_split
from pillar_core import rng
from pillar_core.engine.logistic import cross_validated_ridge, shrunk_regression
from pillar_core.methods.parts.voting import STEP, exact_rows
from pillar_core.methods.voting.private_knn import neighbour_votes
from pillar_core.splits import view_of
from pillar_core.types import PublicUse


def rows(seed=0, n=80, m=9, k=3):
    generator = rng.stream(seed, "knn rows")
    z, asked = (generator.standard_normal((count, k)).astype(np.float32) for count in (n, m))
    return asked, z, generator.integers(4, size=n)


@pytest.mark.parametrize("neighbours", [1, 7, 80, 500])
def test_votes_are_the_labels_of_the_nearest_rows(neighbours):
    asked, z, y = rows()
    votes = neighbour_votes(asked, z, y, np.arange(80), neighbours=neighbours, n_classes=4)
    for row, point in enumerate(asked):
        nearest = np.argsort(((z - point) ** 2).sum(axis=1))[:neighbours]
        np.testing.assert_array_equal(votes[row], np.bincount(y[nearest], minlength=4))


def test_ties_go_to_the_smaller_row_number_and_an_empty_sample_votes_for_nothing():
    asked, z, y = (
        np.zeros((1, 2), dtype=np.float32),
        np.ones((6, 2), dtype=np.float32),
        np.arange(6) % 3,
    )
    ids = np.array([5, 0, 3, 1, 4, 2])
    votes = neighbour_votes(asked, z, y, ids, neighbours=2, n_classes=3)
    np.testing.assert_array_equal(votes[0], np.bincount(y[[1, 3]], minlength=3))
    asked, z, y = rows()
    assert not neighbour_votes(asked, z[:0], y[:0], np.arange(0), neighbours=3, n_classes=4).any()


@pytest.mark.parametrize("normalise", [True, False])
def test_no_row_moves_another_by_rounding(normalise):
    view = view_of(small_split(n=700, d=48), PublicUse.UNLABELLED)
    how = {"standardise": True, "centre": True, "normalise": normalise, "k": 12}
    whole = exact_rows(view, **how)
    generator = rng.stream(3, "subsets")
    for keep in (1, 7, 100, len(view.rows) - 1):
        kept = np.sort(generator.permutation(len(view.rows))[:keep])
        part = exact_rows(dataclasses.replace(view, rows=view.rows[kept]), **how)
        np.testing.assert_array_equal(part.z, whole.z[kept])
    plain = view.prepare(**how)
    # The grid's half step.
    largest = 1.0 if normalise else 2.0 ** math.ceil(math.log2(abs(plain.z_public).max()))
    inside = abs(plain.z) <= largest
    np.testing.assert_allclose(whole.z[inside], plain.z[inside], atol=largest * 2.0**-15)


def test_distances_of_rows_on_the_grid_are_exact():
    view = view_of(small_split(n=400, d=48), PublicUse.UNLABELLED)
    made = exact_rows(view, standardise=True, centre=True, normalise=True, k=12)
    asked, z = made.z_public[:5].astype(np.float64), made.z.astype(np.float64)
    found = (z**2).sum(axis=1) - 2 * asked @ z.T
    whole, own = (np.rint(rows / STEP).astype(object) for rows in (z, asked))
    exact = (whole * whole).sum(axis=1) - 2 * own @ whole.T
    assert (found / STEP**2 == exact.astype(np.float64)).all()


def test_a_row_that_leaves_lets_one_in_even_among_near_ties():
    generator = rng.stream(4, "near ties")
    centre = generator.standard_normal(8)
    # Rows within a few grid steps of each other: float32 distances tie or swap by rounding.
    z = (
        np.rint(
            (centre / np.linalg.norm(centre) + 2e-4 * generator.standard_normal((400, 8))) / STEP
        )
        * STEP
    ).astype(np.float32)
    y, ids = generator.integers(5, size=400), np.arange(400)
    asked = z[:20] + np.float32(STEP)
    full = neighbour_votes(asked, z, y, ids, neighbours=30, n_classes=5)
    for gone in range(0, 400, 13):
        kept = ids != gone
        moved = full - neighbour_votes(
            asked, z[kept], y[kept], ids[kept], neighbours=30, n_classes=5
        )
        assert np.linalg.norm(moved, axis=1).max() <= math.sqrt(2)


def test_without_noise_the_shrunk_regression_is_least_squares():
    asked, _, _ = rows(m=30)
    targets = rng.stream(5, "targets").standard_normal((30, 2))
    weights, bias = shrunk_regression(asked, targets, noise_std=0.0)
    wanted, *_ = np.linalg.lstsq(np.column_stack([asked, np.ones(30)]), targets, rcond=None)
    np.testing.assert_allclose(np.vstack([weights, bias]), wanted, rtol=1e-4, atol=1e-5)


def test_cross_validation_shrinks_noise_alone_and_takes_a_small_penalty_for_signal():
    generator = rng.stream(6, "noise")
    z = generator.standard_normal((500, 20))
    noise = generator.standard_normal((500, 10))
    kept, _ = shrunk_regression(z, noise, noise_std=1.0)
    plain, _ = shrunk_regression(z, noise, noise_std=0.0)
    # Each direction keeps max(0, 1 − 1/power) with power a mean of 10 squares (sd 0.45): 0.15 of it
    # on average.
    assert np.linalg.norm(kept) < 0.5 * np.linalg.norm(plain)
    generator = rng.stream(7, "gcv")
    z = generator.standard_normal((100, 20))
    truth = generator.standard_normal((20, 3))
    weights, _ = cross_validated_ridge(z, z @ truth + 0.01 * generator.standard_normal((100, 3)))
    np.testing.assert_allclose(weights, truth, atol=0.05)
    noise, _ = cross_validated_ridge(z, generator.standard_normal((100, 3)))
    assert np.abs(noise).max() < 0.1
    weights, bias = cross_validated_ridge(np.ones((4, 2)), np.arange(8.0).reshape(4, 2))
    assert not weights.any()
    np.testing.assert_allclose(bias, [3, 4])
