"""What the chosen rows look like: sizes, spectrum, classes, a map of the public ones, and a few raw rows."""

import streamlit as st

from pages.frame import core, figures, plain, theme, words
from pages.frame.settings import Settings
from pages.parts.data import samples
from pillar_core import plots
from pillar_core.data import uploads
from pillar_core.types import Provenance


def panel(settings: Settings) -> None:
    """The rows by role, and figures of them with their provenance."""
    split = core.split(settings)
    facts = split.facts
    st.header(plain.text(uploads.title_of(settings.data)), anchor=False)
    sizes = {"private": facts.n_private, "public": facts.n_public, "features": facts.d, "classes": facts.n_classes}
    words.metrics("rows", {name: f"{count:,}" for name, count in sizes.items()})
    for line in dict.fromkeys([*split.features.notes, *split.notes]):
        st.caption(plain.text(line))

    spectrum = core.spectrum(settings)
    k = None if settings.is_rule_k else settings.k
    drawn = plots.spectrum(spectrum, mode=theme.mode(), k=k, n_public=facts.n_public)
    figures.show(drawn, spectrum, name="spectrum", kinds=(Provenance.PUBLIC,), settings=settings)

    left, right = st.columns(2)
    with left:
        counts = core.class_counts(settings)
        drawn = plots.class_balance(counts, mode=theme.mode())
        figures.show(drawn, counts, name="class_balance", kinds=(Provenance.NON_PRIVATE,), settings=settings)
    with right:
        places = core.public_map(settings)
        drawn = plots.map_2d(places, mode=theme.mode())
        figures.show(drawn, places, name="public_map", kinds=(Provenance.PUBLIC,), settings=settings)
    samples.panel(settings)
