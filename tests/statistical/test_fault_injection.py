"""Learners that are broken on purpose must be caught by testing the claimed trade-off curve at ε =
4, and clean ones left alone."""

import pytest

from pillar_core.auditing import Fault, fault_injection

SIGNIFICANCE, TRIALS = 1e-6, 3000
"""A budget that is spent twice is seen by one of three canaries at 12 deviations where 5 would
do."""


@pytest.mark.parametrize("fault", list(Fault))
def test_every_fault_is_caught_and_none_is_not(fault):
    assert fault_injection.audit(
        fault, epsilon=4.0, significance=SIGNIFICANCE, trials=TRIALS
    ).is_caught == (fault is not Fault.NONE)
