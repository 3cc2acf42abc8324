"""Evidence: attack the model, see who is exposed, audit the code, and inject faults to see the audit notice."""

import contextlib

from pages.frame import failures, history, local, navigation, session, words
from pages.parts.evidence import attacks as evidence_attacks
from pages.parts.evidence import audits as evidence_audits
from pages.parts.evidence import score as evidence_score
from pages.parts.evidence import verdict as evidence_verdict
from pages.parts.learn import lesson
from pillar_core.errors import PillarError

navigation.begin()
settings = session.current()
history.look(settings)
lesson.banner(settings)

words.title("evidence")

VIEWS = {
    "attack": "Attack the model",
    "rows": "Who is exposed",
    "score": "What a score leaks",
    "audit": "Audit the code",
    "sabotage": "Fault injection",
    "blind": "What no audit sees",
}
with contextlib.suppress(PillarError):  # the view says what is wrong
    evidence_verdict.line(settings)
with failures.shown("This evidence could not be gathered."):
    view = local.one("View", VIEWS, "attack", name="evidence-view", help="Six kinds of evidence.")
    match view:
        case "attack":
            evidence_attacks.attack(settings)
        case "rows":
            evidence_attacks.exposed(settings)
        case "score":
            evidence_score.leak(settings)
        case "audit":
            evidence_audits.audit(settings)
        case "sabotage":
            evidence_audits.fault_injection()
        case _:
            evidence_audits.blind_spots()

words.explained("evidence")
