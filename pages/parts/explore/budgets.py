"""A whole accuracy-ε curve of the learner at hand from three trainings; a click on it becomes the sidebar's ε."""

import math

import pandas as pd
import streamlit as st

import pillar_core as pc
from pages.frame import badges, core, jobs, session, theme
from pages.frame.figures import FigureInfo, show_figure
from pages.frame.settings import Settings
from pages.parts.explore.curves import OVERHEAD
from pillar_core.plots.budgets import budget_curve
from pillar_core.studies.budget_curves import RUNS, fit_budget_curve
from pillar_core.types import RunRecord

_DRAWN = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 2.0, 3.0, 5.0, 8.0)
_NAME = "accuracy_over_epsilon"


def panel(record: RunRecord, settings: Settings) -> None:
    """The curve with its band, or the button that trains its three runs."""
    if not pc.METHODS[settings.method].is_private:
        st.info("This learner spends no ε: its accuracy is the same at each.", icon=":material/horizontal_rule:")
        return
    has_k = core.has_k(settings.method) and not settings.is_rule_k
    grid = {**core.axes(settings), **core.public_axis(settings), "method": settings.method, "epsilon": list(RUNS), "seed": settings.seed}
    grid |= {"k": settings.k} if has_k else {}
    runs = [form for _, form in core.find_runs([grid]).values()]
    trained = [form for form in runs if form is not None]
    if len(trained) < len(runs):
        title = f"Train at ε = {', '.join(f'{epsilon:g}' for epsilon in RUNS)}, and draw the whole curve"
        jobs.sweeps(grid, title=title, cached=len(trained), total=len(runs), key="budgets", each=record.seconds + OVERHEAD)
        return
    known = pd.DataFrame([(form["cell"]["epsilon"], form["metrics"]["accuracy"]) for form in trained if not form.get("error")])
    if len(known) < len(RUNS) or known[1].isna().any():
        st.info("A curve needs all three runs and labelled test rows.", icon=":material/block:")
        return
    known.columns = pd.Index(["epsilon", "accuracy"])
    curve = fit_budget_curve(list(known["epsilon"]), list(known["accuracy"]), n_classes=record.facts.n_classes)
    table = curve.table(_DRAWN)
    star = (settings.epsilon, record.accuracy) if record.accuracy is not None and math.isfinite(settings.epsilon) else None
    figure = budget_curve(table, known, present=star, mode=theme.mode(), width=curve.half_width, enough=(curve.inside, curve.sets))
    info = FigureInfo(_NAME, settings, [*badges.DIAGNOSTIC, badges.FITTED], is_accuracy=True)
    show_figure(figure, table, info, on_select=_take_budget)
    st.caption(f"Click a point to take its ε. Below ε = {curve.smallest:g} nothing is drawn: there such fits miss by far more.")


def _take_budget() -> None:
    """The callback of a click on a point."""
    points = st.session_state[f"chart-{_NAME}"]["selection"]["points"]
    if points and points[0].get("customdata"):
        session.change(epsilon=float(points[0]["customdata"][0]))
