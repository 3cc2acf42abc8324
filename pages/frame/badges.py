"""Provenance on every number: who it is safe to show to, and how it was come by."""

from typing import Literal

import streamlit as st

from pillar_core.types import Provenance

_LOOKS: dict[Provenance, tuple[str, Literal["gray", "orange"], str]] = {
    Provenance.PUBLIC: (":material/public:", "gray", "Computed from public rows alone: costs no privacy, free to release."),
    Provenance.PRIVATE: (":material/shield:", "gray", "Comes out of a differentially private mechanism and spends the ε shown."),
    Provenance.NON_PRIVATE: (
        ":material/visibility_lock:",
        "orange",
        "Read from protected, validation or test rows without noise: for your eyes, not covered by ε.",
    ),
}


def provenance(kind: Provenance) -> None:
    """The badge that says what a figure or number was computed from."""
    icon, colour, hint = _LOOKS[kind]
    st.badge(str(kind), icon=icon, color=colour, help=hint)


def measured(seeds: int | tuple[int, int]) -> None:
    """“measured (n seeds)”; fewest and most where points differ in how many they have so far."""
    fewest, most = seeds if isinstance(seeds, tuple) else (seeds, seeds)
    hint = "Every point was trained and tested; seed s sets split and noise. Bands are 95 % Student t intervals over seeds."
    count = f"{most}" if fewest == most else f"{fewest} to {most}"
    st.badge(f"measured ({count} seed{'' if most == 1 else 's'})", icon=":material/straighten:", color="gray", help=hint)


def interpolated() -> None:
    """“interpolated”."""
    st.badge("interpolated", icon=":material/timeline:", color="gray", help="Read between measured points; not trained itself.")


def theory() -> None:
    """“theory”."""
    st.badge("theory", icon=":material/function:", color="gray", help="Computed from a formula; nothing was trained.")


def experiment() -> None:
    """“experiment, not for release”: what every run with a known seed wears."""
    hint = (
        "The seed of the noise is known (it is in the link), so anyone could subtract the noise. ε is that of the mechanism under "
        "secret noise. To release a model, draw its noise from the operating system: Explore → Download the model."
    )
    st.badge("experiment, not for release", icon=":material/science:", color="red", help=hint)


def synthetic() -> None:
    """“synthetic”: worn by generated data wherever it is shown."""
    st.badge(
        "synthetic", icon=":material/auto_awesome:", color="gray", help="Generated rows, no real people: made to behave like real features."
    )


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
        for kind in kinds:
            provenance(kind)
        if is_theory:
            theory()
        if seeds is not None:
            measured(seeds)
        if is_experiment:
            experiment()
        if is_synthetic:
            synthetic()
        if is_real:
            st.badge("real images", icon=":material/photo_camera:", color="gray", help="Photographs by others; source and licence: Data.")
