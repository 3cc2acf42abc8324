"""What runs inside a worker process: one task of a job, on one compute thread, with a look at the cancel flag."""

import contextlib
import dataclasses
import json
import os
import platform
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pillar_core.errors import Cancelled, JobError
from pillar_core.fingerprint import fingerprint
from pillar_core.jobs import kind as jobs_kinds
from pillar_core.jobs.kind import JobKind
from pillar_core.jobs.state import Folder, Job, replace
from pillar_core.jobs.stored import Stored
from pillar_core.runs import splitting, versions
from pillar_core.store.codec import encode_json
from pillar_core.types import FeatureSet, Progress

_PROGRESS_SECONDS = 0.2


Sent = Mapping[str, FeatureSet | Stored]
Place = tuple[Sequence[str], str, str]
"""Of the machine of a job: modules that register further kinds, the cache folder, and what tells the library's code from other code."""


@dataclasses.dataclass(frozen=True)
class Carried:
    """What goes back through the scheduler from a worker that does not see the job's folder: JSON; None for want of features."""

    value: bytes | None


def run_task(place: Place, job_id: str, number: int, kind: str, task: Mapping[str, Any], sent: Sent) -> Carried | None:
    """Run one task and keep its result in the job's folder; where this worker does not see it, give back what came out.

    Raises:
        Cancelled: the job's flag was set before or during the task.
        Whatever the kind's function raises.
    """
    job, how = _prepare(place, job_id, kind)
    splitting.SENT.clear()
    if job is None:
        if how.needs is None or not {fingerprint(*asked) for asked in how.needs(task)} <= sent.keys():
            return Carried(None)
        splitting.SENT.update({key: one.read() if isinstance(one, Stored) else one for key, one in sent.items()})
        return Carried(encode_json(how.run(task, lambda *_: None, _is_dropped)))
    with _marked(job, number) as progress:
        if job.cancel_flag.exists():
            raise Cancelled("the job was cancelled.")
        given = how.run(task, progress, job.cancel_flag.exists)
        job.append_part(number, encode_json(given if how.keep is None else how.keep(task, given)))
    return None


def split_job(place: Place, job_id: str, kind: str, payload: Mapping[str, Any]) -> Carried | None:
    """Cut the job into tasks and keep them in its folder; where this worker does not see it, give them back."""
    job, how = _prepare(place, job_id, kind)
    if job is None:
        return Carried(_tasks(how, payload))
    with _marked(job, 0):
        job.write_tasks(_tasks(how, payload))
    return None


def warm_up(modules: Sequence[str]) -> None:
    """Import what the kinds need, before the first task asks for it."""
    jobs_kinds.load(modules)
    _one_thread()


def _prepare(place: Place, job_id: str, kind: str) -> tuple[Job | None, JobKind]:
    """The job's files, None where this process keeps its cache elsewhere or does not see them; and what the job does.

    Raises:
        JobError: elsewhere, with other code, or for a kind that needs the job's cache.
    """
    modules, root, source = place
    jobs_kinds.load(modules)
    _one_thread()
    how = jobs_kinds.JOB_KINDS[kind]
    job = Folder(Path(root)).job(job_id)
    cache = os.environ.get("PILLAR_CACHE") or root
    if job.folder.is_dir() and Path(cache).expanduser().absolute() == Path(root):
        os.environ["PILLAR_CACHE"] = root
        return job, how
    where = f"the worker on {platform.node() or 'another machine'}"
    if how.needs is None:
        raise JobError(
            f"{where} keeps its cache in {cache} and sees no job {job_id} in {root}: two caches cannot share a job of this kind. "
            "Start the worker with the same PILLAR_CACHE, a folder on a disk that both machines see."
        )
    if versions.made_with()["source"] != source:
        raise JobError(f"{where} runs other code of this library than {root} was asked with: install the same version there.")
    return None, how


def _tasks(how: JobKind, payload: Mapping[str, Any]) -> bytes:
    return encode_json([payload] if how.split is None else list(how.split(payload)))


def _is_dropped() -> bool:
    """Whether the scheduler takes no interest any more in what this thread computes."""
    from distributed import get_worker  # only workers have it loaded

    worker = get_worker()
    task = worker.state.tasks.get(worker.get_current_task())
    return task is None or task.state == "cancelled"


def _one_thread() -> None:
    """Two threads that contend for a busy core are ten times slower than one; BLAS reads the environment at its import."""
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


@contextlib.contextmanager
def _marked(job: Job, number: int) -> Iterator[Progress]:
    """Leave a file while the task runs: which process has it, and how far it is."""
    from distributed import get_worker  # only workers have it loaded

    mark = job.running_folder / str(number)
    about: dict[str, Any] = {"worker": str(get_worker().address), "pid": os.getpid(), "since": time.time()}
    written = 0.0

    def progress(done: int, total: int, message: str = "") -> None:
        nonlocal written
        if time.monotonic() - written > _PROGRESS_SECONDS or done >= total:
            written = time.monotonic()
            replace(mark, json.dumps(about | {"done": int(done), "total": int(total), "message": str(message)}).encode())

    with contextlib.suppress(FileNotFoundError):
        mark.write_bytes(json.dumps(about).encode())
    try:
        yield progress
    finally:
        mark.unlink(missing_ok=True)
