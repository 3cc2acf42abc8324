"""What a job can do: one registered kind for each, found by name in this process, the jobs process
and its workers."""

import dataclasses
import importlib
import os
from collections.abc import Callable, Mapping, Sequence

from pillar_core.arrays import Json
from pillar_core.errors import SettingError
from pillar_core.registry import Registry
from pillar_core.types import Form, Progress, StopRequested, Values

SCHEDULER_VARIABLE = "PILLAR_SCHEDULER"

Task = Values
Asked = tuple[str, str | None, Values]


@dataclasses.dataclass(frozen=True)
class JobKind:
    """One thing that a job can do. Every value that goes in or comes out is JSON (infinities too,
    NaN not).

    `run(task, progress, cancelled)` must be a pure function of `task`, because a task whose worker
    died runs again. It should ask `cancelled()` often and raise `errors.Cancelled` when it says so;
    after 1.5 s its process is replaced. `split(payload)` cuts the payload into tasks that run side
    by side, each a mapping; without it the payload is the one task. The result is the list of the
    tasks' results in that order, or the one task's result. `cached(payload)` answers at once,
    without the jobs process, when everything is in the store; else None. `version` is part of the
    job's identity: raise it when equal payloads must run anew. `keep(task, given)` makes the task's
    result of what `run` gave, in the jobs process, and stores there what should lie there.
    `needs(task)` says which features `run` asks for by name: name, backbone and settings of each. A
    kind with both works on machines that do not see the job's cache: features go there, and what
    `run` gave is kept here. `is_for_visitors`: a demo runs it for them, as long as `mode` allows.
    """

    name: str
    title: str
    run: Callable[[Task, Progress, StopRequested], object]
    split: Callable[[Task], Sequence[Task]] | None = None
    cached: Callable[[Task], Json | None] | None = None
    version: int = 1
    is_for_visitors: bool = False
    keep: Callable[[Task, Json], Json] | None = None
    needs: Callable[[Task], Sequence[Asked]] | None = None


JOB_KINDS: Registry[JobKind] = Registry("job kind", home="pillar_core.jobs.kinds")


def modules() -> tuple[str, ...]:
    """Modules that register further kinds, from PILLAR_JOB_MODULES (comma-separated); never read
    from a job's files."""
    return tuple(name for name in os.environ.get("PILLAR_JOB_MODULES", "").split(",") if name)


def load(names: Sequence[str]) -> None:
    """Import the kinds of `names`, after the library's own, which the registry imports at its first
    reading."""
    len(JOB_KINDS)
    for name in names:
        importlib.import_module(name)


def kind_of(spec: Values) -> JobKind:
    """The kind that `spec` names. Raises SettingError: a specification without a kind.
    UnknownNameError: a kind that nobody registered."""
    if not isinstance(spec, Mapping) or not isinstance(spec.get("kind"), str):
        raise SettingError(
            f"a job specification is a mapping with a text under 'kind'; got {spec!r:.200}."
        )
    load(modules())
    return JOB_KINDS[spec["kind"]]


def payload_of(spec: Values) -> Form:
    """The specification without `kind` and `resources`, for the kind's functions."""
    return {name: value for name, value in spec.items() if name not in ("kind", "resources")}


def resources_of(spec: Values) -> dict[str, float]:
    """The resources that each task needs of its worker, such as {"GPU": 1}.

    Raises SettingError: something else than a mapping from name to a number above 0.
    """
    resources = spec.get("resources", {})
    if not isinstance(resources, Mapping) or not all(
        isinstance(name, str) and isinstance(amount, int | float) and amount > 0
        for name, amount in resources.items()
    ):
        raise SettingError(
            'resources must be a mapping from name to a number above 0, such as {"GPU": 1}; got'
            f" {resources!r}."
        )
    return {name: float(amount) for name, amount in resources.items()}
