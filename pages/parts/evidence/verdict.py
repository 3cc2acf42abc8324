"""One sentence over all views of the Evidence page: the claim, what audits certified of it so far, and the best attack tried."""

import math
import tomllib
from pathlib import Path

import streamlit as st

from pages.frame import core
from pages.frame.settings import Settings
from pages.frame.shares import UsedUpError
from pages.parts.evidence import attacks, audits
from pillar_core.errors import UnsupportedError
from pillar_core.numerics import upwards

_WORDS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_FALSE_ALARMS = 0.01


def line(settings: Settings) -> None:
    """The sentence about the sidebar's run; what was not asked for yet is not waited for, but for one training with canaries."""
    st.markdown(_sentence(settings))


def _sentence(settings: Settings) -> str:
    if math.isinf(settings.epsilon):
        return str(_WORDS["no_claim"])
    record = core.run(settings)
    claimed = upwards(record.guarantee.epsilon.upper, 3)
    try:
        one, many = audits.gathered(settings)
    except UsedUpError:
        raise
    except UnsupportedError as reason:
        return str(_WORDS["not_audited"].format(claimed=claimed, reason=f"{str(reason)[:1].upper()}{str(reason)[1:]}"))
    least, by = max(one.certified), _WORDS["one_training"].format(canaries=one.canaries)
    if many is not None and many.certified_epsilon > least:
        least, by = many.certified_epsilon, _WORDS["many_trainings"].format(trainings=2 * many.finding.counts.trials)
    shares = {name: f"{100 * value / one.claimed_epsilon:.0f}" for name, value in (("share", least), ("ideal", max(one.expected)))}
    rates = attacks.rates_of(attacks.tried(settings), attacks.ceiling_of(record))
    best = rates[rates["false_positive_rate"] == _FALSE_ALARMS].sort_values("true_positive_rate").tail(1)
    shown = 100 * best[["true_positive_rate", "allowed"]].to_numpy()
    attack = [_WORDS["attack"].format(found=found, allowed=allowed) for found, allowed in shown]
    certified = _WORDS["certified" if least >= 0.01 * one.claimed_epsilon else "nothing"]
    is_refuted = one.is_rejected or (many is not None and many.is_rejected)
    return str(
        _WORDS["refuted" if is_refuted else "holds"].format(
            claimed=claimed,
            certified=certified.format(trainings=by, least=f"{least:.2g}", **shares),
            attack="".join(attack),
        )
    )
