"""The papers' tables: published numbers, the same grid over our learners, differences and rank
order."""

import pandas as pd
import streamlit as st

import pillar_core as pc
from pages.frame import jobs, local, navigation, plain
from pages.frame.figures import FigureInfo, show_answer, show_figure
from pages.frame.settings import Settings
from pillar_core import plots
from pillar_core.data import uploads
from pillar_core.errors import DataError
from pillar_core.plots.theme import epsilon_label
from pillar_core.runs import records, starter, sweep
from pillar_core.studies import papers
from pillar_core.studies.papers import SOURCES, stand_in_classes
from pillar_core.types import Form

_WORDS = {
    "published": "paper, %",
    "measured": "ours, %",
    "difference": "difference, %",
    "order": "order",
}
_NAMES = {
    "method": "learner",
    "epsilon": "ε",
    "public_fraction": "public share",
    "validation_fraction": "share set aside",
}
_LIKE = {"Pneumonia": "pneumonia_mnist", "MNIST": "mnist"}
"""The set that ships and is most like a paper's; of the others it is that of the starter."""
_OPENING = ("", starter.SHARED["dataset"], *starter.OPENING_K)
"""Rows on which a table opens with a few seconds of training: generated ones, and the sets of
images that ship."""
_AT_ONCE = 8
"""Runs of a learner that one call trains there, so that no opening takes much longer than it
may."""
_MARKS = {"run": "▶", "page": "↗", "no": "–"}


def panel(settings: Settings, runs: pd.DataFrame) -> None:
    """Which paper and which of its tables; then what can be run, where the like is shown, or why
    not."""
    show_answer("world", settings)
    items = papers.catalogue()
    left, right = st.columns([1, 3])
    paper = local.select(
        "papers-paper",
        place=left,
        label="Paper",
        default="pillar",
        options={
            "pillar": "PILLAR",
            "adamix": "AdaMix",
            "gsd": "GSD (choosing public data)",
            "semi_private": "Semi-private learning",
            "poster": "PILLAR's poster",
        },
    )
    mine = items[items["paper"] == paper].set_index("item").to_dict("index")
    first = next((name for name, facts in mine.items() if facts["how"] == "run"), next(iter(mine)))
    titles = {
        name: f"{_MARKS[facts['how']]} {name}: {facts['title']}" for name, facts in mine.items()
    }
    item = local.select(
        "papers-item",
        titles,
        first,
        of=paper,
        place=right,
        label="Table or figure",
        help="▶ runs here · ↗ the like is on another page · – not here, with the reason.",
    )
    chosen = mine[item]
    if chosen["words"]:
        st.caption(chosen["words"])
    if chosen["how"] == "run":
        _runnable(str(chosen["where"]), settings, runs)
        return
    if chosen["how"] == "page":
        page = next(page for page, title, _ in navigation.PAGES if title == chosen["where"])
        navigation.link(page, f"Go to {chosen['where']}")
    _show_published(papers.numbers(paper, item))


def _runnable(name: str, settings: Settings, runs: pd.DataFrame) -> None:
    """The table's grid for one data set, on our rows or on stand-ins, and both numbers side by
    side."""
    left, right = st.columns(2)
    names = list(papers.TABLES[name].datasets)
    dataset = local.select(
        "papers-data",
        names,
        names[0],
        of=name,
        place=left,
        label="Its private data",
    )
    own = SOURCES[dataset]
    named = dict(zip(runs["dataset"], runs["data"], strict=True)) if len(runs) else {}
    brought = (name for name in named if name.startswith(uploads.PREFIX))
    is_here = pc.DATASETS[own].is_here()
    sets = dict.fromkeys((*_OPENING[1:], settings.data, *brought, *((own,) if is_here else ())))
    rows = {data: named.get(data) or records.data_words(data) for data in sets}
    rows[""] = "generated rows (stand-in)"
    data = local.select(
        "papers-rows",
        rows,
        own if is_here else _LIKE.get(dataset, starter.SHARED["dataset"]),
        of=dataset,
        place=right,
        label="Run it on",
    )
    tuned = local.toggle(
        "papers-tuned",
        label="Tuned as the papers do",
        help="k and step size are chosen on validation rows, and no ε covers the choice.",
    )
    try:
        grids = papers.grids(name, dataset=dataset, data=data or None, tuned=tuned)
    except DataError as refusal:  # no source has the paper's weights
        st.caption(plain.text(str(refusal)))
        return
    backbone = next(iter(grids))
    if len(grids) > 1:
        backbone = local.select(
            "papers-backbone", list(grids), backbone, of=f"{name}-{dataset}", label="Through"
        )
    grid = grids[backbone]
    if price := papers.price_words(grid):
        st.warning(price)
    if not data:
        substitution = (
            f"{papers.STAND_IN_ROWS:,} generated rows with {stand_in_classes(dataset)} classes"
            f" stand in for {dataset}"
        )
        st.warning(
            f"{substitution}: compare the order of the methods, not their numbers.",
            icon=":material/swap_horiz:",
        )
    elif not backbone:
        st.caption(
            f"We trained on {rows[data]}, the paper on its features of {dataset}: compare the order"
            " of the learners, not their numbers."
        )
    first = sweep.group_specs(grid | {"seed": grid["seed"][:1]})
    if (
        data in _OPENING
        and not tuned
        and records.estimate(grid, runs)["cached"] < sum(map(len, first))
    ):
        jobs.train_first(
            group[start : start + _AT_ONCE]
            for group in first[::-1]
            for start in range(0, len(group), _AT_ONCE)
        )
    estimate = records.estimate(
        grid, pd.concat([records.all_runs(), records.all_runs(shipped=True)])
    )
    records_ = records.of_grid(grid, runs)
    if len(records_) < estimate["cells"]:
        time = f"Time: {jobs.duration(estimate['seconds'] / 2)}."
        work = jobs.Work(papers.TABLES[name].title, time, len(records_), int(estimate["cells"]))
        jobs.panel([{"kind": "sweep", "grid": grid}], work)
    trained = [record for record in records_ if record.get("error") is None]
    errors = (record["error"] for record in records_ if record.get("error") is not None)
    if reasons := sorted(map(str, errors)):
        st.caption(f"{len(reasons)} runs were refused, for instance: {plain.text(reasons[0])}")
    _compare(
        grid,
        name,
        dataset,
        trained,
        settings,
        rows=rows[data] if data else "simulated rows",
        backbone=backbone,
    )


def _show_published(table: pd.DataFrame) -> None:
    """The paper's numbers alone."""
    if table.empty:
        st.caption("The paper prints no numbers here.")
        return
    table = table.assign(method=table["method"].where(table["method"] != "", table["other_method"]))
    table = table[["dataset", "backbone", "public", "method", "epsilon", "metric", "published"]]
    is_distance = table["metric"].isin(papers.DISTANCES)
    if not is_distance.all():
        _show(table[~is_distance])
    if is_distance.any():
        st.caption(
            "Distances between private and public rows, as printed; ours are on Public data."
        )
        distances = table[is_distance].drop(columns=["epsilon", "metric"])
        st.dataframe(distances, hide_index=True, key="papers-distances")


def _compare(
    grid: Form,
    name: str,
    dataset: str,
    records_: list[dict[str, object]],
    settings: Settings,
    *,
    rows: str,
    backbone: str,
) -> None:
    """Our runs drawn, one sentence on the order of the learners, and both numbers in one table."""
    if not records_:
        _show_published(papers.published(name, dataset=dataset))
        return
    runs = papers.best_on_validation(name, sweep.table(records_))
    table = papers.beside(name, runs, dataset=dataset, backbone=backbone)
    words = papers.order_words(table, rows=rows)
    if words:
        st.markdown(f"**{plain.text(words)}**")
    is_synthetic, is_own = rows == "simulated rows", backbone != ""
    _figure(grid, name, runs, table, settings, is_synthetic=is_synthetic, is_own=is_own)
    if words:
        st.caption(
            "*Same*: the learner that the paper prints best leads here, too, by more than our seeds"
            " scatter (95 %)."
        )
    _show(table)


def _figure(
    grid: Form,
    name: str,
    runs: pd.DataFrame,
    table: pd.DataFrame,
    settings: Settings,
    *,
    is_synthetic: bool,
    is_own: bool,
) -> None:
    """Our means with intervals over ε, or over what the figure varies; on the paper's own features
    its numbers as marks.

    Over ε, learners without a budget are level lines.
    """
    axes = [axis for axis in papers.TABLES[name].shown_axes if axis in runs]
    x = next((axis for axis in axes if not isinstance(grid[axis][0], bool)), "epsilon")
    shares = [axis for axis in ("public_fraction",) if axis in runs and runs[axis].nunique() > 1]
    by = list(dict.fromkeys(["method", "epsilon", *shares, *axes]))
    lines = plots.over_seeds(runs.dropna(subset=["accuracy"]), by=by, value="accuracy")
    if x == "epsilon":
        is_level = ~lines["method"].map(lambda method: pc.METHODS[method].is_private)
        level = (
            lines[is_level]
            .drop(columns="epsilon")
            .merge(pd.DataFrame({"epsilon": grid["epsilon"]}), how="cross")
        )
        lines = pd.concat([lines[~is_level], level], ignore_index=True)
    more = [*shares, *(axis for axis in (*axes, "epsilon") if axis != x)]
    lines["series"] = [
        ", ".join([pc.METHODS[row["method"]].title, *(_setting(axis, row[axis]) for axis in more)])
        for row in lines.to_dict("records")
    ]
    lines["x"] = lines[x]
    if is_own and "published" in table and not shares:
        first = table.drop_duplicates(["method", "epsilon"])
        lines = lines.merge(
            first[["method", "epsilon", "published"]], on=["method", "epsilon"], how="left"
        )
    title, is_log = papers.TABLES[name].title, bool((lines["x"] > 0).all())
    drawn = plots.effect(lines, title=title, x_title=_name(x), x_log=is_log)
    show_figure(drawn, lines, FigureInfo("papers", settings, is_synthetic=is_synthetic))


def _name(axis: str) -> str:
    return _NAMES.get(axis, axis.replace("_", " "))


def _setting(axis: str, value: float | bool) -> str:
    if axis == "epsilon":
        return epsilon_label(value)
    return (
        f"{'with' if value else 'without'} {_name(axis)}"
        if isinstance(value, bool)
        else f"{_name(axis)} = {value:g}"
    )


def _show(table: pd.DataFrame) -> None:
    """One row for each learner, and side by side for each ε what the paper printed, what we
    measured, and the order."""
    values = [name for name in ("published", "measured", "difference", "order") if name in table]
    named = [name for name in map(str, table) if name not in (*values, "epsilon", "seeds")]
    index = [name for name in named if name == "method" or table[name].nunique(dropna=False) > 1]
    same = {
        name: str(table[name].iloc[0])
        for name in named
        if name not in index and table[name].iloc[0]
    }
    if same:
        st.caption(
            "In the paper:"
            f" {', '.join(f'{_name(name)} {plain.text(value)}' for name, value in same.items())}."
        )
    numbers = {name: 100 * table[name] for name in values if name != "order"}
    titles = table["method"].map(
        lambda method: pc.METHODS[method].title if method in pc.METHODS else method
    )
    table = table.assign(**numbers, method=titles).fillna(dict.fromkeys(index, ""))
    wide = table[index].drop_duplicates()
    for epsilon in sorted(set(table["epsilon"])):
        here = table.loc[table["epsilon"] == epsilon, [*index, *values]].drop_duplicates(index)
        wide = wide.merge(
            here.rename(
                columns={name: f"{epsilon_label(epsilon)}: {_WORDS[name]}" for name in values}
            ),
            how="left",
        )
    config: Form = {
        name: st.column_config.NumberColumn(format="%.1f")
        for name in map(str, wide)
        if name.endswith("%")
    }
    config[_name("method")] = st.column_config.TextColumn(width="medium")
    wide = (
        wide.replace("", None)
        .dropna(axis=1, how="all")
        .rename(columns={name: _name(name) for name in index})
    )
    st.dataframe(wide, hide_index=True, key="papers-beside", column_config=config, placeholder="")
