"""The sentence over all evidence: no claim is cleared before trials ran, and the ceiling is read at the rate that is named."""

import dataclasses

import numpy as np
import pandas as pd

from pillar_core import rng
from pillar_core.accounting import TradeOff
from pillar_core.auditing import Finding
from pillar_core.auditing.hypothesis_test import Counts
from pillar_core.studies.evidence import verdict
from pillar_core.studies.evidence.attacks import Attack, CanaryAudit, rates_under
from pillar_core.studies.evidence.one_run import OneRunAudit

ONE = OneRunAudit(200, 50, 25, (0.0, 0.0), (0.1, 0.2), 1.0, 1.3)
CEILING = TradeOff("gaussian", mu=0.08898)
NO_RATES = pd.DataFrame(columns=["false_positive_rate", "true_positive_rate", "low", "high", "allowed", "allowed_high"])


def attack(found: int) -> Attack:
    """Finds so many of 2,000 members at 1 % false alarms, counted on 2,000 others."""
    others = rng.stream(0, "others").random(2000)
    threshold = np.sort(others)[-20]
    return Attack("a", np.where(np.arange(2000) < found, 2.0, threshold / 2), others)


def test_no_claim_is_cleared_before_trials_ran_and_the_ceiling_is_read_at_the_named_rate() -> None:
    many = CanaryAudit(Finding("canary", Counts(3, 2, 100), 0.0, 0.4, np.zeros(1), np.zeros(1)), CEILING, 1.0, 2.0, 0.0, 0.05, 0.5)
    assert verdict.sentence(ONE, None, NO_RATES).startswith("**ε ≤ 1 is not yet audited by trials.**")
    assert verdict.sentence(ONE, many, NO_RATES).startswith("**No attack or audit here contradicts ε ≤ 1.**")
    assert "from ε ≈ 1.3 on it can" in verdict.sentence(ONE, None, NO_RATES)
    assert "from ε" not in verdict.sentence(dataclasses.replace(ONE, claimed_epsilon=2.0), None, NO_RATES)
    loud = dataclasses.replace(ONE, certified=(1.5, 0.0))
    assert verdict.sentence(loud, None, NO_RATES).startswith("**An audit refutes ε ≤ 1**")
    rates = {found: rates_under([attack(found)], CEILING) for found in (24, 28, 80)}
    said = {found: verdict.attack(table) for found, table in rates.items()}
    assert all("the guarantee allows 1.3 %" in words for words in said.values()), said
    assert "finds 1.4 % of the members at 1 % false alarms (95 %: 0.9 to 2.0 %)" in said[28]
    assert [words.partition("1.3 %")[2][:14] for words in said.values()] == [".", ", and chance e", ", and chance d"]
