"""The papers' tables beside our own: published numbers as facts, each runnable table as a grid over
our learners.

The numbers lie in papers.csv, one per row, in percent or a distance: paper, table, private data
set, backbone, public rows (words, or a share of the private set's own rows, or a count of each
class), our name of the method (or the paper's where we have none), ε, metric. A grid follows the
paper's split, budgets and learners with our own default settings. Where its data are not at hand,
generated features stand in at a reduced size: then only the order of the methods may be compared,
and every result says so.

>>> table = pc.papers.published("pillar-table-2")
>>> table["paper"].unique().tolist()
['pillar']
"""

import dataclasses
import functools
import itertools
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from pillar_core.data import DATASETS, uploads
from pillar_core.errors import DataError, SettingError, UnknownNameError, shown
from pillar_core.jobs.sweep import sweep
from pillar_core.methods import METHODS
from pillar_core.numerics import half_width
from pillar_core.runs import splitting
from pillar_core.runs.loading import load_features
from pillar_core.studies.papers.tables import (
    BACKBONES,
    SHOTS,
    SOURCES,
    TABLES,
    TUNED,
    PaperTable,
)
from pillar_core.studies.tuning import trial_epsilon
from pillar_core.types import Form, Progress, Values

DISTANCES = ("gsd", "task2vec", "otdd")
"""Metrics of papers.csv that are no shares: distances between a private and a public set."""
FILE = Path(__file__).with_name("papers.csv")
STAND_IN = "spiked_features"
STAND_IN_ROWS, STAND_IN_TEST, STAND_IN_WIDTH = 5_000, 1_000, 256


def facts() -> pd.DataFrame:
    """Every published number: paper, table, dataset, backbone, public, method, other_method,
    epsilon, metric, published.

    `published` is in [0, 1], of the metrics `DISTANCES` the distance; errors are turned into
    accuracies. `public` says in words whose rows
    are public; where they are a part of the private set's own, `public_fraction` or
    `public_per_class` holds how many. `method` is our name, empty where we have no such learner.
    """
    return _facts().copy()


def catalogue() -> pd.DataFrame:
    """Every published table and figure: paper, item, title, how, where, words.

    `how` is run (`where` names our table), page (`where` names the app's page that shows the like)
    or no; `words` say what differs, or why not.
    """
    return pd.read_csv(
        Path(__file__).with_name("papers_catalogue.csv"), keep_default_na=False, dtype=str
    )


def numbers(paper: str, item: str) -> pd.DataFrame:
    """The published numbers of an item of the catalogue, empty for most figures: columns of
    `facts`."""
    rows = _facts()
    return rows[(rows["paper"] == paper) & ("Table " + rows["table"] == item)].reset_index(
        drop=True
    )


def published(name: str, *, dataset: str | None = None) -> pd.DataFrame:
    """The published numbers of a runnable table, of one data set or all.

    Raises UnknownNameError: no such table. SettingError: a data set that the table does not have.
    """
    table = TABLES[name]
    rows = _facts().query("paper == @table.paper and table == @table.table")
    if dataset is not None:
        if dataset not in table.datasets:
            raise SettingError(
                f"{table.name} has the data sets {', '.join(table.datasets)}; got {dataset!r}."
            )
        rows = rows[rows["dataset"] == dataset]
    return rows.reset_index(drop=True)


def matching(features: str, backbone: str | None) -> pd.DataFrame:
    """Published accuracies on features whose name and backbone say that they are a paper's: columns
    of `facts`.

    A row matches when its data set and the first word of its backbone both stand in the names:
    "cifar10_resnet50" is CIFAR-10 through a ResNet-50.
    """
    spoken, rows = _spoken(f"{features} {backbone or ''}"), _facts()
    fits = rows["dataset"].map(_word).isin(spoken) & rows["backbone"].map(
        lambda text: _word(text.split(" ")[0])
    ).isin(spoken)
    return rows[fits & (rows["metric"] == "accuracy") & (rows["method"] != "")].reset_index(
        drop=True
    )


def grid(name: str, *, dataset: str, data: str | None = None, seeds: int | None = None) -> Form:
    """A grid for `sweep` that repeats one data set's part of a table.

    data: the name of a registered or stored set, or a file of features; None lets generated rows
    stand in. seeds: the paper's number unless given (two on stand-in rows).
    Raises UnknownNameError, SettingError: no such table, or a data set that it does not have.
    DataError: the file cannot be used.
    """
    table, rows = TABLES[name], published(name, dataset=dataset)
    rows = rows[rows["method"] != ""]
    shares, counts = (
        sorted(set(rows[column].dropna())) for column in ("public_fraction", "public_per_class")
    )
    axes: Form = {
        "method": list(dict.fromkeys(rows["method"])),
        "epsilon": sorted({float(epsilon) for epsilon in rows.loc[_spends(rows), "epsilon"]}),
    }
    if counts:
        axes["public_per_class"] = int(counts[0])
    elif shares:
        axes["public_fraction"] = shares
    axes |= table.axes
    if "public_per_class" in table.axes:
        axes["public_per_class"] = SHOTS.get(dataset, table.axes["public_per_class"])
    if seeds is None:
        seeds = min(2, table.seeds) if data is None else table.seeds
    if not seeds >= 1:
        raise SettingError(f"seeds must be a whole number from 1; got {seeds}.")
    return {**_data_axes(dataset, data), **axes, "delta": 1e-5, "seed": list(range(seeds))}


def beside(name: str, runs: pd.DataFrame, *, dataset: str, backbone: str = "") -> pd.DataFrame:
    """Published and measured side by side, one row per backbone, public share, method and ε.

    backbone: the paper's words for that of the runs' features, as `grids` says: its rows alone are
    compared. "" for other features, whose numbers are not subtracted.
    Columns: backbone, public, method, epsilon, published, measured (mean over seeds that ran),
    seeds (0: refused), difference (measured − published), and order, as `_with_order`.
    Raises UnknownNameError, SettingError: as `grid`.
    """
    by = _line(name, runs)
    share = by[2]
    ours = (
        runs.assign(accuracy=pd.to_numeric(runs["accuracy"]))
        .groupby(by, dropna=False)["accuracy"]
        .agg(measured="mean", seeds="count")
        .reset_index()
    )
    theirs = published(name, dataset=dataset)
    if theirs.empty:
        return ours.assign(order="")
    if backbone:
        theirs = theirs[theirs["backbone"] == backbone].reset_index(drop=True)
    everywhere = theirs["public"].eq("none") | ~_spends(theirs)
    shares = theirs.pop("public_fraction").fillna(theirs.pop("public_per_class"))
    theirs[share] = shares.where(~everywhere | shares.notna(), runs[share].max())
    joined = theirs.merge(ours, on=["method", "epsilon", share], how="left").drop(
        columns=[share, "paper", "table", "dataset", "metric"]
    )
    joined["method"] = joined["method"].where(joined["method"] != "", joined.pop("other_method"))
    if backbone:
        joined["difference"] = joined["measured"] - joined["published"]
    return _with_order(joined, runs)


def _line(name: str, runs: pd.DataFrame) -> list[str]:
    """The columns that tell one measured line of a table from another."""
    shown_axes = (axis for axis in TABLES[name].shown_axes if axis in runs)
    return ["method", "epsilon", _share_axis(runs), *shown_axes]


def _share_axis(runs: pd.DataFrame) -> str:
    return "public_fraction" if "public_fraction" in runs else "public_per_class"


def best_on_validation(name: str, runs: pd.DataFrame) -> pd.DataFrame:
    """The runs of those of each line's `TUNED` settings that are best on validation rows, over
    seeds; all runs of a grid that was not tuned."""
    if "validation_accuracy" not in runs:
        return runs
    by = _line(name, runs)
    settings = [axis for axis in TUNED if axis in runs and axis not in by]
    scores = runs.groupby([*by, *settings], dropna=False)["validation_accuracy"].transform("mean")
    ordered = runs.assign(score=scores).sort_values("score", ascending=False, kind="stable")
    best = ordered.drop_duplicates(by)[[*by, *settings]]
    return runs.merge(best)


def price_words(grid: Form) -> str:
    """What it costs to choose among a grid's `TUNED` settings, and what ε would be left to each run
    if that were paid for; "" where nothing is tuned."""
    if "learning_rate" not in grid:
        return ""
    tried = math.prod(len(grid[axis]) for axis in ("k", "learning_rate"))
    left = ", ".join(
        f"{trial_epsilon(epsilon, delta=grid['delta'], mean_trials=tried):.2g} of {epsilon:g}"
        for epsilon in grid["epsilon"]
        if math.isfinite(epsilon)
    )
    return (
        f"Up to {tried} settings a learner, the best on validation rows, as the papers do: ε covers"
        " each run and not the choice, so the numbers are not differentially private. Random"
        f" stopping after {tried} runs on average would leave each run ε = {left}."
    )


def run(
    name: str,
    *,
    dataset: str,
    data: str | None = None,
    seeds: int | None = None,
    tuned: bool = False,
    scheduler: str | None = None,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Trains one data set's part of a table and lays it `beside` the published numbers; runs in the
    cache are reused.

    Raises UnknownNameError, SettingError, DataError: as `grid`.
    """
    tables = []
    asked = grids(name, dataset=dataset, data=data, seeds=seeds, tuned=tuned)
    for backbone, axes in asked.items():
        runs = sweep(axes, scheduler=scheduler, progress=progress)
        failed = runs["error_message"].dropna()
        if len(failed) == len(runs):
            raise DataError(f"no run of {name} could be trained: {failed.iloc[0]}")
        runs = best_on_validation(name, runs)
        tables.append(beside(name, runs, dataset=dataset, backbone=backbone))
    return pd.concat(tables, ignore_index=True)


def named(name: str) -> PaperTable:
    """The runnable table called `name`, or `<paper>:table-<number>` as the paper prints it. Raises
    UnknownNameError: no such table."""
    spoken = {f"{table.paper}:table-{table.table}".lower(): table for table in TABLES.values()}
    return spoken.get(name.lower()) or TABLES[name]


def source(dataset: str) -> str:
    """The name under which a paper's own rows can be fetched. Raises UnknownNameError: there is
    none."""
    if dataset not in SOURCES:
        raise UnknownNameError(
            f"{shown(dataset)} is no data set of the papers that can be fetched; known:"
            f" {', '.join(SOURCES)}."
        )
    return SOURCES[dataset]


def grids(
    name: str,
    *,
    dataset: str,
    data: str | None = None,
    seeds: int | None = None,
    tuned: bool = False,
) -> dict[str, Form]:
    """Grids as of `grid`, for command and page alike, by the paper's words for the backbone that
    the rows went through; "" where they are not the paper's features.

    data: as of `grid`. `SOURCES[dataset]`, the paper's own rows, goes through each backbone of the
    table that a hub offers; other features are the paper's where name and backbone say so. tuned:
    with `TUNED` settings, of which `best_on_validation` takes one, as the papers do.
    Raises UnknownNameError, SettingError, DataError: as `grid`. DataError: the paper's backbones
    are on no hub.
    """
    axes = grid(name, dataset=dataset, data=data, seeds=seeds)
    if tuned:
        axes = {**TUNED, **axes}
    words = list(dict.fromkeys(published(name, dataset=dataset)["backbone"])) or list(BACKBONES)[:1]
    if data is None or data != SOURCES.get(dataset):
        return {"" if data is None else _backbone_in(_title(data), dataset, words): axes}
    if DATASETS[data].kind == "tabular":
        return {words[0]: axes}
    fetched = {word: axes | {"backbone": BACKBONES[word]} for word in words if word in BACKBONES}
    if not fetched:
        raise DataError(
            f"weights of {', '.join(words)} are on no hub: extract {data} through them and give"
            " --data."
        )
    return fetched


def _title(data: str) -> str:
    card = uploads.card(data)
    return card.title if card is not None else Path(data).stem


def _backbone_in(title: str, dataset: str, backbones: Sequence[str]) -> str:
    """The only one of a table's backbones that features of this title are of, "" where the title
    says another set, another backbone or not which of two."""
    spoken = _spoken(title)
    if _word(dataset) not in spoken:
        return ""
    fits = [words for words in backbones if _word(words.split(" ")[0]) in spoken]
    whole = [words for words in fits if {_word(part) for part in words.split(" ")} <= spoken]
    chosen = whole or fits
    return chosen[0] if len(chosen) == 1 else ""


def _with_order(table: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """`table` with a column order: "best" for the learner that the paper prints best at a backbone
    and ε.

    Of the others, whether our runs put that learner before them: "same", "opposite", or "not told
    apart" by the paired differences of our seeds. Empty where the paper or we have no number, and
    where the public share varies.
    """
    words = dict.fromkeys(table.index, "")
    both = table.dropna(subset=["published", "measured"])
    if len(both) and runs[_share_axis(runs)].nunique() == 1:
        seeds = {
            key: rows.set_index("seed")["accuracy"]
            for key, rows in runs.groupby(["method", "epsilon"])
        }
        for _, group in both.groupby(["backbone", "epsilon"]):
            keys = {place: (row["method"], row["epsilon"]) for place, row in group.iterrows()}
            best = group["published"].idxmax()
            words |= {
                place: compare_order(seeds[keys[best]] - seeds[key]) for place, key in keys.items()
            } | {best: "best"}
    return table.assign(order=list(words.values()))


def compare_order(differences: "pd.Series[float]") -> str:
    """Whether paired differences of seeds are above 0 ("same"), below ("opposite") or neither, at
    95 % by Student's t."""
    differences = differences.dropna()
    mean, half = differences.mean(), half_width(differences.std(), len(differences))
    return "same" if mean > half else "opposite" if mean < -half else "not told apart"


def order_words(table: pd.DataFrame, *, rows: str) -> str:
    """One sentence on the column order; "" where nothing could be compared. rows: what our runs
    were on, in words."""
    counts = table["order"].value_counts()
    n_same, n_open, n_opposite = (
        int(counts.get(word, 0)) for word in ("same", "not told apart", "opposite")
    )
    if not (total := n_same + n_open + n_opposite):
        return ""
    opposite = [
        f"{METHODS[row['method']].title} at ε = {row['epsilon']:g}"
        for row in table[table["order"] == "opposite"].to_dict("records")
    ]
    against = f"{n_opposite} ({', '.join(opposite)})" if opposite else "none"
    return (
        f"On {rows}, the order is the paper's in {n_same} of {total} comparisons with its best"
        f" learner, not told apart in {n_open}, opposite in {against}."
    )


@functools.lru_cache(maxsize=1)
def _facts() -> pd.DataFrame:
    empty = dict.fromkeys(("public_fraction", "public_per_class"), "")
    rows = pd.read_csv(
        FILE,
        keep_default_na=False,
        na_values=empty,
        dtype={"epsilon": float, "percent": float, "table": str},
    )
    shares = (100 * rows["public_fraction"]).map("{:g} %".format, na_action="ignore")
    counts = rows["public_per_class"].map("{:g} per class".format, na_action="ignore")
    rows["public"] = shares.fillna(counts).fillna(rows["public"])
    value = rows.pop("percent")
    share = (value / 100).where(~rows["metric"].isin(DISTANCES), value)
    is_error = rows["metric"] == "error"
    rows["published"] = share.where(~is_error, 1 - share)
    rows["metric"] = rows["metric"].where(~is_error, "accuracy")
    unread = [
        name for name, learner in METHODS.items() if learner.protects and not learner.is_private
    ]
    rows["epsilon"] = rows["epsilon"].where(~rows["method"].isin(unread), 0.0)
    return rows


def stand_in_classes(dataset: str) -> int:
    """Classes of the rows that stand in for a data set: as many as it has, at most 100, as the
    generator."""
    fact = DATASETS[SOURCES[dataset]].n_classes
    return min(100, int(fact[0] if isinstance(fact, tuple) else fact))


def _data_axes(dataset: str, data: str | None) -> Form:
    if data is None:
        sizes = {
            "n": STAND_IN_ROWS,
            "n_test": STAND_IN_TEST,
            "d": STAND_IN_WIDTH,
            "C": stand_in_classes(dataset),
        }
        return {"dataset": STAND_IN, "dataset_settings": sizes}
    if not splitting.is_known(data):
        data = uploads.keep(load_features(data))
    return {"dataset": data}


def _spends(rows: pd.DataFrame) -> "pd.Series[bool]":
    """Whether each row's learner has a budget; learners that we have not, do."""
    return ~rows["method"].isin(
        [name for name, learner in METHODS.items() if not learner.is_private]
    )


def _spoken(title: str) -> set[str]:
    """The words of a title, and each two neighbours as one."""
    parts = [part for part in re.split(r"[^a-z0-9]+", title.lower()) if part]
    return {*parts, *("".join(pair) for pair in itertools.pairwise(parts))}


def _word(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())
