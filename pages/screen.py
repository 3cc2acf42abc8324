"""Screen public data: which candidate lies nearest to the private rows, how sure that is, and what finding out costs."""

import streamlit as st

from pages.frame import failures, navigation, session, theme
from pages.parts.screen import question as screening
from pages.parts.screen import views as screening_views

navigation.begin()
settings = session.current()
screening.restore(settings)

theme.title(
    "Which public data should I use?",
    "Public rows help when their <b>gradients</b> point where the private ones do. Choose a private set, drop in candidates, and see "
    "which lies nearest, how sure that is, and what asking costs in privacy.",
)

with failures.shown("These sets could not be compared.", advice="Change the setting that is named, or leave that candidate out."):
    with st.container(border=True, key="screen-controls"):
        choice = screening.controls(settings)
    screening.publish(settings, choice)
    cost = "Spends no ε: a non-private diagnostic." if choice.epsilon is None else f"One release at ε = {choice.epsilon:g} ranks them all."
    table = screening.answer(choice.ask("ranking"), "Take gradients of every set", cost=cost)
    if table is not None:
        screening_views.summary(choice, table)
        screening_views.ranking(choice, table, settings)
        screening_views.more(choice, table, settings)

with st.expander("How this was computed", icon=":material/science:"):
    st.markdown(
        "- **Distance**: gradients of each row's own loss under random labels at the model's start; the first k right singular directions "
        "of each set; the projection metric of the two spaces, divided by √k. 0: the same directions; 1: none in common. A set and itself "
        "give exactly 0.\n"
        "- **Two nulls**: random subspaces lie at √(1 − k/p), which hardly any set reaches; noise images are nearer than that, because the "
        "network itself favours some directions whatever it is shown. Only the second is a fair zero.\n"
        "- **Intervals**: three draws of rows, labels and network start; Student's t, 95 %.\n"
        "- **With ε**: gradients go through a public random projection to 64 numbers, are clipped at a public norm, and their second "
        "moment is released once with Gaussian noise. Each private row is in it independently of all others and with a label of its own, "
        "so that one row more or less changes one term. Every distance to every candidate is computed from that release and costs nothing "
        "more. Values are distances in the sketch, so they compare with each other, not with those without ε. “Pure ε” draws directions "
        "with the exact Bingham sampler and no δ; beyond two directions its noise is too large to tell sets apart.\n"
        "- **Without ε** all of it reads private rows as they are: for your eyes, not for release.\n"
        "- Tables are kept on disk: the same link shows them again at once.\n\n"
        "See `docs/screening.md`; `python -m pillar_core screen` does the same from a terminal."
    )
