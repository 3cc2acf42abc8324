"""Reach of the jobs on one machine: `python benchmarks/jobs.py [cells]`, in a cache folder of its
own.

1. Submitting a sweep whose cells (10,000) are all in the cache must answer within 2 s.
2. A sweep of 60 cells of 0.1 to 1 s must end on two workers 1.7 times sooner than in one process,
   the start of the workers told apart, and cost at most 20 ms more of CPU a cell. On a busy machine
   the ratio of CPU seconds says more than that of wall seconds.

`python benchmarks/jobs.py cluster` measures the 60 cells on a cluster of three workers with caches
of their own, and again while a worker, another one's nanny and the scheduler are killed: all
records must be those of one process.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # as the workers have it

import numpy as np
import psutil
import torch

import pillar_core as pc
from pillar_core import jobs, store
from pillar_core.data import uploads
from pillar_core.jobs import state as jobs_state
from pillar_core.jobs import sweep as sweeps
from pillar_core.jobs.state import UNFINISHED
from pillar_core.runs import sweep

SMALL: dict[str, Any] = {
    "dataset": "breast_cancer",
    "public_fraction": 0.2,
    "method": "pillar",
    "k": [2],
    "epsilon": [1.0],
    "steps": [1],
}
ROWS, WIDTH, CLASSES = 20_000, 512, 10
REAL: dict[str, Any] = {
    "public_fraction": 0.1,
    "method": ["pillar", "dp_sgd"],
    "steps": 20,
    "epsilon": [0.5, 1.0, 2.0],
    "seed": list(range(10)),
}
"""60 runs in 10 splits, as a person asks for them."""


def main(cells: int) -> None:
    torch.set_num_threads(1)  # as the workers do
    submit_cached(cells)
    share_work()


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


def share_work() -> None:
    """Times a sweep in this process, then the start of the workers, then the sweep on them."""
    grid = {**REAL, "dataset": uploads.keep(_rows())}
    began, spent = time.perf_counter(), time.process_time()
    for group in (groups := sweep.group_specs(grid)):
        sweep.run_group(group, use_cache=False)
    here, cells = time.perf_counter() - began, sum(map(len, groups))
    cpu_here = time.process_time() - spent
    began = time.perf_counter()
    jobs.wait(jobs.submit({"kind": "sweep", "grid": {**SMALL, "seed": [0, 1, 2, 3]}}))
    start, before, began = time.perf_counter() - began, _cpu(), time.perf_counter()
    state = jobs.wait(jobs.submit({"kind": "sweep", "grid": grid}))
    there, cpu_there = time.perf_counter() - began, _cpu() - before
    jobs.stop()
    print(
        f"{cells} cells of {ROWS:,} × {WIDTH}, {state.state}: {here:.1f} s wall, {cpu_here:.1f} s CPU"
        f" in one process; workers started in {start:.1f} s; on them {there:.1f} s wall,"
        f" {cpu_there:.1f} s CPU: {here / there:.2f} times as fast (wanted 1.7), CPU"
        f" × {cpu_there / cpu_here:.2f}, {1000 * (cpu_there - cpu_here) / cells:.0f} ms of CPU more"
        " a cell (limit 20 ms)"
    )


def survive() -> None:
    """Times a sweep on three workers left alone, then on three that are killed."""
    folder = Path(os.environ["PILLAR_CACHE"])
    grid = {**REAL, "dataset": uploads.keep(_rows())}
    began = time.perf_counter()
    groups = sweep.group_specs(grid)
    alone = _told(record for group in groups for record in sweep.run_group(group, use_cache=False))
    print(
        f"{len(alone)} cells in one process: {time.perf_counter() - began:.1f} s wall", flush=True
    )
    for number, kills in enumerate((False, True)):
        with contextlib.ExitStack() as stack:
            start = _cluster(folder / f"cluster{number}", stack)
            scheduler, nannies = start(), [start(place) for place in range(3)]
            os.environ["PILLAR_CACHE"] = str(folder / f"cache{number}")
            uploads.keep(_rows())
            began = time.perf_counter()
            job = jobs.submit({"kind": "sweep", "grid": grid})
            if kills:
                _until(job, 1)
                psutil.Process(nannies[0].pid).children()[-1].kill()
                print(f"{jobs.status(job).done} tasks done, a worker killed", flush=True)
                _until(job, 3)
                nannies[1].send_signal(signal.SIGKILL)
                print(f"{jobs.status(job).done} tasks done, a nanny killed", flush=True)
                _until(job, 5)
                scheduler.send_signal(signal.SIGKILL)
                print(f"{jobs.status(job).done} tasks done, the scheduler killed", flush=True)
                start()
                for place in range(3):
                    start(place)
            state = jobs.wait(job)
            there = _told(sweeps.records(jobs.result(job)))
            jobs.stop()
        print(
            f"three workers{', killed' if kills else ''}: {state.state},"
            f" {time.perf_counter() - began:.1f} s wall,"
            f" {sum(there[key] == record for key, record in alone.items())} of {len(alone)} records"
            " equal to those of one process",
            flush=True,
        )


def _told(records: Any) -> dict[str, Any]:
    """What each run found, by its cell."""
    return {
        json.dumps(record["cell"], sort_keys=True): (record["metrics"], record["guarantee"])
        for record in records
    }


def _cluster(folder: Path, stack: contextlib.ExitStack) -> Callable[..., subprocess.Popen[Any]]:
    """What starts a scheduler, always at one address, or worker `place` of it with its nanny."""
    folder.mkdir()
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    os.environ["PILLAR_SCHEDULER"] = address = f"tcp://127.0.0.1:{port}"

    def start(place: int | None = None) -> subprocess.Popen[Any]:
        words = f"scheduler --host 127.0.0.1 --port {port}"
        if place is not None:
            words = f"worker {address} --nthreads 1 --local-directory {folder}/{place}"
        module, *rest = f"distributed.cli.dask_{words} --no-dashboard".split()
        variables = {
            "PILLAR_CACHE": f"{folder}/cache{place}",
            "MALLOC_TRIM_THRESHOLD_": "4294967296",
            "MALLOC_MMAP_THRESHOLD_": "33554432",
        }
        command = [sys.executable, "-m", module, *rest]
        process = subprocess.Popen(command, env=os.environ | variables, stderr=subprocess.DEVNULL)
        stack.callback(process.kill)
        return process

    return start


def _until(job: str, done: int) -> None:
    """Waits until so many tasks are done; a job that ended before is too short for this."""
    while (status := jobs.status(job)).done < done:
        if status.state not in UNFINISHED:
            raise RuntimeError(f"the job ended too soon: {status}")
        time.sleep(0.1)


def _rows() -> pc.FeatureSet:
    """Gaussian classes, a fifth of the rows for the test."""
    rng = np.random.default_rng(0)
    labels = np.arange(ROWS * 5 // 4) % CLASSES
    rows = rng.normal(size=(len(labels), WIDTH)) + 3 * np.eye(CLASSES, WIDTH)[labels]
    return pc.features(rows[:ROWS], labels[:ROWS], rows[ROWS:], labels[ROWS:])


def _cpu() -> float:
    """Seconds of CPU that the jobs process and all of its workers have used."""
    path = jobs_state.Folder(store.default().root).jobs / "server.json"
    server = psutil.Process(json.loads(path.read_bytes())["pid"])
    return sum(
        sum(process.cpu_times()[:2]) for process in [server, *server.children(recursive=True)]
    )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PILLAR_CACHE"] = folder
        if sys.argv[1:] == ["cluster"]:
            survive()
        else:
            main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
