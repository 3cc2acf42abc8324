"""Compare: every learner at one budget on the same rows, and what one change does to them."""

import streamlit as st

from pages.frame import failures, history, navigation, session, theme
from pages.frame.settings import BUDGETS
from pages.parts.compare import comparison
from pages.parts.compare import views as comparison_views

navigation.begin()
settings = session.current()
history.look(settings)

theme.title(
    "Same budget, same rows: which learner?",
    "Every learner is trained within the <b>same ε</b>, the privacy budget. What differs is the idea, and which <b>public</b> data it "
    "may look at.",
)

view = comparison_views.choice()
with failures.shown("The comparison could not be drawn."):
    if view == BUDGETS:
        place = st.container()
        measured = comparison.read(settings, comparison.choose(settings))
        with place:
            comparison.advice(settings, measured)
        comparison.panel(measured)
        comparison.draw(measured, settings)
    else:
        comparison_views.show(view, settings)

with st.expander("How this was computed", icon=":material/experiment:"):
    st.markdown(
        "Every cell is one training run with the learner's own default settings, which follow from n, d, C and ε alone; seed s sets split, "
        "sampling and noise. Bands and bars are 95 % Student t intervals over the seeds that there are so far; each line says how many. "
        "Test accuracy is a non-private release of the test rows. The same from a terminal: "
        "`python -m pillar_core compare --dataset … --epsilon 0.1,0.3,0.7 --seeds 3`, and `--view` for what varies here."
    )
