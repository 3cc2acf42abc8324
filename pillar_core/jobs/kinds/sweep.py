"""Sweeps as jobs: a grid cut into tasks that each share one split and learner; records go into the store as they finish."""

import itertools
from collections.abc import Iterator, Mapping, Sequence

from pillar_core import mode, store
from pillar_core.arrays import Json
from pillar_core.errors import Cancelled, SettingError
from pillar_core.fingerprint import fingerprint
from pillar_core.jobs.kind import JOB_KINDS, Asked, JobKind, Task
from pillar_core.runs import sweep
from pillar_core.types import Progress, RunSpec, StopRequested

TASK_CELLS = 24
"""Cells of one task, and of one batched call: many enough to train together, few enough that another job's work need not wait long."""
SMALL_TASK_CELLS, MANY_CELLS = 8, 64
"""Pieces are put together up to the first where the grid has the second or more."""
Answer = str | dict[str, Json]


def split(payload: Task) -> list[Task]:
    """The grid's tasks: neighbours in k together, because those train in one batched call.

    Raises SettingError: a grid that cannot be, or a run without seed, whose result may not be kept.
    """
    pieces = [group[start : start + TASK_CELLS] for group in _groups(payload) for start in range(0, len(group), TASK_CELLS)]
    return [{"cells": [cell.form for cell in cells]} for cells in _pack(pieces)]


def run(task: Task, progress: Progress, cancelled: StopRequested) -> list[dict[str, Json]]:
    """The record of each cell, in JSON form.

    Raises Cancelled: asked to stop; the batches before are kept.
    """
    cells = [RunSpec(**form) for form in task["cells"]]
    records: list[dict[str, Json]] = []
    for batch in _batches(cells):
        if cancelled():
            raise Cancelled(f"stopped after {len(records)} of {len(cells)} cells.")
        progress(len(records), len(cells), batch[0].method)
        records.extend(sweep.run_trials(batch))
    progress(len(cells), len(cells), cells[-1].method)
    return records


def keep(task: Task, records: Sequence[dict[str, Json]]) -> list[Answer]:
    """For each cell the key of its record in this store, or a refusal that the store does not keep as {"cell": …, "error": …}."""
    cache, answers = store.default(), []
    for form, record in zip(task["cells"], records, strict=True):
        key = sweep.cell_key(RunSpec(**form), rows=record.get("rows", {}))
        is_there = sweep.is_kept(record) and (cache.has("record", key) or cache.remember_json("record", key, record))
        answers.append(key if is_there else record)
    return answers


def needs(task: Task) -> list[Asked]:
    """The private rows of each cell, and the public ones where these are another set."""
    names = [(form["data"]["dataset"], form["data"]["backbone"], form["data"]["dataset_settings"]) for form in task["cells"]]
    names += [(form["split"]["public"], form["data"]["backbone"], {}) for form in task["cells"] if form["split"].get("public")]
    return names


def cached(payload: Task) -> list[list[str]] | None:
    """The whole answer when every record is in the store, else None; rows in files are read by the tasks, so None there.

    Raises SettingError: as `split`.
    """
    answers: list[list[str]] = []
    for task in split(payload):
        cells = [RunSpec(**form) for form in task["cells"]]
        answers.append(sweep.keys_of(cells))
        is_there = all(store.default().has("record", key) for key in answers[-1])
        if not is_there or any(sweep.rows_of(cell.data, cell.split) for cell in cells):
            return None
    return answers


def _pack(pieces: list[list[RunSpec]]) -> list[list[RunSpec]]:
    """Small pieces of a large grid put together, so that handing out a task costs little beside its cells."""
    if sum(map(len, pieces)) < MANY_CELLS:
        return pieces
    packed: list[list[RunSpec]] = []
    for piece in pieces:
        if packed and len(packed[-1]) + len(piece) <= SMALL_TASK_CELLS:
            packed[-1].extend(piece)
        else:
            packed.append(list(piece))
    return packed


def _batches(cells: Sequence[RunSpec]) -> Iterator[list[RunSpec]]:
    """What one call can train: cells that follow each other and share split and learner, at most `TASK_CELLS`."""
    for _, members in itertools.groupby(cells, key=lambda cell: fingerprint(cell.data, cell.split, cell.method)):
        group = list(members)
        yield from (group[start : start + TASK_CELLS] for start in range(0, len(group), TASK_CELLS))


def _groups(payload: Mapping[str, Json]) -> list[list[RunSpec]]:
    grid = payload.get("grid")
    if not isinstance(grid, Mapping):
        raise SettingError(f"a sweep needs a mapping under 'grid'; got {grid!r:.200}.")
    groups = sweep.trials(grid)
    if mode.binds():
        sizes = [len(str(cell.form)) for group in groups for cell in group]
        if max(len(sizes), sum(sizes) / 2000) > mode.limit("cells"):
            mode.refuse("cells")
    if any(cell.seed is None for group in groups for cell in group):
        raise SettingError("a sweep needs known seeds: a run without one may not be kept. Give `seed` whole numbers.")
    return [sorted(group, key=lambda cell: cell.settings.get("k") or 0) for group in groups]


JOB_KINDS.register(JobKind("sweep", "Sweep over a grid", run, split=split, cached=cached, is_for_visitors=True, keep=keep, needs=needs))
