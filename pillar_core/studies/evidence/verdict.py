"""What all evidence on one run says, in one sentence: the claim, what audits certified of it so
far, and the best attack tried."""

import tomllib
from pathlib import Path

import pandas as pd

from pillar_core.numerics import round_up
from pillar_core.studies.evidence.attacks import CanaryAudit
from pillar_core.studies.evidence.one_run import OneRunAudit

_WORDS: dict[str, str] = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
)
WITHOUT_CLAIM = _WORDS["no_claim"]
"""Of a run at ε = ∞."""


def without_audit(claimed: float, reason: str) -> str:
    """Of a learner that no audit here can test."""
    return _WORDS["not_audited"].format(
        claimed=round_up(claimed, 3), reason=f"{reason[:1].upper()}{reason[1:]}"
    )


def sentence(single: OneRunAudit, many: CanaryAudit | None, rates: pd.DataFrame) -> str:
    """Whether the claim is refuted. One training with canaries misses most faults, so without
    trials nothing is cleared.

    many: trials, where they ran. rates: of the attacks tried, as `attacks.rates_under`.
    """
    least, by = max(single.certified), _WORDS["one_training"].format(canaries=single.canaries)
    if many is not None and many.certified_epsilon > least:
        least, by = (
            many.certified_epsilon,
            _WORDS["many_trainings"].format(trainings=2 * many.finding.counts.trials),
        )
    shares = {
        name: f"{100 * value / single.claimed_epsilon:.0f}"
        for name, value in (("share", least), ("ideal", max(single.expected)))
    }
    is_blind = many is None and single.claimed_epsilon < single.visible_from
    certified = _WORDS[
        (
            "certified"
            if least >= 0.01 * single.claimed_epsilon
            else "blind"
            if is_blind
            else "nothing"
        )
    ]
    is_refuted = single.is_rejected or (many is not None and many.is_rejected)
    return _WORDS["refuted" if is_refuted else "untried" if many is None else "holds"].format(
        claimed=round_up(single.claimed_epsilon, 3),
        certified=certified.format(
            trainings=by, least=f"{least:.2g}", visible=f"{single.visible_from:.1f}", **shares
        ),
        attack=attack(rates),
    )


def attack(rates: pd.DataFrame) -> str:
    """What the best attack found at 1 % false alarms, with its interval, beside what the guarantee
    allows, all as in the table of rates."""
    best = rates[rates["false_positive_rate"] == 0.01].sort_values("true_positive_rate").tail(1)
    if best.empty:
        return ""
    rate, low, high, allowed, most = (
        float(best[name].iloc[0])
        for name in ("true_positive_rate", "low", "high", "allowed", "allowed_high")
    )
    tail = "" if rate <= allowed else _WORDS["by_chance" if low <= most else "beyond_chance"]
    percent = {
        name: f"{100 * value:.2f}"
        for name, value in (("found", rate), ("low", low), ("high", high), ("allowed", allowed))
    }
    return _WORDS["attack"].format(tail=tail, **percent)
