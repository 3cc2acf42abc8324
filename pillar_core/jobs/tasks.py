"""What runs inside a worker process: one task of a job, on one compute thread, with a look at the cancel flag."""

import contextlib
import json
import os
import platform
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pillar_core.errors import Cancelled, JobError
from pillar_core.jobs import kind as jobs_kinds
from pillar_core.jobs.state import Folder, Job, replace
from pillar_core.store.codec import encode_json
from pillar_core.types import Progress

_PROGRESS_SECONDS = 0.2


def run_task(modules: Sequence[str], root: str, job_id: str, number: int, kind: str, task: Mapping[str, Any]) -> None:
    """Run one task and keep its result in the job's folder.

    Raises:
        Cancelled: the job's flag was set before or during the task.
        Whatever the kind's function raises.
    """
    job = _prepare(modules, root, job_id)
    with _marked(job, number) as progress:
        if job.cancel_flag.exists():
            raise Cancelled("the job was cancelled.")
        job.append_part(number, encode_json(jobs_kinds.JOB_KINDS[kind].run(task, progress, job.cancel_flag.exists)))


def split_job(modules: Sequence[str], root: str, job_id: str, kind: str, payload: Mapping[str, Any]) -> None:
    """Cut the job into tasks and keep them in its folder."""
    job = _prepare(modules, root, job_id)
    with _marked(job, 0):
        split = jobs_kinds.JOB_KINDS[kind].split
        job.write_tasks(encode_json([payload] if split is None else list(split(payload))))


def warm_up(modules: Sequence[str]) -> None:
    """Import what the kinds need, before the first task asks for it."""
    jobs_kinds.load(modules)
    _one_thread()


def _prepare(modules: Sequence[str], root: str, job_id: str) -> Job:
    cache = os.environ.setdefault("PILLAR_CACHE", root)
    job = Folder(Path(root)).job(job_id)
    if Path(cache).expanduser().absolute() != Path(root) or not job.folder.is_dir():
        raise JobError(
            f"the worker on {platform.node() or 'another machine'} keeps its cache in {cache} and sees no job {job_id} in {root}: "
            "two caches cannot share a job. Start the worker with the same PILLAR_CACHE, a folder on a disk that both machines see."
        )
    jobs_kinds.load(modules)
    _one_thread()
    return job


def _one_thread() -> None:
    """Two threads that contend for a busy core are ten times slower than one; BLAS reads the environment at its import."""
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


@contextlib.contextmanager
def _marked(job: Job, number: int) -> Iterator[Progress]:
    """Leave a file while the task runs: which process has it, and how far it is."""
    mark = job.running_folder / str(number)
    about: dict[str, Any] = {"worker": _worker_address(), "pid": os.getpid(), "since": time.time()}
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


def _worker_address() -> str:
    from distributed import get_worker  # only workers have it loaded

    return str(get_worker().address)
