"""Runs: plan a grid, watch its jobs, read the cache's runs, and compare them with the papers'
tables."""

import streamlit as st

from pages.frame import local, navigation, receipts
from pages.parts.runs import jobs as runs_jobs
from pages.parts.runs import papers as runs_papers
from pages.parts.runs import results as runs_results
from pillar_core.runs import records

settings = navigation.begin()
with st.spinner("Reading the cache …"):
    runs = records.all_runs()
view = local.choice(
    "runs-view",
    label="View",
    default="results",
    options={"results": "Results", "plan": "Plan", "jobs": "Jobs", "papers": "Papers"},
)
if view == "plan":
    runs_jobs.builder(settings, runs)
elif view == "jobs":
    runs_jobs.panel()
elif receipts.look(settings):
    show = runs_papers.panel if view == "papers" else runs_results.panel
    show(settings, runs)
