"""Audit: attack the model, see who is exposed, audit the code, and inject faults to see the
audit notice."""

import contextlib

import streamlit as st

from pages.frame import local, navigation, receipts
from pages.parts.audit import attacks as evidence_attacks
from pages.parts.audit import audits as evidence_audits
from pages.parts.lessons import lesson
from pillar_core import mode
from pillar_core.errors import PillarError
from pillar_core.methods import METHODS

VIEWS = {
    "attack": evidence_attacks.attack,
    "rows": evidence_attacks.exposed_rows,
    "image": evidence_attacks.image,
    "score": evidence_attacks.leak,
    "audit": evidence_audits.audit,
    "sabotage": evidence_audits.fault_injection,
}

settings = navigation.begin()
lesson.banner("audit", settings)
if not receipts.look(settings):
    st.stop()
view = local.choice(
    "evidence-view",
    label="View",
    default="attack",
    options={
        "attack": "Attack the model",
        "rows": "Who is exposed",
        "image": "Reconstruct a row",
        "score": "What a score leaks",
        "audit": "Audit the code",
        "sabotage": "Fault injection",
    },
)
VIEWS[view](settings)
with contextlib.suppress(PillarError):  # the view says what is wrong
    st.markdown(verdict := evidence_audits.verdict(settings))
    if not mode.binds():
        source = (
            f"Of an experiment with {METHODS[settings.method].title} and a known seed on these"
            " rows, and not of this model: "
        )
        receipts.offer_evidence(settings, attacks=[source + verdict.replace("*", "")])
