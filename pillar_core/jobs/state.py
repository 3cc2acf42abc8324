"""Jobs as files below `<cache>/jobs`: what the jobs process, its workers and every page agree on.

`<id>/spec.json` is written once; `<id>/state.json` is replaced whole; `<id>/tasks.json` numbers the
tasks; `<id>/parts.jsonl` has a line for each task that finished, so that whoever was killed, the
job goes on where it stopped; `<id>/running/` has a file for each task that runs now;
`<id>/result.json` answers a job that needed no work; `<id>/cancel` asks it to stop; `queue/<id>`
hands it to the jobs process.
"""

import contextlib
import dataclasses
import fcntl
import functools
import json
import os
import re
import shutil
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, Literal

from pillar_core.arrays import Json
from pillar_core.errors import JobError
from pillar_core.store.codec import decode_json, encode_json
from pillar_core.store.entry import make_private
from pillar_core.store.files import try_lock, writable, write_whole
from pillar_core.types import Form, Values

State = Literal["queued", "running", "done", "failed", "cancelled"]
UNFINISHED: Final = ("queued", "running")
KEEP_FINISHED = 500
_ID = re.compile("[0-9a-f]{32}")


PACE_KNOWN = 0.1
"""The share of a job that must be done at its pace before that says how long the rest takes."""


@dataclasses.dataclass(frozen=True)
class JobStatus:
    """Where a job stands: `done` of `total` tasks are done, and `fraction` in [0, 1] of the work,
    running tasks counted in.

    Times are seconds since 1970. `paced`: when it first came further than the `fraction_at_start`
    before, from which its pace counts. `cause` and `advice` say why a failed job failed and what to
    try.
    """

    job_id: str
    kind: str
    state: State
    submitted: float
    started: float | None = None
    finished: float | None = None
    done: int = 0
    total: int = 0
    failed: int = 0
    fraction: float = 0.0
    fraction_at_start: float = 0.0
    paced: float | None = None
    message: str = ""
    cause: str = ""
    advice: str = ""

    @property
    def seconds_left(self) -> float | None:
        """As `seconds_left` of this job alone."""
        return seconds_left([self])


def seconds_left(statuses: Sequence[JobStatus]) -> float | None:
    """Time left for jobs of equal size together, at their pace since they first came further; None
    while too little is done to know it."""
    paced = [status for status in statuses if status.paced is not None]
    progress = sum(status.fraction - status.fraction_at_start for status in paced)
    if not progress > PACE_KNOWN * len(statuses) or all(
        status.state != "running" for status in statuses
    ):
        return None
    return (
        (time.time() - min(status.paced or 0.0 for status in paced))
        / progress
        * sum(1.0 - status.fraction for status in statuses)
    )


class Folder:
    """The folder `<cache>/jobs` and what is in it. `root` is the cache's folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.jobs = root / "jobs"

    def create(self) -> None:
        """Make the folders, for their owner alone. Raises StoreError: they belong to somebody else,
        or cannot be made."""
        with writable(self.jobs):
            make_private(self.jobs / "queue", parents_of=self.root)
            make_private(self.jobs, parents_of=self.root)

    def job(self, job_id: str) -> "Job":
        """The job's files, whether or not they exist. Raises JobError: no such name can exist."""
        if not isinstance(job_id, str) or not _ID.fullmatch(job_id):
            raise JobError(f"a job id is 32 hexadecimal digits; got {job_id!r}.")
        return Job(self.jobs / job_id, self.jobs / "queue" / job_id)

    def ids(self) -> list[str]:
        """Every job there is."""
        try:
            return [item.name for item in os.scandir(self.jobs) if _ID.fullmatch(item.name)]
        except (FileNotFoundError, NotADirectoryError):
            return []

    def statuses(self) -> list[JobStatus]:
        """Where every job stands, in no order."""
        statuses = (_status(f"{self.jobs}/{name}/state.json", name) for name in self.ids())
        return [status for status in statuses if status is not None]

    def queued_ids(self) -> list[str]:
        """Jobs handed to the jobs process, oldest first."""
        items = []
        for item in os.scandir(self.jobs / "queue"):
            with contextlib.suppress(FileNotFoundError):
                if _ID.fullmatch(item.name):
                    items.append((item.stat().st_mtime_ns, item.name))
        return [name for _, name in sorted(items)]

    @contextlib.contextmanager
    def exclusive(self) -> Iterator[None]:
        """Held while a job changes hands, by one process or thread at a time."""
        with (self.jobs / "changes.lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def try_lock(self) -> int | None:
        """A file descriptor that holds the jobs process's lock, or None while somebody else
        does."""
        return try_lock(self.jobs / "server.lock")

    def about(self) -> Form:
        """The jobs process's record of its start; empty when it ended in order."""
        try:
            return dict(json.loads((self.jobs / "server.json").read_bytes()))
        except (OSError, ValueError):
            return {}

    def drop_oldest_finished(self) -> None:
        """Forget finished jobs beyond the newest `KEEP_FINISHED`; the records they wrote stay in
        the store."""
        finished = [status for status in self.statuses() if status.state not in UNFINISHED]
        if len(finished) <= KEEP_FINISHED:
            return
        with self.exclusive():
            for status in sorted(finished, key=lambda item: item.finished or 0.0, reverse=True)[
                KEEP_FINISHED:
            ]:
                now = self.job(status.job_id).status()
                if (
                    now is not None and now.state not in UNFINISHED
                ):  # else somebody submitted it again meanwhile
                    shutil.rmtree(self.jobs / status.job_id, ignore_errors=True)


class Job:
    """The files of one job."""

    def __init__(self, folder: Path, queue_mark: Path) -> None:
        self.folder = folder
        self.job_id = folder.name
        self.cancel_flag = folder / "cancel"
        self.visitor_flag = folder / "visitor"
        self.running_folder = folder / "running"
        self._parts = folder / "parts.jsonl"
        self._state = folder / "state.json"
        self._mark = queue_mark

    def create(self, spec: Values) -> None:
        """Write the specification and make the folders."""
        self.running_folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace(self.folder / "spec.json", encode_json(spec))

    def spec(self) -> Form:
        """The specification. Raises JobError: it is gone or unreadable."""
        spec = self._read("spec.json")
        if not isinstance(spec, dict):
            raise JobError(f"job {self.job_id} has no readable specification; submit it again.")
        return spec

    def status(self) -> JobStatus | None:
        """Where the job stands, or None when there is no such job."""
        return _status(str(self._state), self.job_id)

    def write(self, status: JobStatus) -> None:
        """Replace the state."""
        replace(self._state, json.dumps(dataclasses.asdict(status)).encode())

    def enqueue(self, kind: str, *, again: JobStatus | None = None) -> None:
        """Hand the job to the jobs process. `again` is where it stood when its process was killed:
        a wish to cancel stays."""
        if again is None:
            self.cancel_flag.unlink(missing_ok=True)
        for mark in self.running_folder.glob("*"):
            mark.unlink(missing_ok=True)
        self.write(
            JobStatus(
                self.job_id, kind, "queued", time.time() if again is None else again.submitted
            )
        )
        self._mark.touch(mode=0o600)

    def dequeue(self) -> None:
        """Take the job out of the queue."""
        self._mark.unlink(missing_ok=True)

    def clear_parts(self) -> None:
        """Delete the results of its tasks."""
        for path in (self.folder / "tasks.json", self.folder / "result.json", self._parts):
            path.unlink(missing_ok=True)

    def parts(self) -> dict[int, Json]:
        """Results of finished tasks by number. A line that a killed process left unfinished does
        not count."""
        results: dict[int, Json] = {}
        for line in self._parts.read_bytes().splitlines() if self._parts.exists() else ():
            with contextlib.suppress(ValueError):
                part = decode_json(line)
                results.setdefault(part["task"], part["value"])
        return results

    def append_part(self, number: int, value: bytes) -> None:
        """Keep one task's result, already JSON, on a line of its own."""
        with self._parts.open("ab") as file:
            file.write(b'\n{"task":%d,"value":%s}\n' % (number, value))

    def read_answer(self) -> Form | None:
        """{"value": …} for a job that needed no work, or None."""
        answer = self._read("result.json")
        return answer if isinstance(answer, dict) and "value" in answer else None

    def answer(self, kind: str, value: object) -> None:
        """Finish a job that needed no work, with this result."""
        now = time.time()
        replace(self.folder / "result.json", encode_json({"value": value}))
        self.write(
            JobStatus(
                self.job_id,
                kind,
                "done",
                now,
                now,
                now,
                done=1,
                total=1,
                fraction=1.0,
                message="from the store",
            )
        )

    def tasks(self) -> list[Json] | None:
        """The tasks that the kind's `split` made, or None when it has not run."""
        tasks = self._read("tasks.json")
        return tasks if isinstance(tasks, list) else None

    def write_tasks(self, tasks: bytes) -> None:
        """Keep the list of tasks, already JSON, so that numbers mean the same after a restart."""
        replace(self.folder / "tasks.json", tasks)

    def _read(self, name: str) -> Json:
        """The content of a file of the job; None where it cannot be read."""
        try:
            return decode_json((self.folder / name).read_bytes())
        except (OSError, ValueError):
            return None

    def running(self) -> dict[int, Form]:
        """Process and progress of each task that runs now, by its number."""
        marks = {}
        with contextlib.suppress(FileNotFoundError):
            for item in os.scandir(self.running_folder):
                with contextlib.suppress(OSError, ValueError):
                    marks[int(item.name)] = json.loads(Path(item.path).read_bytes())
        return marks


def replace(path: Path, content: bytes) -> None:
    """Give `path` this content, whole at every moment; a job that a power cut takes back is run
    again."""
    write_whole(
        path,
        lambda file: file.write(content),
        claim=lambda written: os.replace(written, path),
        sync=False,
    )


@functools.lru_cache(maxsize=4 * KEEP_FINISHED)
def _parsed(path: str, *version: int) -> JobStatus:
    return JobStatus(**json.loads(Path(path).read_bytes()))


def _status(path: str, job_id: str) -> JobStatus | None:
    """The content of a state file, parsed once for each version of it; None when there is none."""
    try:
        about = os.stat(path)
        return _parsed(path, about.st_mtime_ns, about.st_ino)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, TypeError) as error:
        return JobStatus(
            job_id,
            "",
            "failed",
            0.0,
            cause=f"its state is unreadable ({error})",
            advice="Retry it, or submit it again.",
        )
