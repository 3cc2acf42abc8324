"""A model to take away: trained once more with noise from the operating system, because a seeded one must not leave."""

import functools
import math

import streamlit as st

import pillar_core as pc
from pages.frame import core, failures, receipts, words
from pages.frame.settings import Settings
from pages.parts.explore import tuning
from pillar_core import mode
from pillar_core.data import uploads
from pillar_core.runs.models import PAID_WAYS
from pillar_core.runs.receipts import training_on
from pillar_core.runs.statement import IN_SIGHT


def panel(settings: Settings) -> None:
    """The explanation, and the button that trains and hands over the file."""
    if mode.binds():
        return
    panel = st.expander("Download the model", icon=":material/download:", key="release-panel", on_change="rerun")
    if not panel.open:
        return
    with panel:
        words.say("release", st.markdown, in_sight=IN_SIGHT, paid_ways=PAID_WAYS)
        if not pc.METHODS[settings.method].is_private:
            st.warning("This learner protects nothing: its file promises nothing about anyone.", icon=":material/warning:")
        with failures.show_refusal("The model could not be prepared."):
            choosing = tuning.chosen_by()
            learner, epsilon = pc.METHODS[settings.method], settings.epsilon if pc.METHODS[settings.method].is_private else 0.0
            budget = (epsilon if learner.protects else math.inf, settings.delta, settings.relation)
            receipts.wait(settings)
            receipts.offer(
                settings,
                training_on(core.split(settings), learner.title, budget, data=uploads.title_of(settings.data)),
                functools.partial(tuning.prepare_release, settings, choosing),
                key="release",
                label="Train a release",
                hint="A zip of safetensors (public transform, weights), JSON (guarantee, settings, classes) and a statement to sign. "
                "No seed, no test accuracy.",
            )
            receipts.show(settings)
            st.caption("A statement to sign. This one describes the experiment above; the file holds its own:")
            st.code(pc.statement(core.run(settings)).text, language=None, wrap_lines=True)
        st.caption("Its README shows how to use it, in Python and with `predict`.")
