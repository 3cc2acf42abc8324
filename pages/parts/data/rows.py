"""What the chosen rows look like: sizes, spectrum, classes, a map of the public ones, and a few raw rows."""

import streamlit as st

from pages.frame import core, plain, theme, words
from pages.frame.figures import FigureInfo, show_figure
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
    show_figure(drawn, spectrum, FigureInfo("spectrum", settings, [Provenance.PUBLIC]))

    left, right = st.columns(2)
    with left:
        counts = core.class_counts(settings)
        drawn = plots.class_balance(counts, mode=theme.mode())
        show_figure(drawn, counts, FigureInfo("class_balance", settings, [Provenance.NON_PRIVATE]))
    with right:
        places = core.public_map(settings)
        drawn = plots.map_2d(places, mode=theme.mode())
        show_figure(drawn, places, FigureInfo("public_map", settings, [Provenance.PUBLIC]))
    samples.panel(settings)
