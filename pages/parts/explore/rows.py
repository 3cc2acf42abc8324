"""Explore's rows: test rows whose answer privacy changed, and one row, perhaps edited, read by the models a release could have been."""

import dataclasses
import math

import pandas as pd
import streamlit as st

import pillar_core as pc
from pages.frame import badges, core, drawing, local, memory, plain, theme
from pages.frame import settings as codec
from pages.frame.figures import FigureInfo, show_figure
from pages.frame.settings import Settings
from pages.parts.data import samples
from pages.parts.explore import classes
from pillar_core import plots
from pillar_core.arrays import Array
from pillar_core.studies import one_training
from pillar_core.studies.one_training import DRAWS, EPSILONS, Models

_SHOWN, _FIELDS = 20, 12


def panel(settings: Settings) -> None:
    """Rows on which A and the present model disagree; without a pinned A of these data, A is the same learner without noise."""
    pinned = codec.pins(settings).get("A")
    a = pinned if pinned is not None and pinned.data == settings.data else dataclasses.replace(settings, epsilon=math.inf)
    tested, labels, now = classes.answers(core.run_key(settings), settings)
    before = classes.answers(core.run_key(a), a)[2]
    names, changed = core.features(settings).classes, (now != before).nonzero()[0]
    with st.container(border=True, key="changed-rows"):
        badges.show_row(*badges.DIAGNOSTIC)
        lost, won = (int((says[changed] == labels[changed]).sum()) for says in (before, now))
        st.markdown(f"**{len(changed):,} of {len(now):,} test rows get another answer**: {lost} were right in A, {won} are right now.")
        st.caption(f"A: {_words(a)}. Now: {_words(settings)}. A pin in the sidebar takes the place of A. These rows are for your eyes.")
        listed = changed[:_SHOWN].tolist()
        texts = core.raw(settings).texts[-len(tested) :]
        if listed:
            words = [f"{names[labels[row]]}: A {names[before[row]]}, now {names[now[row]]}" for row in listed]
            samples.rows(tested, listed, words, texts)
    _one_row(listed or list(range(min(_SHOWN, len(now)))), tested, labels, settings)


def _one_row(offered: list[int], tested: Array, labels: Array, settings: Settings) -> None:
    """One of the offered test rows, its fields to edit where it has any, and what possible models say of it."""
    st.markdown(f"## One row, read by {DRAWS} possible models at each ε")
    data = core.features(settings)
    if data.x_test is None:
        return
    row = int(local.select("one-row", {row: f"test row {row}: {data.classes[labels[row]]}" for row in offered}, offered[0]))
    numbers, label = data.x_test[row].copy(), data.classes[labels[row]]
    if tested.ndim == 3:
        drawn = drawing.canvas(
            tested[row], key=f"draw-{settings.data}-{row}", alt=f"test row {row}, to draw on or to shift by the arrow keys"
        )
        st.caption(
            f"Class: {plain.text(label)}. Draw on it by mouse or finger, or shift it by the arrow keys: the models read what you made."
        )
        if drawn:
            numbers, label = _features_of(drawn, tested.shape[1:], settings), ""
    elif tested.ndim > 3:
        st.image(tested[row], width=112, caption=plain.text(label))
    elif tested.shape == data.x_test.shape and not data.texts:
        names = [plain.text(name) for name in (data.names or [f"x{place}" for place in range(data.d)])[:_FIELDS]]
        fields = pd.DataFrame([numbers[:_FIELDS]], columns=names)
        edited = st.data_editor(fields, hide_index=True, key=local.unlinked_key(f"fields-{row}", "No value of a row is in a link."))
        numbers[:_FIELDS] = edited.fillna(0).to_numpy(dtype="float32")[0]
        label = label if edited.equals(fields) else ""
    key = core.run_key(settings)
    if local.value("possible-models", "") != key:
        title, hint = f"Train {DRAWS * len(EPSILONS)} possible models", f"{DRAWS} draws of the noise at each of three ε: experiments."
        st.button(title, icon=":material/scatter_plot:", key="train-possible", on_click=local.put, args=("possible-models", key), help=hint)
        return
    table = one_training.answers(_models(key, settings), numbers, data.classes)
    show_figure(plots.possible_answers(table, label=label, mode=theme.mode()), table, FigureInfo("possible_answers", settings))


@memory.of_rows(max_entries=1)
def _features_of(drawn: str, shape: tuple[int, ...], settings: Settings) -> Array:
    return one_training.read_drawing(drawn, shape, backbone=core.features(settings).backbone)


def _words(settings: Settings) -> str:
    return f"{plain.text(pc.METHODS[settings.method].title)} at {plots.epsilon_label(settings.epsilon)}"


@memory.of_rows(max_entries=2, show_spinner="Drawing possible models …")
def _models(key_: str, _settings: Settings) -> Models:
    return one_training.possible_models(core.spec(_settings), core.split(_settings))
