"""Small job kinds, registered in the test's process, the jobs process and its workers through
PILLAR_JOB_MODULES."""

import math
import os
import signal
import time
from pathlib import Path
from typing import Any

from pillar_core.errors import Cancelled, SettingError
from pillar_core.jobs import api as jobs
from pillar_core.jobs.kind import JOB_KINDS, JobKind


def square(task: Any, progress: Any, cancelled: Any) -> Any:
    progress(1, 1, "squared")
    return {"square": task["x"] ** 2, "infinite": math.inf, "pid": os.getpid()}


def follow(task: Any, progress: Any, cancelled: Any) -> Any:
    return jobs.submit({"kind": "test_square", "x": task["x"]})


def numbers(payload: Any) -> list[dict[str, Any]]:
    return [{**payload, "number": number} for number in range(payload["n"])]


def trace(task: Any, progress: Any, cancelled: Any) -> Any:
    """Leaves a line for each run of each task, so that a test can count them; waits `seconds`; may
    be told to misbehave."""
    number = task["number"]
    folder = Path(task["folder"])
    with (folder / f"{number}").open("a") as file:
        file.write(f"{os.getpid()}\n")
    end = time.monotonic() + task.get("seconds", 0.0)
    while time.monotonic() < end:
        if cancelled() and not task.get("deaf"):
            raise Cancelled("stopped")
        progress(1, 2, f"task {number}")
        time.sleep(0.01)
    if number in task.get("die_once", []) and not (folder / f"died-{number}").exists():
        (folder / f"died-{number}").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    if number in task.get("fail", []) and not (folder / "mended").exists():
        raise SettingError(f"number must not be {number}.")
    return number * 10


def misbehave(task: Any, progress: Any, cancelled: Any) -> Any:
    if task["how"] == "nan":
        return {"loss": math.nan}
    if task["how"] == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    raise ZeroDivisionError("by design")


def threads(task: Any, progress: Any, cancelled: Any) -> Any:
    import torch

    return {
        "torch": torch.get_num_threads(),
        "environment": os.environ.get("OMP_NUM_THREADS"),
        "trim": os.environ.get("MALLOC_TRIM_THRESHOLD_"),
    }


def bad_split(payload: Any) -> Any:
    raise SettingError("the grid is empty.")


def all_cached(payload: Any) -> Any:
    return None if payload.get("missing") else [number * 2 for number in range(payload["n"])]


for kind in (
    JobKind("test_square", "Test: square", square),
    JobKind("test_follow", "Test: follow", follow),
    JobKind("test_trace", "Test: trace", trace, split=numbers),
    JobKind("test_misbehave", "Test: misbehave", misbehave),
    JobKind("test_threads", "Test: threads", threads),
    JobKind("test_bad_split", "Test: bad split", square, split=bad_split),
    JobKind("test_cached", "Test: cached", trace, split=numbers, cached=all_cached),
):
    JOB_KINDS.register(kind)
