"""How many threads a step gets: one, unless the step is large and cores are idle to spare.

Two threads that contend for a busy core were measured ten to fifteen times slower than one, because
each step ends in a barrier. So only where a step is long against its barriers, and then the cores
that this process may use and nobody else uses now: at most half of them, and never more than torch
was given (OMP_NUM_THREADS, taskset). PILLAR_THREADS overrides.
"""

import contextlib
import math
import os
from collections.abc import Iterator

from pillar_core.deferred import torch

LARGE_WORK = 5e8
"""Multiply-adds of a step above which more than one thread is tried."""


@contextlib.contextmanager
def threads_for(work: float) -> Iterator[None]:
    """Sets torch's thread count for steps of `work` multiply-adds, and puts it back."""
    with using(1 if work < LARGE_WORK else spare_threads(torch.get_num_threads())):
        yield


@contextlib.contextmanager
def using(count: int) -> Iterator[None]:
    """Gives torch `count` threads, and puts their number back."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def spare_threads(given: int) -> int:
    """Threads for a large step, from 1 to `given`."""
    return asked_threads() or max(1, min(given, usable_cores() // 2, idle_cores()))


def asked_threads() -> int | None:
    """PILLAR_THREADS, at least 1; None where it is not set."""
    count = os.environ.get("PILLAR_THREADS")
    return max(1, int(count)) if count else None


def usable_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def idle_cores() -> int:
    """Those of them that nobody uses now; below 1 on a busy machine."""
    cores = usable_cores()
    return cores - math.floor(os.getloadavg()[0]) if hasattr(os, "getloadavg") else cores
