"""Curves over k and ε: a model is trained when a slider is released; around it the curves, the
plane and what they mean."""

import streamlit as st

from pages.frame import core, failures, history, navigation, receipts
from pages.parts.curves import alone, figures, grid, result
from pages.parts.lessons import lesson
from pillar_core.studies.tuning import Choosing

settings = navigation.begin()
lesson.banner(settings)
with failures.show_refusal("This run could not be trained."):
    if not receipts.look(settings):
        st.stop()
    if len(runs := core.recorded(settings)):
        alone.draw_curves(settings, runs)
        st.stop()
    record = result.record(settings)
    if result.chosen_by() is Choosing.RULES:
        history.add(settings, record)
    odds_place = result.summary(record, settings)
    view = figures.choice(settings)
    measured = (
        grid.curves_on_opening(settings) if view in figures.NEEDS_CURVES else grid.read(settings)
    )
    figures.draw(view, measured, record, settings)
    result.gain(odds_place, record, settings)
    if view in figures.NEEDS_CURVES:
        grid.panel(measured, settings)
        if len(measured.table):
            grid.take_along(settings)
    if record.guarantee.covers_choice:
        result.panel(settings)
result.switch()
