"""How much memory reading a file may take: as PILLAR_MEMORY says, else in the app half of what is
free. Commands have no other limit."""

import contextlib
import functools
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from pillar_core.errors import DataError, SettingError, memory_ran_out

VARIABLE = "PILLAR_MEMORY"
UNKNOWN = 4 * 2**30
"""Bytes that count as free where the system does not say (no Linux)."""
WAY_ON = (
    f"Free some memory, set {VARIABLE}=16G before you start, or read it in Python without"
    f" {VARIABLE}, which takes any."
)
_LIMITS: list[int] = []
"""Of this process: the last one holds, and none is no limit."""


def memory_limit() -> int:
    """Bytes that reading a brought file may take now.

    Raises SettingError: PILLAR_MEMORY is no size.
    """
    setting = os.environ.get(VARIABLE)
    if setting:
        size = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", setting.strip(), re.I)
        if size is None or float(size[1]) == 0:
            raise SettingError(
                f"{VARIABLE} must be a size above 0, such as 4G or 500M; got {setting!r}."
            )
        return int(float(size[1]) * 2 ** (10 * " KMGT".index(size[2].upper() or " ")))
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return (
            next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
            // 2
        )
    except (OSError, StopIteration):
        return UNKNOWN // 2


@contextlib.contextmanager
def limited(limit: int | None = None, subject: str = "the file") -> Iterator[None]:
    """Around reading a file in this process: at most so many bytes more than it takes already (on
    Linux). None: as PILLAR_MEMORY says where it is set, for commands and in Python, too.

    Raises SettingError: it is no size. DataError: the file, which is called `subject`, takes more.
    """
    if limit is None:
        if _LIMITS or not os.environ.get(VARIABLE):
            yield
            return
        import pandas  # noqa: F401  # what it takes itself is none of the file's

        limit = memory_limit()
    else:
        _LIMITS[:] = [limit]
        with contextlib.suppress(OSError):
            Path("/proc/self/oom_score_adj").write_text(
                "1000", encoding="ascii"
            )  # where memory ends all the same, this process goes first
    undo = _limit_data(limit)
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not memory_ran_out(error):
            raise
        raise refusal(f"{subject} takes more memory than that", limit) from error
    finally:
        undo()


def _limit_data(size: int) -> Callable[[], object]:
    """Gives this process at most so many bytes more, where the system can (Linux), until what comes
    back is called."""
    try:
        import resource

        before = resource.getrlimit(resource.RLIMIT_DATA)
        vm_data = re.search(
            r"VmData:\s+(\d+)", Path("/proc/self/status").read_text(encoding="ascii")
        )
        most = size + (int(vm_data[1]) * 1024 if vm_data else 0)
        resource.setrlimit(resource.RLIMIT_DATA, (most, before[1]))
    except (ImportError, OSError, ValueError):
        return lambda: None  # another system than Linux: `check_memory` alone limits
    return functools.partial(resource.setrlimit, resource.RLIMIT_DATA, before)


def check_memory(subject: str, size: int, limit: int | None = None) -> None:
    """Refuses what takes more memory than `limit`, or than this process may. what: subject and
    verb.

    Raises DataError: so.
    """
    limit = limit or (
        _LIMITS[0] if _LIMITS else memory_limit() if os.environ.get(VARIABLE) else size
    )
    if size > limit:
        raise refusal(f"{subject} {_size_text(size)} of memory", limit)


def refusal(problem: str, limit: int) -> DataError:
    """What is raised where reading met this limit."""
    return DataError(
        f"{problem}; reading may take at most {_size_text(limit)} ({VARIABLE}, or in the app half"
        f" of what is free). {WAY_ON}"
    )


def _size_text(size: int) -> str:
    return f"{size / 2**30:,.1f} GiB" if size >= 2**30 else f"{size / 2**20:,.0f} MiB"
