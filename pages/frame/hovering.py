"""Pictures of rows beside the points of a chart, while the pointer is over one, or after a tap on it."""

import base64
import io
import math
from pathlib import Path

import streamlit as st

from pillar_core.arrays import Array

_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
_SIZE = 32
"""Of a picture, in pixels."""


def pictures(chart: str, images: Array) -> None:
    """Shows images[i] (n, h, w[, 3]) uint8 at the points of the chart with this key whose customdata is i."""
    across = math.ceil(math.sqrt(len(images)))
    data = {"chart": chart, "sheet": sheet(images, across), "size": _SIZE, "across": across}
    st.components.v2.component("pillar_hovering", html='<div role="presentation"></div>', js=_SCRIPT)(key=f"hover-{chart}", data=data)


def sheet(images: Array, across: int) -> str:
    """All images, `across` side by side, as one JPEG in a data address."""
    from PIL import Image

    sheet_image = Image.new("RGB", (across * _SIZE, math.ceil(len(images) / across) * _SIZE))
    for place, image in enumerate(images):
        sheet_image.paste(Image.fromarray(image).resize((_SIZE, _SIZE)), (place % across * _SIZE, place // across * _SIZE))
    file = io.BytesIO()
    sheet_image.save(file, "JPEG", quality=85)
    return f"data:image/jpeg;base64,{base64.b64encode(file.getvalue()).decode()}"
