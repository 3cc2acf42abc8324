"""The jobs process seen from outside: started when it is needed, told to stop, never twice for one cache folder."""

import contextlib
import os
import subprocess
import sys
import time
from pathlib import Path

from pillar_core import installation
from pillar_core.jobs.state import Folder

_CRASHES_BEFORE_REST = 3
_REST_SECONDS = 30.0
_children: list[tuple[Path, subprocess.Popen[bytes]]] = []


def ensure(folder: Folder) -> None:
    """Start the jobs process unless it lives or rests. The lock passes to the new process without a gap."""
    descriptor = folder.try_lock()
    if descriptor is None:
        return
    try:
        if not is_resting(folder):
            _start(folder, descriptor)
    finally:
        os.close(descriptor)


def stop(folder: Folder, timeout: float) -> bool:
    """Whether the jobs process ended within `timeout` seconds, or there was none."""
    end = time.monotonic() + timeout
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


def is_resting(folder: Folder) -> bool:
    """Whether the jobs process has crashed several times in a row and the last start is young."""
    about = folder.about()
    return bool(about.get("unclean", 0) >= _CRASHES_BEFORE_REST and time.time() - about["started"] < _REST_SECONDS)


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
