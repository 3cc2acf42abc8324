"""A button that copies a link in the browser, which alone knows under which address the app is reached."""

from pathlib import Path
from urllib.parse import urlencode

import streamlit as st

from pages.frame import settings as codec
from pages.frame.settings import Settings

_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
_BUTTON = '<button type="button"><span aria-live="polite">Copy link</span></button>'
STYLE = Path(__file__).with_suffix(".css").read_text(encoding="utf-8")


def button(label: str, settings: Settings, *, key: str, hint: str, page: str | None = None) -> None:
    """Draws the button; its link opens `page`, by default the present one, with these settings."""
    data = {"label": label, "query": urlencode(codec.to_query(settings)), "hint": hint, "page": page}
    st.components.v2.component("pillar_copying", html=_BUTTON, css=STYLE, js=_SCRIPT)(key=key, data=data)
