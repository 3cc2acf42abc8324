"""Start: the picture that explains the idea, one way in, three more; six things to try and ten stories in closed boxes."""

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
door, *doors = _OFFERS["doors"]
with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="bottom"):
    epsilon = local.choice("home-epsilon")
    with st.container(width="content", key=f"door-{door['name']}"):
        navigation.link(door["page"], door["action"], icon=door["icon"], changes=door["changes"])
if table is None:
    words.say("no_starter", st.info, icon="inventory_2")
else:
    figure = plots.learning_hero(table, mode=theme.mode(), epsilon=epsilon, data=_DATA)
    seeds = int(table["seed"].nunique())
    show_figure(figure, table, FigureInfo("hero", settings, [*badges.DIAGNOSTIC, badges.REAL], seeds, key="hero"))

for column, door in zip(st.columns(len(doors)), doors, strict=True):
    with column, st.container(border=True, key=f"door-{door['name']}", height="stretch"):
        navigation.link(door["page"], f"**{door['title']}**", icon=door["icon"], changes=door["changes"])
        st.markdown(door["text"])

with st.expander("Six things to try", icon=":material/lightbulb:"):
    for preset in _OFFERS["presets"]:
        changes = dataclasses.asdict(codec.Settings()) | preset["changes"]
        navigation.link("explore", f"**{preset['title']}**", changes=changes)
        st.markdown(preset["notice"])
with st.expander("Ten stories", icon=":material/menu_book:"):
    for story in STORIES:
        changes = {"data": story.dataset} | dict(zip(("method", "epsilon", "k"), story.opening, strict=True))
        navigation.link("explore", story.question, changes=dataclasses.asdict(codec.Settings()) | changes)
    st.caption("`python examples/stories.py` writes each as one HTML file that needs no network, with a surprise to open.")

words.explain("home")
