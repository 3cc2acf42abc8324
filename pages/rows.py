"""Rows: what is private, what is public, what the features look like, and how to bring
your own."""

import streamlit as st

from pages.frame import failures, navigation, receipts
from pages.parts.rows import extraction, form, gallery, overview

settings = navigation.begin()
present = st.container()
TABS = ("Bring your own", "Data sets of the app", "Data sets of the papers")
brought, ours, papers = st.tabs(TABS, default=TABS[gallery.place(settings.data)], key="galleries")
with brought:
    is_waiting = form.panel(settings)
with ours:
    gallery.cards(settings)
with papers:
    gallery.papers(settings)

if not is_waiting:
    st.header("Backbone", anchor=False)
    if extraction.panel(settings):
        with failures.show_refusal("This data set could not be opened."):
            if not receipts.show_lock(settings, reads_rows=False):
                with present:
                    overview.summary(settings)
                overview.figures(settings)
