"""The jobs process: one for each cache folder. It owns queue and workers; pages and the command
line only read and write files."""

import contextlib
import dataclasses
import fcntl
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from pillar_core import errors, mode, store
from pillar_core.jobs import kind as jobs_kinds
from pillar_core.jobs.active import ActiveJob, trace_of
from pillar_core.jobs.state import UNFINISHED, Folder, Job, JobStatus, State, replace
from pillar_core.jobs.workers import Engine, Future, Outcome
from pillar_core.types import Values

MAX_RUNNING = 32
"""Jobs side by side: their tasks take turns, so that a short one ends soon beside long ones."""
COOPERATIVE_SECONDS = 1.5
_WAIT_SECONDS = 0.05
_IDLE_WAIT_SECONDS = 0.2
_HEARTBEAT_SECONDS = 1.0
_IN_FLIGHT = 16


def serve(
    root: Path | str | None = None, *, idle_minutes: float = 10.0, lock: int | None = None
) -> bool:
    """Run jobs below `root` (the default cache) until nothing was left to do for `idle_minutes`.

    False when another process already does. `lock` is a file descriptor that holds the lock, from
    the process that started this one.
    """
    folder = Folder(store.default().root if root is None else Path(root).expanduser().absolute())
    folder.create()
    descriptor = folder.try_lock() if lock is None else lock
    if descriptor is None:
        return False
    os.set_inheritable(descriptor, False)
    os.environ["PILLAR_CACHE"] = str(folder.root)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    server = _Server(folder, descriptor, idle_minutes * 60.0)
    try:
        server.loop()
        server.sign_out()
    except SystemExit:
        server.sign_out()
        raise
    finally:
        try:
            server.close()
        finally:
            # workers that do not end in time on a busy machine keep nobody from the next jobs
            # process
            os.close(descriptor)
    return True


class _Server:
    def __init__(self, folder: Folder, lock: int, idle_seconds: float) -> None:
        self._folder = folder
        self._lock = lock
        self._idle_seconds = idle_seconds
        self._engine: Engine | None = None
        self._jobs: dict[str, ActiveJob] = {}
        self._busy = time.monotonic()
        self._beat = 0.0
        self._n_workers, self._lack = 1, ""
        self._has_finished = False

    def loop(self) -> None:
        """Until idle, told to stop, or the folder has gone."""
        self._sign_in()
        self._recover()
        while self._is_wanted() and not self._retire():
            self._take_jobs()
            for active in list(self._jobs.values()):
                self._guard(active, self._advance)
            wait = _WAIT_SECONDS if self._jobs else _IDLE_WAIT_SECONDS
            if self._engine is None:
                time.sleep(wait)
            else:
                for future, outcome in self._engine.collect(wait):
                    owner = self._jobs.get(future.key.partition("-")[0])
                    if owner is not None and future.key in owner.out:
                        _, number = owner.out.pop(future.key)
                        self._guard(owner, self._count, future, number, outcome)
            for active in list(self._jobs.values()):
                self._guard(active, ActiveJob.show, self._lack)
            if self._has_finished:
                self._has_finished = False
                with contextlib.suppress(OSError):
                    self._folder.drop_oldest_finished()

    def close(self) -> None:
        """End the workers. Jobs that still ran are found and continued by the next jobs process."""
        if self._engine is not None:
            self._engine.close()
        with contextlib.suppress(OSError):
            (self._folder.jobs / "stop").unlink()

    def sign_out(self) -> None:
        """Say that the end is in order; a process that has not, crashed."""
        with contextlib.suppress(OSError):
            (self._folder.jobs / "server.json").unlink()

    def _sign_in(self) -> None:
        with contextlib.suppress(OSError):
            (self._folder.jobs / "stop").unlink()
        before = self._folder.about().get("unclean")
        unclean = 0 if before is None else before + 1
        scheduler = os.environ.get(jobs_kinds.SCHEDULER_VARIABLE, "")
        about = {
            "pid": os.getpid(),
            "started": time.time(),
            "unclean": unclean,
            "scheduler": scheduler,
        }
        replace(self._folder.jobs / "server.json", json.dumps(about).encode())

    def _recover(self) -> None:
        """Queue again what a killed jobs process left."""
        self._folder.drop_oldest_finished()
        with self._folder.exclusive():
            for job_id in self._folder.ids():
                job = self._folder.job(job_id)
                status = job.status()
                if status is not None and status.state in UNFINISHED:
                    self._guard(
                        ActiveJob(job, status),
                        lambda active: active.job.enqueue(active.status.kind, again=active.status),
                    )

    def _is_wanted(self) -> bool:
        """Whether to go on; also the heartbeat."""
        if time.monotonic() - self._beat < _HEARTBEAT_SECONDS:
            return True
        self._beat = time.monotonic()
        try:
            os.utime(self._folder.jobs / "server.json")
            same = (self._folder.jobs / "server.lock").stat().st_ino == os.fstat(self._lock).st_ino
        except FileNotFoundError:
            return False
        if self._engine is not None:
            self._n_workers, self._lack = self._engine.meet()
        return same and not (self._folder.jobs / "stop").exists()

    def _retire(self) -> bool:
        """Whether to end for want of work. Decided while nobody can submit, so that no job is left
        without a process."""
        if self._jobs or time.monotonic() - self._busy < self._idle_seconds:
            return False
        with self._folder.exclusive():
            if self._folder.queued_ids():
                return False
            fcntl.flock(self._lock, fcntl.LOCK_UN)
            return True

    def _take_jobs(self) -> None:
        for job_id in self._folder.queued_ids():
            if len(self._jobs) >= MAX_RUNNING:
                return
            with self._folder.exclusive():
                job = self._folder.job(job_id)
                job.dequeue()
                status = job.status()
                if status is not None and status.state in UNFINISHED:
                    self._admit(job, status)

    def _admit(self, job: Job, status: JobStatus) -> None:
        status = dataclasses.replace(
            status, state="running", started=time.time(), message="starting"
        )
        active = self._jobs[job.job_id] = ActiveJob(job, status)
        self._guard(active, self._begin)

    def _guard(self, active: ActiveJob, step: Callable[..., None], *arguments: object) -> None:
        """One step of one job; what goes wrong in it, by its files or by what a worker gave, ends
        the job and not the process."""
        try:
            step(active, *arguments)
        except Exception as error:  # noqa: BLE001 - the process would start again, meet the same job and hold all others
            active.fail(error, trace_of(error))
            self._finish(active, "failed")

    def _begin(self, active: ActiveJob) -> None:
        active.job.write(active.status)
        spec = active.job.spec()
        jobs_kinds.kind_of(spec)  # refuses one that is gone, before a worker is asked
        active.resources = jobs_kinds.resources_of(spec)
        if active.job.cancel_flag.exists():
            self._finish(active, "cancelled")
            return
        engine = self._start_engine()
        problem = engine.missing(active.resources)
        if problem:
            raise errors.JobError(
                f"{problem}. Start a worker with `dask worker … --resources`, or ask for less."
            )
        tasks = active.job.tasks()
        if tasks is None:
            self._hand_out(active, None, jobs_kinds.payload_of(spec), {})
        else:
            active.enter_tasks(tasks)

    def _hand_out(
        self,
        active: ActiveJob,
        number: int | None,
        task: Values,
        resources: Mapping[str, float],
    ) -> None:
        job, kind = active.job.job_id, active.status.kind
        future = self._start_engine().run(job, kind, number, task, resources)
        active.out[future.key] = (future, number)

    def _start_engine(self) -> Engine:
        if self._engine is None:
            self._engine = Engine(self._folder.root)
            self._n_workers, self._lack = self._engine.meet()
        return self._engine

    def _advance(self, active: ActiveJob) -> None:
        engine = self._start_engine()
        seconds = mode.limit("job_seconds")
        if (
            active.job.visitor_flag.exists()
            and time.time() - (active.status.started or time.time()) > seconds
        ):
            raise errors.JobError(
                f"a public server works {seconds:.0f} s on a job; what was finished is kept."
            )
        if active.cancelled_at is None and active.job.cancel_flag.exists():
            active.cancelled_at = time.monotonic()
            active.pending.clear()
        if active.cancelled_at is not None:
            # Tasks see the flag by themselves; processes that do not are replaced.
            if not active.out or time.monotonic() - active.cancelled_at >= COOPERATIVE_SECONDS:
                self._finish(active, "cancelled")
        elif not engine.alive:
            self._reconnect(engine)
        elif active.tasks is None and not active.out:
            self._begin(active)
        elif not active.pending and not active.out:
            self._finish(active, "failed" if active.failed else "done")
        elif active.tasks is not None:
            while active.pending and len(active.out) < _IN_FLIGHT * self._n_workers:
                number = active.pending.popleft()
                self._hand_out(active, number, active.tasks[number], active.resources)

    def _reconnect(self, engine: Engine) -> None:
        """Scheduler or workers have gone: start or find others and give them everything that was
        under way."""
        with contextlib.suppress(OSError, TimeoutError):
            engine.close()
        self._engine = None
        for active in list(self._jobs.values()):
            self._admit(active.job, active.status)

    def _count(
        self, active: ActiveJob, future: Future, number: int | None, outcome: Outcome
    ) -> None:
        if isinstance(outcome, Exception):
            raise outcome
        if future.status == "finished" and outcome is not None:
            if number is None:
                active.job.write_tasks(outcome)
                active.enter_tasks(active.job.tasks() or [])
            else:
                active.keep(number, outcome)
        elif active.cancelled_at is None and future.status == "error":
            error = future.exception()
            active.fail(error, trace_of(error, future.traceback()))
            if number is None:
                self._finish(active, "failed")
        elif active.cancelled_at is None and number is not None:
            active.pending.appendleft(
                number
            )  # lost, or the features that it wants are on their way

    def _finish(self, active: ActiveJob, state: State) -> None:
        """The job's last word; what it still has under way is dropped, and processes that compute
        it are replaced."""
        self._busy = time.monotonic()
        self._jobs.pop(active.job.job_id, None)
        if active.out and self._engine is not None:
            numbers = {number or 0 for _, number in active.out.values()}
            marks = [mark for number, mark in active.job.running().items() if number in numbers]
            self._engine.stop([future for future, _ in active.out.values()], marks)
        if self._engine is not None and not self._jobs:
            self._engine.forget_features()
        with contextlib.suppress(
            OSError
        ):  # on a full disk it stays unfinished, for the next jobs process to find
            active.finish(state)
        self._has_finished = True
