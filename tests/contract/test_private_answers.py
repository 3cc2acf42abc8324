"""Every private answer promises what it charges, and charges what one row can move, under each
relation that it accepts."""

import dataclasses

import numpy as np
import pytest

from contract import answers
from contract.answers import ANSWERS, ONE_RELEASE, PRIVATE, PUBLIC, REPLACED, D, N
from contract.checks import FURTHER_THAN_ADDED, NEAR_BOUND, charges_fit, movement
from contract.tapes import Recorder, Replay
from pillar_core import accounting
from pillar_core.errors import UnsupportedError
from pillar_core.ledger import compose
from pillar_core.types import NeighboringRelation

DELTA = 1e-5
SLACK = 1e-9
"""Sums of 300 float64 rows of norm at most √3."""
ROUNDED = 1e-5
"""Of whole numbers, which stay below what is charged: nothing but their units is rounded."""
LOOSEST = 1.05
"""What is promised may be above what is charged: calibrations end below their budget."""


def test_every_promise_is_the_price_of_what_was_charged():
    offenders = []
    for name, ask in ANSWERS.items():
        for relation in NeighboringRelation:
            tape = Recorder()
            try:
                with answers.taped(tape) as ledgers:
                    promised = ask(PRIVATE, str(relation), 3)
            except UnsupportedError as refusal:
                offenders += (
                    []
                    if str(relation) in str(refusal)
                    else [f"{name} refuses {relation} without its name"]
                )
                continue
            charges_fit(answers.lines_of(ledgers), tape)
            spent = compose(*(ledger.total_event for ledger in ledgers))
            for stated, epsilon in promised.items():
                price = accounting.epsilon(spent, delta=DELTA, relation=stated, accountant="auto")
                is_right = price.lower <= epsilon <= LOOSEST * price.upper
                offenders += (
                    []
                    if is_right
                    else [f"{name} promises ε ≤ {epsilon:.4f} under {stated} for {price.upper:.4f}"]
                )
    assert not offenders


@pytest.mark.parametrize("name", list(ONE_RELEASE))
def test_with_the_releases_replayed_nothing_depends_on_private_rows(name):
    ask, x, y = ONE_RELEASE[name], PRIVATE.x_train, PRIVATE.y_train
    tape = Recorder()
    with answers.taped(tape):
        promised = ask(PRIVATE, "add_or_remove_one", 3)
    hostile = [(0 * x, y), (x[::-1], y), (1e30 * x, 0 * y), (np.full_like(x, np.nan), y)]
    if name == "class signal":  # which is told how many rows there are
        hostile += [(x[:1], y[:1]), (np.tile(x, (2, 1)), np.tile(y, 2))]
    for rows, labels in hostile:
        replay = Replay(tape, sampling_seed=7)
        other = dataclasses.replace(PRIVATE, x_train=np.ascontiguousarray(rows), y_train=labels)
        with answers.taped(replay):
            assert ask(other, "add_or_remove_one", 3) == promised
        assert replay.calls == tape.calls


@pytest.mark.parametrize(
    ("name", "seed"), [*((name, 3) for name in ONE_RELEASE), ("trim", None), ("class signal", None)]
)
def test_one_row_moves_what_is_released_by_what_is_charged_at_most_and_comes_near(name, seed):
    reached = {}
    slack = SLACK if seed else ROUNDED
    for relation in NeighboringRelation:
        tape, lines = answers.first_release(ONE_RELEASE[name], PRIVATE, str(relation), seed)
        assert {call.noise_law for call in tape.calls} == {"fast" if seed else "exact"}
        is_replaced = relation is REPLACED
        reached[relation] = max(
            movement(
                tape,
                lines,
                answers.first_release(ONE_RELEASE[name], other, str(relation), seed)[0],
                is_replaced=is_replaced,
                slack=slack,
            )[0]
            for other in neighbours(is_replaced=is_replaced)
        )
    assert all(
        share >= (FURTHER_THAN_ADDED if relation is REPLACED else NEAR_BOUND)
        for relation, share in reached.items()
    ), reached


def neighbours(*, is_replaced):
    """The private rows with one more, or with another first one, in each class."""
    huge, near = np.full(D, 1e6, np.float32), PUBLIC.x_train
    opposite = 2 * near.mean(axis=0) - PRIVATE.x_train[0]
    strange = np.full(D, np.inf, np.float32), np.full(D, np.nan, np.float32)
    for row in (
        (-huge, 0 * huge, opposite, *(50 * near[:3]), *strange)
        if is_replaced
        else (huge, near[0], *strange)
    ):
        for label in range(answers.CLASSES):
            first, labels = (
                PRIVATE.x_train[int(is_replaced) :],
                PRIVATE.y_train[int(is_replaced) :],
            )
            x, y = np.concatenate([row[None], first]), np.concatenate([[label], labels])
            yield dataclasses.replace(PRIVATE, x_train=x, y_train=y)
            assert len(x) == N + (not is_replaced)
