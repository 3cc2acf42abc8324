"""Compare's other views: one thing varies, the rest stays; the runs arrive as a job and are kept in the cache."""

import dataclasses
import math

import pandas as pd
import streamlit as st

import pillar_core as pc
from pages.frame import core, jobs, local, plain, session, theme
from pages.frame.figures import FigureInfo, show_figure
from pages.frame.settings import BUDGETS, PART, PUBLIC_TITLES, Settings
from pages.parts.compare.comparison import command, seeds_of
from pillar_core import plots
from pillar_core.data import embedded, uploads, visitors
from pillar_core.data.cards import number_of
from pillar_core.studies.compare import views as compare_views
from pillar_core.studies.compare.views import COMPARE_VIEWS, CompareView, Setup
from pillar_core.types import Values

_SEVERAL = (0.3, 1.0, 3.0)
"""The budgets of views whose axis is ε; the sidebar's is added."""


def choice() -> str:
    """The view that is chosen; it is part of the link."""
    titles = {BUDGETS: "Every learner at every budget"} | {name: f"{view.title} ({view.source})" for name, view in COMPARE_VIEWS.items()}
    st.selectbox(options=list(titles), format_func=titles.__getitem__, **session.widget("compare") | {"label": "What varies"})
    return session.current().compare


def show(name: str, settings: Settings) -> None:
    """The question, the job where runs are missing, the figure and its table."""
    view = COMPARE_VIEWS[name]
    st.markdown(f"**{view.question}**")
    setup = _setup(view, settings)
    if setup is None:
        width = core.features(settings).d
        message = f"No other data set here has {width} features: choose public data in the sidebar, or one backbone for both."
        st.info(message, icon=":material/compare_arrows:")
        return
    specs = compare_views.specs_of(view, setup)
    runs = compare_views.table_of(specs)
    lines = compare_views.lines(view, runs, setup).dropna(subset=["mean"])[["series", "x"]] if len(runs) else runs
    is_drawn = not lines.empty and bool(lines.nunique().gt(1).all())
    if not is_drawn and not uploads.names_in([settings.data, settings.public]):
        jobs.train_first(compare_views.first_groups(view, setup))
        runs = compare_views.table_of(specs)
    if len(runs) < len(specs):
        jobs.sweeps(*compare_views.grids_of(view, setup), title=view.title, cached=len(runs), total=len(specs))
    if len(runs):
        _draw(view, compare_views.lines(view, runs, setup), settings, setup)


def _setup(view: CompareView, settings: Settings) -> Setup | None:
    """What the view is drawn on; None where it needs another data set and there is none of equal width."""
    public_part = dataclasses.replace(settings, public=PART) if view.needs_other else settings
    other_set = _other_set(settings) if view.needs_other else None
    if view.needs_other and other_set is None:
        return None
    epsilons = sorted({*_SEVERAL, settings.epsilon}) if view.over_epsilon else [settings.epsilon]
    seeds = range(settings.seed, settings.seed + settings.seeds)
    return Setup(core.axes(settings), core.public_axis(public_part), core.split(public_part), epsilons, seeds, other_set)


def _other_set(settings: Settings) -> str | None:
    """Another data set whose rows could be public: the sidebar's, or one of equal width."""
    if settings.public not in PUBLIC_TITLES:
        return settings.public
    width = core.features(settings).d
    if core.backbone(settings) is None:
        names = [name for name, card in pc.DATASETS.items() if number_of(card.d) == width]
        names += [upload.name for upload in uploads.list_uploads() if math.prod(upload.shape) == width]
    else:
        names = [name for name, card in pc.DATASETS.items() if card.kind == "images"]
        names += [upload.name for upload in uploads.list_uploads(uploads.IMAGES)]
    names = [name for name in visitors.offered_values("public", names) if name != settings.data]
    whole = embedded.whole_of(settings.data)
    names.sort(key=lambda name: (embedded.whole_of(name) == whole, name in pc.DATASETS and not pc.DATASETS[name].is_here()))
    return str(local.select("compare-other", names, names[0], title=uploads.title_of)) if names else None


def _draw(view: CompareView, lines: pd.DataFrame, settings: Settings, setup: Setup) -> None:
    known = lines.dropna(subset=["mean"])
    refused = sorted(set(lines["error_message"]) - {""})
    if known.empty:
        if refused:
            st.warning("None of these runs could be trained: " + plain.text("; ".join(refused)), icon=":material/block:")
        return
    shared: Values = {"mode": theme.mode(), "x_title": view.x_title, "x_log": view.x_log, "wanted_seeds": len(setup.seeds)}
    figure = plots.effect(known, title=view.title, y_title=view.y_title, percent=view.is_share, **shared)
    more = ("--view", view.name, *(() if setup.other is None else ("--other", setup.other)))
    again, sets = command(settings, setup.public, setup.epsilons, *more), [setup.other or ""]
    info = FigureInfo(f"compare_{view.name}", settings, seeds=seeds_of(known), command=again, sets=sets)
    show_figure(figure, lines, dataclasses.replace(info, is_accuracy=view.value is None))
    if view.base is not None:
        decrease = known.assign(low=known["decrease_low"], high=known["decrease_high"])
        decrease["mean"] = known["decrease"].where(known["series"] != view.base)
        title, y_title = f"Test error removed, compared with “{view.base}”", "test error removed, %, pairs of equal seed"
        figure = plots.effect(decrease, title=title, y_title=y_title, **shared)
        show_figure(figure, lines, dataclasses.replace(info, name=f"compare_{view.name}_decrease"))
    if refused:
        st.caption("Could not run: " + plain.text(" ".join(refused[:3])))
    st.caption(f"After {view.source}.")
