"""What the screening page draws: the verdict, the ranking, and what lies behind it."""

from __future__ import annotations

import math

import pandas as pd
import streamlit as st

import pillar_core as pc
from pages.frame import figures, looks
from pages.frame.settings import Settings
from pages.panels import gallery, local, screening
from pages.panels.screening import Choice
from pillar_core import plots
from pillar_core.experiments import screening as experiments
from pillar_core.types import Provenance

VIEWS = {"accuracy": "Does it predict accuracy?", "angles": "Angles", "spectra": "Spectra", "pairs": "All pairs"}


def summary(choice: Choice, table: pd.DataFrame) -> None:
    """The answer in three numbers."""
    names = screening.titles()
    best = table.iloc[0]
    rivals = _undecided(table)
    spent = float(table["epsilon_upper"].max())
    sure = "clearly" if not rivals else f"{len(rivals)} may tie"
    numbers = (
        ("Nearest", names[best["public"]], "The candidate with the smallest score."),
        ("Its score", f"{best['value']:.2f}", f"{pc.SCORES[choice.score].title}: {pc.SCORES[choice.score].idea}. Smaller is nearer."),
        ("How sure", sure, f"Candidates whose 95 % interval overlaps: {', '.join(names[name] for name in rivals) or 'none'}."),
        (
            "Privacy spent",
            "not private" if math.isinf(spent) else f"ε ≤ {spent:.3g}",
            "Without ε this reads private rows as they are: for your eyes. With ε one release ranks any number of candidates.",
        ),
    )
    for column, (label, value, words) in zip(st.columns([1.35, 0.7, 0.85, 1.1]), numbers, strict=True):
        column.metric(label, value, help=words, border=True)


def ranking(choice: Choice, table: pd.DataFrame, settings: Settings) -> None:
    """The ranking with its nulls."""
    figure = plots.ranking(
        table,
        mode=looks.mode(),
        titles=screening.titles(),
        private=gallery.title_of(choice.private),
        random_subspaces=table.attrs.get("random_subspaces"),
        noise_images=screening.NOISE,
    )
    private = choice.epsilon is not None
    figures.show(
        figure,
        table,
        name="screening",
        kinds=(Provenance.PRIVATE if private else Provenance.NON_PRIVATE,),
        settings=settings,
        is_experiment=private,
        is_synthetic=gallery.is_synthetic(choice.private),
    )
    for note in table.attrs.get("notes", ()):
        st.caption(note)


def more(choice: Choice, table: pd.DataFrame, settings: Settings) -> None:
    """One of the views behind the ranking."""
    words = "What lies behind the ranking. All of these read private rows without noise."
    view = local.one("Look closer", list(VIEWS), "accuracy", name="screen-view", words=VIEWS.__getitem__, help=words)
    if view == "accuracy":
        _accuracy(choice, table, settings)
        return
    titles = {**screening.titles(), choice.private: f"{gallery.title_of(choice.private)} (private)"}
    shown = {"mode": looks.mode(), "titles": titles}
    if view == "angles":
        found = screening.angles(choice)
        figure = plots.angles(found, **shown)
    elif view == "spectra":
        found = screening.spectra(choice)
        figure = plots.gradient_spectra(found, k=choice.k, **shown)
    else:
        found = screening.pairs(choice)
        figure = plots.distance_map(found, **shown)
    figures.show(figure, found, name=f"screening_{view}", kinds=(Provenance.NON_PRIVATE,), settings=settings)


def _accuracy(choice: Choice, table: pd.DataFrame, settings: Settings) -> None:
    """Trains GEP with every candidate when asked to; the answer stays for the choice."""
    asked = choice.key
    if local.value("screen-measured", "") != asked:
        st.markdown("Train **GEP** with each candidate as its public data, three seeds each, and compare. Takes a minute.")
        st.button(
            "Measure accuracy",
            icon=":material/model_training:",
            key="screen-measure",
            on_click=local.put,
            args=("screen-measured", asked),
            help=f"Private training at ε = {settings.epsilon:g}, once for each candidate and seed.",
        )
        return
    if len(choice.public) < 3:
        st.info("A rank correlation needs at least three candidates: choose more.", icon=":material/info:")
        return
    accuracy = screening.measured(choice, settings.epsilon)
    agreement = experiments.agreement(table, accuracy).iloc[0]
    figure = plots.score_against_accuracy(table, accuracy, agreement, mode=looks.mode(), titles=screening.titles())
    kinds = (Provenance.NON_PRIVATE,)
    figures.show(figure, accuracy, name="screening_accuracy", kinds=kinds, settings=settings, seeds=3, is_experiment=True)


def _undecided(table: pd.DataFrame) -> list[str]:
    """The candidates whose interval overlaps that of the nearest; all of them where there are no intervals."""
    best, others = table.iloc[0], table.iloc[1:]
    return [row["public"] for _, row in others.iterrows() if not row["low"] > best["high"]]
