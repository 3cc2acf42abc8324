"""A brought file is read in a process of its own first: it takes what its size allows, whatever a reader makes of a few bytes.

Who brings a file decides what zlib, Pillow, pandas and pyarrow work on, and no check of ours knows all of it. What the app then reads
itself took no more than that when it was tried. A folder is on this machine already, and is read as it is.
"""

import atexit
import contextlib
import dataclasses
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, BinaryIO

from pillar_core import installation, store
from pillar_core.data import encoding, reports, tables
from pillar_core.data.parts import ALWAYS_UNPACKED, TIMES_UNPACKED, opened, place_of
from pillar_core.data.reports import Report
from pillar_core.errors import DataError, PillarError

SECONDS, BYTES_A_SECOND = 30, 200_000
"""Of computing, for any file; and so many of its bytes take one more."""
MEMORY, TIMES_HELD = 3 * 2**29, 4
"""Bytes for the readers themselves, and what reading holds of what a file may unpack to."""
_AT_ONCE = threading.BoundedSemaphore(2)
"""One file of a browser is read at a time, whatever it brings; few share a lock."""
_PATIENCE = 20
"""Seconds that may pass for one of computing, on a machine that is busy."""
_STARTING = threading.Lock()
_READY: list[subprocess.Popen[bytes]] = []
"""The process that will read the next file: its imports take longer than most files."""


def prepare() -> None:
    """Starts the process that reads the next file, unless there is one, or the machine starts none."""
    with _STARTING, contextlib.suppress(OSError):
        if not _READY:
            _READY.append(_start())


def dry_run(content: bytes | None, name: str, *, public_fraction: float | None) -> Report:
    """`reports.dry_run` of an upload's bytes, or of what lies at the path `name`; a file is read in a process of its own."""
    if content is None and not _is_file(name):
        return reports.dry_run(name, public_fraction=public_fraction)
    try:
        told = _told(content, name, task="report", public_fraction=public_fraction)
    except DataError as error:
        return Report(ok=False, problems=error.problems)
    facts: dict[str, Any] = {field: tuple(value) if isinstance(value, list) else value for field, value in told.items()}
    return Report(**facts)


def check_table(content: bytes | None, name: str) -> None:
    """Refuses a table that cannot be read, or not within the limits of its size.

    Raises:
        DataError: so.
    """
    _told(content, name, task="table")


def _is_file(name: str) -> bool:
    try:
        return place_of(name).is_file()
    except (DataError, OSError):
        return False


def _told(content: bytes | None, name: str, **asked: Any) -> dict[str, Any]:
    """What the process says of the file.

    Raises:
        DataError: why it cannot be read.
    """
    try:
        size = place_of(name).stat().st_size if content is None else len(content)
    except OSError as error:
        raise DataError(f"there is no file {name}: check the path.") from error
    seconds = SECONDS + size // BYTES_A_SECOND
    memory = MEMORY + TIMES_HELD * max(ALWAYS_UNPACKED, TIMES_UNPACKED * size)
    more = {"name": name, "is_sent": content is not None, "seconds": seconds, "memory": memory, "cache": str(store.default().root)}
    request = json.dumps(asked | more).encode() + b"\n" + (content or b"")
    with _AT_ONCE, contextlib.ExitStack() as ended:
        process = ended.enter_context(_taken())
        ended.callback(process.kill)
        prepare()
        answer = b""
        with contextlib.suppress(subprocess.TimeoutExpired):
            answer, _ = process.communicate(request, timeout=_PATIENCE * seconds)
    if process.returncode:
        raise DataError(
            f"reading {Path(name).name} takes more than {seconds:,} s of computing or {memory / 2**30:.1f} GiB of memory, the limits for a "
            f"file of {size / 2**20:,.1f} MiB, or ends the program that reads it. Save it anew, plainly: fewer rows, smaller images."
        )
    told: dict[str, Any] = json.loads(answer)
    if "refused" in told:
        raise DataError(*told["refused"])
    return told


def _taken() -> subprocess.Popen[bytes]:
    with _STARTING:
        while _READY:
            process = _READY.pop()
            if process.poll() is None:
                return process
            process.communicate()
    try:
        return _start()
    except OSError as error:
        raise DataError(f"this machine starts no process that could read the file ({error}): try again later.") from error


@atexit.register
def _end() -> None:
    while _READY:
        _READY[-1].kill()
        _READY.pop().communicate()


def _start() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", "from pillar_core.data.trial import serve; serve()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=installation.environment() | {"ARROW_DEFAULT_MEMORY_POOL": "system"},
    )


def serve() -> None:
    """Waits for a file on standard input, reads it within its limits, says what it holds, and ends."""
    import pandas  # noqa: F401  # while nobody waits
    import PIL.Image  # noqa: F401
    import pyarrow.parquet  # noqa: F401

    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a reader prints is no answer
    asked = json.loads(requests.readline() or "null")
    if asked is None:  # whoever would have asked has ended
        return
    os.environ["PILLAR_CACHE"] = asked["cache"]
    _limit(asked["seconds"], asked["memory"])
    try:
        told = _table(requests, asked) if asked["task"] == "table" else _report(requests, asked)
    except PillarError as error:
        told = {"refused": error.problems if isinstance(error, DataError) else [str(error)]}
    with answers:
        json.dump(told, answers)


def _limit(seconds: int, memory: int) -> None:
    try:
        import resource
    except ImportError:  # Windows has none
        return
    for limit, most in ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_CPU, seconds), (resource.RLIMIT_DATA, memory)):
        resource.setrlimit(limit, (most, most))


def _report(content: BinaryIO, asked: dict[str, Any]) -> dict[str, Any]:
    source = content.read() if asked["is_sent"] else asked["name"]
    return dataclasses.asdict(reports.dry_run(source, asked["name"], public_fraction=asked["public_fraction"]))


def _table(content: BinaryIO, asked: dict[str, Any]) -> dict[str, Any]:
    """As the app reads a table whose columns it asks about."""
    frame = tables.frame_of(opened(content.read() if asked["is_sent"] else asked["name"]), Path(asked["name"]).suffix.lower())
    return {"columns": len(encoding.columns_of(tables.without_row_numbers(frame, []), ""))}
