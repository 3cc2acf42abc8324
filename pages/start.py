"""Start: the picture that explains the idea and its odds, one way in and four more; six things to
try and ten stories in closed boxes."""

import dataclasses
import json
from pathlib import Path

import streamlit as st

from pages.frame import badges, core, local, navigation, odds
from pages.frame import settings as codec
from pages.frame.figures import FigureInfo, draw_figure
from pillar_core import plots
from pillar_core.arrays import Json
from pillar_core.registry import toml_tables
from pillar_core.runs import starter
from pillar_core.studies.portable.stories import STORIES

_OFFERS: dict[str, Json] = dict(toml_tables(Path(__file__).with_name("start.toml")))
_DATA = "Fashion-MNIST by EfficientNet-Lite0: 1,799 private images, 201 public"

settings = navigation.begin()
table = core.hero_table()
door, *doors = _OFFERS["doors"]
left, right = st.columns([2.5, 1])
with left:
    epsilon = local.choice(
        "home-epsilon",
        label="ε, privacy budget: smaller protects each person more",
        help=(
            "ε limits what the model reveals about any one row. Smaller protects more. The bold"
            " curve belongs to this ε."
        ),
        default=0.1,
        options=[0.1, 0.3, 1.0, 3.0],
        form="ε = {:g}",
        sets="epsilon",
    )
    if table is None:
        st.info(
            "The starter records that this picture is drawn from are missing. `python -m"
            " pillar_core starter` trains them again in about a minute; everything else works"
            " without them.",
            icon=":material/inventory_2:",
        )
    else:
        seeds = int(table["seed"].nunique())
        grids = "\n---\n".join(map(json.dumps, starter.GRIDS))
        again = (
            f"cat > start.yaml <<'END'\n{grids}\nEND\npython -m pillar_core sweep start.yaml"
            " --output start.csv"
        )
        draw_figure(
            plots.learning_hero,
            table,
            FigureInfo("hero", settings, [*badges.DIAGNOSTIC, badges.REAL], seeds, command=again),
            epsilon=epsilon,
            data=_DATA,
        )
with right:
    with st.container(key=f"door-{door['name']}"):
        navigation.link(door["page"], door["action"], icon=door["icon"], changes=door["changes"])
    with st.container(border=True, key="door-odds"):
        odds.thumbnail(epsilon, settings.delta)
        navigation.link(
            "curves",
            "What an attacker learns",
            icon=":material/casino:",
            changes={"view": "odds", "epsilon": epsilon},
        )
    for door in doors:
        with st.container(key=f"door-{door['name']}", gap=None):
            navigation.link(
                door["page"], f"**{door['title']}**", icon=door["icon"], changes=door["changes"]
            )
            st.caption(door["text"])

with st.expander("Six things to try", icon=":material/lightbulb:"):
    for preset in _OFFERS["presets"]:
        changes = dataclasses.asdict(codec.Settings()) | preset["changes"]
        navigation.link("curves", f"**{preset['title']}**", changes=changes)
        st.markdown(preset["notice"])
with st.expander("Ten stories", icon=":material/menu_book:"):
    for story in STORIES:
        changes = {"data": story.dataset} | dict(
            zip(("method", "epsilon", "k"), story.opening, strict=True)
        )
        navigation.link(
            "curves", story.question, changes=dataclasses.asdict(codec.Settings()) | changes
        )
    st.caption(
        "`python examples/stories.py` writes each as one HTML file that needs no network, with a"
        " surprise to open."
    )
