"""Runs: plan a grid, watch its jobs, read what the cache holds, and lay it beside the papers' tables."""

import streamlit as st

from pages.frame import failures, history, navigation, session, theme
from pages.parts.runs import jobs as runs_jobs
from pages.parts.runs import papers as runs_papers
from pages.parts.runs import plan as runs_plan
from pages.parts.runs import results as runs_results
from pages.parts.runs import server as runs_server
from pillar_core.runs import records

navigation.begin()
settings = session.current()
history.look(settings)

theme.title(
    "Runs, from plan to paper",
    "A grid of learners and privacy budgets ε is <b>counted before it starts</b>, goes on without this window, and ends in a cache that "
    "you can carry away as one file.",
)

with failures.shown("The runs could not be read."):
    with st.spinner("Reading the cache …"):
        runs = records.all_runs()
    view = runs_results.view(settings.runs)
    if view == "plan":
        runs_plan.panel(settings, runs)
    elif view == "jobs":
        runs_jobs.panel()
    elif view == "papers":
        runs_papers.panel(settings, runs)
    else:
        runs_results.panel(settings, runs)

with st.expander("How this is kept", icon=":material/inventory_2:"):
    st.markdown(
        "A run's name in the cache is the fingerprint of its settings and of the versions of the code that made it, so a change of code "
        "never shows old numbers as new. `python -m pillar_core cache export runs.zip` carries records to another machine; features stay "
        "unless they are asked for. `cache import runs.zip` shows them there as imported, beside your own runs and never in their place; "
        "with `--trust`, for files that you made yourself, they count as runs of that machine. Intervals are 95 % Student t over seeds."
    )
runs_server.panel()
