"""The two releases that screening makes of private rows keep the contract of a learner: replay,
sensitivity, sampling, noise."""

import dataclasses
import functools

import numpy as np
import pytest

import pillar_core as pc
from contract.checks import SIGNIFICANCE, is_independent, movement, sampled, standard_noise
from contract.tapes import Neighbour, Recorder, Replay
from pillar_core import accounting
from pillar_core.events import ExponentialMechanismEvent, PoissonSampledDpEvent
from pillar_core.ledger import Ledger, event_counts
from pillar_core.rng import stream
from pillar_core.screening import release as releases
from pillar_core.screening.models import MODELS
from pillar_core.screening.ranking import SKETCHES, Screening, release_rows
from pillar_core.types import Dataset, NeighboringRelation

N, CLIP, K = 60, 0.05, 2
"""The clip norm is below every row's sketched norm, so that one row can reach the whole
sensitivity."""
EPSILON, DELTA = 1.0, 1e-5
FORMS = ("moment", "directions")
each_form = pytest.mark.parametrize("form", FORMS)
each_size = pytest.mark.parametrize("n_examples", [N, N // 4])
HARDEST = 0.8
# Sums of 60 float64 outer products.
SLACK = 1e-9


def task(n_examples=N, seed=5):
    private = Dataset(
        "rows", stream(0, "pixels").integers(256, size=(N, 8, 8)).astype(np.uint8), None
    )
    return Screening(
        private,
        N,
        {},
        ("gsd",),
        MODELS["linear_head"],
        K,
        n_examples,
        1,
        seed,
        0,
        lambda done, total, words: None,
    )


def with_rows(one, rows):
    return dataclasses.replace(one, private=dataclasses.replace(one.private, x_train=rows))


def release(one, form, tape=None):
    ledger = Ledger(tape)
    return release_rows(one, form, sketch(form), CLIP, EPSILON, DELTA, ledger), ledger


@functools.cache
def sketch(form):
    return releases.sketch_matrix(10 * (3 * 32 * 32 + 1), seed=0) @ releases.narrowing(
        size=SKETCHES[form], seed=0
    )


@each_form
@each_size
def test_what_is_charged_stays_within_the_budget(form, n_examples):
    _, ledger = release(task(n_examples), form)
    bounds = accounting.epsilon(
        ledger.total_event,
        delta=DELTA,
        relation=NeighboringRelation.ADD_OR_REMOVE_ONE,
        accountant="auto",
    )
    assert 0.98 * EPSILON <= bounds.upper <= EPSILON * (1 + 1e-9)
    counts = event_counts(ledger.total_event)
    if form == "directions":
        assert counts == {ExponentialMechanismEvent(EPSILON / K, 2 * EPSILON / K): K}
    else:
        assert isinstance(next(iter(counts)), PoissonSampledDpEvent) == (n_examples < N)


@each_form
@each_size
def test_with_the_release_replayed_nothing_depends_on_private_rows(form, n_examples):
    own, tape = task(n_examples), Recorder()
    made, ledger = release(own, form, tape)
    rows = own.private.x_train
    for hostile in (
        np.zeros_like(rows),
        rows[::-1],
        255 - rows,
        rows[:1],
        rows[:0],
        np.concatenate([rows, rows]),
    ):
        replay = Replay(tape, sampling_seed=7)
        again, spent = release(with_rows(own, hostile), form, replay)
        assert replay.calls == tape.calls
        assert spent.total_event == ledger.total_event
        np.testing.assert_array_equal(again.basis, made.basis)
        assert (again.moment is None) == (made.moment is None)
        assert made.moment is None or np.array_equal(again.moment, made.moment)


@each_form
@each_size
def test_one_row_moves_what_is_released_by_the_sensitivity_at_most_and_reaches_it(form, n_examples):
    own, tape = task(n_examples), Recorder()
    _, ledger = release(own, form, tape)
    rows, nearest = own.private.x_train, 0.0
    for row in (
        np.full((1, 8, 8), 255, np.uint8),
        np.zeros((1, 8, 8), np.uint8),
        np.eye(8, dtype=np.uint8)[None] * 255,
    ):
        added = Neighbour(tape, position_of=np.arange(N), forced=N)
        replaced = Neighbour(tape, position_of=np.arange(N), forced=0)
        release(with_rows(own, np.concatenate([rows, row])), form, added)
        release(with_rows(own, np.concatenate([row, rows[1:]])), form, replaced)
        for is_replaced, other in enumerate((added, replaced)):
            share, _ = movement(
                tape, ledger.lines, other, is_replaced=bool(is_replaced), slack=SLACK
            )
            nearest = max(nearest, share)
    assert nearest >= HARDEST


def test_kept_rows_are_a_poisson_sample():
    own = task(N // 4)
    samples = []
    for seed in range(300):
        tape = Recorder()
        release(dataclasses.replace(own, seed=seed), "moment", tape)
        ((q, n, kept),) = tape.samples
        assert (q, n) == (0.25, N)
        samples.append((q, n, kept))
    assert min(sampled(samples).values()) > SIGNIFICANCE


def test_the_noise_of_the_moment_is_as_charged():
    runs = []
    for seed in range(3):
        tape = Recorder()
        release(task(seed=seed), "moment", tape)
        runs.append(standard_noise(tape))
    is_independent(runs)
    assert tape.calls[0].noise_std == pytest.approx(pc.noise_multiplier(EPSILON) * CLIP**2)
