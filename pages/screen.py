"""Screen public data: which candidate lies nearest to the private rows, how sure that is, and what finding out costs."""

import streamlit as st

from pages.frame import failures, navigation, session, theme
from pages.parts.learn import lesson
from pages.parts.screen import question as screening
from pages.parts.screen import trim
from pages.parts.screen import views as screening_views

navigation.begin()
settings = session.current()
screening.restore(settings)
lesson.banner(settings)

theme.title(
    "Which public data should I use?",
    "Choose what is private and what might be public. One noisy look at the private rows, within a privacy budget ε, ranks all candidates "
    "by how much of the <b>difference between classes</b> their directions keep, which is what training with them has to work with.",
)

with failures.shown("These sets could not be compared.", advice="Change the setting that is named, or leave that candidate out."):
    with st.container(border=True, key="screen-controls"):
        choice = screening.controls(settings)
    screening.publish(settings, choice)
    cost = "Spends no ε: a non-private diagnostic." if choice.epsilon is None else f"One release at ε = {choice.epsilon:g} ranks them all."
    table = screening.answer(choice.ask("ranking"), "Compare every set", cost=cost)
    if table is not None:
        screening_views.summary(choice, table)
        screening_views.ranking(choice, table, settings)
        trim.panel(choice)
        screening_views.cards(choice, table)
        below = st.expander("How many public rows do I need?", icon=":material/groups:", key="screen-enough", on_change="rerun")
        if below.open:
            with below:
                screening_views.enough(choice, settings)
        with st.expander("Look closer: measured accuracy, angles, spectra", icon=":material/search:"):
            screening_views.more(choice, table, settings)

with st.expander("How this was computed", icon=":material/science:"):
    st.markdown(
        "- **Class signal**: images go through EfficientNet-Lite0; the private rows' class sums are released once with Gaussian "
        "noise, and every candidate's score follows from them and from public rows alone: how much of the classes' differences its "
        "directions keep, against how far the private rows lie from its mean. 1 is no signal. A first is *clear* where its signal is "
        "twice that of any other beyond the noise.\n"
        "- **Is it any good?** On twelve private tasks with 22 candidates each, its pick was held against what PILLAR reaches with "
        "every candidate: `docs/screening.md` has the table, and `python benchmarks/judged.py` makes it again.\n"
        "- **Scores by gradients** (folded away above): gradients of each row's loss under random labels at the model's start, the "
        "first k right singular directions of each set, the projection metric of the two spaces over √k. With ε a sketch of 64 numbers is "
        "clipped and its second moment released once. “Pure ε” draws directions with the exact Bingham sampler and no chance δ of "
        "failing.\n"
        "- **Intervals**: of the noise for the class signal, of three draws of rows, labels and network start for gradients; 95 %.\n"
        "- **Without ε** all of it reads private rows as they are: for your eyes, not for release.\n"
        "- Tables are kept on disk: the same link shows them again at once.\n\n"
        "`python -m pillar_core screen` does the same from a terminal."
    )
