"""A grid handed to the jobs process of this cache, on this machine or on a cluster, and its records
as a table."""

from collections.abc import Mapping, Sequence

from pillar_core import store
from pillar_core.data import uploads
from pillar_core.deferred import pandas as pd
from pillar_core.errors import JobError
from pillar_core.jobs import api as jobs
from pillar_core.jobs.state import UNFINISHED
from pillar_core.runs import sweep as sweeps
from pillar_core.types import FeatureSet, Form, Progress, Values

POLL_SECONDS = 0.5

Answer = str | Form


def sweep(
    grid: Values, *, scheduler: str | None = None, progress: Progress | None = None
) -> "pd.DataFrame":
    """One row per run, tidy, metrics as columns; runs that are in the cache are not run again.

    grid: `dataset` (names, or one FeatureSet or SemiPrivateSplit), `dataset_settings` (a mapping
    for generators), `backbone`, split settings, `method`, `epsilon`, `delta`, `relation`,
    `accountant`, `preset`, `seed`, `split_seed`, and any setting of the methods; each a value or a
    list. A setting that a method lacks does not multiply its runs. Seed s sets split and run;
    `split_seed` pins the split. scheduler: None trains here; "jobs" or an address hands the runs to
    `pc.jobs`. A run that cannot be (an infeasible budget, say) is a row with `error_message` and no
    metrics, cached like the others. Raises SettingError: an axis that no method in the grid knows.
    JobError: the job failed or was cancelled, or a jobs process with another scheduler is at work.

    >>> grid = {"dataset": "digits", "public_fraction": 0.1, "method": "pillar", "k": [10, 20]}
    >>> pc.sweep({**grid, "epsilon": 2.0})["k"].tolist()
    [10, 20]
    """
    if scheduler is None:
        return sweeps.sweep(grid, progress=progress)
    return sweeps.table(run_through(grid, scheduler=scheduler, progress=progress))


def run_through(
    grid: Values,
    *,
    scheduler: str = "jobs",
    progress: Progress | None = None,
    resources: Mapping[str, float] | None = None,
) -> list[Form]:
    """The records of a grid, trained by the jobs process of this cache, on this machine ("jobs") or
    on a cluster (its address).

    resources: what each task needs of its worker, such as {"GPU": 1}; a cluster without such a
    worker is refused at once. A FeatureSet in the grid is kept in the cache, where the workers find
    it. Interrupting the wait leaves the job running. Raises JobError: the job failed or was
    cancelled, or a jobs process with another scheduler is at work.
    """
    jobs.use_scheduler(scheduler)
    named = dict(grid)
    if isinstance(named.get("dataset"), FeatureSet):
        named["dataset"] = uploads.keep(named["dataset"])
    job = jobs.submit(
        {"kind": "sweep", "grid": named} | ({"resources": dict(resources)} if resources else {})
    )
    n_runs = 0 if progress is None else sweeps.count_runs(named)  # a task holds several
    state = jobs.status(job)
    while state.state in UNFINISHED:
        state = jobs.wait(job, timeout=POLL_SECONDS)
        if progress is not None:
            progress(round(state.fraction * n_runs), n_runs, state.message)
    if state.state != "done":
        raise JobError(f"the sweep is {state.state}: {state.cause} {state.advice}".strip())
    return records(jobs.result(job))


def records(answers: Sequence[Sequence[Answer] | None]) -> list[Form]:
    """Records in JSON form behind a job's (partial) result, refusals among them. Raises JobError: a
    record has left the cache since."""
    cache, stored = store.default(), []
    for answer in (answer for task in answers if task is not None for answer in task):
        record = cache.get_json("record", answer) if isinstance(answer, str) else answer
        if record is None:
            raise JobError(f"record {answer} has left the cache; retry the job.")
        stored.append(record)
    return stored
