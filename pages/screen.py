"""Screen public data: which candidate lies nearest to the private rows, how sure that is, and what finding out costs."""

from __future__ import annotations

import streamlit as st

from pages.frame import failures, looks, navigation, session
from pages.panels import gallery, screening, screening_views

navigation.begin()
settings = session.current()

looks.title(
    "Which public data should I use?",
    "Public rows help when their <b>gradients</b> point where the private ones do. Drop in candidates and see which lies nearest, how "
    "sure that is, and what asking costs in privacy.",
)

with failures.shown("These sets could not be compared.", advice="Change the setting that is named, or leave that candidate out."):
    private = screening.private_name(settings)
    if private != settings.data:
        st.caption(f"The sidebar's data are numbers without images; {gallery.title_of(private)} stand in as the private set.")
    with st.container(border=True, key="screen-controls"):
        choice = screening.controls(settings)
        st.file_uploader(
            "Your own candidates",
            type=["zip", "npz"],
            accept_multiple_files=True,
            key="screen-upload",
            help="A zip of images (labels not needed) or a npz with uint8 images under x_train. They stay on this machine.",
        )
    table = screening.table(choice)
    screening_views.summary(choice, table)
    screening_views.ranking(choice, table, settings)
    screening_views.more(choice, table, settings)

with st.expander("How this was computed", icon=":material/science:"):
    st.markdown(
        "- **Distance**: gradients of each row's own loss under random labels at the model's start; the first k right singular directions "
        "of each set; the projection metric of the two spaces, divided by √k. 0: the same directions; 1: none in common. A set and itself "
        "give exactly 0.\n"
        "- **Two nulls**: random subspaces would lie at √(1 − k/p), and noise images are among the candidates.\n"
        "- **Intervals**: three draws of rows, labels and network start; Student's t, 95 %.\n"
        "- **With ε**: gradients go through a public random projection to 64 numbers, are clipped at a public norm, and their second "
        "moment is released once with Gaussian noise. Every distance to every candidate is computed from that release and costs nothing "
        "more. Values are distances in the sketch, so they compare with each other, not with those without ε.\n"
        "- **Without ε** all of it reads private rows as they are: for your eyes, not for release.\n\n"
        "See `docs/screening.md`; `python -m pillar_core screen` does the same from a terminal."
    )
