"""Home: four doors, the picture that explains the idea, six things to try."""

import dataclasses

import streamlit as st

from pages.frame import core, figures, navigation, presets, session, theme
from pages.frame import settings as codec
from pillar_core import plots
from pillar_core.types import Provenance

_DATA = "Fashion-MNIST through EfficientNet-Lite0: 1,800 private images, 200 public"

navigation.begin()
settings = session.current()

theme.front(
    "Learn from private data. Limit what it reveals about anyone.",
    "A small <b>public</b> part of the data shows in which directions the signal lies. The <b>private</b> rows then train a model in those "
    "few directions only, under noise that limits, by the privacy budget ε, what the model can tell about any "
    "one row. Fewer directions, less noise; too few, and the signal is lost: try it live.",
)

first, second = st.container(), st.container()
doors, picture = (second, first) if theme.is_narrow() else (first, second)
with doors:
    for column, door in zip(st.columns(len(presets.DOORS)), presets.DOORS, strict=True):
        with column, st.container(border=True, key=f"door-{door.name}", height="stretch"):
            st.markdown(f"## {door.icon} {door.title}")
            st.markdown(door.text)
            navigation.link(door.page, door.action, changes=door.changes)
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
        figures.show(
            figure,
            table,
            name="hero",
            key="hero",
            kinds=(Provenance.NON_PRIVATE,),
            settings=settings,
            seeds=int(table["seed"].nunique()),
            is_experiment=True,
            is_real=True,
        )
        st.caption(
            "Every point is a model that was really trained and tested on real images. All of one colour promise the same privacy; only k, "
            "the number of public directions, differs. ε and k move the bold curve and the ring. The gain over training "
            "without projection is largest at small ε and with few rows, and shrinks as either grows. Accuracy is measured on test rows, "
            "which ε does not protect; always saying one of the ten classes is right in 10 % of them."
        )

st.header("Six things to try", anchor=False)
for row in (presets.PRESETS[:3], presets.PRESETS[3:]):
    for column, preset in zip(st.columns(3), row, strict=True):
        with column, st.container(border=True, key=f"preset-{preset.name}", height="stretch"):
            st.markdown(f"**{preset.title}**")
            st.markdown(preset.notice)
            navigation.link("explore", "Open", changes=dataclasses.asdict(codec.Settings()) | dict(preset.changes))

with st.expander("How this was computed", icon=":material/science:"):
    st.markdown(
        "1. A tenth of the train rows is public. Its mean and its principal directions cost no privacy.\n"
        "2. The private rows are projected on the first k directions and scaled to length one.\n"
        "3. A linear classifier is trained by gradient descent. Each row's gradient is clipped, the sum gets Gaussian noise.\n"
        "4. An accountant turns noise and steps into ε, an upper bound on what the model can reveal about one row.\n\n"
        "The curves come from the starter records in `cache/starter`; `python -m pillar_core starter` rebuilds them."
    )
