"""Jobs with real processes: joined, cancelled, killed and resumed without losing or changing a
result."""

import contextlib
import dataclasses
import errno
import json
import math
import os
import re
import signal
import subprocess
import sys
import time
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dask
import distributed
import numpy as np
import psutil
import pytest
from dask.utils import parse_timedelta

import pillar_core as pc
from pillar_core import mode, store
from pillar_core.data import uploads
from pillar_core.errors import JobError, SettingError, StoreError, UnknownNameError
from pillar_core.jobs import api as jobs
from pillar_core.jobs import server as jobs_server
from pillar_core.jobs import state, workers
from pillar_core.jobs import sweep as sweeps
from pillar_core.jobs.active import ActiveJob
from pillar_core.jobs.kind import JOB_KINDS
from pillar_core.jobs.kinds import sweep as jobs_sweep
from pillar_core.jobs.state import Folder, Job, JobStatus
from pillar_core.runs import sweep, versions
from pillar_core.types import RunSpec
from processes import started
from users import raises

HERE = Path(__file__).resolve().parent
PATHS = f"{HERE}{os.pathsep}{HERE.parents[2]}"
SECONDS = 420.0


def point_at(cache: Path, patch: pytest.MonkeyPatch) -> None:
    """Jobs of `cache`, the kinds for tests among them, until the patch is undone."""
    ours = {name: kind for name, kind in JOB_KINDS.items() if not name.startswith("test_")}
    patch.setattr(JOB_KINDS, "_items", ours)
    patch.delitem(sys.modules, "job_kinds_for_tests", raising=False)  # it registers anew
    patch.setenv("PILLAR_CACHE", str(cache))
    patch.setenv("PILLAR_JOB_MODULES", "job_kinds_for_tests")
    patch.setenv("PYTHONPATH", str(HERE))
    patch.syspath_prepend(str(HERE))
    patch.delenv("PILLAR_SCHEDULER", raising=False)


@pytest.fixture(scope="module")
def submitted(tmp_path_factory):
    """A cache folder whose jobs process lives through this module's tests and leaves no process
    behind; two programs submit the same jobs to it at once, which starts it. The folder and the
    names that each program was told.
    """
    cache = tmp_path_factory.mktemp("warm")
    program = (
        "from pillar_core import jobs\nfor x in range(5): print(jobs.submit({'kind': 'test_square',"
        " 'x': -x}))"
    )
    with pytest.MonkeyPatch.context() as patch, contextlib.ExitStack() as stack:
        point_at(cache, patch)
        stack.callback(end_processes_of, cache)
        command = [sys.executable, "-c", program]
        options = {
            "stdout": subprocess.PIPE,
            "text": True,
        }
        options["env"] = os.environ | {"PYTHONPATH": PATHS}
        programs = [stack.enter_context(started(command, **options)) for _ in range(2)]
        told = [program.communicate(timeout=SECONDS)[0].split() for program in programs]
        assert [program.returncode for program in programs] == [0, 0]
        yield cache, told


@pytest.fixture
def warm(submitted, tmp_path, monkeypatch):
    point_at(submitted[0], monkeypatch)
    return tmp_path


@pytest.fixture
def cold(tmp_path, monkeypatch):
    """A folder for traces beside a cache folder of its own, whose processes are ended."""
    point_at(tmp_path / "cache", monkeypatch)
    yield tmp_path
    end_processes_of(tmp_path / "cache")


def end_processes_of(cache: Path) -> None:
    """Stops the jobs process as a user does; what does not obey is killed, so that a failure leaves
    nothing behind."""
    family = processes_of(cache)
    has_stopped = jobs.stop(timeout=SECONDS)
    for process in family if not has_stopped else ():
        process.kill()
    assert has_stopped
    assert_gone(family)


def server_pid(cache: Path) -> int | None:
    try:
        return int(json.loads((cache / "jobs" / "server.json").read_bytes())["pid"])
    except FileNotFoundError:
        return None


def processes_of(cache: Path) -> list[psutil.Process]:
    pid = server_pid(cache)
    if pid is None or not psutil.pid_exists(pid):
        return []
    server = psutil.Process(pid)
    return [server, *server.children(recursive=True)]


def assert_gone(family: list[psutil.Process]) -> None:
    until(lambda: not any(runs(process) for process in family))


def runs(process: psutil.Process) -> bool:
    """Whether it lives; one that only waits for its parent to ask how it ended does not."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def until(condition: Callable[[], Any], seconds: float = SECONDS) -> Any:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    pytest.fail(f"did not happen within {seconds} s")


def end_of(job_id: str) -> JobStatus:
    """Where the job stands when it has ended."""
    return jobs.wait(job_id, timeout=SECONDS)


def runs_of(folder: Path, n: int) -> list[int]:
    """How often each task ran."""
    return [
        len((folder / str(number)).read_text().split()) if (folder / str(number)).exists() else 0
        for number in range(n)
    ]


def trace_spec(folder: Path, n: int, **more: Any) -> dict[str, Any]:
    return {"kind": "test_trace", "folder": str(folder), "n": n, **more}


def put(cache: Path, state: Any, spec: dict[str, Any] | None = None, **more: Any) -> Job:
    """A job that is in this state without any process; a queued one with its mark."""
    folder = Folder(cache)
    folder.create()
    job = folder.job("a" * 32)
    spec = spec or {"kind": "test_square", "x": 1}
    job.create(spec)
    job.write(JobStatus(job.job_id, spec["kind"], state, time.time(), **more))
    if state == "queued":
        job._mark.touch()
    return job


@pytest.fixture
def still(tmp_path, monkeypatch):
    """A cache folder for tests that need no process; starting one fails the test. What serves in
    one gives SIGTERM back."""
    point_at(tmp_path / "cache", monkeypatch)

    def refuse(*_):
        pytest.fail("a jobs process was started")

    monkeypatch.setattr(jobs, "_start", refuse)
    previous = signal.getsignal(signal.SIGTERM)
    yield tmp_path / "cache"
    signal.signal(signal.SIGTERM, previous)


GRID = {"dataset": "digits", "method": "pillar", "public_fraction": 0.1, "epsilon": 1.0, "k": 7}
SWEEP = {"kind": "sweep", "grid": GRID}
WRONG: list[tuple[Any, type[Exception], str]] = [
    *((spec, SettingError, ".") for spec in ({}, {"kind": 3}, "sweep")),
    *(
        ({"kind": "test_square", "resources": wrong}, SettingError, ".")
        for wrong in ({"GPU": -1}, 1)
    ),
    *(
        ({"kind": "sweep", "grid": grid}, SettingError, ".")
        for grid in (None, {"dataset": "digits"}, GRID | {"seed": None})
    ),
    *(
        ({"kind": kind}, SettingError, "is not described by")
        for kind in ("fetch", "extract", "separators")
    ),
    ({"kind": "screening", "public": 5}, SettingError, "is not described by"),
    ({"kind": "test_sqare"}, UnknownNameError, "test_square"),
    ({"kind": "test_square", "x": math.nan}, StoreError, "NaN"),
]


@pytest.mark.parametrize(("spec", "error", "words"), WRONG, ids=str)
def test_specifications_that_cannot_be_are_refused(still, spec, error, words):
    raises(error, words, jobs.submit, spec)
    assert jobs.status() == ()


@pytest.mark.parametrize("job_id", ["0" * 32, "../../etc", "", "a/b"])
def test_unknown_jobs_are_refused_everywhere(still, job_id):
    for call in (jobs.status, jobs.cancel, jobs.result, jobs.retry, jobs.spec):
        with pytest.raises(JobError):
            call(job_id)


def test_a_fully_cached_job_is_answered_without_a_process_and_an_unreadable_state_is_failed(still):
    job_id = jobs.submit({"kind": "test_cached", "n": 4})
    assert jobs.status(job_id).state == "done"
    assert jobs.result(job_id) == [0, 2, 4, 6]
    job = put(still, "done")
    (job.folder / "state.json").write_text("{")
    assert jobs.status("a" * 32).state == "failed"
    assert "unreadable" in jobs.status("a" * 32).cause


def test_results_of_unfinished_failed_and_cancelled_jobs_say_why(still):
    put(still, "failed", cause="SettingError: k is 0.", advice="Raise k.")
    raises(JobError, r"failed: SettingError: k is 0\. Raise k\.", jobs.result, "a" * 32)
    put(still, "cancelled")
    raises(JobError, "cancelled", jobs.result, "a" * 32)
    assert jobs.result("a" * 32, partial=True) is None


def test_strays_in_the_queue_hold_no_job_and_the_jobs_process_ends_when_idle(still):
    job = put(still, "cancelled")
    (still / "jobs" / "queue" / ".DS_Store").touch()
    (still / "jobs" / "untitled folder of the same size").mkdir()
    assert jobs_server.serve(idle_minutes=0.0)
    assert not (still / "jobs" / "server.json").exists()
    job._mark.touch()
    assert Folder(still).queued_ids() == [job.job_id]


class _Workers:
    """Workers that give whatever `outcome` is, at once."""

    alive, outcome = True, b"[]"

    def __init__(self, _: Path) -> None:
        self.given: list[tuple[Any, Any]] = []

    def run(self, job_id: str, kind: str, number: object, *_: object) -> Any:
        future = types.SimpleNamespace(key=f"{job_id}-{number}", status="finished")
        self.given.append((future, self.outcome))
        return future

    def collect(self, _: float) -> list[tuple[Any, Any]]:
        given, self.given = self.given, []
        return given

    def meet(self) -> tuple[int, str]:
        return 1, ""

    missing, stop, close, forget_features = (lambda *_: "" for _ in range(4))


@pytest.mark.parametrize(
    ("name", "content", "outcome"),
    [
        ("spec.json", b"[1", b"[]"),
        ("tasks.json", b"[5]", b"5"),
        ("tasks.json", b"[{}]", b"no json"),
    ],
)
def test_damaged_files_and_outcomes_end_a_job_and_not_the_process(
    still, monkeypatch, name, content, outcome
):
    monkeypatch.setattr(jobs_server, "Engine", _Workers)
    monkeypatch.setattr(_Workers, "outcome", outcome)
    job = put(still, "queued", SWEEP)
    (job.folder / name).write_bytes(content)
    loop_a_little(still, monkeypatch)
    assert jobs.status(job.job_id).state == "failed"


def test_a_lost_result_has_its_task_run_again(still, monkeypatch):
    outcomes = iter([None, b'{"square": 1}'])
    monkeypatch.setattr(jobs_server, "Engine", _Workers)
    monkeypatch.setattr(_Workers, "outcome", property(lambda _: next(outcomes)))
    job = put(still, "queued")
    job.write_tasks(b'[{"x": 1}]')
    loop_a_little(still, monkeypatch)
    assert jobs.status(job.job_id).state == "done"
    assert jobs.result(job.job_id) == {"square": 1}


def test_a_full_disk_ends_no_jobs_process_and_loses_no_job(still, monkeypatch):
    monkeypatch.setattr(jobs_server, "Engine", _Workers)
    job = put(still, "queued", SWEEP)
    with monkeypatch.context() as patch:
        patch.setattr(Job, "write", fill_disk)
        loop_a_little(still, monkeypatch)
    server = jobs_server._Server(Folder(still), 0, 0.0)
    server._recover()
    loop_a_little(still, monkeypatch)
    assert jobs.status(job.job_id).state == "done"


def loop_a_little(still: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The jobs process's loop, six times."""
    server = jobs_server._Server(Folder(still), 0, 0.0)
    monkeypatch.setattr(server, "_is_wanted", iter([True] * 6 + [False]).__next__)
    for name in ("_sign_in", "_recover", "_retire"):
        monkeypatch.setattr(server, name, lambda: None)
    server.loop()


def test_an_engine_without_workers_is_replaced_and_the_job_goes_on(still, monkeypatch):
    class Left(_Workers):
        alive = False

        def close(self):
            raise TimeoutError("its workers do not end")

    kinds = iter([Left, _Workers])
    monkeypatch.setattr(jobs_server, "Engine", lambda root: next(kinds)(root))
    job = put(still, "queued", SWEEP)
    loop_a_little(still, monkeypatch)
    assert jobs.status(job.job_id).state == "done"
    assert next(kinds, None) is None


@pytest.mark.parametrize(("end", "rests"), [(RuntimeError, True), (SystemExit, False)])
def test_a_process_that_ends_with_an_error_is_counted_as_crashed(still, monkeypatch, end, rests):
    def fall(_):
        raise end

    monkeypatch.setattr(jobs_server._Server, "_recover", fall)
    for _ in range(4):
        with pytest.raises(end):
            jobs_server.serve(idle_minutes=0.0)
    assert jobs.is_resting(Folder(still)) is rests


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        (
            StoreError("rows are not in this cache (any more); upload them again."),
            "Do what the message says, then retry.",
        ),
        (
            OSError(errno.ENOSPC, "No space left on device"),
            "Free space on the disk of the cache, then retry.",
        ),
        (
            distributed.KilledWorker("task", types.SimpleNamespace(address="tcp://here:1"), 3),
            (
                "Its worker processes died, most often for want of memory: ask for fewer rows or"
                " cells at once, then retry."
            ),
        ),
    ],
)
def test_the_advice_follows_the_cause(still, error, advice):
    job = put(still, "running")
    active = ActiveJob(job, JobStatus(job.job_id, "test_square", "running", 0.0))
    active.fail(error, "")
    active.finish("failed")
    assert jobs.status(job.job_id).advice == advice


def test_a_torn_line_of_a_killed_process_does_not_count(still):
    job = put(still, "cancelled")
    job.append_part(0, b"1")
    with (job.folder / "parts.jsonl").open("ab") as file:
        file.write(b'{"task":1,"va')
    job.append_part(2, b"3")
    job.append_part(0, b"5")
    assert job.parts() == {0: 1, 2: 3}


def test_time_left_follows_the_pace():
    status = JobStatus(
        "a",
        "k",
        "running",
        0.0,
        started=time.time() - 90,
        fraction=0.7,
        fraction_at_start=0.5,
        paced=time.time() - 10,
    )
    assert status.seconds_left == pytest.approx(
        15, rel=0.01
    )  # 0.2 in 10 s leaves 0.3; 1 % for the clock between the calls
    assert (
        dataclasses.replace(status, fraction=0.55).seconds_left is None
    )  # too little to know the pace
    waiting = dataclasses.replace(status, fraction=0.0, fraction_at_start=0.0, paced=None)
    assert waiting.seconds_left is None
    assert state.seconds_left([status, waiting]) is None
    assert state.seconds_left(
        [dataclasses.replace(status, fraction=0.9), waiting]
    ) == pytest.approx(27.5, rel=0.01)  # 0.4 leave 1.1


def shown(still, *looks):
    """The state of a job of ten tasks after each look at how many are done, and what it lacks."""
    job = put(still, "running")
    active = ActiveJob(job, job.status(), tasks=[{}] * 10)
    for active.done, lack in looks:
        active.written = 0.0
        active.show(lack)
        yield active.status


def test_what_a_job_waited_for_its_first_progress_is_no_pace(still):
    found = [
        (status.fraction_at_start, status.seconds_left is not None)
        for status in shown(still, (0, ""), (2, ""), (9, ""))
    ]
    assert found == [(0.0, False), (0.2, False), (0.2, True)]


def test_a_job_that_waits_for_workers_says_so_and_promises_no_time(still):
    looks = ((2, ""), (4, ""), (4, "no worker"), (4, ""), (6, ""))
    found = [(status.message, status.seconds_left is not None) for status in shown(still, *looks)]
    assert found == [
        *(("starting", False), ("starting", True), ("no worker", False)),
        *(("starting", False), ("starting", False)),  # its pace counts from here
    ]


def test_a_job_without_process_is_cancelled_and_one_that_crashes_again_and_again_left_to_rest(
    still,
):
    job = put(still, "queued")
    (still / "jobs" / "server.json").write_text(
        json.dumps({"pid": 1, "started": time.time(), "unclean": 3})
    )
    assert jobs.status(job.job_id).state == "queued"
    assert "server.log" in jobs.status(job.job_id).message
    put(still, "queued")
    assert jobs.cancel("a" * 32)
    assert jobs.status("a" * 32).state == "cancelled"
    assert not jobs.cancel("a" * 32)


@pytest.mark.slow
def test_the_same_specification_is_the_same_job(warm):
    job_id = jobs.submit({"kind": "test_square", "x": 7})
    assert jobs.submit({"x": 7, "kind": "test_square"}) == job_id
    assert end_of(job_id).state == "done"
    first = jobs.result(job_id)
    assert (first["square"], first["infinite"]) == (49, math.inf)
    assert first["pid"] != os.getpid()
    assert jobs.submit({"kind": "test_square", "x": 7}) == job_id
    assert jobs.result(job_id) == first
    assert jobs.submit({"kind": "test_square", "x": 8}) != job_id
    assert jobs.spec(job_id) == {"kind": "test_square", "x": 7}
    assert {item.job_id for item in jobs.status()} >= {job_id}
    follows = jobs.submit({"kind": "test_follow", "x": 9})
    end_of(follows)
    assert end_of(jobs.result(follows)).state == "done", (
        "a task may hand on to another job, as fetching does"
    )


@pytest.mark.slow
def test_tasks_come_back_in_order_each_run_once_on_one_thread(warm):
    job_id = jobs.submit(trace_spec(warm, 40))
    final = end_of(job_id)
    assert (final.state, final.done, final.total, final.fraction) == ("done", 40, 40, 1.0)
    assert jobs.result(job_id) == [number * 10 for number in range(40)]
    assert runs_of(warm, 40) == [1] * 40
    job_id = jobs.submit({"kind": "test_threads"})
    end_of(job_id)
    trim = os.environ.get("MALLOC_TRIM_THRESHOLD_")  # Dask's would halve the speed of large arrays
    assert jobs.result(job_id) == {"torch": 1, "environment": "1", "trim": trim}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"kind": "test_misbehave", "how": "nan"}, "NaN cannot be stored"),
        ({"kind": "test_misbehave", "how": "raise"}, "ZeroDivisionError: by design"),
        ({"kind": "test_bad_split"}, "SettingError: the grid is empty."),
        ({"kind": "test_square", "x": 3, "resources": {"TPU": 2}}, "no worker offers {'TPU': 2.0}"),
    ],
)
def test_a_failing_job_tells_cause_and_advice(warm, spec, words):
    job_id = jobs.submit(spec)
    final = end_of(job_id)
    assert final.state == "failed"
    assert words in final.cause
    assert final.advice
    raises(JobError, re.escape(words), jobs.result, job_id)


@pytest.mark.slow
def test_a_failed_task_leaves_the_others_and_retry_runs_it_alone(warm):
    job_id = jobs.submit(trace_spec(warm, 6, fail=[4]))
    final = end_of(job_id)
    assert (final.state, final.done, final.failed) == ("failed", 5, 1)
    assert "must not be 4" in final.cause
    assert jobs.result(job_id, partial=True) == [0, 10, 20, 30, None, 50]
    (warm / "mended").touch()
    jobs.retry(job_id)
    assert end_of(job_id).state == "done"
    assert jobs.result(job_id) == [0, 10, 20, 30, 40, 50]
    assert runs_of(warm, 6) == [1, 1, 1, 1, 2, 1]
    jobs.retry(job_id)
    assert end_of(job_id).state == "done"
    assert runs_of(warm, 6) == [2, 2, 2, 2, 3, 2]


@pytest.mark.slow
@pytest.mark.parametrize("deaf", [False, True])
def test_cancel_stops_within_three_seconds_and_submit_goes_on(warm, deaf):
    spec = (
        trace_spec(warm, 6, seconds=0.6, deaf=deaf)
        if not deaf
        else trace_spec(warm, 2, seconds=20, deaf=True)
    )
    job_id = jobs.submit(spec)
    until(lambda: jobs.status(job_id).message.startswith("task"))
    assert jobs.cancel(job_id)
    assert jobs.status(job_id).message == "stopping"
    # The limit is the promise to the user, the only clock in these tests; where processes wait for
    # a core, as much longer. A deaf task runs for 20 s.
    queue = os.getloadavg()[0] / (os.cpu_count() or 1)
    until(
        lambda: jobs.status(job_id).state == "cancelled", seconds=min(15.0, 3.0 * max(1.0, queue))
    )
    pids = {int(line) for path in warm.iterdir() for line in path.read_text().split()}
    if deaf:
        until(lambda: not any(psutil.pid_exists(pid) for pid in pids))
    after = jobs.submit({"kind": "test_square", "x": 100 + deaf})
    assert end_of(after).state == "done"
    if not deaf:
        assert jobs.submit(spec) == job_id
        assert end_of(job_id).state == "done"
        assert jobs.result(job_id) == [number * 10 for number in range(6)]


@pytest.mark.slow
def test_a_short_job_ends_before_six_long_ones_that_were_there_first(warm):
    """A screening waited until one of four grids had ended."""
    long = [jobs.submit(trace_spec(warm, 8, seconds=0.3, tag=tag)) for tag in range(6)]
    short = end_of(jobs.submit(trace_spec(warm, 1, seconds=0.3, tag=6)))
    ended = [end_of(job_id) for job_id in long]
    assert [job.state for job in (short, *ended)] == ["done"] * 7
    assert all((short.finished or math.inf) < (job.finished or 0.0) for job in ended)


@pytest.mark.slow
def test_a_killed_worker_costs_no_task_and_changes_no_result(warm):
    job_id = jobs.submit(trace_spec(warm, 12, seconds=0.05, die_once=[3, 8]))
    assert end_of(job_id).state == "done"
    assert jobs.result(job_id) == [number * 10 for number in range(12)]
    counts = runs_of(warm, 12)
    assert min(counts) >= 1
    assert min(counts[3], counts[8]) >= 2


@pytest.mark.slow
def test_a_killed_jobs_process_is_replaced_and_the_job_goes_on(cold):
    job_id = jobs.submit(trace_spec(cold, 12, seconds=0.3))
    until(lambda: jobs.status(job_id).done >= 3)
    family = processes_of(cold / "cache")
    os.kill(family[0].pid, signal.SIGKILL)
    assert_gone(family)
    done = sum(value is not None for value in jobs.result(job_id, partial=True))
    assert jobs.status(job_id).state in ("queued", "running")
    until(lambda: jobs.status(job_id).state == "done")
    assert jobs.result(job_id) == [number * 10 for number in range(12)]
    assert done >= 3
    # Two workers: at most the two tasks that were under way, and two whose results were, ran twice;
    # whatever was done did not.
    assert sum(runs_of(cold, 12)) <= 12 + 4


@pytest.mark.slow
def test_one_process_serves_many_submitters(warm, submitted):
    one, other = submitted[1]
    assert one == other
    assert [end_of(job_id).state for job_id in one] == ["done"] * 5
    assert not jobs_server.serve()


def assert_unlocked(still: Path) -> None:
    lock = Folder(still).try_lock()
    assert lock is not None, "no jobs process would ever start again"
    os.close(lock)


def test_workers_that_do_not_end_in_time_hold_no_lock(still, monkeypatch):
    def close(_):
        raise TimeoutError("timed out after 5 s.")

    monkeypatch.setattr(jobs_server._Server, "close", close)
    monkeypatch.setattr(jobs_server._Server, "_is_wanted", lambda _: False)  # as after `jobs.stop`
    with pytest.raises(TimeoutError):
        jobs_server.serve()
    assert_unlocked(still)


def fill_disk(*_):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_disk_that_refuses_a_cancellation_leaves_no_lock_behind(still, monkeypatch):
    job = put(still, "queued")
    monkeypatch.setattr(Job, "write", fill_disk)
    raises(OSError, "No space", jobs.cancel, job.job_id)
    assert_unlocked(still)


def test_another_scheduler_is_refused_while_the_jobs_process_lives(still, monkeypatch):
    monkeypatch.setenv("PILLAR_SCHEDULER", "")
    put(still, "done")
    lock = Folder(still).try_lock()
    assert lock is not None
    (still / "jobs" / "server.json").write_text(json.dumps({"scheduler": "tcp://here:1"}))
    raises(JobError, "another scheduler", jobs.use_scheduler, "tcp://there:1")
    jobs.use_scheduler("tcp://here:1")
    os.close(lock)
    jobs.use_scheduler("tcp://there:1")
    assert os.environ["PILLAR_SCHEDULER"] == "tcp://there:1"


def test_a_scheduler_that_does_not_answer_is_told(still, monkeypatch):
    monkeypatch.setenv("PILLAR_SCHEDULER", "tcp://127.0.0.1:1")
    monkeypatch.setattr(workers, "_CONNECT_SECONDS", 0.5)
    raises(JobError, "PILLAR_SCHEDULER", workers.Engine, still)


def submit_known(grid, cells):
    """The job of a grid whose records are all there."""
    for cell in cells:
        store.default().put_json(
            "record", sweep.run_key(cell), {"cell": cell.form, "accuracy": 0.5}
        )
    return jobs.submit({"kind": "sweep", "grid": grid})


def test_a_sweep_is_cut_into_tasks_and_answered_from_the_store(still):
    grid = GRID | {"k": list(range(1, 51)), "epsilon": [1.0, 2.0, "inf"]}
    tasks = jobs_sweep.split({"grid": grid})
    assert [len(task["cells"]) for task in tasks] == [24] * 6 + [6]
    cells = [RunSpec(**form) for task in tasks for form in task["cells"]]
    assert [cell.settings["k"] for cell in cells] == sorted(cell.settings["k"] for cell in cells)
    assert jobs_sweep.cached({"grid": grid}) is None
    job_id = submit_known(grid, cells)
    assert jobs.status(job_id).state == "done"
    assert jobs.find({"grid": grid, "kind": "sweep"}) == jobs.status(job_id)
    assert [record["cell"] for record in sweeps.records(jobs.result(job_id))] == [
        cell.form for cell in cells
    ]
    store.default().delete("record", sweep.run_key(cells[0]))
    raises(JobError, "left the cache", sweeps.records, jobs.result(job_id))


def test_a_done_job_whose_results_have_left_the_store_starts_over(still, monkeypatch):
    monkeypatch.setattr(jobs, "_start", lambda *_: None)
    grid = GRID | {"k": [6, 7]}
    cells = sweep.specs_of(grid)
    job_id = submit_known(grid, cells)
    jobs.submit({"kind": "sweep", "grid": grid})
    assert jobs.status(job_id).state == "done"
    store.default().delete("record", sweep.run_key(cells[0]))
    assert jobs.submit({"kind": "sweep", "grid": grid}) == job_id
    assert jobs.status(job_id).state == "queued"
    assert jobs.result(job_id, partial=True) == []


def test_a_done_job_whose_records_have_other_names_now_is_answered_anew(still):
    """After an update the runs were all there under new names, and the sweep failed for an old
    record that nothing could bring back."""
    grid = GRID | {"k": [6, 7]}
    cells = sweep.specs_of(grid)
    job_id = submit_known(grid, cells)
    Folder(still).job(job_id).answer("sweep", [["of-former-code"]])
    raises(JobError, "left the cache", sweeps.records, jobs.result(job_id))
    assert jobs.submit({"kind": "sweep", "grid": grid}) == job_id
    assert [record["cell"] for record in sweeps.records(jobs.result(job_id))] == [
        cell.form for cell in cells
    ]
    before = jobs.status(job_id)
    jobs.submit({"kind": "sweep", "grid": grid})
    assert jobs.status(job_id) == before, "what holds is left"


def test_small_groups_of_a_large_grid_share_a_task_and_train_apart(still):
    grid = GRID | {"k": [3, 4], "seed": list(range(40))}
    tasks = jobs_sweep.split({"grid": grid})
    assert [len(task["cells"]) for task in tasks] == [8] * 10
    assert len(jobs_sweep.split({"grid": grid | {"seed": list(range(20))}})) == 20
    learners = grid | {"method": ["pillar", "dp_sgd"]}  # three cells a split: k is PILLAR's alone
    for n_splits, sizes in ((2, [2, 1] * 2), (12, [3] * 12)):
        few = jobs_sweep.split({"grid": learners | {"seed": list(range(n_splits))}})
        assert [len(task["cells"]) for task in few] == sizes
    answers = jobs_sweep.keep(tasks[0], jobs_sweep.run(tasks[0], lambda *_: None, lambda: False))
    assert answers == [sweep.run_key(RunSpec(**form)) for form in tasks[0]["cells"]]
    records = sweeps.records([answers])
    assert [record["cell"] for record in records] == tasks[0]["cells"]


def test_a_visitors_limit_is_that_of_the_job_and_of_no_process(still, monkeypatch):
    """The environment of whoever began the jobs process decided for all jobs: the operator's were
    stopped, or strangers' were not."""
    monkeypatch.setattr(jobs, "_start", lambda *_: None)
    monkeypatch.setattr(
        jobs_server._Server, "_start_engine", lambda _: types.SimpleNamespace(alive=True)
    )
    monkeypatch.setattr(jobs_server._Server, "_begin", lambda *_: None)
    server = jobs_server._Server(Folder(still), -1, 60.0)

    def advanced(job_id):
        job = Folder(still).job(job_id)
        status = job.status()
        assert status is not None
        server._advance(ActiveJob(job, dataclasses.replace(status, started=time.time() - 200)))

    for is_public in ("0", "1"):
        monkeypatch.setenv(mode.DEMO, is_public)
        monkeypatch.setattr(mode, "binds", lambda: True)
        spec = {"kind": "sweep", "grid": GRID | {"k": 7 + int(is_public)}}
        job_id = jobs.submit(spec)
        raises(JobError, "works 90 s on a job", advanced, job_id)
        monkeypatch.setattr(mode, "binds", lambda: False)
        assert jobs.submit(spec) == job_id
        advanced(job_id)


def test_a_visitor_stops_no_job_that_the_operator_asked_for_since(still, monkeypatch):
    """Whoever once asked for the same work, and stopped it, could stop it and forget it when the
    operator did."""
    monkeypatch.setattr(jobs, "_start", lambda *_: None)
    monkeypatch.setattr(mode, "JOBS", mode.Jobs())
    monkeypatch.setattr(mode, "binds", lambda: True)
    job_id = jobs.submit(SWEEP)
    assert jobs.cancel(job_id)
    monkeypatch.setattr(mode, "binds", lambda: False)
    assert jobs.submit(SWEEP) == job_id
    monkeypatch.setattr(mode, "binds", lambda: True)
    for act in (jobs.cancel, jobs.retry):
        raises(JobError, "somebody else", act, job_id)
    assert jobs.status(job_id).state == "queued"


@pytest.mark.slow
def test_a_sweep_as_a_job_gives_what_it_gives_here(warm):
    grid = GRID | {"k": [4, 8], "epsilon": [1.0, 2.0], "split_seed": 0}
    told = []
    records = sweeps.run_through(grid, progress=lambda *progress: told.append(progress))
    assert len(records) == 4
    assert told[-1][:2] == (4, 4), "runs, of which a task holds several"
    store.default().prune(0)
    again = [record for group in sweep.group_specs(grid) for record in sweep.run_group(group)]
    # A batch of one process and a batch of another may add in another order; ARCHITECTURE's
    # tolerance for repeated trials.
    by_cell = {sweep.run_key(RunSpec(**record["cell"])): record["accuracy"] for record in again}
    for record in records:
        assert record["accuracy"] == pytest.approx(
            by_cell[sweep.run_key(RunSpec(**record["cell"]))], rel=1e-5
        )


@pytest.mark.parametrize("elsewhere", [True, False])
def test_a_worker_with_another_cache_is_refused(still, tmp_path, monkeypatch, elsewhere):
    folder = Folder(still)
    folder.create()
    monkeypatch.setenv("PILLAR_CACHE", str(tmp_path / "other" if elsewhere else still))
    raises(
        JobError,
        "two caches cannot share a job",
        workers.run_task,
        ((), str(still), ""),
        "b" * 32,
        "separators",
        0,
        {"x": 1},
        {},
    )


def test_a_worker_elsewhere_asks_for_features_and_shares_the_code(still, tmp_path, monkeypatch):
    place = (), str(still), versions.made_with()["source"]
    monkeypatch.setenv("PILLAR_CACHE", str(tmp_path / "elsewhere"))
    grid = {"dataset": "digits", "public": "spiked_features", "method": "pillar", "epsilon": 1.0}
    tasks = workers.run_task(place, "b" * 32, "sweep", None, {"grid": grid}, {})
    (task,) = json.loads(tasks)
    assert [asked[0] for asked in jobs_sweep.needs(task)] == ["digits", "spiked_features"]
    assert workers.run_task(place, "b" * 32, "sweep", 0, task, {}) is None
    raises(
        JobError,
        "other code of this library",
        workers.run_task,
        (*place[:2], "another"),
        "b" * 32,
        "sweep",
        0,
        task,
        {},
    )


def test_a_worker_that_claims_a_gpu_trains_on_one_or_says_that_it_has_none(still, monkeypatch):
    """Such runs trained on the CPU, and nothing said so."""
    place = (), str(still), versions.made_with()["source"]
    (spec,) = sweep.specs_of({"dataset": "digits", "method": "pillar", "epsilon": 1.0, "seed": 0})
    task = {"cells": [spec.form]}
    monkeypatch.setattr("torch.cuda.device_count", lambda: 0)
    arguments = place, "b" * 32, "sweep", 0, task, {}, True
    for asked in ("", "auto", "cuda"):
        monkeypatch.setenv("PILLAR_DEVICE", asked)
        raises(
            JobError, r"the worker on .* offers GPU=1 and has none", workers.run_task, *arguments
        )
        assert os.environ["PILLAR_DEVICE"] == asked
    monkeypatch.setenv("PILLAR_DEVICE", "cpu")  # as its owner says
    monkeypatch.setenv("PILLAR_CACHE", str(still / "elsewhere"))
    assert workers.run_task(*arguments) is None, "it asks for the features"


@pytest.mark.slow
def test_nobody_else_sends_work_to_an_engine_and_without_workers_it_is_not_alive(
    still, monkeypatch
):
    pytest.importorskip("cryptography", reason="without it the loopback port has no TLS")
    monkeypatch.setattr(os, "cpu_count", lambda: 1)  # one worker is enough
    engine = workers.Engine(still)
    try:
        assert engine._cluster is not None
        address = engine._cluster.scheduler_address
        assert address.startswith("tls://127.0.0.1:")
        with pytest.raises((OSError, TypeError)):
            distributed.Client(address.replace("tls", "tcp"), timeout=1)
        patience = parse_timedelta(dask.config.get("distributed.deploy.lost-worker-timeout"))
        assert patience > workers._ALONE_SECONDS, "a worker that returns late is given up for good"
        engine._cluster.scale(0)  # as after a start that a busy machine made fail
        until(lambda: not engine._workers())
        assert engine.meet() == (1, ""), "it starts its own again, and a person starts none"
        assert engine.alive
        monkeypatch.setattr(workers, "_ALONE_SECONDS", 0.0)
        assert not engine.alive
    finally:
        engine.close()


@contextlib.contextmanager
def scheduler_at(folder: Path) -> Iterator[tuple[str, Callable[..., Any]]]:
    """A scheduler, its address, and what starts a worker of it with these options and this
    environment."""
    environment = os.environ | {"PYTHONPATH": PATHS, "OMP_NUM_THREADS": "1"}
    file = folder / "scheduler.json"
    arguments = f"--host 127.0.0.1 --port 0 --no-dashboard --scheduler-file {file}"
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", *arguments.split()]
    with contextlib.ExitStack() as stack:
        stack.enter_context(started(command, env=environment, stderr=subprocess.DEVNULL))
        until(lambda: file.exists() and file.read_text().strip().endswith("}"))
        address = json.loads(file.read_text())["address"]

        def worker(*options: str, **variables: str) -> subprocess.Popen[Any]:
            arguments = f"{address} --nthreads 1 --no-dashboard --local-directory {folder}"
            module = "distributed.cli.dask_worker"
            command = [sys.executable, "-m", module, *arguments.split(), *options]
            return stack.enter_context(
                started(command, env=environment | variables, stderr=subprocess.DEVNULL)
            )

        yield address, worker


@pytest.mark.slow
def test_workers_with_caches_of_their_own_give_what_one_machine_gives(tmp_path, monkeypatch):
    """Rows that only the machine of the job has; one of two workers killed while it trains, with
    the features in its memory."""
    point_at(tmp_path / "cache", monkeypatch)
    rng = np.random.default_rng(0)
    labels = np.arange(3000) % 3
    rows = rng.normal(size=(3000, 20)) + 2 * np.eye(3, 20)[labels]
    name = uploads.keep(pc.features(rows[:2400], labels[:2400], rows[2400:], labels[2400:]))
    grid = {
        "dataset": name,
        "method": ["pillar", "dp_sgd"],
        "public_fraction": 0.1,
        "seed": list(range(12)),
    }
    grid["epsilon"] = [0.5, 4.0]
    with contextlib.ExitStack() as stack:
        address, start_worker = stack.enter_context(scheduler_at(tmp_path))
        stack.callback(end_processes_of, tmp_path / "cache")
        monkeypatch.setenv("PILLAR_SCHEDULER", address)
        lonely = jobs.submit({"kind": "test_square", "x": 1})
        until(lambda: f"dask worker {address}" in jobs.status(lonely).message)
        jobs.cancel(lonely)
        until(lambda: jobs.status(lonely).state == "cancelled")
        for cache in ("first", "second"):
            start_worker(
                "--no-nanny",
                "--resources",
                "GPU=1",
                PILLAR_CACHE=str(tmp_path / cache),
                PILLAR_DEVICE="cpu",
            )
        client = stack.enter_context(distributed.Client(address, set_as_default=False))
        until(lambda: len(client.scheduler_info()["workers"]) == 2)
        pids = client.run(os.getpid)
        job_id = jobs.submit({"kind": "sweep", "grid": grid, "resources": {"GPU": 1}})
        until(lambda: jobs.status(job_id).done >= 2)
        holders = [
            place
            for key, places in client.who_has().items()
            if str(key).startswith("features-")
            for place in places
        ]
        os.kill(pids[holders[0]], signal.SIGKILL)
        assert jobs.status(job_id).state == "running", (
            "the job was too short for a worker to be lost in it"
        )
        assert end_of(job_id).state == "done"
        there = sweeps.records(jobs.result(job_id))
        assert len(sweeps.run_through(grid, scheduler=address, resources={"GPU": 1})) == len(there)
        job_id = jobs.submit({"kind": "test_square", "x": 7, "resources": {"GPU": 2}})
        assert "GPU" in end_of(job_id).cause
    cells = sweep.specs_of(grid)
    assert [record["cell"] for record in there] == [
        form for task in jobs_sweep.split({"grid": grid}) for form in task["cells"]
    ]
    assert {path.stem for path in (tmp_path / "cache" / "record").rglob("*.json")} == {
        sweep.run_key(cell) for cell in cells
    }
    monkeypatch.setenv("PILLAR_CACHE", str(tmp_path / "alone"))
    assert uploads.keep(pc.features(rows[:2400], labels[:2400], rows[2400:], labels[2400:])) == name
    alike = {sweep.run_key(RunSpec(**record["cell"])): record for record in there}
    for alone in [
        record
        for group in sweep.group_specs(grid | {"seed": [0, 11]})
        for record in sweep.run_group(group)
    ]:
        record = alike.pop(sweep.run_key(RunSpec(**alone["cell"])))
        assert record["guarantee"] == alone["guarantee"]
        # Other batches add in another order; ARCHITECTURE's tolerance for repeated trials.
        assert record["accuracy"] == pytest.approx(alone["accuracy"], rel=1e-5)
    assert len(alike) == len(there) - 8


def test_a_cache_folder_that_cannot_be_holds_no_jobs(monkeypatch):
    monkeypatch.setenv("PILLAR_CACHE", "/dev/null/x")
    assert jobs.status() == ()
    assert jobs.find(SWEEP) is None
