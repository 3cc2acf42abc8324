"""Data & backbone: what is private, what is public, what the features look like, and how to bring one's own."""

from __future__ import annotations

import streamlit as st

from pages.frame import core, failures, figures, looks, navigation, session
from pages.panels import extraction, gallery, samples, upload
from pillar_core import plots
from pillar_core.types import Provenance

navigation.begin()
settings = session.current()

looks.title(
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

st.subheader("Backbone", anchor=False)
extraction.panel(settings)

with failures.shown("This data set could not be opened."):
    split = core.split(settings)
    facts = split.facts
    st.subheader(gallery.title_of(settings.data), anchor=False)
    for column, (label, value, words) in zip(
        st.columns(4),
        (
            ("Private rows", f"{facts.n_private:,}", "Protected by ε. Their number is public and the same for neighbouring data sets."),
            ("Public rows", f"{facts.n_public:,}", "Not protected. They decide centre, scale and directions."),
            ("Features", f"{facts.d:,}", "Numbers per row after the backbone."),
            ("Classes", f"{facts.n_classes:,}", "Labels 0 … C − 1, named as in the source."),
        ),
        strict=True,
    ):
        column.metric(label, value, help=words, border=True)
    for line in dict.fromkeys([*split.features.notes, *split.notes]):
        st.caption(line)

    spectrum = core.spectrum(settings)
    k = None if settings.is_rule_k else settings.k
    is_synthetic = gallery.is_synthetic(settings.data)
    drawn = plots.spectrum(spectrum, mode=looks.mode(), k=k, n_public=facts.n_public)
    figures.show(drawn, spectrum, name="spectrum", kinds=(Provenance.PUBLIC,), settings=settings, is_synthetic=is_synthetic)

    left, right = st.columns(2)
    with left:
        counts = core.class_counts(settings)
        drawn = plots.class_balance(counts, mode=looks.mode(), height=420)
        figures.show(drawn, counts, name="class_balance", kinds=(Provenance.NON_PRIVATE,), settings=settings, is_synthetic=is_synthetic)
    with right:
        places = core.public_map(settings)
        drawn = plots.map_2d(places, mode=looks.mode(), height=420)
        figures.show(drawn, places, name="public_map", kinds=(Provenance.PUBLIC,), settings=settings, is_synthetic=is_synthetic)
    samples.panel(settings)

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
