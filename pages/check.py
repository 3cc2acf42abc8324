"""Check my run: the certified ε of your own training, what your library reports, and what to
change."""

import streamlit as st

from pages.frame import local, navigation
from pages.parts.check import views

navigation.begin()
start = local.choice("check-start")
if start == "model":
    views.model_panel()
else:
    script = st.text_area(**local.element("check-script")).strip() if start == "script" else ""
    numbers = views.inputs(views.read(script), has_script=start == "script")
    views.answer(
        views.check_numbers(script, views.sampler(has_script=start == "script"), **numbers), script
    )
