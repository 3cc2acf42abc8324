"""Compare: every learner at one budget on the same rows, and what one change does to them."""

import streamlit as st

from pages.frame import core, navigation, receipts
from pages.frame.figures import show_answer
from pages.frame.settings import BUDGETS
from pages.parts.compare import comparison
from pages.parts.compare import views as comparison_views

settings = navigation.begin()
view = comparison_views.choice()
if not receipts.look(settings):
    st.stop()
if view == BUDGETS:
    place = st.container()
    measured = comparison.read(settings, comparison.choose(settings))
    with place:
        comparison.advice(settings, measured)
    comparison.panel(measured)
    comparison.draw(measured, settings)
    if core.split(settings).public_y is not None:
        show_answer("labels", settings)
else:
    comparison_views.show(view, settings)
