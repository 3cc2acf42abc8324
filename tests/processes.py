"""Programs that a test starts and that end with it, whatever happens."""

import contextlib
import multiprocessing
import subprocess
from collections.abc import Iterator, Sequence
from typing import Any

SECONDS = 60.0


@contextlib.contextmanager
def started(command: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[Any]]:
    """The running program; it is asked to end with the block, and killed where it does not."""
    with subprocess.Popen(command, **options) as process:
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(timeout=SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()


@contextlib.contextmanager
def forked() -> Iterator[Any]:
    """A context of `multiprocessing` whose processes begin with torch and half of the library
    imported; none outlives the block."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["pillar_core.backbones", "pillar_core.store", "torch"])
    try:
        yield context
    finally:
        left = multiprocessing.active_children()
        for process in left:
            process.kill()
            process.join()
    assert left == [], "a process did not end by itself"
