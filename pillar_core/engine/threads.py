"""How many threads a step gets: one, unless the step is large and cores are idle to spare.

Two threads that contend for a busy core were measured ten to fifteen times slower than one, because each step ends in a
barrier. So half the cores (PILLAR_THREADS overrides), and only where a step is long against its barriers.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

import torch

LARGE_WORK = 5e8
"""Multiply-adds of a step above which more than one thread is tried."""


@contextlib.contextmanager
def threads_for(work: float) -> Iterator[None]:
    """Sets torch's thread count for steps of `work` multiply-adds, and puts it back."""
    before = torch.get_num_threads()
    torch.set_num_threads(1 if work < LARGE_WORK else _spare_cores())
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _spare_cores() -> int:
    return max(1, int(os.environ.get("PILLAR_THREADS") or (os.cpu_count() or 1) // 2))
