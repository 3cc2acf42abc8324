"""One planted fault of each kind is seen, on every test run; the whole table is made by `python -m
contract.faults`."""

import numpy as np
import pytest

from contract import faults
from pillar_core.ledger import Call

KINDS = {fault.kind: fault for fault in reversed(faults.FAULTS)}
"""The first fault of each kind."""


@pytest.mark.parametrize("kind", list(KINDS))
def test_a_fault_of_each_kind_is_seen(kind):
    fault = KINDS[kind]
    original = getattr(fault.owner, fault.name)
    assert faults.caught_by(fault, fault.learners[0])
    assert getattr(fault.owner, fault.name) is original


@pytest.mark.parametrize(
    "words",
    [
        "uniform noise of equal variance",
        "the same noise in every step",
        "half the noise",
        "whole noise a hundredth as large",
        "the same words in every draw",
        "private rows in mean and scale",
    ],
)
def test_the_audit_of_the_pages_sees_what_a_score_of_steps_does_not(words):
    """The law and the dependence of noise do not show in a canary's score; rows that are read
    beside the steps show in the model's answers alone."""
    assert faults.caught_by_the_page(next(fault for fault in faults.FAULTS if fault.words == words))


@pytest.mark.slow
@pytest.mark.parametrize(
    "fault",
    [fault for fault in faults.FAULTS if fault is not KINDS[fault.kind]],
    ids=lambda fault: f"{fault.kind}: {fault.words}",
)
def test_every_other_fault_is_seen_in_its_first_learner(fault):
    assert faults.caught_by(fault, fault.learners[0])


def test_calls_compare_to_the_last_bit():
    assert Call("gaussian", (2,), 1.0, 1.0, 1.0) != Call(
        "gaussian", (2,), np.nextafter(1.0, 2), 1.0, 1.0
    )
