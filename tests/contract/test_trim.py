"""A row's vote behind `trim` is its own, and rows that private rows are near are kept;
tests/contract/test_private_answers.py holds its release."""

import dataclasses

import numpy as np
import pytest

import pillar_core as pc
from pillar_core.errors import DataError, SettingError
from pillar_core.rng import stream
from pillar_core.screening.trim import MOST_CLUSTERS, Clusters, n_clusters
from pillar_core.types import FeatureSet

N, D = 300, 12


def rows(n, *, seed, at=0.0):
    """Rows round a point that lies `at` on the first axis."""
    x = stream(seed, "rows").standard_normal((n, D))
    x[:, 0] += at
    return FeatureSet(x.astype(np.float32), name=f"rows {seed}")


def test_a_row_between_two_centres_votes_alike_alone_and_among_others():
    """Else rows at a tie would turn with the order of a matrix product's sums: one row more would
    move other rows' votes."""
    generator = stream(0, "rows at ties")
    centres = generator.standard_normal((20, 1280)).astype(np.float32)
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    clusters = Clusters(np.zeros(1280, np.float32), centres, np.zeros(0, np.int64))
    ties = (centres[0] + centres[1] + 3e-9 * generator.standard_normal((300, 1280))).astype(
        np.float32
    )
    alone = np.sum([clusters.votes(ties[[place]]) for place in range(len(ties))], axis=0)
    assert min(alone[:2]) > 20
    for others in (0, 1, 7, 630):
        far = centres[2:3].repeat(others, axis=0)
        together = clusters.votes(np.concatenate([far, ties, far]))
        np.testing.assert_array_equal(together[:2], alone[:2])


def test_the_rows_that_private_rows_are_near_are_kept_whatever_the_share():
    near, far = rows(200, seed=2, at=8.0), rows(200, seed=3, at=-8.0)
    mixed = dataclasses.replace(near, x_train=np.concatenate([near.x_train, far.x_train]))
    trimmed = pc.screening.trim(rows(2000, seed=4, at=8.0), mixed, share=0.25, epsilon=1.0)
    assert len(trimmed.kept) == 100
    assert (trimmed.kept < 200).all()
    assert (trimmed.at(0.4) < 200).all()
    assert trimmed.votes["rows"].sum() == len(trimmed.at(1.0)) == 400
    assert set(trimmed.at(0.1)) < set(trimmed.kept)


def test_asking_again_gives_the_same_noise_and_clusters_are_few_where_it_is_large():
    asked = {"private": rows(N, seed=1), "public": rows(200, seed=0), "epsilon": 1.0}
    first, shared = (pc.screening.trim(**asked, share=share).votes for share in (0.1, 0.9))
    assert first.equals(shared)
    other = pc.screening.trim(**{**asked, "public": rows(201, seed=0)}, share=0.1).votes
    assert not set(first["votes"] % 1) & set(other["votes"] % 1)
    assert n_clusters(9000, 10_000, 1.0) == MOST_CLUSTERS
    assert n_clusters(900, 10_000, 10.0) == 30
    assert n_clusters(9000, 100, 1.0) == 20
    assert n_clusters(10, 10_000, 100.0) == 2


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"public": rows(1, seed=0)}, DataError, "fewer than two different rows"),
        (
            {"public": FeatureSet(np.ones((9, D), np.float32))},
            DataError,
            "fewer than two different rows",
        ),
        (
            {"public": FeatureSet(np.eye(9, dtype=np.float32))},
            DataError,
            "9 features",
        ),
        ({"epsilon": np.inf}, SettingError, "finite"),
    ],
)
def test_what_cannot_be_trimmed_is_refused(change, error, words):
    with pytest.raises(error, match=words):
        pc.screening.trim(
            **{
                "private": rows(N, seed=1),
                "public": rows(20, seed=0),
                "share": 0.5,
                "epsilon": 1.0,
                **change,
            }
        )
