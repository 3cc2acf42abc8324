"""Data & backbone: what is private, what is public, what the features look like, and how to bring one's own."""

import streamlit as st

from pages.frame import failures, history, navigation, session, theme
from pages.parts.data import extraction, gallery, rows, upload

navigation.begin()
settings = session.current()

theme.title(
    "What is private, and what may everyone see?",
    "Choose the rows to protect and the rows that are public anyway. Public rows choose the directions; if they resemble the private "
    "ones, few directions hold most of the signal.",
)

TABS = ("Data sets of the app", "Data sets of the papers", "Bring your own")
here, papers, own = st.tabs(TABS, default=TABS[gallery.place(settings.data)])
with here:
    gallery.cards(settings)
with papers:
    gallery.papers(settings)
with own:
    upload.panel(settings)

st.header("Backbone", anchor=False)
if extraction.panel(settings):
    with failures.shown("This data set could not be opened."):
        rows.panel(settings)
        history.look(settings)

with st.expander("All backbones in a table", icon=":material/table_rows:"):
    extraction.table()
upload.settings_file()
with st.expander("How this was computed", icon=":material/science:"):
    st.markdown(
        "- **Spectrum and map**: public rows, divided by their standard deviation and centred by their mean; eigenvalues of their second "
        "moment, and the rows on the first two eigenvectors. No private row is read.\n"
        "- **Rows per class and samples** read private rows without noise: for the curator's eyes, not for release.\n"
        f"- **Split**: a stratified draw by seed {settings.seed}; the rest of the train rows is private."
    )
