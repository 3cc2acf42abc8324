"""A chart whose node stays while its figure changes: Streamlit's own is built anew, and its star cannot walk."""

from pathlib import Path
from typing import Any

import streamlit as st

_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
_LIBRARY = next(Path(st.__file__).with_name("static").glob("static/js/PlotlyChart.*.js")).name
"""Streamlit's bundle of Plotly, which sets `window.Plotly`: a browser that has drawn any chart of the app has it already."""


def chart(figure: Any, *, base: str, key: str, alt: str, config: dict[str, Any]) -> None:
    """Draws `figure` into the node that has this key. `base` names what is in it but single runs: while it stays, only these move."""
    data = {"figure": figure.to_json(validate=False), "base": base, "config": config, "alt": alt, "library": _LIBRARY}
    st.components.v2.component("pillar_moving", js=_SCRIPT, isolate_styles=False)(key=key, data=data)
