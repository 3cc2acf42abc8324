"""A few raw rows: images as images, tables as tables."""

import pandas as pd
import streamlit as st

from pages.frame import badges, core, plain
from pages.frame.settings import Settings
from pillar_core.arrays import Array
from pillar_core.types import Provenance

_IMAGES, _ROWS, _COLUMNS = 20, 6, 12


def panel(settings: Settings) -> None:
    """The first train rows."""
    with st.container(border=True, key="samples"):
        st.markdown("**The first rows, as they are**")
        badges.provenance(Provenance.NON_PRIVATE)
        data = core.raw(settings)
        names = [] if data.y_train is None else [data.classes[label] for label in data.y_train[:_IMAGES]]
        if data.x_train.ndim > 2:
            shown = data.x_train[:_IMAGES]
            alts = [f"train row {row}: {name}" for row, name in enumerate(names or ["an image without a label"] * len(shown))]
            st.image(list(shown), caption=[plain.text(name) for name in names] or None, width=64, alt=alts)
        else:
            _table(data.x_train, names)


def _table(rows: Array, names: list[str]) -> None:
    frame = pd.DataFrame(rows[:_ROWS, :_COLUMNS]).rename(columns="x{}".format)
    if names:
        frame.insert(0, "class", names[:_ROWS])
    st.dataframe(frame, hide_index=True, key="sample-rows")
