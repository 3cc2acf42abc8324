"""Sweeps as jobs: a grid cut into tasks that each share one split and learner; records go into the
store as they finish."""

import itertools
from collections.abc import Iterator, Mapping, Sequence

from pillar_core import mode, store
from pillar_core.errors import Cancelled, SettingError
from pillar_core.fingerprint import fingerprint
from pillar_core.grouping import slices
from pillar_core.jobs.kind import JOB_KINDS, Asked, JobKind, Task
from pillar_core.runs import sweep
from pillar_core.types import Form, Progress, RunSpec, StopRequested, Values

TASK_CELLS = 24
"""Cells of one task, and of one batched call: many enough to train together, few enough that
another job's work need not wait long."""
SMALL_TASK_CELLS, MANY_CELLS, MANY_SPLITS = 8, 64, 8
"""Pieces are put together up to the first: any where the grid has so many cells, those of one split
where it has so many splits."""
Answer = str | Form


def split(payload: Task) -> list[Task]:
    """The grid's tasks: neighbours in k together, because those train in one batched call.

    Raises SettingError: a grid that cannot be, or a run without seed, whose result may not be kept.
    """
    pieces = [group[part] for group in _groups(payload) for part in slices(len(group), TASK_CELLS)]
    return [{"cells": [spec.form for spec in specs]} for specs in _pack(pieces)]


def run(task: Task, progress: Progress, cancelled: StopRequested) -> list[Form]:
    """The record of each spec, in JSON form. Raises Cancelled: asked to stop; the batches before
    are kept."""
    specs = [RunSpec(**form) for form in task["cells"]]
    records: list[Form] = []
    for batch in _batches(specs):
        if cancelled():
            raise Cancelled(f"stopped after {len(records)} of {len(specs)} runs.")
        progress(len(records), len(specs), batch[0].method)
        records.extend(sweep.run_group(batch))
    progress(len(specs), len(specs), specs[-1].method)
    return records


def keep(task: Task, records: Sequence[Form]) -> list[Answer]:
    """For each spec the key of its record in this store, or a refusal that the store does not keep
    as {"cell": …, "error": …}."""
    cache, answers = store.default(), []
    for form, record in zip(task["cells"], records, strict=True):
        key = sweep.run_key(RunSpec(**form), rows=record.get("rows", {}))
        is_there = sweep.is_kept(record) and (
            cache.has("record", key) or cache.remember_json("record", key, record)
        )
        answers.append(key if is_there else record)
    return answers


def needs(task: Task) -> list[Asked]:
    """The private rows of each spec, and the public ones where these are another set."""
    names = [
        (form["data"]["dataset"], form["data"]["backbone"], form["data"]["dataset_settings"])
        for form in task["cells"]
    ]
    names += [
        (form["split"]["public"], form["data"]["backbone"], {})
        for form in task["cells"]
        if form["split"].get("public")
    ]
    return names


def cached(payload: Task) -> list[list[str]] | None:
    """The whole answer when every record is in the store, else None; rows in files are read by the
    tasks, so None there.

    Raises SettingError: as `split`.
    """
    answers: list[list[str]] = []
    for task in split(payload):
        specs = [RunSpec(**form) for form in task["cells"]]
        answers.append(sweep.run_keys(specs))
        is_there = all(store.default().has("record", key) for key in answers[-1])
        if not is_there or any(sweep.rows_of(spec.data, spec.split) for spec in specs):
            return None
    return answers


def _pack(pieces: list[list[RunSpec]]) -> list[list[RunSpec]]:
    """Small pieces put together, so that handing out a task costs little beside its specs, and few
    workers make the same split."""
    is_large = sum(map(len, pieces)) >= MANY_CELLS
    splits = [(piece[0].data, piece[0].split) for piece in pieces]
    changes = [before != after for before, after in itertools.pairwise(splits)]
    has_many_splits = 1 + sum(changes) >= MANY_SPLITS
    packed: list[list[RunSpec]] = []
    for piece, is_new in zip(pieces, [True, *changes], strict=False):
        is_partner = is_large or (has_many_splits and not is_new)
        if packed and is_partner and len(packed[-1]) + len(piece) <= SMALL_TASK_CELLS:
            packed[-1].extend(piece)
        else:
            packed.append(list(piece))
    return packed


def _batches(specs: Sequence[RunSpec]) -> Iterator[list[RunSpec]]:
    """What one call can train: specs that follow each other and share split and learner, at most
    `TASK_CELLS`."""
    for _, members in itertools.groupby(
        specs, key=lambda spec: fingerprint(spec.data, spec.split, spec.method)
    ):
        group = list(members)
        yield from (group[part] for part in slices(len(group), TASK_CELLS))


def _groups(payload: Values) -> list[list[RunSpec]]:
    grid = payload.get("grid")
    if not isinstance(grid, Mapping):
        raise SettingError(f"a sweep needs a mapping under 'grid'; got {grid!r:.200}.")
    groups = sweep.group_specs(grid)
    if mode.binds():
        sizes = [len(str(spec.form)) for group in groups for spec in group]
        if max(len(sizes), sum(sizes) / 2000) > mode.limit("cells"):
            mode.refuse("cells")
    if any(spec.seed is None for group in groups for spec in group):
        raise SettingError(
            "a sweep needs known seeds: a run without one may not be kept. Give `seed` whole"
            " numbers."
        )
    return [sorted(group, key=lambda spec: spec.settings.get("k") or 0) for group in groups]


JOB_KINDS.register(
    JobKind(
        "sweep",
        "Sweep over a grid",
        run,
        split=split,
        cached=cached,
        is_for_visitors=True,
        keep=keep,
        needs=needs,
    )
)
