"""The comparison behind the Compare page: which learners, the grid as a job, what the cache holds of it."""

import dataclasses
import functools
import math
import shlex
from collections.abc import Sequence

import pandas as pd
import streamlit as st

import pillar_core as pc
from pages.frame import badges, core, exports, jobs, local, memory, plain, session, theme, words
from pages.frame.figures import FigureInfo, show_figure, take_point
from pages.frame.settings import Settings
from pillar_core import plots
from pillar_core.fingerprint import fingerprint
from pillar_core.plots.theme import Figure
from pillar_core.runs import starter, sweep
from pillar_core.studies import papers
from pillar_core.studies.advice import Advice, free
from pillar_core.studies.compare import learners as compare
from pillar_core.types import Form, Values

BUDGETS, START = starter.HERO_EPSILONS, starter.COMPARED
_BUDGETS_FIGURE = "compare_budgets"


@dataclasses.dataclass(frozen=True)
class Comparison:
    """What the cache holds of a comparison: single runs, one line per learner and budget, and how many runs are missing."""

    runs: pd.DataFrame
    lines: pd.DataFrame
    cached: int
    total: int
    grid: Form
    key: str


def choose(settings: Settings) -> list[str]:
    """The learners to compare, chosen by the user among those that can run here; part of the link."""
    reasons = compare.applicable(core.split(settings))
    able = [name for name, reason in reasons.items() if not reason]
    chosen = [name for name in settings.learners.split(",") if name in able] or [name for name in START if name in able]
    st.session_state.setdefault("compare-learners", chosen)
    style: Values = local.element("compare-learners") | {"format_func": lambda name: pc.METHODS[name].title}
    st.multiselect(**style, options=able, on_change=lambda: session.change(learners=",".join(st.session_state["compare-learners"])))
    unable: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        if reason:
            unable.setdefault(reason, []).append(pc.METHODS[name].title)
    if unable:
        st.caption(
            "Left out here: " + "; ".join(f"**{', '.join(titles)}**: {plain.text(reason)}" for reason, titles in unable.items()) + "."
        )
    return list(st.session_state["compare-learners"]) or chosen


def read(settings: Settings, learners: list[str]) -> Comparison:
    """The runs of the comparison that are in the cache."""
    budgets = sorted({*BUDGETS, settings.epsilon})
    seeds = range(settings.seed, settings.seed + settings.seeds)
    shared = {**core.axes(settings), **core.public_axis(settings)}
    grid = compare.compare_grid(shared, methods=learners, epsilons=budgets, seeds=seeds)
    runs = core.find_runs([grid])
    if core.ships(settings) and sum(record is not None for _, record in runs.values()) < len(learners):
        jobs.train_first(sweep.group_specs(grid | {"epsilon": [settings.epsilon], "seed": [settings.seed]}))
        runs = core.find_runs([grid])
    records = [record for _, record in runs.values() if record is not None]
    key = fingerprint(*(f"{key}{record is None}" for key, (_, record) in runs.items()))
    return _comparison(key, grid, records, len(runs))


@memory.cache(max_entries=16, is_free=True)
def _comparison(key: str, _grid: Form, _records: list[Form], _total: int) -> Comparison:
    runs = sweep.table(_records) if _records else pd.DataFrame(columns=["method", "epsilon", "seed", "accuracy", "error_message"])
    return Comparison(runs, compare.summary(runs) if _records else pd.DataFrame(), len(_records), _total, _grid, key)


def panel(comparison: Comparison) -> None:
    """The state of the comparison's job, where anything is missing."""
    if comparison.cached == comparison.total:
        return
    title = f"Train {len(comparison.grid['method'])} learners at {len(comparison.grid['epsilon'])} budgets"
    jobs.sweeps(comparison.grid, title=title, cached=comparison.cached, total=comparison.total)


def draw(comparison: Comparison, settings: Settings) -> None:
    """Bars at the sidebar's ε, error against ε, and the table of both."""
    if comparison.lines.empty:
        return
    at_budget = comparison.lines[comparison.lines["epsilon"] == settings.epsilon].dropna(subset=["mean"])
    titles = {name: method.title for name, method in pc.METHODS.items()}
    learners = ("--methods", ",".join(comparison.grid["method"]))
    again = command(settings, core.public_axis(settings), comparison.grid["epsilon"], *learners)
    if not at_budget.empty:
        runs = _at_budget(comparison, settings)
        sentence = compare.verdict(runs)
        if sentence:
            st.markdown(f"**{sentence}**")
        majority = core.majority(settings)
        levels = {} if majority is None else {"largest class alone": majority}
        if compare.FLOOR in set(at_budget["method"]):
            levels["public rows alone"] = float(at_budget.loc[at_budget["method"] == compare.FLOOR, "mean"].iloc[0])
        runs = _with_published(runs[runs["method"] != compare.FLOOR], settings)
        title = f"Learners at {plots.epsilon_label(settings.epsilon)}"
        figure = plots.comparison(runs, mode=theme.mode(), levels=levels, titles=titles, title=title)
        show_figure(figure, runs, FigureInfo("compare_bars", settings, seeds=seeds_of(at_budget), command=again))
    figure, pins = _against_epsilon(comparison.key, theme.mode(), comparison.lines), exports.pins(settings)
    figure = plots.mark_pins(figure, pins[pins["data"] == settings.data], mode=theme.mode())
    info = FigureInfo(_BUDGETS_FIGURE, settings, seeds=seeds_of(comparison.lines), command=again)
    show_figure(figure, comparison.lines, info, on_select=functools.partial(take_point, _BUDGETS_FIGURE, epsilon=float, method=str))
    st.caption("Click a point to take its learner and its ε in the sidebar and on Explore.")
    _table(comparison.lines)


@memory.cache(max_entries=32, is_free=True)
def _against_epsilon(key: str, mode: plots.Mode, _lines: pd.DataFrame) -> Figure:
    return plots.error_against_epsilon(_lines, mode=mode)


def command(settings: Settings, public: Values, epsilons: Sequence[float], *more: str) -> str:
    """The shell command that repeats a comparison at these budgets; `more`: its own words."""
    arguments = ["python", "-m", "pillar_core", "compare", *more, *exports.data_words(settings, public)]
    arguments += ["--epsilon", ",".join(f"{epsilon:g}" for epsilon in epsilons), "--delta", f"{settings.delta:g}"]
    arguments += ["--relation", settings.relation, "--accountant", settings.accountant]
    return shlex.join([*arguments, "--seeds", str(settings.seeds), "--first-seed", str(settings.seed)])


def seeds_of(lines: pd.DataFrame) -> tuple[int, int]:
    """The fewest and the most seeds behind a line that has any."""
    counts = lines.loc[lines["seeds"] > 0, "seeds"]
    return (int(counts.min()), int(counts.max())) if len(counts) else (0, 0)


def _with_published(runs: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """The runs with a paper's number beside each learner, where data set and backbone bear a paper's names."""
    known = papers.published_for(core.features(settings).name, core.backbone(settings))
    known = known[known["epsilon"].isin([settings.epsilon, 0.0, float("inf")])].drop_duplicates("method")
    values = runs["method"].map(known.set_index("method")["published"])
    return runs.assign(published=values) if values.notna().any() else runs


def _table(lines: pd.DataFrame) -> None:
    st.header("Every learner, every budget", anchor=False)
    percent = lines.assign(accuracy=100 * lines["mean"], low=100 * lines["low"], high=100 * lines["high"])
    percent["epsilon_upper"] = percent["epsilon_upper"].map(_epsilon)
    columns = words.columns("learners")
    filled = percent[list(columns)].dropna(axis=1, how="all")
    st.dataframe(filled, hide_index=True, key="compare-table", column_config=columns)


def _epsilon(value: float) -> str:
    """ε in the table; a line where nothing ran spent none."""
    return "" if math.isnan(value) else "∞" if math.isinf(value) else f"{value:.4g}"


def advice(settings: Settings, comparison: Comparison) -> None:
    """Draws what to try first, by Answer's free advice; where runs say what is so, they stand in the place of what was expected."""
    first = _advice(fingerprint(core.split_key(settings), settings.epsilon, settings.delta, settings.relation), settings)
    runs = _at_budget(comparison, settings)
    verdict = compare.judge_advice(runs, first.method)
    said = verdict.words or plain.text(" ".join(f"{reason[:1].upper()}{reason[1:]}." for reason in first.reasons))
    title = pc.METHODS[first.method].title
    with st.container(border=True, key="compare-advice"):
        st.markdown(f"**{f'Take {pc.METHODS[verdict.better].title}' if verdict.better else f'Try {title} first'}.** {said}")
        source = "From public facts and public rows alone, as on Answer: asking costs no privacy."
        if verdict.words:
            badges.show(badges.NON_PRIVATE)
            expected = free.range_words(first.predicted, first.expected_accuracy, first.metric, core.features(settings).n_classes)
            mean = runs.loc[runs["method"] == first.method, "accuracy"].mean()
            source = f"Expected of {title} before any run, from public rows alone: {expected}. Measured: {100 * mean:.1f} % accuracy."
        st.caption(source)


@memory.cache(max_entries=16, show_spinner="Weighing learners on public rows …")
def _advice(fingerprint_: str, _settings: Settings) -> Advice:
    facts = {name: getattr(_settings, name) for name in ("epsilon", "delta", "relation", "seed")}
    return pc.advise(core.split(_settings), **facts)


def _at_budget(comparison: Comparison, settings: Settings) -> pd.DataFrame:
    """Runs at the sidebar's ε, and those that spend nothing."""
    runs = comparison.runs.dropna(subset=["accuracy"])
    return runs[(runs["epsilon"] == settings.epsilon) | ~runs["method"].map(lambda name: pc.METHODS[name].is_private).astype(bool)]
