"""The papers' tables: published numbers, the same grid over our learners, differences and rank order."""

from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd
import streamlit as st

import pillar_core as pc
from pages.frame import badges, jobs, local, navigation, plain, theme
from pages.frame.figures import FigureInfo, show_figure
from pages.frame.settings import Settings
from pillar_core import plots
from pillar_core.runs import records, sweep
from pillar_core.studies import papers
from pillar_core.studies.papers.tables import CLASSES
from pillar_core.types import Form

_PERCENT = ("published", "measured", "difference")
_MARKS = {"run": "▶", "page": "↗", "no": "–"}


def panel(settings: Settings, runs: pd.DataFrame) -> None:
    """Which paper and which of its tables; then what can be run, where the like is shown, or why not."""
    items = papers.catalogue()
    left, right = st.columns([1, 3])
    with left:
        paper = local.select("papers-paper")
    mine = items[items["paper"] == paper].set_index("item").to_dict("index")
    with right:
        first = next((name for name, facts in mine.items() if facts["how"] == "run"), next(iter(mine)))
        titles = {name: f"{_MARKS[facts['how']]} {name}: {facts['title']}" for name, facts in mine.items()}
        item = local.select("papers-item", titles, first, of=paper)
    chosen = mine[item]
    if chosen["words"]:
        st.caption(chosen["words"])
    if chosen["how"] == "run":
        _runnable(str(chosen["where"]), settings, runs)
        return
    if chosen["how"] == "page":
        navigation.link(str(chosen["where"]), "Go there")
    _show_published(papers.numbers(paper, item))


def _runnable(name: str, settings: Settings, runs: pd.DataFrame) -> None:
    """The table's grid for one data set, on our rows or on stand-ins, and both numbers side by side."""
    left, right = st.columns(2)
    with left:
        names = list(papers.TABLES[name].datasets)
        dataset = local.select("papers-data", names, names[0], of=name)
    with right:
        rows = {"": "generated rows (stand-in)", settings.data: records.data_words(settings.data)}
        data = local.select("papers-rows", rows, "")
    grid = papers.grid(name, dataset=dataset, data=data or None)
    estimate = records.estimate(grid, runs)
    if not data:
        substitution = f"{papers.STAND_IN_ROWS:,} generated rows with {CLASSES[dataset]} classes stand in for {dataset}"
        st.warning(f"{substitution}: compare the order of the methods, not their numbers.", icon=":material/swap_horiz:")
    if estimate["cached"] < estimate["cells"]:
        work = jobs.Work(papers.TABLES[name].title, estimate["seconds"] / 2, "", int(estimate["cached"]), int(estimate["cells"]))
        jobs.panel([{"kind": "sweep", "grid": grid}], work)
    records_ = [record for record in sweep.cached_records(sweep.cells(grid)) if record is not None]
    trained = [record for record in records_ if record.get("error") is None]
    if len(trained) < len(records_):
        reasons = sorted({str(record["error"]) for record in records_ if record.get("error") is not None})
        st.caption(f"{len(records_) - len(trained)} runs were refused, for instance: {plain.text(reasons[0])}")
    _compare(name, dataset, trained, settings, is_synthetic=not data)


def _show_published(table: pd.DataFrame) -> None:
    """The paper's numbers alone."""
    if table.empty:
        st.caption("The paper prints no numbers here.")
        return
    table = table.assign(method=table["method"].where(table["method"] != "", table["other_method"]))
    _show(table[["dataset", "backbone", "public", "method", "epsilon", "metric", "published"]])


def _compare(name: str, dataset: str, records_: list[dict[str, object]], settings: Settings, *, is_synthetic: bool) -> None:
    if not records_:
        table = papers.published(name, dataset=dataset)
        if table.empty:
            st.caption("The paper draws this figure without printing its numbers; run the grid to see our curve.")
            return
        table = table.assign(method=table["method"].where(table["method"] != "", table["other_method"]))
        table = table[["backbone", "public", "method", "epsilon", "published"]]
    else:
        runs = sweep.table(records_)
        table = papers.beside(name, runs, dataset=dataset)
        words = papers.verdict(table, rows="simulated rows" if is_synthetic else dataset)
        if words:
            st.markdown(f"**{plain.text(words)}**")
        _figure(name, runs, table, settings, is_synthetic=is_synthetic)
    experiment = [badges.EXPERIMENT, *([badges.SYNTHETIC] if is_synthetic else [])] if records_ else []
    badges.show_row(badges.NON_PRIVATE, *experiment)
    _show(table)


def _figure(name: str, runs: pd.DataFrame, table: pd.DataFrame, settings: Settings, *, is_synthetic: bool) -> None:
    """Our means with intervals over ε, or over what the figure varies, and the published numbers of the first backbone as marks."""
    axes = [axis for axis in papers.TABLES[name].shown_axes if axis in runs]
    x = axes[0] if axes else "epsilon"
    shares = [axis for axis in ("public_fraction",) if axis in runs and runs[axis].nunique() > 1]
    by = list(dict.fromkeys(["method", "epsilon", *shares, *axes]))
    lines = plots.over_seeds(runs.dropna(subset=["accuracy"]), by=by, value="accuracy", low=0, high=1)
    lines = lines[lines["epsilon"] < float("inf")] if x == "epsilon" else lines
    lines["series"] = [
        _series(row, [*shares, *(axis for axis in axes[1:]), *(["epsilon"] if x != "epsilon" else [])]) for row in lines.to_dict("records")
    ]
    lines["x"] = lines[x]
    if "published" in table and not shares:
        first = table[table["backbone"] == table["backbone"].iloc[0]].drop_duplicates(["method", "epsilon"])
        lines = lines.merge(first[["method", "epsilon", "published"]], on=["method", "epsilon"], how="left")
    drawn = plots.effect(lines, mode=theme.mode(), title=papers.TABLES[name].title, x_title="ε" if x == "epsilon" else x, x_log=True)
    show_figure(drawn, lines, FigureInfo("papers", settings, is_synthetic=is_synthetic))


def _series(row: Mapping[Hashable, Any], more: list[str]) -> str:
    return ", ".join([pc.METHODS[row["method"]].title, *(f"{name} {row[name]:g}" for name in more)])


def _show(table: pd.DataFrame) -> None:
    percent = table.assign(**{column: 100 * table[column] for column in _PERCENT if column in table})
    percent["method"] = percent["method"].map(lambda method: pc.METHODS[method].title if method in pc.METHODS else method)
    percent["epsilon"] = percent["epsilon"].map(lambda epsilon: "∞" if epsilon == float("inf") else f"{epsilon:g}")
    number = st.column_config.NumberColumn
    config: Form = {column: number(f"{column}, %", format="%.1f") for column in _PERCENT}
    ranks = {f"{column}_rank": number(f"rank {column}", help="1 is best, among rows of equal backbone and ε.") for column in _PERCENT[:2]}
    st.dataframe(percent.dropna(axis=1, how="all"), hide_index=True, key="papers-beside", column_config={**config, **ranks, "epsilon": "ε"})
