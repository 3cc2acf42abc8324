"""Provenance on every number: who it is safe to show to, and how it was come by."""

from collections.abc import Sequence

import streamlit as st

from pages.frame import words
from pillar_core.types import Provenance

PUBLIC, PRIVATE, NON_PRIVATE = Provenance.PUBLIC, Provenance.PRIVATE, Provenance.NON_PRIVATE
THEORY, FITTED, EXPERIMENT, SYNTHETIC, REAL = (
    "theory",
    "fitted to 3 runs",
    "experiment, not for release",
    "synthetic",
    "real images",
)
MADE_UP = "made up"
DIAGNOSTIC = (NON_PRIVATE, EXPERIMENT)
"""What runs with a known seed reach on test rows."""
Seeds = int | tuple[int, int] | None
"""Seeds behind every point of a figure; the fewest and the most where points differ; None where
nothing was trained."""


def show(*names: str) -> None:
    """Draws the named badges."""
    for name in names:
        icon, colour, hint = words.WORDS["badges"][name]
        st.badge(str(name), icon=f":material/{icon}:", color=colour, help=hint)


def line(names: Sequence[str]) -> str:
    """What the badges say, in few words for a label: what follows a comma is left to the badge."""
    return " · ".join(
        f":{words.WORDS['badges'][name][1]}[{str(name).partition(',')[0]}]" for name in names
    )


def show_row(*names: str, seeds: Seeds = None) -> None:
    """Draws the named badges side by side, and “measured (n seeds)”."""
    with st.container(horizontal=True, gap="small"):
        show(*names)
        if seeds is not None:
            hint = (
                "Every point was trained and tested; seed s sets split and noise. Bands are 95 %"
                " Student t intervals over seeds."
            )
            st.badge(
                f"measured ({_count(seeds)})", icon=":material/straighten:", color="gray", help=hint
            )


def _count(seeds: int | tuple[int, int]) -> str:
    fewest, most = seeds if isinstance(seeds, tuple) else (seeds, seeds)
    return f"{most if fewest == most else f'{fewest} to {most}'} seed{'' if most == 1 else 's'}"
