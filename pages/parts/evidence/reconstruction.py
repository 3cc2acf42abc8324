"""The Evidence page's reconstruction: what the best informed attacker sees of one image in one release."""

import dataclasses
import math

import streamlit as st

from pages.frame import badges, core, local, memory, theme, words
from pages.frame.figures import FigureInfo, show_figure
from pages.frame.settings import Settings
from pillar_core import plots
from pillar_core.data import uploads
from pillar_core.studies.evidence import reconstruction
from pillar_core.studies.evidence.reconstruction import Reconstruction
from pillar_core.types import Dataset, Form

_SHOWN = (math.inf, 10.0, 1.0, 0.1)
_CHOICES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, math.inf)
_IMAGES = 20


def image(settings: Settings) -> None:
    """The strip of pictures with a slider for ε, for images that anybody may see."""
    st.markdown(
        "A learner releases one noisy sum of rows for each class (DP-LS). The attacker knows **all other rows**, the class and every "
        "parameter, takes the other rows off, and keeps the image plus the noise. Nobody can see more in this release."
    )
    data = core.raw(settings)
    if uploads.names_in([settings.data]) or not (isinstance(data, Dataset) and data.is_images):
        st.info("This view shows private images, so it takes sets of images that are public anyway: choose one.", icon=":material/image:")
        return
    left, right = st.columns(2)
    with left:
        epsilon = float(local.slider("image-epsilon", _CHOICES, title=plots.epsilon_value))
    with right:
        row = int(local.slider("image-row", range(1, _IMAGES + 1))) - 1
    pixels = dataclasses.replace(settings, backbone="raw_pixels", method=reconstruction.LEARNER, epsilon=epsilon)
    seen = _reconstruct(row, pixels)
    line = seen.table.set_index("epsilon").loc[epsilon]
    badges.show_row(*badges.DIAGNOSTIC)
    numbers = {
        "noise": f"{line['noise_std']:.3g}",
        "correlation": f"{line['correlation']:.2f}",
        "right": f"{100 * line['right']:.1f} %",
        "allowed": f"{100 * line['allowed']:.1f} %",
    }
    words.metrics("image", numbers, candidates=seen.candidates, epsilon=plots.epsilon_label(epsilon))
    drawn = plots.reconstruction_strip(
        seen.table, seen.image, seen.pictures, candidates=seen.candidates, present=epsilon, mode=theme.mode()
    )
    show_figure(drawn, seen.table, FigureInfo("reconstruction", pixels))
    st.caption(
        "Clipping takes the image's brightness, so pictures have an average one. A learner of several steps releases more, within its ε."
    )


@memory.of_rows(max_entries=16, show_spinner="Taking off all other rows …")
def _reconstruct(row: int, settings: Settings) -> Reconstruction:
    epsilons = sorted({*_SHOWN, settings.epsilon}, reverse=True)
    counted: Form = {"delta": settings.delta, "relation": settings.relation, "seed": settings.seed}
    return reconstruction.reconstruct(core.split(settings), epsilons, row=row, **counted)
