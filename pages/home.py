"""Home: four doors, the picture that explains the idea, six things to try."""

import dataclasses
from pathlib import Path
from typing import Any

import streamlit as st

from pages.frame import badges, core, navigation, session, theme, words
from pages.frame import settings as codec
from pages.frame.figures import FigureInfo, show_figure
from pillar_core import plots
from pillar_core.registry import toml_tables

_OFFERS: dict[str, Any] = dict(toml_tables(Path(__file__).with_name("home.toml")))
_DATA = "Fashion-MNIST through EfficientNet-Lite0: 1,800 private images, 200 public"

navigation.begin()
settings = session.current()

words.title("home")

first, second = st.container(), st.container()
doors, picture = (second, first) if theme.is_narrow() else (first, second)
with doors:
    for column, door in zip(st.columns(len(_OFFERS["doors"])), _OFFERS["doors"], strict=True):
        with column, st.container(border=True, key=f"door-{door['name']}", height="stretch"):
            st.markdown(f"## {door['icon']} {door['title']}")
            st.markdown(door["text"])
            navigation.link(door["page"], door["action"], changes=door["changes"])
    st.space("small")
with picture:
    table = core.hero_table()
    if table is None:
        st.info(
            "The starter records that this picture is drawn from are missing. `python -m pillar_core starter` trains them again in about a "
            "minute; everything else works without them.",
            icon=":material/inventory_2:",
        )
    else:
        figure = plots.learning_hero(table, mode=theme.mode(), epsilon=settings.epsilon, k=settings.k or None, data=_DATA)
        seeds = int(table["seed"].nunique())
        show_figure(figure, table, FigureInfo("hero", settings, [*badges.DIAGNOSTIC, badges.REAL], seeds, key="hero"))
        st.caption(
            "Every point is a model that was really trained and tested on real images. All of one colour promise the same privacy; only k, "
            "the number of public directions, differs. ε and k move the bold curve and the ring. The gain over training "
            "without projection is largest at small ε and with few rows, and shrinks as either grows. Accuracy is measured on test rows, "
            "which ε does not protect; always saying one of the ten classes is right in 10 % of them."
        )

st.header("Six things to try", anchor=False)
for row in (_OFFERS["presets"][:3], _OFFERS["presets"][3:]):
    for column, preset in zip(st.columns(3), row, strict=True):
        with column, st.container(border=True, key=f"preset-{preset['name']}", height="stretch"):
            st.markdown(f"**{preset['title']}**")
            st.markdown(preset["notice"])
            navigation.link("explore", "Open", changes=dataclasses.asdict(codec.Settings()) | preset["changes"])

words.explain("home")
