"""Theory lab: sample sizes of every theorem with its ranges checked, and playgrounds whose truth is known."""

import streamlit as st

from pages.frame import failures, local, navigation, session, theme
from pages.parts.theory import playgrounds, theorems

navigation.begin()
settings = session.current()

_VIEWS = {
    "mixture": "Gaussian mixture",
    "theorems": "Theorems",
    "disjunctions": "Disjunctions",
    "shift": "Distribution shift",
}

theme.title(
    "How much data does theory ask for?",
    "Play where the truth is known, then read the theorems: what they promise within a privacy budget <b>ε</b>, in which range, and where "
    "their print is wrong.",
)
chosen = local.one(
    "Laboratory",
    _VIEWS,
    "mixture",
    name="theory-view",
    help="Three playgrounds and every theorem of the papers; ε and the seed come from the sidebar.",
)
with failures.shown("This could not be computed."):
    match chosen:
        case "mixture":
            playgrounds.mixture(settings)
        case "disjunctions":
            playgrounds.disjunctions(settings)
        case "shift":
            playgrounds.shift(settings)
        case _:
            theorems.draw(settings)

with st.expander("How this was computed", icon=":material/science:"):
    st.markdown(
        "- **Mixture**: one full-batch gradient step from zero, clipped exactly where every row's gradient lies, so the closed "
        "form holds for what really ran; errors on 4,000 fresh rows.\n"
        "- **Disjunctions**: rows are random graphs (Definition 4); the choice is averaged exactly, not sampled.\n"
        "- **Shift**: second moments are exact; points use one draw of public rows.\n"
        "- **Theorems**: every number is computed from the formula shown. “rate” means that constants and logarithms are unknown. "
        "See `docs/theory.md`."
    )
