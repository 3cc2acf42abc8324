"""Check my run: the certified ε of your own training, what your library reports, and what to
change."""

import streamlit as st

from pages.frame import local, navigation
from pages.parts.check import training

navigation.begin()
start = local.choice(
    "check-start",
    label="Start from",
    default="numbers",
    options={"numbers": "Numbers", "script": "A script", "model": "A model's zip"},
)
if start == "model":
    training.model_panel()
else:
    script = (
        st.text_area(
            label="Script",
            key=local.unlinked_key(
                "check-script", "A script may be long, and it is nobody else's business."
            ),
            help="Python.",
            value=training.EXAMPLE,
            height=220,
            label_visibility="collapsed",
            persist_state="session",
        ).strip()
        if start == "script"
        else ""
    )
    numbers = training.inputs(training.read(script), has_script=start == "script")
    sampler = training.sampler(has_script=start == "script")
    training.answer(training.check_numbers(script, sampler, **numbers), script)
