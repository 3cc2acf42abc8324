"""Curves and Learners of private rows that are not on this machine: what the cache's records of
them can feed, and the ways to the rest."""

import dataclasses

import pandas as pd
import streamlit as st

import pillar_core as pc
from pages.frame import badges, core, navigation, plain, session
from pages.frame import settings as codec
from pages.frame.figures import FigureInfo, draw_figure
from pages.frame.settings import Settings
from pages.parts.curves import figures, result
from pages.parts.learners import comparison
from pillar_core import metrics, plots, store
from pillar_core.plots.intervals import over_seeds
from pillar_core.runs.tables import record_of
from pillar_core.studies.compare import learners
from pillar_core.types import Form, PublicFacts

_ABSENT = "The rows are not on this machine, and its records alone cannot feed this view."


def draw_curves(settings: Settings, runs: pd.DataFrame) -> None:
    """The run that the sliders describe, and its view, from `core.recorded`."""
    _ways(settings, runs)
    own = runs[runs["method"] == settings.method]
    here = own[own["epsilon"] == settings.epsilon]
    if settings.k != codec.RULE:
        here = here[here["k"] == settings.k]
    stored = store.default().get_json("record", here["key"].iloc[0])
    record = record_of(stored, facts=PublicFacts(**stored["facts"]), data="")
    mean, low, high = metrics.over_runs(here["accuracy"].astype(float).to_list())
    ends = f" ({100 * low:.1f}–{100 * high:.1f})" if len(here) > 1 else ""
    value, hint = f"{100 * mean:.1f} %", f"Mean of {len(here)} seeds."
    accuracy = {"label": f"Test accuracy{ends}", "value": value, "help": hint}
    result.gain(result.summary(record, settings, accuracy), record, settings)
    badges.show_row(*badges.DIAGNOSTIC)
    rows = f"{record.facts.n_private:,} private · {record.facts.n_public:,} public rows"
    st.badge(f"{rows} · trained on {record.device}", color="gray")
    view = figures.choice(settings)
    info = FigureInfo(f"recorded_{view}", settings, badges.DIAGNOSTIC, is_synthetic=False)
    k = int(record.settings.get("k") or 0)
    taking: Form = {"takes": ["k", "epsilon"], "method": settings.method}
    if view == "k" and k:
        star = plots.Here(k, settings.epsilon, mean)
        draw_figure(plots.accuracy_against_k, runs, info, present=star, **taking)
    elif view == "plane" and k:
        cell = (k, settings.epsilon)
        draw_figure(plots.accuracy_heatmap, own, info, present=cell, **taking)
    elif view == "epsilon" or view in figures.NEEDS_CURVES:
        same = own if settings.k == codec.RULE else own[own["k"] == settings.k]
        lines = over_seeds(same, by=["epsilon"], value="accuracy")
        title = pc.METHODS[settings.method].title
        lines = lines.assign(series=title, method=settings.method, x=lines["epsilon"])
        draw_figure(plots.effect, lines, info, title=title, x_title="ε", x_log=True)
    elif view == "odds":
        figures.draw_odds(record, settings)
    elif view == "why":
        figures.draw_why(record, settings)
    else:
        st.info(_ABSENT, icon=":material/cloud_off:")


def draw_learners(settings: Settings, runs: pd.DataFrame) -> None:
    """Every learner of which there are records, at every budget and the k nearest to the
    slider's."""
    _ways(settings, runs)
    ks = runs.groupby(["method", "epsilon"])["k"].transform(
        lambda ks: core.nearest(settings.k or ks.median(), ks.dropna()) if ks.notna().any() else ks
    )
    runs = runs[runs["k"].isna() | (runs["k"] == ks)]
    lines = learners.summary(runs.assign(error_message=None))
    runs = comparison.at_budget(runs, settings)
    info = FigureInfo("recorded_learners", settings, badges.DIAGNOSTIC, is_synthetic=False)
    comparison.draw_bars(runs, info)
    info = dataclasses.replace(info, name="recorded_budgets")
    draw_figure(plots.error_against_epsilon, lines, info, takes=["epsilon", "method"])
    st.caption("Advice, other views and missing runs read the rows: bring them for these.")


def _ways(settings: Settings, runs: pd.DataFrame) -> None:
    """What is shown instead of the rows, and what could bring them."""
    devices = ", ".join(sorted(set(runs["device"].dropna())))
    st.info(
        f"The rows of {plain.text(runs['data'].iloc[0])} are not on this machine. You see"
        f" {len(runs):,} records of them, trained on {devices}.",
        icon=":material/cloud_off:",
    )
    with st.container(horizontal=True):
        is_fetchable = settings.data in pc.DATASETS and pc.DATASETS[settings.data].can_fetch
        label = "Fetch these rows" if is_fetchable else "Bring these rows"
        navigation.link("rows", f"{label} on Rows")
        session.draw_way_on()
