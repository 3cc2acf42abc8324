"""Grids: every combination of data, split, learner, budget, settings and seed; what one batched
call can train goes together."""

import itertools
import logging
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pillar_core import accounting, checks, params, store
from pillar_core.backbones import revision
from pillar_core.backbones.cards import fit_of
from pillar_core.data import DATASETS
from pillar_core.deferred import pandas as pd
from pillar_core.errors import (
    BudgetError,
    DataError,
    MissingDependencyError,
    SettingError,
    UnsupportedError,
)
from pillar_core.fingerprint import fingerprint
from pillar_core.memo import Memo
from pillar_core.methods import METHODS
from pillar_core.runs import run, splitting
from pillar_core.runs.loading import through_backbone
from pillar_core.runs.tables import record_json, record_of, refusal_json, row_of
from pillar_core.splits import thin_classes, view_of
from pillar_core.types import (
    FeatureSet,
    Form,
    NeighboringRelation,
    Progress,
    PublicFacts,
    RunRecord,
    RunSpec,
    SemiPrivateSplit,
    Values,
)

SPLIT_AXES = (
    "public_fraction",
    "public_per_class",
    "public",
    "validation_fraction",
    "allow_overlap",
    "imbalance",
    "split_seed",
)
AXES: Form = {
    "dataset": str | FeatureSet | SemiPrivateSplit,
    "method": str,
    "allow_overlap": bool | None,
    **dict.fromkeys(
        ("backbone", "public", "relation", "accountant", "preset", "metric"), str | None
    ),
    **dict.fromkeys(
        ("public_fraction", "validation_fraction", "imbalance", "epsilon", "delta"), float | None
    ),
    **dict.fromkeys(("public_per_class", "split_seed", "seed"), int | None),
}
"""The type of the values of each axis that is no setting of a method."""
SETTING = bool | int | float | str | None
"""The type of a method's setting."""
_BESIDE = {"backbone": "dataset", "split_seed": "seed"}
"""Axes whose missing values another axis gives."""
ENGINE_VERSION, ENGINE_VERSION_ELSEWHERE = 2, 3
"""Of what learners train with: ours also raise their own versions when their numbers change, others
cannot."""
CENTRE_VERSION = 2
"""Of the centre and intercept of unequal classes."""
MOST_CELLS = 20_000
"""Runs of one grid; to build a spec takes about 0.4 ms, whether or not it ever runs."""
LONGEST_WORD, LONGEST_SETTINGS = 1_000, 2_000
"""Characters of a value of an axis, and of a data set's settings: visitors write them, and every
spec and its record repeat them."""
REFUSALS = (BudgetError, DataError, SettingError, UnsupportedError)
"""What a run that cannot be is refused with, always in the same way; the cache keeps it as it keeps
a result."""

_LOGGER = logging.getLogger(__name__)
_splits, _rows = Memo(slots=1), Memo(slots=1)


def sweep(grid: Values, *, progress: Progress | None = None) -> "pd.DataFrame":
    """`jobs.sweep.sweep` in this process."""
    groups, dataset = group_specs(grid), grid.get("dataset")
    source = dataset if isinstance(dataset, FeatureSet | SemiPrivateSplit) else None
    total, finished = sum(len(group) for group in groups), 0
    rows: list[Form] = []
    _LOGGER.info("%d runs begin", total)
    for group in groups:
        rows.extend(run_group(group, source=source))
        finished += len(group)
        if progress is not None:
            progress(finished, total, group[0].method)
    _LOGGER.info("%d runs end, %d refused", total, sum(bool(row.get("error")) for row in rows))
    return table(rows)


def table(rows: Sequence[Values]) -> "pd.DataFrame":
    """The tidy table of records in JSON form."""
    return pd.DataFrame([row_of(row) for row in rows])


def group_specs(grid: Values) -> list[list[RunSpec]]:
    """The grid's specs, grouped so that each group shares split and learner and trains in one
    batched call.

    Groups of one split follow each other, so that one split in memory is enough.
    """
    splits: dict[str, dict[str, list[RunSpec]]] = {}
    for spec in specs_of(grid):
        groups = splits.setdefault(fingerprint(spec.data, spec.split), {})
        groups.setdefault(spec.method, []).append(spec)
    return [group for groups in splits.values() for group in groups.values()]


def specs_of(grid: Values) -> list[RunSpec]:
    """Every run of the grid once, in order.

    Raises SettingError, UnknownNameError: a grid that cannot be, or of more than MOST_CELLS runs.
    """
    axes, dataset_settings = _axes_of(grid)
    return _distinct_specs(axes, dataset_settings)


def count_runs(grid: Values) -> int:
    """How many runs `specs_of` makes of a grid, counted along each axis alone. Raises as that."""
    axes, dataset_settings = _axes_of(grid)
    beside = {name: _BESIDE.get(name, name) for name in axes}
    count = 0
    for method in {*axes["method"]}:
        lines = (
            {name: values if beside[name] == along else values[:1] for name, values in axes.items()}
            for along in {*beside.values()} - {"method"}
        )
        count += math.prod(
            len(_distinct_specs(line | {"method": [method]}, dataset_settings)) for line in lines
        )
    return count


def _axes_of(grid: Values) -> tuple[dict[str, list[Any]], Form]:
    """The values of each axis, checked, and the settings of the data sets."""
    checks.of(Mapping, grid=grid)
    grid = dict(grid)
    dataset_settings = grid.pop("dataset_settings", {})
    checks.of(Mapping | None, dataset_settings=dataset_settings)
    dataset_settings = dict(dataset_settings or {})
    checks.of(SETTING, **dataset_settings)
    if len(str(dataset_settings)) > LONGEST_SETTINGS:
        raise SettingError(
            f"dataset_settings say more than {LONGEST_SETTINGS:,} characters, which every run of"
            " the grid repeats."
        )
    axes = {name: _axis(name, value) for name, value in grid.items()}
    axes.setdefault("seed", [0])
    for needed in ("dataset", "method"):
        if needed not in axes:
            raise SettingError(f"a grid needs {needed}; got {', '.join(axes)}.")
    _refuse_unknown(axes)
    count = math.prod(map(len, axes.values()))
    if count > MOST_CELLS:
        raise SettingError(
            f"the grid stands for {count:,} runs; at most {MOST_CELLS:,} in one grid. Shorten an"
            " axis or split the grid."
        )
    return axes, dataset_settings


def _distinct_specs(axes: Mapping[str, Sequence[Any]], dataset_settings: Form) -> list[RunSpec]:
    """The runs of all combinations, each once."""
    combinations = itertools.product(*axes.values())
    specs = (
        spec_of(dict(zip(axes, values, strict=True)), dataset_settings) for values in combinations
    )
    return list({repr(spec): spec for spec in specs}.values())


def spec_of(values: Values, dataset_settings: Values | None = None) -> RunSpec:
    """The run with one value on each axis that it has; `specs_of` checks values that nobody checked
    before."""
    method = METHODS[values["method"]]
    declared = params.params_of(method.settings)
    settings = {
        name: value for name, value in values.items() if name in declared and value is not None
    }
    epsilon, seed = values.get("epsilon") if method.is_private else None, values["seed"]
    split = {name: values[name] for name in SPLIT_AXES if values.get(name) is not None}
    if split and isinstance(values["dataset"], SemiPrivateSplit):
        raise SettingError(f"a split is drawn already: leave out {', '.join(split)}.")
    split.setdefault("split_seed", seed or 0)
    return RunSpec(
        method.name,
        None if epsilon is None else float(epsilon),
        float(params.DELTA.default if values.get("delta") is None else values["delta"]),  # type: ignore[arg-type]  # the default is a number
        values.get("relation") or "add_or_remove_one",
        values.get("accountant") or "auto",
        seed,
        values.get("preset") if values.get("preset") in method.presets else None,
        settings,
        _data(values, dataset_settings or {}),
        split,
        values.get("metric"),
    )


def run_key(spec: RunSpec, *, rows: Mapping[str, str] | None = None) -> str:
    """The cache key of a spec: its content, the version of each part that makes its result, and
    `rows`, what `rows_of` said of it."""
    rows = rows_of(spec.data, spec.split) if rows is None else rows
    learner = METHODS[spec.method]
    dataset = DATASETS.find(spec.data["dataset"])
    public = DATASETS.find(spec.split.get("public") or "")
    versions = {
        "engine": ENGINE_VERSION_ELSEWHERE if learner.package else ENGINE_VERSION,
        "method": learner.version,
        "dataset": 0 if dataset is None else dataset.version,
        "backbone": revision(spec.data["backbone"]),
        "accountant": accounting.ACCOUNTANTS[spec.accountant].version,
    }
    if rows or (dataset is not None and dataset.kind == "texts"):  # others that ship are even
        versions["centre"] = CENTRE_VERSION
    if public is not None and public.version > 1:
        versions["public"] = public.version
    return fingerprint("record", spec.form, versions, *([rows] if rows else []))


def run_keys(specs: Sequence[RunSpec]) -> list[str]:
    """The cache key of each spec; the files of a data set are looked at once."""
    looked: dict[str, Mapping[str, str]] = {}
    keys = []
    for spec in specs:
        named = repr((spec.data, spec.split.get("public")))
        if named not in looked:
            looked[named] = rows_of(spec.data, spec.split)
        keys.append(run_key(spec, rows=looked[named]))
    return keys


def rows_of(
    data: Values, split: Values, *, drawn: SemiPrivateSplit | None = None
) -> dict[str, str]:
    """What tells rows in files from others under the same names: the private ones' content, and the
    state of the public ones' files.

    drawn: the split; without it, the content is that of the rows that this process read last, ""
    where it did not. Empty for rows that lie in no files, which a version tells apart.
    """
    states, public = {}, split.get("public")
    if splitting.lies_in_files(data["dataset"]):
        named = (data["dataset"], data["backbone"], data["dataset_settings"])
        states["private"] = (
            splitting.content(*named) if drawn is None else drawn.features.fingerprint
        )
    if splitting.lies_in_files(public):
        states["public"] = splitting.state(public)
    return states


def find(key: str) -> RunRecord | None:
    """The record under a key, the store's own or one that ships, without classifier, diagnostics
    and `data`; None where there is none, or a refusal.

    No row is read for it. The facts of an older record lack public statistics, which the cost of no
    learner of ours reads; that of another package's learner may, so None there.
    """
    stored = store.default().get_json("record", key)
    if stored is None or stored.get("error") is not None:
        return None
    if "extra" not in stored["facts"] and METHODS[stored["method"]].package:
        return None
    return record_of(stored, facts=PublicFacts(**stored["facts"]), data="")


def cached_records(group: Sequence[RunSpec]) -> list[Form | None]:
    """The cells' records from the store, None where there is none."""
    cache = store.default()
    return [cache.get_json("record", key) for key in run_keys(group)]


def run_group(
    group: Sequence[RunSpec],
    *,
    source: FeatureSet | SemiPrivateSplit | None = None,
    use_cache: bool = True,
) -> list[Form]:
    """Records in JSON form of specs that share split and learner, from the store or trained now and
    stored.

    Rows in files are read in any case: a record is an answer for the rows that it was trained on.
    With `use_cache` false every spec is trained, and what the store holds stays as it is.
    """
    cache, data, split = store.default(), group[0].data, group[0].split
    drawn = (
        split_of(data, split, source=source) if splitting.lies_in_files(data["dataset"]) else None
    )
    rows = rows_of(data, split, drawn=drawn)
    keys = [run_key(spec, rows=rows) for spec in group]
    records: list[Form | None] = [
        cache.get_json("record", key) if use_cache else None for key in keys
    ]
    missing = [position for position, record in enumerate(records) if record is None]
    if missing:
        trained = _train_group(
            [group[position] for position in missing], drawn or split_of(data, split, source=source)
        )
        is_same = rows == rows_of(data, split, drawn=drawn)
        for position, record in zip(missing, trained, strict=True):
            records[position] = record | ({"rows": rows} if rows else {})
            if use_cache and is_kept(record) and is_same:
                cache.remember_json("record", keys[position], records[position])
    return [record for record in records if record is not None]


def read_or_run(spec: RunSpec, split: SemiPrivateSplit) -> RunRecord:
    """The record of one spec on the split that it names, without classifier and diagnostics: from
    the store, or trained now and stored.

    Raises as `run.run`, for a spec that cannot run.
    """
    (form,) = run_group([spec], source=split)
    if form.get("error") is not None:
        return run.run_spec(spec, split)
    learner = METHODS[spec.method]
    facts = run.public_facts(
        learner, learner.settings(**form["settings"]), view_of(split, learner.public_use)
    )
    return record_of(form, facts=facts, data=split.fingerprint)


def is_kept(record: Values) -> bool:
    """Whether the cache keeps a record: its seed is known, and if it is a refusal, then one that a
    rerun would only repeat."""
    return record["cell"]["seed"] is not None and record.get("cause", "") in (
        "",
        *(cause.__name__ for cause in REFUSALS),
    )


def _train_group(group: Sequence[RunSpec], split: SemiPrivateSplit) -> list[Form]:
    """The cells' records, trained in one batched call; what is refused is a record with its
    cause."""
    placed: dict[int, Form] = {}
    plans: dict[int, run.RunPlan] = {}
    for position, spec in enumerate(group):
        try:
            plans[position] = run.solve_spec(spec, split)
        except (*REFUSALS, MissingDependencyError) as refusal:
            placed[position] = refusal_json(refusal, spec, features=split.features.name)
    try:
        records = run.run_many(list(plans.values()), split) if plans else []
        name = split.features.name
        placed |= {
            position: record_json(record, group[position], features=name)
            for position, record in zip(plans, records, strict=True)
        }
    except (*REFUSALS, MissingDependencyError) as refusal:
        if len(group) == 1:
            return [refusal_json(refusal, group[0], features=split.features.name)]
        return [record for spec in group for record in _train_group([spec], split)]
    return [placed[position] for position in range(len(group))]


def split_of(
    data: Values, split: Values, *, source: FeatureSet | SemiPrivateSplit | None = None
) -> SemiPrivateSplit:
    """The split that a cell's `data` and `split` name; the last one is kept in memory with its
    eigenbasis and projections."""
    if isinstance(source, SemiPrivateSplit):
        return source
    states = (
        splitting.state(data["dataset"], data["dataset_settings"]),
        splitting.state(split.get("public")),
    )
    key = fingerprint(data, split, states)
    return _splits.get(key, lambda: _make_split(data, dict(split), source))


def _make_split(data: Values, settings: Form, source: FeatureSet | None) -> SemiPrivateSplit:
    names = (data["dataset"], data["backbone"], data["dataset_settings"])
    if source is not None:
        features = through_backbone(source, names[1] if fit_of(names[1]) else None)
    else:
        features = _rows.get(
            fingerprint(data, splitting.state(names[0], names[2])),
            lambda: splitting.load_named_features(*names),
        )
    seed = settings.pop("split_seed")
    public = settings.pop("public", None)
    if public is not None:
        public = splitting.load_named_features(public, data["backbone"], {})
    imbalance = settings.pop("imbalance", None)
    drawn = splitting.split(features, public=public, seed=seed, **settings)
    return drawn if imbalance is None else thin_classes(drawn, imbalance, seed=seed)


def _data(values: Values, dataset_settings: Values) -> Form:
    dataset = values["dataset"]
    if isinstance(dataset, FeatureSet | SemiPrivateSplit):
        features = dataset if isinstance(dataset, FeatureSet) else dataset.features
        shape = features.pixel_shape
        is_square = shape is None or shape[0] == shape[1]  # then the rows' length says it
        content = dataset.fingerprint if is_square else fingerprint(dataset.fingerprint, shape)
        own = "identity" if fit_of(features.backbone) is None else features.backbone
        asked = values.get("backbone")
        backbone = own if asked in (None, features.backbone) else asked
        if backbone != own and (features is not dataset or fit_of(backbone) is None):
            raise SettingError(
                f"rows in memory do not go through {backbone}: name maps of columns, of a feature"
                " set, or leave backbone out."
            )
        return {"dataset": f"given:{content}", "backbone": backbone, "dataset_settings": {}}
    return {
        "dataset": dataset,
        "backbone": values.get("backbone") or splitting.default_backbone(str(dataset)),
        "dataset_settings": dict(dataset_settings),
    }


def _values(value: Any) -> list[Any]:
    """The values of an axis; "inf" in words is ∞, so that grids can be written as JSON or YAML."""
    values = (
        list(value)
        if isinstance(value, list | tuple | range) or hasattr(value, "tolist")
        else [value]
    )
    return [
        (
            math.inf
            if isinstance(item, str) and item in ("inf", "∞")
            else item.item()
            if isinstance(item, np.generic)
            else item
        )
        for item in values
    ]


def _axis(name: str, value: Any) -> list[Any]:
    """The values of an axis, each of the axis' type. Raises SettingError: none at all, or one of
    another type."""
    values, hint = _values(value), AXES.get(name, SETTING)
    if not values:
        raise SettingError(
            f"the axis {name} has no values, so the grid would hold no run; give one or leave the"
            " axis out."
        )
    for item in values:
        checks.of(hint, **{name: item})
        if isinstance(item, str) and len(item) > LONGEST_WORD:
            raise SettingError(
                f"a value of the axis {name} has {len(item):,} characters; at most"
                f" {LONGEST_WORD:,}."
            )
        if name == "relation" and item is not None:
            NeighboringRelation.of(item)
        if name == "accountant" and item is not None:
            accounting.ACCOUNTANTS[item]
    return values


def _refuse_unknown(axes: Mapping[str, Sequence[Any]]) -> None:
    known = {*AXES}
    for name in axes["method"]:
        known.update(params.params_of(METHODS[name].settings))
    unknown = [name for name in axes if name not in known]
    if unknown:
        raise SettingError(
            f"no method of this grid has a setting {', '.join(unknown)}; known axes:"
            f" {', '.join(sorted(known))}."
        )
