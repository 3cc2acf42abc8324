"""What runs inside a worker process: one task of a job, on one compute thread, with a look at the cancel flag."""

import contextlib
import json
import os
import platform
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pillar_core.arrays import Json
from pillar_core.errors import Cancelled, JobError
from pillar_core.fingerprint import fingerprint
from pillar_core.jobs import kind as jobs_kinds
from pillar_core.jobs.kind import JobKind
from pillar_core.jobs.state import Folder, Job, replace
from pillar_core.runs import splitting, versions
from pillar_core.store.codec import encode_json
from pillar_core.types import FeatureSet, Progress

_PROGRESS_SECONDS = 0.2


Sent = Mapping[str, FeatureSet]
Place = tuple[Sequence[str], str, str]
"""Of the machine of a job: modules that register further kinds, the cache folder, and what tells the library's code from other code."""


def run_task(place: Place, job_id: str, number: int, kind: str, task: Mapping[str, Json], sent: Sent) -> bytes | None:
    """A task's result as JSON; None where this worker does not see the job's folder and lacks the features that the task names.

    Raises Cancelled: the job's flag was set before or during the task. Whatever the kind's function raises.
    """
    job, how = _prepare(place, job_id, kind)
    splitting.SENT.clear()
    if job is None:
        if how.needs is None or not {fingerprint(*name) for name in how.needs(task)} <= sent.keys():
            return None
        splitting.SENT.update(sent)
        return encode_json(how.run(task, lambda *_: None, _is_dropped))
    with _mark_running(job, number) as progress:
        if job.cancel_flag.exists():
            raise Cancelled("the job was cancelled.")
        return encode_json(how.run(task, progress, job.cancel_flag.exists))


def split_job(place: Place, job_id: str, kind: str, payload: Mapping[str, Json]) -> bytes:
    """The job's tasks as JSON."""
    job, how = _prepare(place, job_id, kind)
    with contextlib.nullcontext() if job is None else _mark_running(job, 0):
        return encode_json([payload] if how.split is None else list(how.split(payload)))


def _prepare(place: Place, job_id: str, kind: str) -> tuple[Job | None, JobKind]:
    """The job's files, None where this process keeps its cache elsewhere or does not see them; and what the job does.

    Raises JobError: elsewhere, with other code, or for a kind that needs the job's cache.
    """
    modules, root, source = place
    jobs_kinds.load(modules)
    if "torch" in sys.modules:  # two threads that contend for a busy core are ten times slower than one
        sys.modules["torch"].set_num_threads(1)
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


def _is_dropped() -> bool:
    """Whether the scheduler takes no interest any more in what this thread computes."""
    from distributed import get_worker  # only workers have it loaded

    worker = get_worker()
    task = worker.state.tasks.get(worker.get_current_task())
    return task is None or task.state == "cancelled"


@contextlib.contextmanager
def _mark_running(job: Job, number: int) -> Iterator[Progress]:
    """Leave a file while the task runs: which process has it, and how far it is."""
    from distributed import get_worker  # only workers have it loaded

    mark = job.running_folder / str(number)
    about: dict[str, Json] = {"worker": str(get_worker().address), "pid": os.getpid(), "since": time.time()}
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
