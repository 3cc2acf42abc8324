"""The release behind `trim` keeps the contract of a learner: replay and sensitivity; a row's vote
is its own."""

import dataclasses

import numpy as np
import pytest

import pillar_core as pc
from contract.checks import movement
from contract.tapes import Neighbour, Recorder, Replay
from pillar_core.errors import DataError, SettingError
from pillar_core.ledger import Ledger
from pillar_core.rng import Streams, stream
from pillar_core.screening.trim import MOST_CLUSTERS, Clusters, n_clusters, release_votes
from pillar_core.types import FeatureSet

N, D, K = 300, 12, 10
HARDEST = [
    1e6 * np.ones((1, D)),
    -1e30 * np.ones((1, D)),
    np.zeros((1, D)),
    np.full((1, D), np.inf),
    np.full((1, D), np.nan),
]


def rows(n: int, *, seed: int, at: float = 0.0) -> FeatureSet:
    """Rows round a point that lies `at` on the first axis."""
    x = stream(seed, "rows").standard_normal((n, D))
    x[:, 0] += at
    return FeatureSet(x.astype(np.float32), None, None, None, (), name=f"rows {seed}")


CLUSTERS = Clusters.of(rows(200, seed=0).x_train, K)
PRIVATE = rows(N, seed=1).x_train


def votes(
    x: np.ndarray, tape: Recorder | None = None, seed: int | None = 5
) -> tuple[np.ndarray, Ledger]:
    ledger = Ledger(tape)
    made = release_votes(
        x.astype(np.float32),
        CLUSTERS,
        noise_multiplier=2.0,
        noise=Streams(seed).secret("votes"),
        ledger=ledger,
    )
    return made, ledger


def test_with_the_release_replayed_nothing_depends_on_private_rows():
    tape = Recorder()
    made, ledger = votes(PRIVATE, tape)
    x = PRIVATE.astype(np.float64)
    for hostile in (
        0 * x,
        x[::-1],
        1e30 * x,
        np.full_like(x, np.nan),
        x[:1],
        x[:0],
        np.tile(x, (2, 1)),
    ):
        replay = Replay(tape, sampling_seed=7)
        again, spent = votes(hostile, replay)
        assert replay.calls == tape.calls
        assert spent.total_event == ledger.total_event
        np.testing.assert_array_equal(again, made)


@pytest.mark.parametrize(("seed", "law"), [(5, "fast"), (None, "exact")])
def test_one_row_moves_the_votes_by_the_sensitivity_at_most_and_reaches_it(seed, law):
    tape, reached = Recorder(), {False: 0.0, True: 0.0}
    _, ledger = votes(PRIVATE, tape, seed)
    assert ledger.noise_laws == {law}
    for row in (*HARDEST, *(50 * CLUSTERS.centres[:, None, :])):
        added, replaced = (
            Neighbour(tape, position_of=np.arange(N), forced=place) for place in (N, 0)
        )
        votes(np.concatenate([PRIVATE, row]), added, seed)
        votes(np.concatenate([row, PRIVATE[1:]]), replaced, seed)
        for is_replaced, other in zip(reached, (added, replaced), strict=True):
            nearest = movement(tape, ledger.lines, other, is_replaced=is_replaced, slack=1e-12)
            reached[is_replaced] = max(reached[is_replaced], nearest)
    assert min(reached.values()) >= 0.99


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
            {"public": FeatureSet(np.ones((9, D), np.float32), None, None, None, ())},
            DataError,
            "fewer than two different rows",
        ),
        (
            {"public": FeatureSet(np.eye(9, dtype=np.float32), None, None, None, ())},
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
