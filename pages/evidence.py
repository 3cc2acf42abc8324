"""Evidence: attack the model, see who is exposed, audit the code, and inject faults to see the audit notice."""

import contextlib

import streamlit as st

from pages.frame import failures, history, local, navigation, session, theme
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

theme.title(
    "Is the promise kept?",
    "A privacy budget ε, with a chance δ that it fails, is a proof about an algorithm; the <b>code</b> may still be wrong. Attack the "
    "model, look at who is exposed, audit the code, then plant a fault and see whether the audit notices.",
)

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

with st.expander("How this was computed", icon=":material/science:"):
    st.markdown(
        "- **Attacks** read private and test rows without noise. The loss threshold is AdaMix's: AUC of the loss, train rows 0, test rows "
        "1. LiRA (Carlini et al. 2022) compares with shadow heads, each on a random half of a pool of private and test rows; pooled "
        "over rows it takes a row's shift and spread from rows as hard as it.\n"
        "- **Ceiling**: the trade-off curve of what the run declares it spends. A failed attack proves nothing; one above the ceiling, "
        "its interval too, would prove the claim wrong, if test rows are drawn like the private ones. Where they differ (another hospital, "
        "another year), an attack tells the two apart without any leak.\n"
        "- **Individual ε of a row**: its Gaussian parameter, squared (μᵢ²), adds up the squared clipped gradients of that row along the "
        "released steps, over the noise variance. The steps depend on the data, so this is no guarantee, and it is private itself.\n"
        "- **A score** such as the gradient subspace distance is a function of the private batch. Who knows all other rows computes it "
        "with the row and without; who knows a part compares with 128 batches that share the known rows, by likelihood ratio.\n"
        "- **Audits** train with a canary and without, project every release on the canary's gradient, and test the claimed *curve* by "
        "exact binomial counts. Testing one (ε, δ) point would miss a budget spent twice."
    )
