"""What the browser does by itself: it copies links, draws, shows pictures beside points, saves
figures and moves a chart's star."""

import base64
import functools
import io
import math
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from pages.frame import door, local, memory
from pages.frame import settings as codec
from pages.frame.settings import Settings
from pillar_core.arrays import Array, Json
from pillar_core.plots.picture import PICTURE
from pillar_core.plots.theme import Figure, narrow_copy, script

_COPY = '<button type="button"><span aria-live="polite">Copy link</span></button>'
_BUTTONS = "".join(
    f'<button type="button">{label}</button>' for label in ("Rubber", "Clear", "As it was")
)
_DRAW = (
    '<canvas tabindex="0" role="application"></canvas><section'
    f' aria-label="Drawing">{_BUTTONS}</section>'
)
_PULLED = (
    '<div class="whole"><div><p class="said" aria-live="polite"></p><p class="hint"></p><section'
    ' class="curves"></section><p class="source"></p></div><div><section class="tests"></section><p'
    ' class="tally"></p><p class="promise" aria-live="polite"></p><svg class="dots"></svg><p'
    ' class="legend"></p></div></div>'
)
_SIZE = 32
"""Of a row's picture, in pixels."""
_LIBRARY = "plotly-" + version("plotly") + ".min.js"
"""Where the server has Plotly's own bundle: for a browser in which no chart of Streamlit's has
brought one yet."""


def copy_button(
    label: str, settings: Settings, *, key: str, hint: str, page: str | None = None
) -> None:
    """Draws a button that copies a link to `page`, by default the present one; the browser alone
    knows the app's address."""
    data = {
        "label": label,
        "query": urlencode(codec.to_query(settings)),
        "hint": hint,
        "page": page,
    }
    _component("copying", html=_COPY, css=_text("buttons.css"))(key=key, data=data)


def canvas(image: Array, *, key: str, alt: str) -> str:
    """Shows the image (h, w) uint8 to draw on, and returns what it has become, h · w grey values as
    bytes in base64; "" while as it was."""
    key = local.unlinked_key(key, "No picture is in a link.")
    original = base64.b64encode(image.tobytes()).decode()
    present = st.session_state.get(key, {}).get("picture") or original
    data = {
        "original": original,
        "present": present,
        "width": image.shape[1],
        "height": image.shape[0],
        "alt": alt,
    }
    component = _component("drawing", html=_DRAW, css=_text("buttons.css"))
    picture = str(component(key=key, data=data, on_picture_change=lambda: None).picture or original)
    return picture if picture != original else ""


def pulled_curves(data: Mapping[str, object], keep: Callable[[object], None], *, key: str) -> None:
    """Draws curves whose dot and budgets a hand pulls. data: what `pulling.js` reads; `keep` gets
    the place {epsilon, k} at which the hand let go."""
    component = _component("pulling", before=PICTURE, html=_PULLED, css=_text("pulling.css"))
    component(key=key, data=data, on_place_change=lambda: keep(st.session_state[key].place))


def hover_pictures(chart: str, images: Array) -> None:
    """Shows images[i] (n, h, w[, 3]) uint8 at the points of the chart with this key whose
    customdata is i: under the pointer or a tap."""
    across = math.ceil(math.sqrt(len(images)))
    data = {"chart": chart, "sheet": sheet(images, across), "size": _SIZE, "across": across}
    _component("hovering", html='<div role="presentation"></div>')(key=f"hover-{chart}", data=data)


def sheet(images: Array, across: int) -> str:
    """All images, `across` side by side, as one JPEG in a data address."""
    from PIL import Image

    sheet_image = Image.new("RGB", (across * _SIZE, math.ceil(len(images) / across) * _SIZE))
    for place, image in enumerate(images):
        sheet_image.paste(
            Image.fromarray(image).resize((_SIZE, _SIZE)),
            (place % across * _SIZE, place // across * _SIZE),
        )
    file = io.BytesIO()
    sheet_image.save(file, "JPEG", quality=85)
    return f"data:image/jpeg;base64,{base64.b64encode(file.getvalue()).decode()}"


def save_buttons(chart: str, name: str, twins: Mapping[str, str]) -> None:
    """Draws buttons that save the chart with this key as a picture. twins: the light colour for
    each that the chart has."""
    data = {"chart": chart, "name": name, "twins": twins}
    _component("pictures", html="<section></section>", css=_text("buttons.css"))(
        key=f"pictures-{name}", data=data
    )


def plotly_route() -> Any:
    """The server's answer for Plotly's bundle."""
    from starlette.responses import Response
    from starlette.routing import Route

    async def send(_: Any) -> Any:
        headers = {"cache-control": "public, max-age=31536000, immutable"}
        return Response(script(), media_type="text/javascript", headers=headers)

    return Route(door.place(_LIBRARY), send)


def moving_chart(
    figure: Figure,
    *,
    runs: Mapping[str, object],
    base: str,
    is_narrow: bool,
    key: str,
    alt: str,
    config: dict[str, Json],
) -> None:
    """Draws `figure` and on it the traces and annotations of `runs` into the node that has this
    key.

    Streamlit's own chart is built anew, and its star cannot walk. `base` names the figure: while it
    stays, only the runs move.
    """
    base += "-narrow" if is_narrow else ""
    data = {
        "figure": _json(base, is_narrow, figure),
        "runs": runs,
        "base": base,
        "config": config,
        "alt": alt,
        "library": _LIBRARY,
    }
    _component("moving", isolate_styles=False)(key=key, data=data)


@memory.cache(is_free=True)
def _json(base_: str, is_narrow: bool, _figure: Figure) -> str:
    return str((narrow_copy(_figure) if is_narrow else _figure).to_json(validate=False))


def _component(name: str, *, before: str = "", **parts: Any) -> Any:
    return st.components.v2.component(f"pillar_{name}", js=before + _text(f"{name}.js"), **parts)


@functools.cache
def _text(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")
