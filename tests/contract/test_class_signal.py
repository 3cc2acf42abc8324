"""The release behind `class_signal` keeps the contract of a learner: replay and sensitivity; and
its score subtracts the right noise."""

import dataclasses

import numpy as np
import pytest

import pillar_core as pc
from contract.checks import movement
from contract.tapes import Neighbour, Recorder, Replay
from pillar_core.ledger import Ledger
from pillar_core.rng import Streams, stream
from pillar_core.screening import class_signal
from pillar_core.types import FeatureSet

N, D, CLASSES = 60, 12, 3
EPSILON, DELTA = 1.0, 1e-5
HARDEST = 0.99
# Sums of 61 float64 rows of norm at most 1.
SLACK = 1e-12


def private() -> FeatureSet:
    generator = stream(0, "private rows")
    y = np.arange(N) % CLASSES
    return FeatureSet(
        generator.standard_normal((N, D)).astype(np.float32), y, None, None, tuple("abc")
    )


def public(seed: int = 0, shift: float = 0.0) -> FeatureSet:
    return FeatureSet(
        (shift + stream(seed, "public rows").standard_normal((40, D))).astype(np.float32),
        None,
        None,
        None,
        (),
    )


def released(
    rows: FeatureSet, tape: Recorder | None = None, seed: int | None = 5
) -> tuple[class_signal.ClassSums, Ledger]:
    ledger, centre = Ledger(tape), class_signal.public_centre([public().x_train])
    multiplier, noise = pc.noise_multiplier(EPSILON, delta=DELTA), Streams(seed).secret("noise")
    made = class_signal.release_class_sums(
        rows, N, centre, noise_multiplier=multiplier, noise=noise, ledger=ledger
    )
    return made, ledger


def with_rows(rows: FeatureSet, x: np.ndarray, y: np.ndarray) -> FeatureSet:
    return dataclasses.replace(rows, x_train=np.ascontiguousarray(x, dtype=np.float32), y_train=y)


def test_with_the_release_replayed_nothing_depends_on_private_rows():
    own, tape = private(), Recorder()
    made, ledger = released(own, tape)
    x, y = own.x_train, own.y_train
    hostile = [
        *(
            (0 * x, y),
            (x[::-1], y),
            (1e30 * x, 0 * y),
            (np.full_like(x, np.nan), y),
            (x[:1], y[:1]),
            (x[:0], y[:0]),
        ),
        (np.tile(x, (2, 1)), np.tile(y, 2)),
    ]
    for rows, labels in hostile:
        replay = Replay(tape, sampling_seed=7)
        again, spent = released(with_rows(own, rows, labels), replay)
        assert replay.calls == tape.calls
        assert spent.total_event == ledger.total_event
        np.testing.assert_array_equal(again.sums, made.sums)
        assert (again.n, again.noise_std) == (made.n, made.noise_std)


def test_a_release_sums_whole_numbers_of_the_same_rows():
    own, tapes = private(), (Recorder(), Recorder(), Recorder())
    fewer = with_rows(own, own.x_train[1:], own.y_train[1:])
    laws = [
        released(rows, tape, seed)[1].noise_laws
        for rows, tape, seed in zip((own, own, fewer), tapes, (5, None, None), strict=True)
    ]
    assert laws == [{"fast"}, {"exact"}, {"exact"}]
    fast, exact, without = (tape.values[0].numpy() for tape in tapes)
    np.testing.assert_allclose(exact, fast, atol=1e-3)
    assert 0.999 < np.linalg.norm(exact - without) <= class_signal.SENSITIVITY


def test_one_row_moves_the_class_sums_by_the_sensitivity_at_most_and_reaches_it():
    own, tape = private(), Recorder()
    _, ledger = released(own, tape)
    x, y, nearest = own.x_train, own.y_train, {False: 0.0, True: 0.0}
    for row in (
        1e6 * np.ones((1, D)),
        -1e30 * np.ones((1, D)),
        np.zeros((1, D)),
        np.full((1, D), np.inf),
        2 * x[:1],
    ):
        for label in range(CLASSES):
            added, replaced = (
                Neighbour(tape, position_of=np.arange(N), forced=place) for place in (N, 0)
            )
            code = np.array([label])
            released(with_rows(own, np.concatenate([x, row]), np.concatenate([y, code])), added)
            released(
                with_rows(own, np.concatenate([row, x[1:]]), np.concatenate([code, y[1:]])),
                replaced,
            )
            for is_replaced, other in enumerate((added, replaced)):
                reached = movement(
                    tape, ledger.lines, other, is_replaced=bool(is_replaced), slack=SLACK
                )
                nearest[is_replaced] = max(nearest[is_replaced], reached)
    assert nearest[False] >= HARDEST
    assert (
        nearest[True] >= np.sqrt(0.5) * HARDEST
    )  # across classes; within one, the opposite row would reach all of it


@pytest.mark.parametrize(("scale", "is_accepted"), [(1.0, True), (2 / 3, False), (1.5, False)])
def test_the_subtracted_noise_is_the_noise(scale, is_accepted):
    """Without private rows the mean signal over releases is 0 where the right noise is subtracted:
    the wrong scale is rejected."""
    one = class_signal.Candidate.of(
        class_signal.unit(public().x_train, class_signal.public_centre([public().x_train]))
    )
    generator, std = stream(1, "null"), 0.5
    sums = std * generator.standard_normal((2000, D, CLASSES))
    release = class_signal.ClassSums(sums[0], std, N)
    values = class_signal.signal(release, one, sums, noise_std=scale * std)
    # Six standard errors of the mean of 2,000 draws; the wrong scales are 80 away.
    assert (abs(values.mean()) < 6 * values.std() / np.sqrt(len(values))) == is_accepted
