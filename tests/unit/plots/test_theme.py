"""Looks belong to names: colours, dashes and orders are stable, readable and told apart."""

import itertools
import math
import tomllib
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
import pytest

from pillar_core.plots import theme
from pillar_core.plots.marks import Drawing
from pillar_core.runs import starter

MODES: tuple[theme.Mode, ...] = ("light", "dark")
READABLE_CONTRAST = 3.0
"""WCAG 2.1, 1.4.11: graphical objects need a contrast of at least 3 to 1 against what is beside
them."""


def luminance(colour: str) -> float:
    """Relative luminance of #rrggbb as WCAG 2.1 defines it."""
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    bright, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("mode", MODES)
def test_lines_of_methods_and_budgets_stand_out_from_the_page(mode):
    page = theme.INK[mode].surface
    with theme.in_mode(mode):
        for name, style in theme.METHOD_STYLES.items():
            least = READABLE_CONTRAST - 0.25 * (mode == "light")
            assert contrast(style.colour, page) >= least, name
        for epsilon in (0.1, 0.3, 1.0, 3.0, 8.0, 1e6, math.inf):
            assert contrast(theme.epsilon_colour(epsilon), page) >= READABLE_CONTRAST


@pytest.mark.parametrize("mode", MODES)
def test_every_two_methods_have_colours_that_an_eye_tells_apart(mode):
    """In OKLab (Ottosson 2020), black and white are 1 apart and a difference of 0.02 is just
    noticeable."""
    to_cones = [[0.4122, 0.5363, 0.0514], [0.2119, 0.6807, 0.1074], [0.0883, 0.2817, 0.6300]]
    to_lab = [[0.2105, 0.7936, -0.0041], [1.9780, -2.4286, 0.4506], [0.0259, 0.7828, -0.8087]]
    places = {}
    for name, style in theme.METHOD_STYLES.items():
        colour = getattr(style, mode)
        shares = np.array([int(colour[start : start + 2], 16) for start in (1, 3, 5)]) / 255
        linear = np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)
        places[name] = np.array(to_lab) @ np.cbrt(np.array(to_cones) @ linear)
    nearest = min(
        itertools.combinations(places, 2),
        key=lambda pair: np.linalg.norm(places[pair[0]] - places[pair[1]]),
    )
    assert np.linalg.norm(places[nearest[0]] - places[nearest[1]]) > 0.07, nearest
    compared = [places[name] for name in starter.COMPARED]
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(compared, 2)) > 0.1


def test_no_two_methods_look_alike_and_a_style_depends_on_the_name_alone():
    looks = [(style.light, style.dash, style.symbol) for style in theme.METHOD_STYLES.values()]
    assert len(set(looks)) == len(looks)
    assert len({style.order for style in theme.METHOD_STYLES.values()}) == len(looks)
    alone = theme.method_style("learner_of_tomorrow")
    theme.method_style("another_learner")
    assert theme.method_style("learner_of_tomorrow") == alone
    assert alone.order >= len(theme.METHOD_STYLES)
    assert theme.in_order(["learner_of_tomorrow", "dp_sgd", "pillar", "dp_sgd"]) == [
        "pillar",
        "dp_sgd",
        "learner_of_tomorrow",
    ]
    colours = [theme.epsilon_colour(epsilon) for epsilon in (0.1, 0.2, 0.5, 1.0, 3.0, 8.0)]
    assert len(set(colours)) == len(colours)
    assert theme.epsilon_colour(0.01) == colours[0]
    assert theme.epsilon_colour(100.0) == colours[-1]


def test_labels_are_moved_apart_and_a_figure_without_words_is_refused():
    moved = theme.spread([5.0, 1.0, 1.5, 9.0], sizes=[2.0] * 4)
    assert (moved[0], moved[3]) == (5.0, 9.0), "what meets no neighbour stays"
    assert moved[1] + moved[2] == 1.0 + 1.5, "two that meet give way alike"
    assert all(b - a >= 2.0 for a, b in itertools.pairwise(sorted(moved)))
    assert sorted(range(4), key=moved.__getitem__) == [1, 2, 0, 3]
    with pytest.raises(ValueError, match="alt text"):
        Drawing().finish(title="t", caption="c", alt=" ")
    looks = tomllib.loads(
        (Path(__file__).parents[3] / ".streamlit" / "config.toml").read_text(encoding="utf-8")
    )["theme"]
    assert all(contrast(looks[mode]["primaryColor"], "#FFFFFF") >= 4.5 for mode in MODES)


def test_a_narrow_figure_keeps_its_marks_and_lines_names_apart():
    figure = Drawing(go.Scatter(x=[1, 10, 100], y=[1, 2, 3])).update_xaxes(
        type="log", tickvals=[1, 3, 10, 30, 100]
    )
    figure.add_annotation(text="without any projection", x=2, y=3)
    figure.add_annotation(text="<i>a hint</i>", x=0, y=1)
    title = "A title that no phone could ever show in one line"
    narrow = theme.narrow_copy(figure.finish(title=title, caption="seeds " * 30, alt="a chart"))
    assert max(map(len, narrow.layout.title.text.split("<br>"))) <= 32
    assert narrow.layout.title.text.replace("<br>", " ") == title
    assert [note.text for note in narrow.layout.annotations] == ["without any<br>projection"]
    assert len(narrow.layout.xaxis.tickvals) == 4
    assert narrow.data == figure.data
    assert narrow.layout.meta == figure.layout.meta
    assert figure.layout.title.text == title, "the wide figure stays as it was"
    figure = Drawing(go.Scatter(x=[1, 100], y=[70, 70]))
    figure.ends = [
        (100.0, 70.0, "ε = 0.3", "#000000"),
        (100.0, 70.0, "without projection 69 %", "#000000"),
    ]
    figure.name_ends(low=50, high=80)
    narrow = theme.narrow_copy(figure.finish(title="a", caption="b", alt="c"))
    named = [note for note in narrow.layout.annotations if note.text]
    leads = [note for note in narrow.layout.annotations if not note.text]
    high, low = sorted(named, key=lambda note: -note.yshift)
    assert [-note.ay for note in leads] == [note.yshift for note in named]
    lines = sum(1 + note.text.count("<br>") for note in (high, low))
    assert high.yshift - low.yshift >= 15 * lines / 2  # of 15 pixels is a line at the font of 11
    assert lines == 3
    figure.update_xaxes(type="log", tickvals=[1, 10])
    narrow = theme.narrow_copy(figure.finish(title="a", caption="b", alt="c"))
    assert narrow.layout.xaxis.range[1] > 2, "names at 100 are drawn, where the last tick is 10"
    assert "ε\u00a0=\u00a00.3" in {note.text for note in narrow.layout.annotations}
