"""A small picture to draw on, in the browser."""

import base64
from pathlib import Path

import streamlit as st

from pages.frame import copying, local
from pillar_core.arrays import Array

_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
_BUTTONS = "".join(f'<button type="button">{label}</button>' for label in ("Rubber", "Clear", "As it was"))
_PLACE = f'<canvas tabindex="0" role="application"></canvas><section aria-label="Drawing">{_BUTTONS}</section>'
_STYLE = """canvas { width: 14rem; max-width: 100%; background: #000; image-rendering: pixelated; touch-action: none; cursor: crosshair; }
canvas:focus-visible { outline: 3px solid var(--st-primary-color); } [aria-pressed=true] { border-color: var(--st-primary-color); }"""


def canvas(image: Array, *, key: str, alt: str) -> str:
    """Shows the image (h, w) uint8 to draw on, and returns what it has become, h · w grey values as bytes in base64; "" while as it was."""
    key, original = local.unlinked_key(key, "No picture is in a link."), base64.b64encode(image.tobytes()).decode()
    present = st.session_state.get(key, {}).get("picture") or original
    data = {"original": original, "present": present, "width": image.shape[1], "height": image.shape[0], "alt": alt}
    component = st.components.v2.component("pillar_drawing", html=_PLACE, css=copying.STYLE + _STYLE, js=_SCRIPT)
    picture = str(component(key=key, data=data, on_picture_change=lambda: None).picture or original)
    return picture if picture != original else ""
