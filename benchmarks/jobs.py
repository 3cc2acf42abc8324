"""Reach of the jobs on one machine: `python benchmarks/jobs.py [cells]`, in a cache folder of its
own.

1. Submitting a sweep whose cells (10,000) are all in the cache must answer within 2 s.
2. A sweep of 1,000 small cells on two workers must add less than 5 ms of engine overhead to each:
   wall time on two workers less the half of what the same cells cost in one process; and CPU time
   of all processes less the same cost.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from typing import Any

import psutil
import torch

from pillar_core import jobs, store
from pillar_core.jobs import state as jobs_state
from pillar_core.runs import sweep

WORKERS = 2
WARM_CELLS = 128
"""Runs before the clock starts: what workers import once is no cost of a cell."""
SMALL: dict[str, Any] = {
    "dataset": "breast_cancer",
    "public_fraction": 0.2,
    "method": "pillar",
    "k": [2],
    "epsilon": [1.0],
    "steps": [1],
}


def main(cells: int) -> None:
    torch.set_num_threads(1)  # as the workers do
    submit_cached(cells)
    overhead(1_000)


def submit_cached(cells: int) -> None:
    """Times the submission of a sweep whose records are all there."""
    grid = {
        **SMALL,
        "k": [2, 4, 8, 16],
        "epsilon": [0.1, 0.5, 1.0, 2.0, 8.0],
        "seed": list(range(cells // 20)),
        "split_seed": 0,
    }
    record = {
        "accuracy": 0.5,
        "metrics": {},
        "settings": {},
        "guarantee": {"epsilon": {"upper": 1.0}, "accountant": "auto"},
    }
    for cell in sweep.specs_of(grid):
        store.default().put_json("record", sweep.run_key(cell), {"cell": cell.form, **record})
    for attempt in ("first", "again"):
        began, spent = time.perf_counter(), time.process_time()
        job = jobs.submit({"kind": "sweep", "grid": grid})
        wall, cpu = time.perf_counter() - began, time.process_time() - spent
        print(
            f"submit {cells:,} cached cells, {attempt}: {wall:.2f} s wall, {cpu:.2f} s CPU"
            f" ({jobs.status(job).state}; limit 2 s)"
        )


def overhead(cells: int) -> None:
    """Times a sweep of small cells here, and on two workers."""
    one_group = {**SMALL, "seed": list(range(cells)), "split_seed": 0}
    many_groups = {**SMALL, "seed": list(range(cells // 5))}
    for first, words, grid in (
        (10_000, "one split", one_group),
        (20_000, "a split each", many_groups),
    ):
        cells = len(grid["seed"])
        spent = time.process_time()
        for group in sweep.group_specs(grid):
            for start in range(0, len(group), 24):
                sweep.run_group(group[start : start + 24], use_cache=False)
        here = time.process_time() - spent
        jobs.wait(
            jobs.submit(
                {"kind": "sweep", "grid": {**SMALL, "seed": list(range(first, first + WARM_CELLS))}}
            )
        )
        before, began = _cpu(), time.perf_counter()
        job = jobs.submit({"kind": "sweep", "grid": grid})
        state = jobs.wait(job)
        wall, cpu = time.perf_counter() - began, _cpu() - before
        jobs.stop()
        print(
            f"{cells:,} cells, {words}, {state.state}: {1000 * here / cells:.1f} ms CPU a cell in"
            f" one process; on {WORKERS} workers {1000 * (cpu - here) / cells:.1f} ms CPU and"
            f" {1000 * (wall - here / WORKERS) / cells:.1f} ms wall more a cell (limit 5 ms)"
        )


def _family() -> list[psutil.Process]:
    """The jobs process and all of its workers."""
    path = jobs_state.Folder(store.default().root).jobs / "server.json"
    while not path.exists():
        time.sleep(0.1)
    server = psutil.Process(json.loads(path.read_bytes())["pid"])
    return [server, *server.children(recursive=True)]


def _cpu() -> float:
    """Seconds of CPU that they have used."""
    return sum(sum(process.cpu_times()[:2]) for process in _family())


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PILLAR_CACHE"] = folder
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
