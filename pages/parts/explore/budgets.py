"""Accuracy against ε of the learner at hand, from the runs that there are; a click on it becomes the sidebar's ε."""

import functools
import math

import pandas as pd
import streamlit as st

import pillar_core as pc
from pages.frame import badges, core, jobs, theme
from pages.frame.figures import FigureInfo, show_figure, take_point
from pages.frame.settings import Settings
from pillar_core.plots.budgets import budget_curve
from pillar_core.plots.intervals import over_seeds
from pillar_core.studies.budget_curves import RUNS, fit_budget_curve
from pillar_core.types import RunRecord

_DRAWN = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 2.0, 3.0, 5.0, 8.0)
_NAME = "accuracy_over_epsilon"


def panel(record: RunRecord, settings: Settings) -> None:
    """Every run at hand over ε, the curve through three of them, and the button that trains what is missing, cheapest first."""
    if not pc.METHODS[settings.method].is_private:
        st.info("This learner spends no ε: its accuracy is the same at each.", icon=":material/horizontal_rule:")
        return
    grid = {**core.axes(settings), **core.public_axis(settings), "method": settings.method, "epsilon": list(_DRAWN)}
    grid |= {"k": settings.k} if core.has_k(settings.method) and not settings.is_rule_k else {}
    grid["seed"] = list(range(settings.seed, settings.seed + settings.seeds))
    forms = [form for _, form in core.find_runs([grid]).values()]
    trained = [form for form in forms if form is not None]
    metric = core.metric(settings)
    runs = [(form["cell"]["epsilon"], form["metrics"][metric]) for form in trained if not form.get("error")]
    known = over_seeds(pd.DataFrame(runs, columns=["epsilon", "accuracy"]), by=["epsilon"], value="accuracy", low=0, high=1)
    fitted = known.iloc[sorted({int((known["epsilon"] / budget).map(math.log).abs().argmin()) for budget in RUNS if len(known)})]
    curve, band = None, "Three different ε make a curve."
    if len(fitted) == len(RUNS):
        fit = fit_budget_curve(list(fitted["epsilon"]), list(fitted["mean"]), n_classes=record.facts.n_classes)
        enough = f"wide enough for {fit.inside} of {fit.sets} other sets{'' if metric == 'accuracy' else ', whose curves are of accuracy'}"
        curve, band = fit.table(_DRAWN), f"Band: ± {100 * fit.half_width:.1f} points around a curve through three of them, {enough}."
    if len(known):
        star = (settings.epsilon, record.metrics[metric]) if metric in record.metrics and math.isfinite(settings.epsilon) else None
        figure = budget_curve(known, curve, _DRAWN, band=band, present=star, measure=metric.replace("_", " "), mode=theme.mode())
        seeds = (int(known["seeds"].min()), int(known["seeds"].max()))
        info = FigureInfo(_NAME, settings, [*badges.DIAGNOSTIC, *([] if curve is None else [badges.FITTED])], seeds)
        show_figure(figure, known, info, on_select=functools.partial(take_point, _NAME, epsilon=float))
        ends = f" Below ε = {fitted['epsilon'].min():g} nothing is drawn: there such fits miss by far more." if curve is not None else ""
        st.caption(f"Click a point to take its ε.{ends}")
    if curve is None:
        title = f"Train at ε = {', '.join(f'{epsilon:g}' for epsilon in RUNS)}, and draw the whole curve"
        first = grid | {"epsilon": list(RUNS), "seed": settings.seed}
        is_there = [form is not None for _, form in core.find_runs([first]).values()]
        jobs.sweeps(first, title=title, cached=sum(is_there), total=len(is_there), key="budgets")
    elif len(trained) < len(forms):
        title = f"Measure the curve: {len(_DRAWN)} ε × {settings.seeds} seeds"
        jobs.sweeps(grid, title=title, cached=len(trained), total=len(forms), key="budgets")
