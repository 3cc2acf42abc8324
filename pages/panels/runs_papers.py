"""The papers' tables: published numbers, the same grid over our learners, differences and rank order."""

from __future__ import annotations

import pandas as pd
import streamlit as st

import pillar_core as pc
from pages.frame import badges, jobs
from pages.frame.settings import Settings
from pages.panels import local
from pillar_core.experiments import papers, records, sweep
from pillar_core.types import Provenance

_PERCENT = ("published", "measured", "difference")


def panel(settings: Settings, runs: pd.DataFrame) -> None:
    """Which table, which data set, our rows or stand-ins; then both numbers side by side."""
    left, middle, right = st.columns([3, 2, 2])
    with left:
        name = _choice(
            "Table or figure",
            list(papers.TABLES),
            name="papers-table",
            words=lambda item: papers.TABLES[item].title,
            help="From the papers.",
        )
    with middle:
        dataset = _choice(
            "Its private data", list(papers.TABLES[name].datasets), name=f"papers-data-{name}", words=str, help="One part of the table."
        )
    with right:
        own = settings.data
        data = _choice(
            "Run it on",
            ["", own],
            name="papers-rows",
            words=lambda item: item or "generated rows (stand-in)",
            help="The sidebar's data, where they are that set.",
        )
    grid = papers.grid(name, dataset=dataset, data=data or None)
    found = records.estimate(grid, runs)
    if not data:
        words = f"{papers.STAND_IN_ROWS:,} generated rows with {papers.CLASSES[dataset]} classes stand in for {dataset}"
        st.warning(f"{words}: compare the order of the methods, not their numbers.", icon=":material/swap_horiz:")
    if found["cached"] < found["cells"]:
        jobs.panel(
            [{"kind": "sweep", "grid": grid}],
            what=papers.TABLES[name].title,
            seconds=found["seconds"] / 2,
            cost="",
            found=int(found["cached"]),
            total=int(found["cells"]),
        )
    _beside(name, dataset, [record for record in sweep.cached(sweep.cells(grid)) if record is not None], is_synthetic=not data)


def _beside(name: str, dataset: str, records_: list[dict[str, object]], *, is_synthetic: bool) -> None:
    if not records_:
        table = papers.published(name, dataset=dataset)
        if table.empty:
            st.caption("The paper draws this figure without printing its numbers; run the grid to see our curve.")
            return
        table = table[["backbone", "public", "method", "epsilon", "published"]]
    else:
        table = papers.beside(name, sweep.table(records_), dataset=dataset)
    badges.provenance_row(Provenance.NON_PRIVATE, is_experiment=bool(records_), is_synthetic=is_synthetic and bool(records_))
    shown = table.assign(**{column: 100 * table[column] for column in _PERCENT if column in table})
    shown["method"] = shown["method"].map(lambda method: pc.METHODS[method].title if method in pc.METHODS else method)
    number = st.column_config.NumberColumn
    config = {column: number(f"{column}, %", format="%.1f") for column in _PERCENT}
    st.dataframe(shown, hide_index=True, key="papers-beside", column_config={**config, "epsilon": number("ε")})


def _choice(label: str, options: list[str], *, name: str, words: object, help: str) -> str:
    """A choice of one, kept over page changes."""
    now = local.value(name, options[0])
    local.put(name, now if now in options else options[0])
    st.selectbox(label, options, key=local.key(name, options[0]), format_func=words, help=help, on_change=local.released, args=(name,))  # type: ignore[arg-type]  # any function from name to words
    return str(local.value(name, options[0]))
