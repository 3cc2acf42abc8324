"""Curves over k and ε: a model is trained when a slider is released; around it the curves, the
plane and what they mean."""

import streamlit as st

from pages.frame import core, failures, history, navigation, receipts, theme
from pages.parts.curves import alone, figures, grid, result, story
from pages.parts.lessons import lesson
from pillar_core.studies.tuning import Choosing

settings = navigation.begin()
lesson.banner("curves", settings)
story.banner(settings)
with failures.show_refusal("This run could not be trained."):
    if not receipts.look(settings):
        st.stop()
    if len(runs := core.recorded(settings)):
        alone.draw_curves(settings, runs)
        st.stop()
    record = result.record(settings)
    if result.chosen_by() is Choosing.RULES:
        history.add(settings, record)
    # in a window of a phone's width the picture stands above the numbers
    above, below = st.container(gap="small"), st.container(gap="small")
    picture, head = (above, below) if theme.is_narrow() else (below, above)
    with head:
        odds_place = result.summary(record, settings, result.accuracy(record, settings))
        view = figures.choice(settings)
    with picture:
        measured = (
            grid.curves_on_opening(settings)
            if view in figures.NEEDS_CURVES
            else grid.read(settings)
        )
        figures.draw(view, measured, record, settings)
    result.show_badges(record, settings)
    result.gain(odds_place, record, settings)
    if view in figures.NEEDS_CURVES:
        grid.panel(measured, settings)
        if len(measured.table):
            grid.take_along(settings)
    if record.guarantee.covers_choice:
        result.panel(settings)
result.switch()
