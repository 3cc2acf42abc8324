"""Learners that are broken on purpose must be caught by testing the claimed trade-off curve at ε = 4, and clean ones left alone."""

from __future__ import annotations

import pytest

from pillar_core.auditing import Fault, fault_injection

TRIALS, CLEAN_RUNS = 20, 100
MOST_ALARMS = 7
"""α = 2 % over three canaries: 2 expected at most in 100, and more than 7 with probability below 0.2 %; at 15 %, 7 or fewer below 3 %."""
FEWEST_CAUGHT = 19


@pytest.mark.slow
@pytest.mark.parametrize("fault", [fault for fault in Fault if fault is not Fault.NONE])
def test_every_fault_is_caught(fault: Fault) -> None:
    caught = sum(fault_injection.audit(fault, epsilon=4.0, seed=seed).is_caught for seed in range(TRIALS))
    assert caught >= FEWEST_CAUGHT


@pytest.mark.slow
def test_clean_runs_raise_few_alarms() -> None:
    alarms = sum(fault_injection.audit(Fault.NONE, epsilon=4.0, seed=10_000 + seed).is_caught for seed in range(CLEAN_RUNS))
    assert alarms <= MOST_ALARMS
