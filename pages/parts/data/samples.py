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
        badges.show(Provenance.NON_PRIVATE)
        data = core.raw(settings)
        numbers = range(min(len(data.x_train), _IMAGES if data.x_train.ndim > 2 else _ROWS))
        names = [] if data.y_train is None else [data.classes[data.y_train[row]] for row in numbers]
        rows(data.x_train, list(numbers), names, data.texts)


def rows(x: Array, numbers: list[int], names: list[str], texts: tuple[str, ...] = ()) -> None:
    """Some rows of x with a name each, or none of them with one; of texts how they begin."""
    if x.ndim > 2:
        alts = [f"row {row}: {name}" for row, name in zip(numbers, names or ["an image without a label"] * len(numbers), strict=True)]
        st.image([x[row] for row in numbers], caption=[plain.text(name) for name in names] or None, width=64, alt=alts)
    else:
        numbers_or_texts = {"text": [texts[row] for row in numbers]} if texts else x[numbers, :_COLUMNS]
        frame = pd.DataFrame(numbers_or_texts).rename(columns=lambda name: name if texts else f"x{name}")
        if names:
            frame.insert(0, "class", names)
        st.dataframe(frame, hide_index=True, key="sample-rows")
