"""Provenance on every number: who it is safe to show to, and how it was come by."""

from typing import Literal

import streamlit as st

from pillar_core.types import Provenance

PUBLIC, PRIVATE, NON_PRIVATE = Provenance.PUBLIC, Provenance.PRIVATE, Provenance.NON_PRIVATE
THEORY, FITTED, EXPERIMENT, SYNTHETIC, REAL = "theory", "fitted to 3 runs", "experiment, not for release", "synthetic", "real images"
DIAGNOSTIC = (NON_PRIVATE, EXPERIMENT)
"""What runs with a known seed reach on test rows."""
_LOOKS: dict[str, tuple[str, Literal["gray", "orange", "red"], str]] = {
    PUBLIC: ("public", "gray", "Computed from public rows alone: costs no privacy, free to release."),
    PRIVATE: ("shield", "gray", "Comes out of a differentially private mechanism and spends the ε shown."),
    NON_PRIVATE: (
        "visibility_lock",
        "orange",
        "Read from protected, validation or test rows without noise: for your eyes, not covered by ε.",
    ),
    THEORY: ("function", "gray", "Computed from a formula; nothing was trained."),
    FITTED: ("timeline", "gray", "A sigmoid in log ε through three trained points; its band is how far such fits missed other sets."),
    EXPERIMENT: (
        "science",
        "red",
        "The seed of the noise is known (it is in the link), so anyone could subtract the noise. ε is that of the mechanism under "
        "secret noise. To release a model, draw its noise from the operating system: Explore → Download the model.",
    ),
    SYNTHETIC: ("auto_awesome", "gray", "Generated rows, no real people: made to behave like real features."),
    REAL: ("photo_camera", "gray", "Photographs by others; source and licence: Data."),
}
"""Icon, colour and hint of each badge."""
Seeds = int | tuple[int, int] | None
"""Seeds behind every point of a figure; the fewest and the most where points differ; None where nothing was trained."""


def show(*names: str) -> None:
    """Draws the named badges."""
    for name in names:
        icon, colour, hint = _LOOKS[name]
        st.badge(str(name), icon=f":material/{icon}:", color=colour, help=hint)


def show_row(*names: str, seeds: Seeds = None) -> None:
    """Draws the named badges side by side, and “measured (n seeds)”."""
    with st.container(horizontal=True, gap="small"):
        show(*names)
        if seeds is not None:
            fewest, most = seeds if isinstance(seeds, tuple) else (seeds, seeds)
            hint = "Every point was trained and tested; seed s sets split and noise. Bands are 95 % Student t intervals over seeds."
            count = f"{most}" if fewest == most else f"{fewest} to {most}"
            st.badge(f"measured ({count} seed{'' if most == 1 else 's'})", icon=":material/straighten:", color="gray", help=hint)
