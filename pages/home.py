"""Start: the picture that explains the idea, one way in, three more, six things to try, and ten stories."""

import dataclasses
from pathlib import Path

import streamlit as st

from pages.frame import badges, core, local, navigation, session, theme, words
from pages.frame import settings as codec
from pages.frame.figures import FigureInfo, show_figure
from pillar_core import plots
from pillar_core.arrays import Json
from pillar_core.registry import toml_tables
from pillar_core.studies.portable import STORIES

_OFFERS: dict[str, Json] = dict(toml_tables(Path(__file__).with_name("home.toml")))
_DATA = "Fashion-MNIST by EfficientNet-Lite0: 1,799 private images, 201 public"

navigation.begin()
settings = session.current()

words.title("home")

table = core.hero_table()
if table is None:
    words.say("no_starter", st.info, icon="inventory_2")
else:
    epsilon = local.choice("home-epsilon")
    figure = plots.learning_hero(table, mode=theme.mode(), epsilon=epsilon, data=_DATA)
    seeds = int(table["seed"].nunique())
    show_figure(figure, table, FigureInfo("hero", settings, [*badges.DIAGNOSTIC, badges.REAL], seeds, key="hero"))

door, *doors = _OFFERS["doors"]
with st.container(border=True, key=f"door-{door['name']}"):
    st.markdown(f"## {door['icon']} {door['title']}")
    st.markdown(door["text"])
    navigation.link(door["page"], door["action"], changes=door["changes"])
for column, door in zip(st.columns(len(doors)), doors, strict=True):
    with column, st.container(border=True, key=f"door-{door['name']}", height="stretch"):
        st.markdown(f"## {door['icon']} {door['title']}")
        st.markdown(door["text"])
        navigation.link(door["page"], door["action"], changes=door["changes"])

st.header("Six things to try", anchor=False)
for row in (_OFFERS["presets"][:3], _OFFERS["presets"][3:]):
    for column, preset in zip(st.columns(3), row, strict=True):
        with column, st.container(border=True, key=f"preset-{preset['name']}", height="stretch"):
            st.markdown(f"**{preset['title']}**")
            st.markdown(preset["notice"])
            navigation.link("explore", "Open", changes=dataclasses.asdict(codec.Settings()) | preset["changes"])

st.header("Ten stories", anchor=False)
for column, stories in zip(st.columns(2), (STORIES[::2], STORIES[1::2]), strict=True):
    with column:
        for story in stories:
            changes = {"data": story.dataset} | dict(zip(("method", "epsilon", "k"), story.opening, strict=True))
            navigation.link("explore", story.question, icon=":material/menu_book:", changes=dataclasses.asdict(codec.Settings()) | changes)
st.caption("`python examples/stories.py` writes each as one HTML file that needs no network, with a surprise to open.")

words.explain("home")
