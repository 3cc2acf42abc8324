"""A chart whose node stays while its figure changes: Streamlit's own is built anew, and its star cannot walk."""

from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import streamlit as st

from pages.frame import memory
from pillar_core.arrays import Json
from pillar_core.plots.theme import Figure, narrow_copy, script

_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
_LIBRARY = "plotly-" + version("plotly") + ".min.js"
"""Where the server has Plotly's own bundle: for a browser in which no chart of Streamlit's has brought one yet."""


def route() -> Any:
    """The server's answer for the bundle."""
    from starlette.responses import Response
    from starlette.routing import Route

    async def send(_: Any) -> Any:
        headers = {"cache-control": "public, max-age=31536000, immutable"}
        return Response(script(), media_type="text/javascript", headers=headers)

    return Route("/".join(["", *filter(None, [st.get_option("server.baseUrlPath").strip("/")]), _LIBRARY]), send)


def chart(figure: Figure, *, runs: Mapping[str, object], base: str, is_narrow: bool, key: str, alt: str, config: dict[str, Json]) -> None:
    """Draws `figure` and on it the traces and annotations of `runs` into the node that has this key.

    `base` names the figure: while it stays, only the runs move.
    """
    base += "-narrow" if is_narrow else ""
    data = {"figure": _json(base, is_narrow, figure), "runs": runs, "base": base, "config": config, "alt": alt, "library": _LIBRARY}
    st.components.v2.component("pillar_moving", js=_SCRIPT, isolate_styles=False)(key=key, data=data)


@memory.cache(max_entries=64, is_free=True)
def _json(base_: str, is_narrow: bool, _figure: Figure) -> str:
    return str((narrow_copy(_figure) if is_narrow else _figure).to_json(validate=False))
