"""Learners: every learner at one budget on the same rows, and what one change does to them."""

import streamlit as st

from pages.frame import core, navigation, receipts
from pages.frame.figures import show_answer
from pages.frame.settings import BUDGETS
from pages.parts.curves import alone
from pages.parts.learners import comparison

settings = navigation.begin()
view = comparison.choice()
if not receipts.look(settings):
    st.stop()
if len(runs := core.recorded(settings)):
    alone.draw_learners(settings, runs)
elif view == BUDGETS:
    comparison.draw(settings)
    if core.split(settings).public_y is not None:
        show_answer("labels", settings)
else:
    comparison.show(view, settings)
