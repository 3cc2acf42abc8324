"""Accounting: from noise to ε and back, by every accountant, and what each number means for one person."""

import streamlit as st

from pages.frame import failures, local, navigation, session, theme
from pages.parts.accounting import views as accounting_views
from pages.parts.learn import lesson

navigation.begin()
settings = session.current()
lesson.banner(settings)

theme.title(
    "What does a privacy budget ε cost, and what does it buy?",
    "Noise, batches and steps go in, a <b>certified ε</b> comes out, at once; δ is the chance that it fails. See why accountants differ, "
    "what the same noise is worth under other rules, and what the best attacker could still do.",
)

VIEWS = {
    "steps": "ε against steps",
    "meaning": "What it means",
    "noise": "Noise for a budget",
    "rules": "Other rules",
    "sum": "Training + choices",
}
with failures.shown("This cannot be accounted for."):
    setting = accounting_views.controls(settings)
    if setting is not None:
        accounting_views.numbers(setting)
        view = local.one("View", VIEWS, "steps", name="accounting-view", help="Five looks at one run.")
        match view:
            case "steps":
                accounting_views.against_steps(setting, settings)
            case "meaning":
                accounting_views.meaning(setting, settings)
            case "noise":
                accounting_views.noise(setting, settings)
            case "rules":
                accounting_views.rules(setting, settings)
            case _:
                accounting_views.composition(setting, settings)
        accounting_views.code(setting)

with st.expander("How this was computed", icon=":material/science:"):
    st.markdown(
        "Each step adds Gaussian noise to a sum of clipped rows, over a Poisson sample of them. Our accountant composes the privacy loss "
        "of all steps and returns a lower and an upper end; what is called ε is the **upper** end. Full batches are exact in "
        "closed form. The number of rows is public and the same for both data sets. Odds and advantage come from the whole trade-off "
        "curve, never from one (ε, δ) point. δ and adjacency are in the sidebar under Advanced."
    )
