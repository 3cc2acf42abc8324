"""What each part of the run at hand costs in accuracy, once somebody asks: five runs a seed, one part more in each."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from pages.frame import core, jobs, plain, theme, words
from pages.frame.figures import FigureInfo, show_figure
from pages.frame.settings import Settings
from pillar_core.plots.bars import part_costs
from pillar_core.runs import sweep
from pillar_core.studies.one_training import TITLES, accuracy_costs, has_parts, stages
from pillar_core.types import Form, RunRecord

SEEDS = 5
"""Runs of each part."""


def panel(record: RunRecord, settings: Settings) -> None:
    """The figure of what is in the cache so far, and the button that trains the rest."""
    if not has_parts(record.method) or record.accuracy is None or record.settings.get("noise_multiplier") is None:
        st.info("Needs test rows and a private learner that clips and adds noise, such as PILLAR.", icon=":material/block:")
        return
    shared = {**core.axes(settings), **core.public_axis(settings), "seed": list(range(settings.seed, settings.seed + SEEDS))}
    grids = {part: {**shared, **axes} for part, axes in stages(record).items()}
    runs = _runs(grids)
    if core.ships(settings) and any(None in forms[:1] for forms in runs.values()):
        jobs.train_first(group for grid in grids.values() for group in sweep.group_specs(grid | {"seed": settings.seed}))
        runs = _runs(grids)
    cached, total = (sum(form is not None or not is_cached for forms in runs.values() for form in forms) for is_cached in (True, False))
    if cached < total:
        title = f"What did each part cost? {len(grids)} runs, {SEEDS} seeds each"
        jobs.sweeps(*grids.values(), title=title, cached=cached, total=total, key="costs")
    errors = [str(form["error"]) for forms in runs.values() for form in forms if form is not None and form.get("error")]
    if errors:
        st.info(plain.text(f"A part could not be left out: {errors[0]}"), icon=":material/block:")
        return
    seeds = [forms for forms in zip(*runs.values(), strict=True) if None not in forms]
    if not seeds:
        return
    metric = "accuracy" if core.metric(settings) == "accuracy" else "auc"  # no learner's threshold is in it
    table = accuracy_costs({part: [forms[place]["metrics"][metric] for forms in seeds] for place, part in enumerate(runs)})
    table.insert(1, "title", [TITLES[part] for part in table["part"]])
    figure = part_costs(table, measure=metric.replace("auc", "AUC"), mode=theme.mode())
    show_figure(figure, table, FigureInfo("part_costs", settings, seeds=len(seeds)))
    words.say("part_costs")


def _runs(grids: Mapping[str, Form]) -> dict[str, list[Any]]:
    return {part: [form for _, form in core.find_runs([grid]).values()] for part, grid in grids.items()}
