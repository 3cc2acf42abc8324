"""Work outside the browser session: submit, status, cancel, result, retry. State lies on disk;
anybody may look and stop it.

A job is the fingerprint of its specification: to submit it twice is to join it. The first
unfinished job starts the jobs process of this cache folder, and so does a look at one whose process
was killed. A visitor of a demo looks at jobs of others that it joined, and does nothing to them.
"""

import contextlib
import dataclasses
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import overload

from pillar_core import installation, mode, store
from pillar_core.arrays import Json
from pillar_core.data import visitors
from pillar_core.errors import JobError, SettingError
from pillar_core.fingerprint import fingerprint
from pillar_core.jobs import kind as jobs_kinds
from pillar_core.jobs.state import UNFINISHED, Folder, Job, JobStatus
from pillar_core.store.codec import decode_json, encode_json
from pillar_core.store.files import writable
from pillar_core.types import Form, Values

_CRASHES_BEFORE_REST = 3
_REST_SECONDS = 30.0
_children: list[tuple[Path, subprocess.Popen[bytes]]] = []


def submit(spec: Values) -> str:
    """The job's id; the job is queued, or joined when it is queued, running or done.

    A failed or cancelled one goes on; a done one whose results have left the store since starts
    over. Raises SettingError, UnknownNameError: a specification that names no known kind or
    impossible resources, or lacks what its kind needs. StoreError: NaN in it, or a disk that
    refuses.
    """
    spec = decode_json(encode_json(spec))
    folder = _folder()
    job = folder.job(_identity(spec))
    _queue(folder, job, spec)
    return job.job_id


def find(spec: Values) -> JobStatus | None:
    """Where the job of this specification stands; None when it was never submitted. Cheap, like
    `status`.

    Raises SettingError, UnknownNameError, StoreError: as `submit`.
    """
    job_id = _identity(decode_json(encode_json(spec)))
    try:
        return status(job_id)
    except JobError:
        return None


@overload
def status(job_id: str) -> JobStatus: ...
@overload
def status(job_id: None = None) -> tuple[JobStatus, ...]: ...
def status(job_id: str | None = None) -> JobStatus | tuple[JobStatus, ...]:
    """Where one job stands, or all of them, newest first. Cheap enough to poll. Raises JobError:
    there is no such job."""
    folder = Folder(store.default().root)
    statuses = folder.statuses() if job_id is None else [_require_status(folder.job(job_id))]
    with contextlib.suppress(
        OSError
    ):  # nobody can work where nothing can be written; a look is still free
        _attend(folder, statuses)
    if job_id is not None:
        return _with_message(folder, statuses[0])
    answers = (_with_message(folder, item) for item in statuses if mode.JOBS.is_own(item.job_id))
    return tuple(sorted(answers, key=lambda item: item.submitted, reverse=True))


def spec(job_id: str) -> Form:
    """The specification that was submitted. Raises JobError: there is no such job."""
    job = _folder().job(job_id)
    _require_status(job)
    return job.spec()


def cancel(job_id: str) -> bool:
    """Whether there was something to stop: it stops within three seconds. What its tasks finished
    is kept for a retry.

    Raises JobError: there is no such job, or it is another visitor's.
    """
    folder = _folder()
    job = folder.job(job_id)
    with folder.exclusive():
        current = _require_own(job)
        if current.state not in UNFINISHED:
            return False
        job.cancel_flag.touch(mode=0o600)
        descriptor = folder.try_lock()
        if descriptor is not None:
            try:
                job.dequeue()
                job.write(
                    dataclasses.replace(
                        current, state="cancelled", finished=time.time(), message=""
                    )
                )
            finally:  # a full disk, say: with the lock held on no jobs process would start again
                os.close(descriptor)
    return True


def result(job_id: str, *, partial: bool = False) -> Json:
    """The result of the job's one task, or the list of its tasks' results in order.

    With `partial`, the results so far: None for each task that is not done.
    Raises JobError: there is no such job; or, unless `partial`, it is not done (the message has the
    cause).
    """
    job = _folder().job(job_id)
    current = _require_status(job)
    if current.state != "done" and not partial:
        why = f": {current.cause} {current.advice}" if current.state == "failed" else "."
        raise JobError(f"job {job_id} is {current.state}{why}")
    answer = job.read_answer()
    if answer is not None:
        return answer["value"]
    parts, tasks = job.parts(), job.tasks()
    if current.state == "done" and (tasks is None or len(parts) < len(tasks)):
        raise JobError(f"the results of job {job_id} are gone from {job.folder}; retry it.")
    if jobs_kinds.kind_of(job.spec()).split is None:
        return parts.get(0)
    return [parts.get(number) for number in range(len(tasks or []))]


def retry(job_id: str) -> None:
    """Queue a finished job again; what its tasks finished is taken from the store where that holds
    it.

    Raises JobError: there is no such job, or it is another visitor's. UnsupportedError: visitors
    have as many under way as they may.
    """
    folder = _folder()
    job = folder.job(job_id)
    _require_own(job)
    _queue(folder, job, job.spec(), is_again=True)


def wait(job_id: str, *, timeout: float | None = None) -> JobStatus:
    """Its status when it has finished, or after `timeout` seconds."""
    end = None if timeout is None else time.monotonic() + timeout
    while True:
        current = status(job_id)
        if current.state not in UNFINISHED or (end is not None and time.monotonic() > end):
            return current
        time.sleep(0.05)


def use_scheduler(address: str) -> None:
    """Have tasks sent to the Dask scheduler at this address, or with "jobs" to wherever
    PILLAR_SCHEDULER says, else here.

    Raises JobError: the jobs process lives and works with another one.
    """
    if address == "jobs":
        return
    folder = _folder()
    descriptor = folder.try_lock()
    if descriptor is None and folder.about().get("scheduler", address) != address:
        raise JobError(
            "the jobs process already works with another scheduler; call `jobs.stop()`, then ask"
            f" for {address} again."
        )
    os.environ[jobs_kinds.SCHEDULER_VARIABLE] = address
    if descriptor is not None:
        os.close(descriptor)


def stop(*, timeout: float = 20.0) -> bool:
    """Whether the jobs process has ended (or there was none). Its unfinished jobs go on when
    somebody looks at them."""
    folder, end = _folder(), time.monotonic() + timeout
    while time.monotonic() < end:
        descriptor = folder.try_lock()
        if descriptor is not None:
            os.close(descriptor)
            for root, child in _children:
                if root == folder.root:  # the process that gave up its lock is a child of this one
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        child.wait(timeout=max(0.1, end - time.monotonic()))
            return True
        (folder.jobs / "stop").touch(mode=0o600)
        time.sleep(0.05)
    return False


def _queue(folder: Folder, job: Job, spec: Values, *, is_again: bool = False) -> None:
    """Queue a job that is neither under way nor, unless `is_again`, done with results that are
    there; one whose results are all in the store is done at once."""
    kind = jobs_kinds.kind_of(spec)
    _admit(folder, job, spec)
    before = job.status()
    asks = kind.cached is not None and (before is None or before.state not in UNFINISHED)
    answer = _find_answer(kind, jobs_kinds.payload_of(spec)) if asks else None
    with writable(folder.jobs):
        with folder.exclusive():
            current = job.status()
            is_done = current is not None and current.state == "done"
            is_left = is_done and not is_again and (not asks or _holds(job, answer))
            if current is None or not (is_left or current.state in UNFINISHED):
                if current is not None and (asks or is_done):
                    job.clear_parts()  # what its tasks finished is in the store
                job.create(spec)
                if mode.binds():
                    job.visitor_flag.touch()
                if answer is None:
                    job.enqueue(kind.name)
                else:
                    job.answer(kind.name, answer)
        if answer is not None:
            folder.drop_oldest_finished()
        _attend(folder, [job.status()])


def _folder() -> Folder:
    folder = Folder(store.default().root)
    if not (folder.jobs / "queue").is_dir():
        folder.create()
    return folder


def _identity(spec: Values) -> str:
    """The job's id: what it computes and the version of the code that does; where it runs is no
    part of it."""
    visitors.refuse_names(spec)
    kind = jobs_kinds.kind_of(spec)
    jobs_kinds.resources_of(spec)
    return fingerprint("job", kind.name, kind.version, jobs_kinds.payload_of(spec))


def _find_answer(kind: jobs_kinds.JobKind, payload: Values) -> Json:
    try:
        return None if kind.cached is None else kind.cached(payload)
    except (KeyError, TypeError) as error:
        raise SettingError(
            f"a job of the kind {kind.name} is not described by {', '.join(payload) or 'nothing'}"
            f" ({error})."
        ) from error


def _holds(job: Job, answer: Json) -> bool:
    """Whether the done job has this answer: after an update the same work may lie in the store
    under other names. An answer that is no name says what was done, and stays."""
    with contextlib.suppress(JobError):
        return isinstance(answer, dict) or (answer is not None and result(job.job_id) == answer)
    return False


def _admit(folder: Folder, job: Job, spec: Values) -> None:
    """In public mode, has the visitor begin or join this job, or says why not; what the operator
    asks for has no visitor's limits."""
    if not mode.binds():
        job.visitor_flag.unlink(missing_ok=True)
    else:
        if not jobs_kinds.kind_of(spec).is_for_visitors:
            mode.refuse("job")
        mode.JOBS.admit(
            job.job_id,
            spec,
            {item.job_id for item in folder.statuses() if item.state in UNFINISHED},
        )


def _require_status(job: Job) -> JobStatus:
    current = job.status()
    if current is None:
        raise JobError(
            f"there is no job {job.job_id}; it may have been forgotten. Submit it again."
        )
    return current


def _require_own(job: Job) -> JobStatus:
    current = _require_status(job)
    is_operators = mode.binds() and not job.visitor_flag.exists()  # who joined it since
    if is_operators or not mode.JOBS.is_own(job.job_id):
        raise JobError(
            "this job was begun by somebody else, who alone can stop it, retry it or forget it."
        )
    return current


def _with_message(folder: Folder, current: JobStatus) -> JobStatus:
    """`current` with a message where the job is being stopped, or where no jobs process can work on
    it."""
    if current.state not in UNFINISHED:
        return current
    if folder.job(current.job_id).cancel_flag.exists():
        return dataclasses.replace(current, message="stopping")
    if is_resting(folder):
        return dataclasses.replace(
            current, message=f"the jobs process keeps stopping; see {folder.jobs / 'server.log'}"
        )
    return current


def _attend(folder: Folder, statuses: Sequence[JobStatus | None]) -> None:
    """Make sure that somebody works on what is unfinished: start the jobs process unless it lives
    or rests."""
    is_needed = any(item is not None and item.state in UNFINISHED for item in statuses)
    descriptor = folder.try_lock() if is_needed else None
    if descriptor is None:
        return
    try:  # the lock passes to the new process without a gap
        if not is_resting(folder):
            _start(folder, descriptor)
    finally:
        os.close(descriptor)


def is_resting(folder: Folder) -> bool:
    """Whether the jobs process has crashed several times in a row and the last start is young."""
    about = folder.about()
    return bool(
        about.get("unclean", 0) >= _CRASHES_BEFORE_REST
        and time.time() - about["started"] < _REST_SECONDS
    )


def _start(folder: Folder, lock: int) -> None:
    _children[:] = [(root, child) for root, child in _children if child.poll() is None]
    program = f"from pillar_core.jobs.server import serve; serve({str(folder.root)!r}, lock={lock})"
    with (folder.jobs / "server.log").open("wb") as log:
        child = subprocess.Popen(
            [sys.executable, "-c", program],
            env=installation.environment(),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=(lock,),
            start_new_session=True,
        )
    _children.append((folder.root, child))
