"""What Learners draws: every learner at every budget, or one thing that varies while the rest
stays; missing runs come as a job."""

import dataclasses
import math
from collections.abc import Sequence

import pandas as pd
import streamlit as st

import pillar_core as pc
from pages.frame import badges, core, exports, jobs, local, memory, plain, session, theme
from pages.frame.figures import FigureInfo, draw_figure, show_figure
from pages.frame.settings import BUDGETS, PART, PUBLIC_TITLES, Settings
from pillar_core import plots
from pillar_core.arrays import Json
from pillar_core.data import embedded, uploads, visitors
from pillar_core.data.cards import number_of
from pillar_core.fingerprint import fingerprint
from pillar_core.numerics import opened, round_up
from pillar_core.plots.theme import Figure
from pillar_core.runs import repeated, starter, sweep
from pillar_core.studies import papers
from pillar_core.studies.advice import Advice
from pillar_core.studies.advice.free import advise_as_it_is
from pillar_core.studies.compare import learners as compare
from pillar_core.studies.compare import views as compare_views
from pillar_core.studies.compare.views import COMPARE_VIEWS, CompareView, Setup
from pillar_core.types import Form, NeighboringRelation, PrivacyBudget, Values

_COLUMNS: Values = {
    "title": st.column_config.Column("learner", width=170),
    "epsilon": st.column_config.NumberColumn("ε asked"),
    "accuracy": st.column_config.NumberColumn("test accuracy, %", format="%.1f"),
    "low": st.column_config.NumberColumn("95 % from", format="%.1f"),
    "high": st.column_config.NumberColumn("to", format="%.1f"),
    "seeds": st.column_config.NumberColumn("seeds", help="Runs behind this line so far."),
    "public_data": "public data used",
    "epsilon_upper": st.column_config.TextColumn("ε spent, upper bound"),
    "performance_boost": st.column_config.NumberColumn(
        "performance boost",
        help=(
            "(err of public rows alone − err of the ceiling) / (err of this learner − err of the"
            " ceiling)."
        ),
        format="%.2f",
    ),
    "seconds": st.column_config.NumberColumn("seconds a run", format="%.2f"),
    "error_message": "could not run",
}
"""Of the table of learners, in their order."""


def choose(settings: Settings) -> list[str]:
    """The learners to compare, chosen by the user among those that can run here; part of the
    link."""
    reasons = compare.applicable(core.split(settings))
    able = [name for name, reason in reasons.items() if not reason]
    usual = [name for name in starter.COMPARED if name in able]
    chosen = local.choices(
        "compare-learners",
        able,
        usual,
        title=lambda name: pc.METHODS[name].title,
        label="Learners",
        help=(
            "Every learner gets the same rows, the same split and the same preprocessing, and its"
            " own default settings."
        ),
        are_many=True,
    )
    unable = [
        f"**{', '.join(pc.METHODS[name].title for name in reasons if reasons[name] == reason)}**:"
        f" {plain.text(reason)}"
        for reason in dict.fromkeys(filter(None, reasons.values()))
    ]
    if unable:
        st.caption(f"Left out here: {'; '.join(unable)}.")
    return chosen


def read(settings: Settings, learners: list[str]) -> tuple[Form, pd.DataFrame, pd.DataFrame, str]:
    """(grid, its runs in the cache, one line per learner and budget, their key), below the state of
    the job, if anything is missing."""
    budgets = sorted({*starter.HERO_EPSILONS, settings.epsilon})
    grid = compare.compare_grid(
        core.axes(settings), methods=learners, epsilons=budgets, seeds=core.seeds(settings)
    )
    runs = core.find_runs([grid])
    n_trained = sum(record is not None for _, record in runs.values())
    if core.ships(settings) and n_trained < len(learners):
        first = grid | {"epsilon": [settings.epsilon], "seed": [settings.seed]}
        jobs.train_first(sweep.group_specs(first))
        runs = core.find_runs([grid])
    jobs.sweeps(grid, title=f"Train {len(learners)} learners at {len(grid['epsilon'])} budgets")
    key = fingerprint(*(f"{key}{record is None}" for key, (_, record) in runs.items()))
    return grid, *_comparison(key, [form for _, form in runs.values() if form is not None]), key


@memory.cache(is_free=True)
def _comparison(key: str, _records: list[Form]) -> tuple[pd.DataFrame, pd.DataFrame]:
    runs = (
        sweep.table(_records)
        if _records
        else pd.DataFrame(columns=["method", "epsilon", "seed", "accuracy", "error_message"])
    )
    return runs, compare.summary(runs) if _records else pd.DataFrame()


def draw(settings: Settings) -> None:
    """What to try first; bars at the sidebar's ε and of learners that spend nothing, error against
    ε, and the table of both."""
    place = st.container()
    grid, runs, lines, key = read(settings, choose(settings))
    runs = at_budget(runs.dropna(subset=["accuracy"]), settings)
    with place:
        _show_advice(settings, runs)
    if lines.empty:
        return
    here = lines[lines["epsilon"] == settings.epsilon].dropna(subset=["mean"])
    methods = ",".join(grid["method"])
    again = command(settings, core.public_axis(settings), grid["epsilon"], methods=methods)
    if not here.empty:
        if sentence := compare.verdict(runs):
            st.markdown(f"**{sentence}**")
        majority = core.majority(settings)
        levels = {} if majority is None else {"largest class alone": majority}
        for level in here.loc[here["method"] == compare.FLOOR, "mean"]:
            levels["public rows alone"] = float(level)
        runs = _with_published(runs[runs["method"] != compare.FLOOR], settings)
        info = FigureInfo("compare_bars", settings, seeds=seeds_of(here), command=again)
        draw_bars(runs, info, levels=levels)
    figure = _against_epsilon(key, theme.mode(), lines)
    pins = exports.pins(settings)
    figure = plots.mark_pins(figure, pins[pins["data"] == settings.data])
    info = FigureInfo("compare_budgets", settings, seeds=seeds_of(lines), command=again)
    show_figure(figure, lines, info, takes=["epsilon", "method"])
    st.caption(
        "Click a point, or choose a line of its table, to take its learner and its ε in the sidebar"
        " and on Curves."
    )
    _table(lines)


def at_budget(runs: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """The runs at the sidebar's ε, and those of learners that spend none."""
    is_private = runs["method"].map(lambda name: pc.METHODS[name].is_private).astype(bool)
    return runs[(runs["epsilon"] == settings.epsilon) | ~is_private]


def draw_bars(runs: pd.DataFrame, info: FigureInfo, **more: Json) -> None:
    """The figure of learners at one budget."""
    titles = {name: method.title for name, method in pc.METHODS.items()}
    title = f"Learners at {plots.epsilon_label(info.settings.epsilon)}"
    draw_figure(plots.comparison, runs, info, titles=titles, title=title, **more)


@memory.cache(is_free=True)
def _against_epsilon(key: str, mode: plots.Mode, _lines: pd.DataFrame) -> Figure:
    return plots.error_against_epsilon(_lines)


def _show_advice(settings: Settings, runs: pd.DataFrame) -> None:
    """What to try first, by Answer's free advice; where runs say what is so, they stand in the
    place of what was expected."""
    first = _advice(
        fingerprint(core.split_key(settings), settings.epsilon, settings.delta, settings.relation),
        settings,
    )
    verdict = compare.judge_advice(runs, first.method)
    said = verdict.words or plain.text(" ".join(f"{opened(reason)}." for reason in first.reasons))
    title = pc.METHODS[first.method].title
    headline = (
        f"Take {pc.METHODS[verdict.better].title}" if verdict.better else f"Try {title} first"
    )
    with st.container(border=True, key="compare-advice"):
        st.markdown(f"**{headline}.** {said}")
        source = "From public facts and public rows alone, as on Answer: asking costs no privacy."
        if verdict.words:
            badges.show(badges.NON_PRIVATE)
            mean = runs.loc[runs["method"] == first.method, "accuracy"].mean()
            source = (
                f"Before any run, public rows alone said of {title}: {first.expected.words}."
                f" Measured: {100 * mean:.1f} % accuracy."
            )
        st.caption(source)


@memory.cache(show_spinner="Weighing learners on public rows …")
def _advice(fingerprint_: str, _settings: Settings) -> Advice:
    relation = NeighboringRelation.of(_settings.relation)
    budget = PrivacyBudget(_settings.epsilon, _settings.delta, relation)
    return advise_as_it_is(core.split(_settings), budget, seed=_settings.seed)


def command(settings: Settings, public: Values, epsilons: Sequence[float], **more: Json) -> str:
    """The shell command that repeats a comparison at these budgets; `more`: its own options."""
    return repeated.command(
        "compare",
        **more,
        **exports.data_options(settings, public),
        epsilon=",".join(f"{epsilon:g}" for epsilon in epsilons),
        delta=settings.delta,
        relation=settings.relation,
        accountant=settings.accountant,
        seeds=settings.seeds,
        first_seed=settings.seed,
    )


def seeds_of(lines: pd.DataFrame) -> tuple[int, int]:
    """The fewest and the most seeds behind a line that has any."""
    counts = lines.loc[lines["seeds"] > 0, "seeds"]
    return (int(counts.min()), int(counts.max())) if len(counts) else (0, 0)


def _with_published(runs: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """The runs with a paper's number beside each learner, where data set and backbone bear a
    paper's names."""
    known = papers.matching(core.features(settings).name, core.backbone(settings))
    known = known[known["epsilon"].isin([settings.epsilon, 0.0, float("inf")])].drop_duplicates(
        "method"
    )
    values = runs["method"].map(known.set_index("method")["published"])
    return runs.assign(published=values) if values.notna().any() else runs


def _table(lines: pd.DataFrame) -> None:
    st.header("Every learner, every budget", anchor=False)
    shares = lines.rename(columns={"mean": "accuracy"})[["accuracy", "low", "high"]]
    spent = lines["epsilon_upper"].map(round_up)
    spent = spent.replace({"nan": "", "inf": "∞"})  # what never ran spent none
    percent = lines.assign(**100 * shares, epsilon_upper=spent)
    filled = percent[list(_COLUMNS)].dropna(axis=1, how="all")
    st.dataframe(
        filled, hide_index=True, key="compare-table", column_config=_COLUMNS, placeholder=""
    )


_SEVERAL = (0.3, 1.0, 3.0)
"""The budgets of views whose axis is ε; the sidebar's is added."""


def choice() -> str:
    """The view that is chosen; it is part of the link."""
    titles = {BUDGETS: "Every learner at every budget"} | {
        name: f"{view.title} ({view.source})" for name, view in COMPARE_VIEWS.items()
    }
    session.draw_setting(
        st.selectbox,
        "compare",
        options=list(titles),
        format_func=titles.__getitem__,
        label="What varies",
    )
    return session.current().compare


def show(name: str, settings: Settings) -> None:
    """The question, the job where runs are missing, the figure and its table."""
    view = COMPARE_VIEWS[name]
    st.markdown(f"**{view.question}**")
    setup = _setup(view, settings)
    if setup is None:
        width = core.features(settings).d
        message = (
            f"No other data set here has {width} features: choose public data in the sidebar, or"
            " one backbone for both."
        )
        st.info(message, icon=":material/compare_arrows:")
        return
    specs = compare_views.specs_of(view, setup)
    runs = compare_views.table_of(specs)
    lines = (
        compare_views.lines(view, runs, setup).dropna(subset=["mean"])[["series", "x"]]
        if len(runs)
        else runs
    )
    is_drawn = not lines.empty and bool(lines.nunique().gt(1).all())
    if not is_drawn and not uploads.names_in([settings.data, settings.public]):
        jobs.train_first(compare_views.first_groups(view, setup))
        runs = compare_views.table_of(specs)
    if len(runs) < len(specs):
        sweeps = [{"kind": "sweep", "grid": grid} for grid in compare_views.grids_of(view, setup)]
        jobs.panel(sweeps, jobs.Work(view.title, f"{jobs.RELEASES}.", len(runs), len(specs)))
    if len(runs):
        _draw(view, compare_views.lines(view, runs, setup), settings, setup)


def _setup(view: CompareView, settings: Settings) -> Setup | None:
    """What the view is drawn on; None where it needs another data set and there is none of equal
    width."""
    public_part = dataclasses.replace(settings, public=PART) if view.needs_other else settings
    other_set = _other_set(settings) if view.needs_other else None
    if view.needs_other and other_set is None:
        return None
    epsilons = sorted({*_SEVERAL, settings.epsilon}) if view.over_epsilon else [settings.epsilon]
    return Setup(
        core.data_axes(settings),
        core.public_axis(public_part),
        core.split(public_part),
        epsilons,
        core.seeds(settings),
        other_set,
    )


def _other_set(settings: Settings) -> str | None:
    """Another data set whose rows could be public: the sidebar's, or one of equal width."""
    if settings.public not in PUBLIC_TITLES:
        return settings.public
    width = core.features(settings).d
    if core.backbone(settings) is None:
        names = [name for name, card in pc.DATASETS.items() if number_of(card.d) == width]
        names += [
            upload.name for upload in uploads.list_uploads() if math.prod(upload.shape) == width
        ]
    else:
        names = [name for name, card in pc.DATASETS.items() if card.kind == "images"]
        names += [upload.name for upload in uploads.list_uploads(uploads.IMAGES)]
    names = [name for name in visitors.offered_values("public", names) if name != settings.data]
    whole = embedded.whole_of(settings.data)
    names.sort(
        key=lambda name: (
            embedded.whole_of(name) == whole,
            name in pc.DATASETS and not pc.DATASETS[name].is_here(),
        )
    )
    if not names:
        return None
    other = local.select(
        "compare-other",
        names,
        names[0],
        title=uploads.title_of,
        label="Public rows from",
        help="Their train rows become public.",
    )
    return str(other)


def _draw(view: CompareView, lines: pd.DataFrame, settings: Settings, setup: Setup) -> None:
    known = lines.dropna(subset=["mean"])
    refused = sorted(set(lines["error_message"]) - {""})
    if known.empty:
        if refused:
            words = f"None of these runs could be trained: {plain.text('; '.join(refused))}"
            st.warning(words, icon=":material/block:")
        return
    shared: Values = {
        "x_title": view.x_title,
        "x_log": view.x_log,
        "wanted_seeds": len(setup.seeds),
    }
    figure = plots.effect(
        known, title=view.title, y_title=view.y_title, percent=view.is_share, **shared
    )
    more = {"view": view.name, "other": setup.other}
    again = command(settings, setup.public, setup.epsilons, **more)
    sets = [setup.other or ""]
    info = FigureInfo(
        f"compare_{view.name}", settings, seeds=seeds_of(known), command=again, sets=sets
    )
    show_figure(figure, lines, dataclasses.replace(info, is_accuracy=view.value is None))
    if view.base is not None:
        decrease = known.assign(low=known["decrease_low"], high=known["decrease_high"])
        decrease["mean"] = known["decrease"].where(known["series"] != view.base)
        title = f"Test error removed, compared with “{view.base}”"
        y_title = "test error removed, %, pairs of equal seed"
        figure = plots.effect(decrease, title=title, y_title=y_title, **shared)
        show_figure(figure, lines, dataclasses.replace(info, name=f"compare_{view.name}_decrease"))
    if refused:
        st.caption("Could not run: " + plain.text(" ".join(refused[:3])))
    st.caption(f"After {view.source}.")
