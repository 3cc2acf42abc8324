"""Separators as a job: groups of pairs side by side, weights into the store, so that pages draw at
once."""

from pillar_core import geometry as geo
from pillar_core import store
from pillar_core.jobs.kind import JOB_KINDS, JobKind, Task
from pillar_core.studies import geometry
from pillar_core.types import Form, Progress, StopRequested


def split_separators(payload: Task) -> list[Form]:
    """The payload's groups of pairs."""
    return geometry.separator_tasks(payload, geometry.rows_of_payload(payload))


def run_separators(task: Task, progress: Progress, cancelled: StopRequested) -> str:
    """The store's key of one group's separators, trained unless they are there."""
    key = geometry.task_key(task)
    if store.default().has("arrays", key):
        return key
    rows = geometry.rows_of_payload(task)
    pairs = [(int(a), int(b)) for a, b in task["pairs"]]
    space = rows.space(standardise=bool(task["standardise"]))
    weight = float(task["regularisation"])
    separators = geo.separators(
        rows, pairs, space=space, regularisation=weight, progress=progress, cancelled=cancelled
    )
    store.default().put_arrays(
        key, weights=separators.weights, offsets=separators.offsets, converged=separators.converged
    )
    return key


def cached_separators(payload: Task) -> list[str] | None:
    """The keys of all groups, if all are in the store."""
    keys = [geometry.task_key(task) for task in split_separators(payload)]
    return keys if all(store.default().has("arrays", key) for key in keys) else None


JOB_KINDS.register(
    JobKind(
        "separators",
        "Separators of classes",
        run_separators,
        split_separators,
        cached_separators,
        is_for_visitors=True,
    )
)
