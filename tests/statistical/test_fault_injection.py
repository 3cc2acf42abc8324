"""Learners that are broken on purpose must be caught by testing the claimed trade-off curve at ε = 4, and clean ones left alone."""

import pytest

from pillar_core.auditing import Fault, fault_injection

AUDITS, CLEAN_RUNS, TRIALS = 8, 50, 400
"""TRIALS: half of what the app takes; fewer show less. AUDITS all catch: with one in five missed they would with probability 0.17."""
MOST_ALARMS = 3
"""α = 2 % over three canaries: 1 expected at most in 50, and more than 3 with probability below 2 %."""


@pytest.mark.slow
@pytest.mark.parametrize("fault", [fault for fault in Fault if fault is not Fault.NONE])
def test_every_fault_is_caught(fault: Fault) -> None:
    assert all(fault_injection.audit(fault, epsilon=4.0, seed=seed, trials=TRIALS).is_caught for seed in range(AUDITS))


@pytest.mark.slow
def test_clean_runs_raise_few_alarms() -> None:
    alarms = sum(fault_injection.audit(Fault.NONE, epsilon=4.0, seed=10_000 + seed, trials=TRIALS).is_caught for seed in range(CLEAN_RUNS))
    assert alarms <= MOST_ALARMS
