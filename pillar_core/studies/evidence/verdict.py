"""What all evidence on one run says, in one sentence: the claim, what audits certified of it so
far, and the best attack tried."""

import pandas as pd

from pillar_core.numerics import opened, round_up
from pillar_core.studies.evidence.attacks import CanaryAudit
from pillar_core.studies.evidence.one_run import OneRunAudit

WITHOUT_CLAIM = "**ε = ∞ promises nothing**, so nothing here can refute it."
"""Of a run at ε = ∞."""


def without_audit(claimed: float, reason: str) -> str:
    """Of a learner that no audit here can test."""
    return (
        f"**No audit here can test ε ≤ {round_up(claimed, 3)}.** {opened(reason)}"
        " The claim rests on the proof, and on the tests of this library's own code."
    )


def sentence(single: OneRunAudit, many: CanaryAudit | None, rates: pd.DataFrame) -> str:
    """Whether the claim is refuted. One training with canaries misses most faults, so without
    trials nothing is cleared.

    many: trials, where they ran. rates: of the attacks tried, as `attacks.rates_under`.
    """
    claim = f"ε ≤ {round_up(single.claimed_epsilon, 3)}"
    certified, best = _certified(single, many), attack(rates)
    if single.is_rejected or (many is not None and many.is_rejected):
        return (
            f"**An audit refutes {claim}**, at 95 % for one look: of twenty looks at a true claim"
            f" one does. {certified} {best}"
        )
    if many is None:
        return (
            f"**{claim} is not yet audited by trials.** {certified} One training misses most"
            f" faults, and trials find more: press *Now audit* in the view of audits. {best}"
        )
    return (
        f"**No attack or audit here contradicts {claim}.** {certified} Each audit holds at 95 %,"
        f" for one look. {best}"
    )


def _certified(single: OneRunAudit, many: CanaryAudit | None) -> str:
    """The largest ε that trainings with canaries certified, beside what was possible."""
    claimed, least = single.claimed_epsilon, max(single.certified)
    by = f"One training with {single.canaries} canaries"
    if many is not None and many.certified_epsilon > least:
        least = many.certified_epsilon
        by = f"{2 * many.finding.counts.trials} trainings with a canary and without"
    ideal = (
        "An ideal audit of one training certifies"
        f" {100 * max(single.expected) / claimed:.0f} % with average luck."
    )
    if least >= 0.01 * claimed:
        return (
            f"{by} certified ε ≥ {least:.2g}, {100 * least / claimed:.0f} % of it, at 95 %"
            f" confidence. {ideal}"
        )
    if many is None and claimed < single.visible_from:
        return (
            f"{by} proves nothing at so small an ε, as expected: from ε ≈"
            f" {single.visible_from:.1f} on it can."
        )
    return f"{by} certified none of it. {ideal}"


def attack(rates: pd.DataFrame) -> str:
    """What the best attack found at 1 % false alarms, with its interval, beside what the guarantee
    allows, all as in the table of rates."""
    best = rates[rates["false_positive_rate"] == 0.01].sort_values("true_positive_rate").tail(1)
    if best.empty:
        return ""
    columns = ["true_positive_rate", "low", "high", "allowed", "allowed_high"]
    found, low, high, allowed, most = 100 * best[columns].iloc[0]
    tail = ""
    if found > allowed:
        tail = (
            ", and chance explains the difference"
            if low <= most
            else ", and chance does not explain the difference: test rows look unlike the private"
            " ones, or the claim is false"
        )
    return (
        f"The best attack tried finds {found:.2f} % of the members at 1 % false alarms (95 %:"
        f" {low:.2f} to {high:.2f} %), where the guarantee allows {allowed:.2f} %{tail}."
    )
