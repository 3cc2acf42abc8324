"""Provenance on every number: who it is safe to show to, and how it was come by."""

from typing import Literal

import streamlit as st

from pillar_core.types import Provenance

THEORY, INTERPOLATED, EXPERIMENT, SYNTHETIC, REAL = "theory", "interpolated", "experiment, not for release", "synthetic", "real images"
_LOOKS: dict[str, tuple[str, Literal["gray", "orange", "red"], str]] = {
    Provenance.PUBLIC: ("public", "gray", "Computed from public rows alone: costs no privacy, free to release."),
    Provenance.PRIVATE: ("shield", "gray", "Comes out of a differentially private mechanism and spends the ε shown."),
    Provenance.NON_PRIVATE: (
        "visibility_lock",
        "orange",
        "Read from protected, validation or test rows without noise: for your eyes, not covered by ε.",
    ),
    THEORY: ("function", "gray", "Computed from a formula; nothing was trained."),
    INTERPOLATED: ("timeline", "gray", "Read between measured points; not trained itself."),
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


def show(*names: str) -> None:
    """Badges of what a figure or number was computed from and how."""
    for name in names:
        icon, colour, hint = _LOOKS[name]
        st.badge(str(name), icon=f":material/{icon}:", color=colour, help=hint)


def measured(seeds: int | tuple[int, int]) -> None:
    """“measured (n seeds)”; fewest and most where points differ in how many they have so far."""
    fewest, most = seeds if isinstance(seeds, tuple) else (seeds, seeds)
    hint = "Every point was trained and tested; seed s sets split and noise. Bands are 95 % Student t intervals over seeds."
    count = f"{most}" if fewest == most else f"{fewest} to {most}"
    st.badge(f"measured ({count} seed{'' if most == 1 else 's'})", icon=":material/straighten:", color="gray", help=hint)


def provenance_row(
    *kinds: Provenance,
    seeds: int | tuple[int, int] | None = None,
    is_experiment: bool = False,
    is_synthetic: bool = False,
    is_real: bool = False,
    is_theory: bool = False,
) -> None:
    """Badges side by side."""
    with st.container(horizontal=True, gap="small"):
        show(*kinds, *([THEORY] if is_theory else []))
        if seeds is not None:
            measured(seeds)
        others = {EXPERIMENT: is_experiment, SYNTHETIC: is_synthetic, REAL: is_real}
        show(*(name for name, is_worn in others.items() if is_worn))
