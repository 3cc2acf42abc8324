"""Looks that every figure shares: colour, dash and order by method name, ε colours, light and dark
templates.

A method has a colour of its own on every page, with a lighter twin for dark backgrounds. The first
eight follow Okabe and Ito (2008), which stay apart for the common kinds of colour blindness; dash
and symbol repeat the message.
"""

import contextlib
import dataclasses
import functools
import hashlib
import math
import re
import textwrap
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from string import Template
from typing import Literal

import numpy as np
import plotly.graph_objects as go
from plotly.graph_objects import Figure as Figure

from pillar_core.arrays import Json
from pillar_core.registry import toml_tables

Mode = Literal["light", "dark"]
FONT = '"Source Sans", "Source Sans Pro", system-ui, sans-serif'
HEADING_FONT = '"Source Serif", "Source Serif Pro", Georgia, serif'


@dataclasses.dataclass(frozen=True)
class Ink:
    """Neutral colours of one mode."""

    text: str
    muted: str
    grid: str
    surface: str
    accent: str


@dataclasses.dataclass(frozen=True)
class MethodStyle:
    """How one method looks: a colour for each mode, a dash, a marker symbol and a place in the
    order."""

    light: str
    dark: str
    dash: str
    symbol: str
    order: int

    @property
    def colour(self) -> str:
        """The colour in the current mode, as #rrggbb."""
        return self.dark if is_dark() else self.light


LOOKS: dict[str, Json] = toml_tables(Path(__file__).with_suffix(".toml"))
_TEMPLATE = Template(Path(__file__).with_name("template.toml").read_text(encoding="utf-8"))
_HUES: dict[str, tuple[str, str]] = LOOKS["hues"]


INK: dict[Mode, Ink] = {mode: Ink(**inks) for mode, inks in LOOKS["ink"].items()}
METHOD_STYLES: dict[str, MethodStyle] = {
    name: MethodStyle(light, dark, dash, symbol, order)
    for order, (name, (light, dark, dash, symbol)) in enumerate(LOOKS["methods"].items())
}
_NOTE = 15
"""Letters of a note that a phone shows in one line."""
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
_FOREIGN = re.compile(r"<(?!/?(?:b|i|extra)>|br>)(?=[a-zA-Z/!])")
"""The start of a tag that no figure of ours writes."""
_LISTS = (list, tuple, np.ndarray)
_SYMBOLS = (
    "circle",
    "square",
    "diamond",
    "triangle-up",
    "triangle-down",
    "pentagon",
    "hexagon",
    "star-triangle-up",
)

EPSILON_RANGE = (0.1, 8.0)
ACCURACY_SCALE: list[list[float | str]] = LOOKS["accuracy"]["scale"]


_MODE: ContextVar[Mode] = ContextVar("mode")
outer_mode: list[Callable[[], Mode]] = [lambda: "light"]
"""The last one says the mode of figures that no `in_mode` is around."""


def in_mode(mode: Mode) -> contextlib.AbstractContextManager[None]:
    """Draws the figures of a block for a light or a dark page: `with plots.in_mode("dark"): …`."""
    return _in_mode(mode)


@contextlib.contextmanager
def _in_mode(mode: Mode) -> Iterator[None]:
    token = _MODE.set(mode)
    try:
        yield
    finally:
        _MODE.reset(token)


def current_mode() -> Mode:
    """What figures are drawn for now: the mode of the `in_mode` around, else light, or in the app
    the browser's."""
    return _MODE.get(None) or outer_mode[-1]()


def is_dark() -> bool:
    """Whether figures are drawn for a dark page now."""
    return current_mode() == "dark"


def current_ink() -> Ink:
    """The neutral colours of the current mode."""
    return INK[current_mode()]


def method_style(name: str) -> MethodStyle:
    """The style of a method; a name that is not listed gets one that depends on the name alone,
    after all others."""
    known = METHOD_STYLES.get(name)
    if known is not None:
        return known
    digest = hashlib.sha256(name.encode()).digest()
    hues = [hue for key, hue in _HUES.items() if key != "grey"]
    light, dark = hues[digest[0] % len(hues)]
    order = len(METHOD_STYLES) + int.from_bytes(digest[3:5], "big")
    return MethodStyle(
        light, dark, DASHES[digest[1] % len(DASHES)], _SYMBOLS[digest[2] % len(_SYMBOLS)], order
    )


def in_order(names: Iterable[str]) -> list[str]:
    """Method names, each once, in the order that every page uses."""
    return sorted(set(names), key=lambda name: (method_style(name).order, name))


def epsilon_colour(epsilon: float) -> str:
    """The colour of a budget: violet for much privacy through blue to green for little, grey for no
    privacy (∞)."""
    if not math.isfinite(epsilon):
        return current_ink().muted
    low, high = (math.log(value) for value in EPSILON_RANGE)
    place = (math.log(min(max(epsilon, EPSILON_RANGE[0]), EPSILON_RANGE[1])) - low) / (high - low)
    return _between(LOOKS["epsilon"][current_mode()], place)


def categorical(count: int) -> list[str]:
    """`count` colours for classes; they repeat after seven, so symbols must repeat at another
    length."""
    hues = [pair[is_dark()] for key, pair in _HUES.items() if key != "grey"]
    return [hues[index % len(hues)] for index in range(count)]


def class_symbols(count: int) -> list[str]:
    """`count` marker symbols for classes; with `categorical` they tell 56 classes apart."""
    return [_SYMBOLS[index % len(_SYMBOLS)] for index in range(count)]


def told_apart(names: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Each name with its colour and its marker symbol."""
    count = len(names)
    return zip(names, categorical(count), class_symbols(count), strict=True)


def pin_colour(letter: str) -> str:
    """The colour of the settings pinned as A, B or C."""
    return str(LOOKS["pins"][letter][is_dark()])


def fade(colour: str, opacity: float) -> str:
    """A #rrggbb colour as rgba at `opacity` in [0, 1]."""
    red, green, blue = _rgb(colour)
    return f"rgba({red}, {green}, {blue}, {opacity:g})"


def light_twins(epsilons: Sequence[float]) -> dict[str, str]:
    """The light mode's colour for each of the current mode's inks, hues, methods and these budgets:
    pictures to print have white ground."""
    current = _colours(epsilons)
    with in_mode("light"):
        return dict(zip(map(str.upper, current), _colours(epsilons), strict=True))


def _colours(epsilons: Sequence[float]) -> list[str]:
    pairs = (*_HUES.values(), *LOOKS["methods"].values())
    return [
        *dataclasses.astuple(current_ink()),
        *(pair[is_dark()] for pair in pairs),
        *map(epsilon_colour, epsilons),
    ]


def epsilon_label(epsilon: float) -> str:
    """ε as people read it: “ε = 0.3”, “ε = ∞”."""
    return f"ε = {epsilon_value(epsilon)}"


def epsilon_value(epsilon: float) -> str:
    """The number in `epsilon_label`."""
    return "∞ (no noise)" if math.isinf(epsilon) else f"{epsilon:g}"


@functools.cache
def template(mode: Mode) -> go.layout.Template:
    """The plotly template of the current mode, by which it is kept: transparent, light grid, no
    boxes, room for a title and a subtitle."""
    words = {**dataclasses.asdict(INK[mode]), "font": FONT, "heading": HEADING_FONT}
    layout = tomllib.loads(_TEMPLATE.substitute(words))
    axis = layout.pop("axis")
    bars = [go.Bar(textposition="inside", insidetextanchor="start")]
    layout |= {"colorway": categorical(7), "xaxis": axis, "yaxis": axis}
    return go.layout.Template(layout=layout, data={"bar": bars})


def narrow_copy(figure: Figure) -> Figure:
    """A copy of a finished figure for a window of about 390 pixels: words in more lines, smaller
    marks, no hints in italics, and no dragging, so that a finger scrolls the page."""
    layout = figure.to_dict()["layout"]
    title = textwrap.wrap(layout["title"]["text"], 32)
    lines = textwrap.wrap(layout["meta"]["caption"], 50, break_on_hyphens=False)
    notes = [
        note
        | {
            "font": note.get("font", {}) | {"size": 11},
            "text": "<br>".join(short_lines(note["text"])),
            "align": "left",
        }
        for note in layout.get("annotations", ())
        if "<i>" not in note["text"]
    ]
    heading = {"text": "<br>".join(title), "font_size": 16, "pad_t": 6 + 18 * (len(title) - 1)}
    heading["subtitle"] = {"text": "<br>".join(lines), "font_size": 12}
    taken = 20 * len(title) + 15 * len(lines)
    margin = {"t": 64 + taken, "l": 4, "r": min(layout.get("margin", {}).get("r", 16), 90)}
    below_buttons = {"x": 0, "len": 1, "pad": {"t": 74}}
    narrow = Figure(figure).update_layout(
        title=heading,
        margin=margin,
        height=layout["height"] + taken - 30,
        legend_font_size=11,
        dragmode=False,
        sliders=[below_buttons for _ in figure.layout.sliders],
    )
    narrow.layout.annotations = notes
    for axis in (*narrow.select_xaxes(), *narrow.select_yaxes()):
        words = "<br>".join(textwrap.wrap(axis.title.text or "", 38))
        axis.update(title={"text": words, "font_size": 12}, tickfont_size=11)
    for axis in narrow.select_xaxes():
        if axis.type == "log" and axis.tickvals is not None:
            ticks = log_ticks(list(axis.tickvals), most=4)
            texts = dict(zip(axis.tickvals, axis.ticktext or (), strict=False))
            axis.update(tickvals=ticks, tickangle=0)
            axis.ticktext = axis.ticktext and [*map(texts.get, ticks)]
            if axis.range is None:
                # a label beside the last point would widen it, and is not drawn beyond it
                notes = [note for note in narrow.layout.annotations if note.xshift]
                ends = [note.x for note in notes if note.xref in (None, "x")]
                last = max([math.log10(max(ticks)), *ends])
                axis.range = [math.log10(min(ticks)) - 0.05, last + 0.05]
    return narrow


def script() -> str:
    """Plotly's own script, for a page that holds all it needs."""
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs())


def as_text(words: str) -> str:
    """Words in which plotly reads our own tags alone."""
    return _FOREIGN.sub("&lt;", words)


def inert(figure: Figure) -> Figure:
    """The figure, in which only our own tags are read as such: what names hold is text."""
    described = figure.to_dict()
    return Figure(_inert(described)) if any(map(_FOREIGN.search, _texts(described))) else figure


def _texts(value: Json) -> Iterator[str]:
    """Every text of a figure."""
    items = value.values() if isinstance(value, Mapping) else value
    if isinstance(value, str):
        yield value
    elif isinstance(value, (Mapping, *_LISTS)):
        for item in items:
            yield from _texts(item)


def _inert(value: Json) -> Json:
    """A figure's description in which only our own tags are read as such: what names hold is
    text."""
    if isinstance(value, Mapping):
        return {name: _inert(item) for name, item in value.items()}
    if isinstance(value, _LISTS):
        return [_inert(item) for item in value]
    return as_text(value) if isinstance(value, str) else value


def log_ticks(values: Sequence[float], *, most: int = 9) -> list[float]:
    """Some of the distinct `values`, evenly picked in their order, for the ticks of a logarithmic
    axis."""
    distinct = sorted({value for value in values if value > 0})
    if len(distinct) <= most:
        return distinct
    step = (len(distinct) - 1) / (most - 1)
    return [distinct[round(index * step)] for index in range(most)]


def spread(positions: Sequence[float], *, sizes: Sequence[float]) -> list[float]:
    """`positions`, in their order, moved as little as keeps things of these `sizes`, centred there,
    apart: places for labels."""
    order = np.argsort(positions, kind="stable")
    ordered = np.asarray(sizes)[order]
    apart = np.cumsum([0.0, *(ordered[1:] + ordered[:-1]) / 2])[: len(order)]
    wanted = np.asarray(positions)[order] - apart
    count = len(wanted)
    # neighbours that meet move as one, to their mean: the isotonic regression, whose import from
    # SciPy takes longer
    moved = np.empty(count)
    moved[order] = apart + [
        max(
            min(wanted[start : end + 1].mean() for end in range(at, count))
            for start in range(at + 1)
        )
        for at in range(count)
    ]
    return list(moved)


def short_lines(note: str) -> list[str]:
    """A note in the lines that a phone shows."""
    parts = note.replace(" = ", "\u00a0=\u00a0").split("<br>")
    return [line for part in parts for line in textwrap.wrap(part, _NOTE, break_long_words=False)]


def seeds_phrase(counts: Iterable[int]) -> str:
    """“5 seeds, 95 % intervals” for captions; one or two seeds say that none is drawn."""
    present = [int(count) for count in counts]
    if not present:
        return "Not measured yet"
    low = min(present)
    high = max(present)
    seeds = f"{high} seed{'s' * (high > 1)}" if low == high else f"{low} to {high} seeds"
    return f"{seeds}, 95 % intervals" if high > 2 else f"{seeds}: no interval"


def _between(anchors: Sequence[str], place: float) -> str:
    channels = zip(*map(_rgb, anchors), strict=True)
    places = np.linspace(0, 1, len(anchors))
    return "#" + "".join(f"{round(np.interp(place, places, levels)):02x}" for levels in channels)


def _rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
