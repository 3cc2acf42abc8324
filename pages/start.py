"""Start: the picture to pull, what it means for test images and for an attacker, and five ways
in; six things to try and ten stories in closed boxes."""

import dataclasses
from pathlib import Path

import streamlit as st

from pages.frame import core, navigation
from pages.frame import settings as codec
from pages.parts.curves import story
from pages.parts.start import pulled
from pillar_core.arrays import Json
from pillar_core.registry import toml_tables
from pillar_core.runs import starter
from pillar_core.studies.portable.stories import STORIES

_OFFERS: dict[str, Json] = dict(toml_tables(Path(__file__).with_name("start.toml")))


settings = navigation.begin()
epsilon = settings.epsilon
records = core.start_records()
if records is None:
    st.info(
        "The starter records that this picture is drawn from are missing. `python -m pillar_core"
        " starter` trains them again in some minutes; everything else works without them.",
        icon=":material/inventory_2:",
    )
else:
    table, tests = records
    epsilon = pulled.show(table, tests, settings)
    left, right = st.columns(2)
    with left:
        navigation.link(
            "curves",
            "If your public rows have labels: AdaMix starts from them",
            icon=":material/label:",
            changes={"data": starter.START["dataset"], "method": "adamix", "epsilon": epsilon},
        )
    with right:
        navigation.link(
            "curves",
            "What an attacker learns",
            icon=":material/casino:",
            changes={"view": "odds", "epsilon": epsilon},
        )

doors = _OFFERS["doors"]
for place, door in zip(st.columns(len(doors)), doors, strict=True):
    with place, st.container(key=f"door-{door['name']}", gap="xsmall"):
        navigation.link(
            door["page"],
            f"**{door['title']}**",
            icon=door["icon"],
            changes=door["changes"] | {"epsilon": epsilon},
        )
        st.caption(door["text"])

with st.expander("Six things to try", icon=":material/lightbulb:"):
    st.caption(
        "ε is the privacy budget, k counts the directions kept.",
        help="ε limits what the model reveals about any one row.",
    )
    for preset in _OFFERS["presets"]:
        changes = dataclasses.asdict(codec.Settings()) | preset["changes"]
        navigation.link("curves", f"**{preset['title']}**", changes=changes)
        st.markdown(preset["notice"])
with st.expander("Ten stories", icon=":material/menu_book:"):
    for told in STORIES:
        story.link(told, told.opening, told.question)
    st.caption(
        "`python examples/stories.py` writes each as one HTML file that needs no network, with a"
        " surprise to open."
    )
