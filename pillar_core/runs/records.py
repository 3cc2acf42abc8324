"""The runs that the cache holds, as a table: one row per run, then one line per setting with an
interval over its seeds. And for other people's trackers: a csv, or a folder that MLflow reads."""

from __future__ import annotations

import functools
import math
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pillar_core import metrics, mode, store
from pillar_core.data import DATASETS, uploads
from pillar_core.data.parts import place_of
from pillar_core.deferred import pandas as pd
from pillar_core.errors import PillarError
from pillar_core.extras import needed
from pillar_core.fingerprint import fingerprint
from pillar_core.metrics import METRICS
from pillar_core.runs import splitting, starter, sweep, use
from pillar_core.runs.tables import row_of
from pillar_core.store.files import writable
from pillar_core.types import Form, RunSpec, Values

AXES = (
    "dataset",
    "backbone",
    "public_fraction",
    "public_per_class",
    "public",
    "method",
    "k",
    "epsilon",
    "delta",
    "relation",
)
"""The columns that tell one setting from another, as far as a table shows them."""
SECONDS_BESIDE = 0.35
"""Of a run, beside its training."""
BYTES_A_RUN = 2_500
"""A record on disk, rounded up."""


def all_runs(*, shipped: bool = False) -> pd.DataFrame:
    """One row per record in the cache, or with `shipped` per one that came with the library: the
    columns of `sweep`, with `key`, `data` (the data set's name for people) and `group`.

    Rows of equal `group` differ in the seed alone. Records of other code, weights or data are left
    out. Empty without records. A visitor of a demo gets those of the own jobs.
    """
    if shipped:
        return _shipped_runs().copy()
    cache = store.default()
    is_asked = _visitor_keys().__contains__ if mode.binds() else lambda _: True
    return _runs(cache, filter(is_asked, cache.keys("record")))


@functools.cache
def _shipped_runs() -> pd.DataFrame:
    layer = starter.layer()
    return _runs(layer, layer.keys("record"))


def _runs(layer: store.Store, keys: Iterable[str]) -> pd.DataFrame:
    title_of = functools.cache(data_words)
    rows = [row for key in keys if (row := _row(layer, key)) is not None]
    return pd.DataFrame([row | {"data": title_of(row["dataset"], row["data"])} for row in rows])


def _visitor_keys() -> set[str]:
    """The keys of the runs that a visitor's own jobs asked for."""
    grids = [spec["grid"] for spec in mode.JOBS.specs() if isinstance(spec.get("grid"), Mapping)]
    return {key for grid in grids for key in sweep.run_keys(sweep.specs_of(grid))}


def refusals(runs: pd.DataFrame) -> pd.DataFrame:
    """The settings that could not run, one line each: AXES, seeds, `cause` (the kind of error),
    `error_message`."""
    refused = runs[runs["error_message"].notna()] if len(runs) else runs
    failures = [
        _setting(rows, "cause", "error_message") | {"seeds": len(rows)}
        for _, rows in refused.groupby("group", sort=False)
    ]
    return pd.DataFrame(failures)


def versions_of(keys: Sequence[str]) -> list[dict[str, str]]:
    """The different sets of versions that made these records, most records first; records without
    them are left out."""
    stored = [store.default().get_json("record", key) for key in keys]
    recorded = [
        record["versions"] for record in stored if record is not None and "versions" in record
    ]
    counts = Counter(tuple(versions.items()) for versions in recorded)
    return [dict(items) for items, _ in counts.most_common()]


def lines(runs: pd.DataFrame) -> pd.DataFrame:
    """One line per setting that ran, best first: AXES, mean accuracy with its 95 % interval, seeds,
    ε spent, mean seconds, group."""
    summaries = []
    trained = runs[runs["error_message"].isna()] if len(runs) else runs
    for group, rows in trained.groupby("group", sort=False):
        mean, low, high = metrics.over_runs(rows["accuracy"].astype(float).to_list())
        summaries.append(
            _setting(rows)
            | {"mean": mean, "low": low, "high": high, "seeds": len(rows)}
            | {"epsilon_upper": rows["epsilon_upper"].max(), "seconds": rows["seconds"].mean()}
            | {"group": group}
        )
    table = pd.DataFrame(summaries)
    return (
        table.sort_values("mean", ascending=False, kind="stable").reset_index(drop=True)
        if len(table)
        else table
    )


def _setting(rows: pd.DataFrame, *more: str) -> Form:
    """What runs of one setting share, as far as a table shows it."""
    names = [name for name in ("data", *AXES, *more) if name in rows]
    return dict(rows.iloc[0][names])


def data_words(dataset: str, features: str = "") -> str:
    """A data set's name for people: its short title, or for rows that a user brought the name that
    they came under, else their key."""
    if dataset in DATASETS:
        return DATASETS[dataset].short_title
    if not dataset.startswith((uploads.PREFIX, "given:")):
        return dataset
    brought = uploads.card(dataset)
    title = features if brought is None else brought.title
    return f"{title or dataset[:13] + '…'} (yours)"


def estimate(grid: Values, runs: pd.DataFrame) -> dict[str, float]:
    """What a grid would take, before anything starts: cells (its runs), cached, seconds (one
    worker) and bytes of the missing ones.

    Times are the means of the same learner's runs on the same data here; NaN where one of them
    never ran.

    Raises SettingError, UnknownNameError: a grid that cannot be.
    """
    specs = sweep.specs_of(grid)
    cache = store.default()
    missing = [
        spec
        for spec, key in zip(specs, sweep.run_keys(specs), strict=True)
        if not cache.has("record", key)
    ]
    means = (
        runs.groupby(["dataset", "method"])["seconds"].mean().to_dict() if "seconds" in runs else {}
    )
    seconds = sum(
        means.get((spec.data["dataset"], spec.method), math.nan) + SECONDS_BESIDE
        for spec in missing
    )
    return {
        "cells": len(specs),
        "cached": len(specs) - len(missing),
        "seconds": seconds,
        "bytes": BYTES_A_RUN * len(missing),
    }


def of_grid(grid: Values, runs: pd.DataFrame) -> list[Form]:
    """The records in the cache of a grid's runs, refusals among them. Of rows in files that this
    process has not read, it is those among `runs` that name them.

    Raises SettingError, UnknownNameError: as `estimate`.
    """
    specs = sweep.specs_of(grid)
    stored = sweep.cached_records(specs)
    unread = {
        spec.data["dataset"] for spec in specs if splitting.lies_in_files(spec.data["dataset"])
    }
    by_cell = {
        fingerprint(record["cell"]): record
        for key in (runs.loc[runs["dataset"].isin(unread), "key"] if unread and len(runs) else ())
        if (record := store.default().get_json("record", key)) is not None
    }
    named = (by_cell.get(fingerprint(spec.form)) for spec in specs)
    pairs = zip(stored, named, strict=True)
    return [record for own, other in pairs if (record := own or other) is not None]


def grid_of(keys: Sequence[str]) -> list[Form]:
    """Grids for `sweep` that hold exactly these records' specs: one per setting, with its seeds."""
    grids: dict[str, Form] = {}
    for key in keys:
        record = store.default().get_json("record", key)
        if record is not None:
            spec = record["cell"]
            grid = grids.setdefault(_group(spec), _grid(spec))
            grid["seed"].append(spec["seed"])
    return list(grids.values())


@functools.lru_cache(maxsize=50_000)
def _row(layer: store.Store, key: str) -> Form | None:
    """One record's row, whose `data` is its features' name; a record never changes, so its key
    within a cache folder is enough.

    None for one of other code, weights or data: its key is none of theirs.
    """
    record: Any = layer.get_json("record", key)
    try:
        if sweep.run_key(RunSpec(**record["cell"]), rows=record.get("rows", {})) != key:
            return None
        facts = {"data": str(record.get("features", "")), "cause": record.get("cause"), "key": key}
        return row_of(record) | facts | {"group": _group(record["cell"], record.get("rows"))}
    except (
        PillarError,
        AttributeError,
        KeyError,
        TypeError,
        ValueError,
    ):  # it names what is not here any more, or has another form
        return None


def _group(spec: Values, rows: object = None) -> str:
    setting = {**spec, "seed": None, "split": _own_split(spec)}
    return fingerprint(setting, *([rows] if rows else []))


def _own_split(spec: Values) -> Form:
    """The split's settings, without a seed that is the run's."""
    split = dict(spec["split"])
    if split.get("split_seed") == spec["seed"]:
        split.pop("split_seed", None)
    return split


def _grid(spec: Values) -> Form:
    names = ("method", "epsilon", "delta", "relation", "accountant", "preset")
    run_fields = {name: spec[name] for name in names}
    everything = {**spec["data"], **_own_split(spec), **run_fields, **spec["settings"]}
    return {
        name: value for name, value in everything.items() if value is not None and value != {}
    } | {"seed": []}


MEASURED = ("epsilon_upper", "accuracy", *METRICS, "validation_accuracy", "seconds")
"""What MLflow files as metrics of a run; all else are its parameters."""


def without_formulas(table: pd.DataFrame) -> pd.DataFrame:
    """The table as a spreadsheet opens it without computing anything, column names too."""

    def plain(value: Any) -> Any:
        return use.without_formula(value) if isinstance(value, str) else value

    return table.map(plain).rename(columns=plain)


def write_csv(runs: pd.DataFrame, path: str | Path) -> int:
    """How many runs were written to a csv file that holds no formulas.

    Raises DataError, StoreError: a path that cannot be, or not be written.
    """
    with writable(path := place_of(path)):
        without_formulas(runs).to_csv(path, index=False)
    return len(runs)


def write_mlflow(runs: pd.DataFrame, path: str | Path) -> int:
    """How many runs were added to the file store of MLflow in the folder `path`: an experiment for
    each data set, refused runs left out.

    A run that the store has under its key is not added again.
    Raises MissingDependencyError: MLflow is not installed. DataError: a path that cannot be.
    """
    with needed("writing for MLflow"):
        os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")
        from mlflow import MlflowClient
        from mlflow.entities import Metric, Param, RunTag
    client, added = MlflowClient(place_of(path).absolute().as_uri()), 0
    for data, rows in runs[runs["error_message"].isna()].groupby("data") if len(runs) else ():
        experiment = client.get_experiment_by_name(str(data))
        number = (
            client.create_experiment(str(data)) if experiment is None else experiment.experiment_id
        )
        for row in rows.to_dict("records"):
            if client.search_runs([number], f"tags.`pillar.key` = '{row['key']}'", max_results=1):
                continue
            known = {name: value for name, value in row.items() if pd.notna(value)}
            measured = [
                Metric(name, float(known[name]), 0, 0)
                for name in dict.fromkeys(MEASURED)
                if name in known
            ]
            chosen = [
                Param(name, str(value))
                for name, value in known.items()
                if name not in MEASURED and name != "key"
            ]
            run = client.create_run(
                number, run_name=str(row["method"]), tags={"pillar.key": str(row["key"])}
            ).info.run_id
            client.log_batch(
                run,
                measured,
                chosen,
                [RunTag("pillar.epsilon", "an upper bound, under the record's assumptions")],
            )
            client.set_terminated(run)
            added += 1
    return added
