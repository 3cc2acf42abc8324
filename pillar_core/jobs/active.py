"""One job while it runs: what is still to do, what is under way, and what pages are told."""

import contextlib
import dataclasses
import errno
import time
import traceback
from collections import deque
from collections.abc import Mapping, Sequence
from types import TracebackType

from pillar_core import errors
from pillar_core.arrays import Json
from pillar_core.jobs import kind as jobs_kinds
from pillar_core.jobs.state import Job, JobStatus, State, replace
from pillar_core.jobs.workers import Future, KilledWorker
from pillar_core.store.codec import decode_json, encode_json
from pillar_core.types import Values

_STATE_SECONDS = 0.2


@dataclasses.dataclass
class ActiveJob:
    """A job that the jobs process works on. `out` are tasks under way by their future's key; None
    is the cutting itself."""

    job: Job
    status: JobStatus
    resources: Mapping[str, float] = dataclasses.field(default_factory=dict)
    tasks: Sequence[Json] | None = None
    pending: deque[int] = dataclasses.field(default_factory=deque)
    out: dict[str, tuple[Future, int | None]] = dataclasses.field(default_factory=dict)
    done: int = 0
    failed: int = 0
    cause: str = ""
    advice: str = ""
    cancelled_at: float | None = None
    written: float = 0.0
    latest: str = "starting"

    def enter_tasks(self, tasks: Sequence[Json]) -> None:
        """Queue every task whose result is not there."""
        parts = self.job.parts()
        self.tasks = tasks
        self.pending = deque(number for number in range(len(tasks)) if number not in parts)
        self.done = len(tasks) - len(self.pending)
        self.status = dataclasses.replace(
            self.status,
            total=len(tasks),
            fraction_at_start=self._fraction({}),
            paced=None,
        )
        self.latest = ""

    def keep(self, number: int, content: bytes) -> None:
        """Keep the result of a task."""
        keep = jobs_kinds.JOB_KINDS[self.status.kind].keep
        if keep is not None and self.tasks is not None:
            content = encode_json(keep(self.tasks[number], decode_json(content)))
        self.job.append_part(number, content)
        self.done += 1

    def fail(self, error: BaseException, trace: str) -> None:
        """Count a failure; the first one's cause is shown and its traceback kept."""
        self.failed += 1
        if not self.cause:
            self.cause, self.advice = f"{type(error).__name__}: {error}", _advice(error, self.job)
            with contextlib.suppress(OSError):
                replace(self.job.folder / "failure.txt", trace.encode())

    def show(self, lack: str = "") -> None:
        """Write progress where pages look, a few times a second. lack: what keeps all jobs
        waiting, so that their pace says nothing."""
        if time.monotonic() - self.written < _STATE_SECONDS:
            return
        self.written = time.monotonic()
        marks = self.job.running()
        self.latest = next(
            (mark["message"] for mark in marks.values() if mark.get("message")), self.latest
        )
        message = "stopping" if self.cancelled_at is not None else lack or self.latest
        fraction = max(
            self.status.fraction, self._fraction(marks)
        )  # what a lost task had done is not taken back
        if lack:
            self.status = dataclasses.replace(self.status, fraction_at_start=fraction, paced=None)
        elif (
            fraction > self.status.fraction_at_start and self.status.paced is None
        ):  # what came before was waiting, too
            self.status = dataclasses.replace(
                self.status, fraction_at_start=fraction, paced=time.time()
            )
        status = dataclasses.replace(
            self.status, done=self.done, failed=self.failed, fraction=fraction, message=message
        )
        if status != self.status:
            self.status = status
            self.job.write(status)

    def finish(self, state: State) -> None:
        """Write the last state."""
        failed = state == "failed"
        self.status = dataclasses.replace(
            self.status,
            state=state,
            finished=time.time(),
            done=self.done,
            failed=self.failed,
            fraction=1.0 if state == "done" else self._fraction({}),
            message=(
                f"{self.failed} of {len(self.tasks)} tasks failed"
                if self.failed and self.tasks
                else ""
            ),
            cause=self.cause if failed else "",
            advice=self.advice if failed else "",
        )
        self.job.write(self.status)

    def _fraction(self, marks: Mapping[int, Values]) -> float:
        if not self.tasks:
            return 0.0
        inside = sum(mark["done"] / mark["total"] for mark in marks.values() if mark.get("total"))
        return float(min(1.0, (self.done + inside) / len(self.tasks)))


def trace_of(error: BaseException, trace: TracebackType | None = None) -> str:
    """The error's traceback as text."""
    return "".join(traceback.format_exception(type(error), error, trace or error.__traceback__))


def _advice(error: BaseException, job: Job) -> str:
    match error:
        case KilledWorker():
            return (
                "Its worker processes died, most often for want of memory: ask for fewer rows or"
                " cells at once, then retry."
            )
        case errors.StoreError():
            return "Do what the message says, then retry."
        case OSError(errno=errno.ENOSPC | errno.EDQUOT):
            return "Free space on the disk of the cache, then retry."
        case errors.PillarError():
            return "Change what the message names and submit again."
    return f"Retry; if it fails again, report it with {job.folder / 'failure.txt'}."
