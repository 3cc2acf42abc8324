"""What many figures draw, as a figure that knows its inks: lines, dots, bands, bars of an interval,
notes; its last step, which gives it its words; and the axes of k and of names.

`hover` is what a mark says under the pointer; without it the mark says nothing. Further keywords
are plotly's.
"""

import math
import textwrap
from collections.abc import Iterable, Sequence
from typing import final

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from pillar_core.arrays import Array, Json
from pillar_core.errors import SettingError
from pillar_core.plots.theme import (
    INK,
    Ink,
    Mode,
    current_ink,
    current_mode,
    fade,
    inert,
    short_lines,
    spread,
    template,
)

Looks = dict[str, Json]
"""Keywords of plotly for a mark, a note or an axis."""
Values = Iterable[Json]
"""Numbers or names along an axis."""
MARKED: dict[Mode, str] = {"light": "#D55E00", "dark": "#FF9152"}
"""The colour of what stands out: the present setting, a stated ε, what a guarantee rules out."""
_MOVED = 4
"""Pixels that a name may stand beside its line without one that leads to it."""
_ROUND = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000)


@final
class Drawing(go.Figure):  # type: ignore[misc]  # plotly has no types
    """A figure under construction: it knows its inks, and `finish` gives it its words.

    data: of a figure to go on with. ends: what `name_ends` writes, as (x, y, text, colour). A mark
    with a name has a place in the legend.
    """

    ink: Ink = INK["light"]
    marked: str = MARKED["light"]
    ends: Sequence[tuple[float, float, str, str]] = ()

    def __init__(self, data: Json = None) -> None:
        super().__init__(data)
        self.ink, self.marked = current_ink(), MARKED[current_mode()]

    def line(
        self,
        x: Values,
        y: Values,
        colour: str,
        *,
        hover: str = "",
        width: float = 2.4,
        dash: str | None = None,
        shape: str | None = None,
        end: str = "",
        **style: Json,
    ) -> None:
        """A line through points; `end`: its name at its right end, once `name_ends` writes it."""
        stroke = {"color": colour, "width": width, "dash": dash, "shape": shape}
        self.add_scatter(x=x, y=y, line=stroke, **{"mode": "lines", **_looks(hover, colour, style)})
        for last_x, last_y in list(zip(x, y, strict=False))[-1:] if end else ():
            self.ends = [*self.ends, (float(last_x), float(last_y), end, colour)]

    def dots(
        self,
        x: Values,
        y: Values,
        colour: str | Sequence[str] | None,
        *,
        size: float = 11,
        hover: str = "",
        symbol: str | Sequence[str] | None = None,
        edge: tuple[float, str | None] | None = None,
        **style: Json,
    ) -> None:
        """Marks at points; `edge`: the width and the colour of their outline (None: their own)."""
        outline = None if edge is None else {"width": edge[0], "color": edge[1]}
        marker = {"size": size, "color": colour, "symbol": symbol, "line": outline}
        self.add_scatter(
            x=x, y=y, marker=marker, **{"mode": "markers", **_looks(hover, colour, style)}
        )

    def bars(
        self,
        values: Values,
        names: Sequence[str],
        colours: Sequence[str],
        *,
        opacity: float,
        hover: str,
        **style: Json,
    ) -> None:
        """Horizontal bars with their names down the left side, the first on top."""
        fills = [fade(colour, opacity) for colour in colours]
        marker = {"color": fills, "cornerradius": 4, "line": {"color": list(colours), "width": 0}}
        self.add_bar(
            x=values, y=names, orientation="h", marker=marker, **_looks(hover, colours, style)
        )
        self.names_axis(names)

    def histogram(
        self,
        edges: Array,
        counts: Array,
        colour: str,
        *,
        opacity: float,
        hover: str,
        **style: Json,
    ) -> None:
        """Bars between the edges of bins, as wide as these by default."""
        style = {
            "width": np.diff(edges),
            "marker": {"color": fade(colour, opacity), "line": {"width": 0}},
            **_looks(hover, colour, style),
        }
        self.add_bar(x=(edges[:-1] + edges[1:]) / 2, y=counts, **style)

    def cells(
        self,
        x: Sequence[str],
        y: Sequence[str],
        z: Values,
        *,
        unit: str = "",
        hover: str,
        **style: Json,
    ) -> None:
        """Coloured cells with gaps between them, and their scale beside them."""
        scale = {"title": {"text": unit}, "thickness": 10, "outlinewidth": 0, "len": 0.9}
        self.add_heatmap(
            x=x, y=y, z=z, xgap=2, ygap=2, colorbar=scale, **style, **_hover_style(hover)
        )

    def ring(self, x: float, y: float, colour: str, *, size: float, **style: Json) -> None:
        """An open circle around one point."""
        self.dots(
            [x],
            [y],
            colour,
            size=size,
            symbol="circle-open",
            edge=(2.4, None),
            cliponaxis=False,
            **style,
        )

    def band(
        self,
        x: Iterable[float],
        low: Iterable[float],
        high: Iterable[float],
        colour: str,
        *,
        opacity: float,
        **style: Json,
    ) -> None:
        """The area between two lines."""
        xs = list(x)
        corners = [*xs, *xs[::-1]], [*high, *list(low)[::-1]]
        self.area(*corners, colour, opacity=opacity, **style)

    def area(self, x: Values, y: Values, colour: str, *, opacity: float, **style: Json) -> None:
        """The area inside these corners."""
        fill = {"fill": "toself", "fillcolor": fade(colour, opacity)}
        self.line(list(x), list(y), colour, width=0, **fill, **style)

    def rule(
        self,
        colour: str = "",
        *,
        x: float | None = None,
        y: float | None = None,
        dash: str = "dot",
        words: str = "",
        **place: Json,
    ) -> None:
        """A line through the whole picture at x or at y, muted without a colour, perhaps with words
        (on axes that are not logarithmic)."""
        colour = colour or self.ink.muted
        line = {"color": colour, "width": 1.4, "dash": dash}
        if words:
            place |= {"annotation_text": words, "annotation_font": {"size": 13, "color": colour}}
        if y is None:
            self.add_vline(x=x, line=line, **place)
        else:
            self.add_hline(y=y, line=line, **place)

    def note(
        self,
        x: float,
        y: float,
        text: str,
        colour: str,
        *,
        size: int = 13,
        weight: int | None = None,
        **place: Json,
    ) -> None:
        """Words in the picture, without an arrow."""
        self.add_annotation(
            x=x,
            y=y,
            text=text,
            showarrow=False,
            font={"size": size, "color": colour, "weight": weight},
            **place,
        )

    def name_ends(
        self, *, low: float, high: float, height: int = 320, is_log: bool = False
    ) -> None:
        """Writes lines' names at their right ends, on a logarithmic x axis, apart from their
        neighbours; a thin line leads to a name that moved.

        `low` and `high` bound all y drawn, which are logarithmic, too, where `is_log`; `height` is
        the plot's, in pixels.
        """
        if is_log:
            low, high = math.log10(low), math.log10(high)
        ys = [math.log10(y) if is_log else y for _, y, _, _ in self.ends]
        scale = height / max(1.12 * (high - low), 1e-9)  # plotly draws this much of the span
        sizes = [18 * len(short_lines(text)) for _, _, text, _ in self.ends]  # as on a phone
        places = spread([y * scale for y in ys], sizes=sizes)
        room = (high + 0.06 * (high - low)) * scale  # names end where the plot does
        for place in np.argsort(places)[::-1]:
            places[place] = min(places[place], room - sizes[place] / 2)
            room -= sizes[place]
        for (x, _, text, colour), y, place in zip(self.ends, ys, places, strict=True):
            moved = place - y * scale
            if abs(moved) > _MOVED:
                self.add_annotation(
                    x=math.log10(x),
                    y=y,
                    text="",
                    arrowhead=0,
                    ax=11,
                    ay=-moved,
                    arrowcolor=colour,
                    arrowwidth=1,
                    opacity=0.7,
                )
            beside: Looks = {"xanchor": "left", "align": "left", "xshift": 12, "yshift": moved}
            self.note(math.log10(x), y, text, colour, size=14, weight=600, **beside)

    def names_axis(self, names: Sequence[str], **style: Json) -> None:
        """Names down the left side, the first on top."""
        self.update_yaxes(
            type="category",
            categoryarray=list(names)[::-1],
            showgrid=False,
            ticksuffix="  ",
            **style,
        )

    def finish(
        self,
        *,
        title: str,
        caption: str,
        alt: str,
        height: int = 440,
        line: int = 112,
        x: str | Json = None,
        y: str | Json = None,
        **layout: Json,
    ) -> go.Figure:
        """The figure with the template, its title and caption drawn (exports keep them), and both
        texts in `layout.meta`.

        The caption is broken into lines of at most `line` characters; plotly does not wrap. x, y:
        the title of all axes of that kind, or what else they get; further keywords are plotly's, of
        the layout.
        """
        if not alt.strip() or not caption.strip():
            raise SettingError("a figure needs a caption and an alt text.")
        lines = textwrap.wrap(caption, line, break_on_hyphens=False)
        heading = {"text": title, "subtitle": {"text": "<br>".join(lines)}}
        self.update_layout(layout).update_xaxes(_axis(x)).update_yaxes(_axis(y))
        self.update_layout(
            template=template(current_mode()),
            height=height,
            title=heading,
            margin_t=84 + 17 * (len(lines) - 1),
        )
        return inert(self).update_layout(meta={"alt": alt, "caption": caption})


def reach(
    rows: pd.DataFrame,
    colour: str,
    *,
    value: str = "mean",
    scale: float = 100,
    thickness: float = 1.4,
    width: float = 4,
) -> Looks:
    """Bars from `low` to `high` of each row around its `value`; none where an end is unknown."""
    ends = {"array": rows["high"] - rows[value], "arrayminus": rows[value] - rows["low"]}
    sizes = {
        name: (scale * size).replace(math.inf, math.nan).fillna(0) for name, size in ends.items()
    }
    return {
        "type": "data",
        "symmetric": False,
        **sizes,
        "color": colour,
        "thickness": thickness,
        "width": width,
    }


def log_axis(ticks: Sequence[float], title: str, *, form: str = "g", **axis: Json) -> Looks:
    """A logarithmic axis with a tick at each of `ticks`; further keywords are plotly's."""
    return {
        "type": "log",
        "title_text": title,
        "tickvals": list(ticks),
        "ticktext": [f"{tick:{form}}" for tick in ticks],
        **axis,
    }


def round_ticks(low: float, high: float) -> list[int]:
    """The 1, 2 and 5 of each power of ten from `low` to `high`, up to 2,000."""
    return [tick for tick in _ROUND if low <= tick <= high]


def _looks(hover: str, colour: Json, style: Looks) -> Looks:
    """Plotly's keywords of a mark. A table of means in the place of error bars becomes theirs."""
    bars = {
        axis: reach(rows, fade(colour, 0.7) if isinstance(colour, str) else current_ink().text)
        for axis, rows in style.items()
        if isinstance(rows, pd.DataFrame)
    }
    shown = {} if "name" in style else {"showlegend": False}
    return {**shown, **style, **bars, **_hover_style(hover)}


def _hover_style(hover: str) -> dict[str, str]:
    if not hover:
        return {"hoverinfo": "skip"}
    return {"hovertemplate": hover if "<extra>" in hover else hover + "<extra></extra>"}


def _axis(words: str | Json) -> Json:
    return {"title_text": words} if isinstance(words, str) else words
