"""CPU time and memory of a first run on wide rows: `python benchmarks/wide_rows.py [rows …]`.

Of generated rows of 768 numbers (10,000, 100,000 and 1,000,000 of them), in a process each: reading
them as features, splitting off a tenth as public, and one run of `pillar`, seeded and released, on
one thread. Wanted at a million rows: 60 s of CPU, and 1.5 times the features in memory beside them.
`pillar_kalman` and `noisy_gd` follow at 100,000 rows: the features' size and 200 MB are wanted.

The system's seconds are for pages of memory: a virtual machine that must ask its host for each
takes 11 µs for what takes 0.5 elsewhere. The last column is the speed of float64 products just
before, in 10⁹ operations a second: a busy machine, or two threads on one core, halve it and double
the times.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import subprocess
import sys
import time

import numpy as np
import torch
from engine import Watch

import pillar_core as pc

D, CLASSES, TEST, BLOCK = 768, 10, 1_000, 20_000
WARM = 2_000
MIDDLE = 100_000
"""Rows for the learners that have no bar at a million."""


def main() -> None:
    """Prints a line for each number of rows, learner and kind of noise."""
    if sys.argv[1:2] == ["--one"]:
        measure(sys.argv[2], int(sys.argv[3]), None if sys.argv[4] == "release" else 0)
        return
    counts = [int(word) for word in sys.argv[1:]] or [10_000, MIDDLE, 1_000_000]
    runs = [("pillar", n, kind) for n in counts for kind in ("seeded", "release")]
    runs += [(name, MIDDLE, "seeded") for name in ("pillar_kalman", "noisy_gd")]
    for name, n, kind in runs:
        subprocess.run([sys.executable, __file__, "--one", name, str(n), kind], check=True)


def measure(name: str, n: int, seed: int | None) -> None:
    """One line: seconds of CPU, and the peak of memory beside the features."""
    torch.set_num_threads(1)
    x, y = made_rows(n + TEST)
    split = pc.split(pc.features(x[:WARM], y[:WARM], x[-TEST:], y[-TEST:]), public_fraction=0.1)
    pc.run(name, split, epsilon=1.0, seed=seed)
    speed = product_speed()
    with Watch() as watch:
        began, system = time.process_time(), os.times().system
        split = pc.split(pc.features(x[:n], y[:n], x[n:], y[n:]), public_fraction=0.1)
        ready = time.process_time()
        record = pc.run(name, split, epsilon=1.0, seed=seed)
        ended, pages = time.process_time(), os.times().system - system
    size = split.features.x_train.nbytes / 2**20
    print(
        f"{name} on {n:,} × {D}, {'release' if seed is None else 'seeded'}: {ended - began:.1f} s of"
        f" CPU, of them {ready - began:.1f} until the split and {pages:.1f} the system's;"
        f" {watch.peak:.0f} MB beside {size:.0f} MB of features ({watch.peak / size:.2f} ×); k = {record.settings.get('k')};"
        f" products {speed:.0f} GF",
        flush=True,
    )


def made_rows(count: int) -> tuple[np.ndarray, np.ndarray]:
    """(count, D) float32 Gaussian classes and their labels."""
    rng = np.random.default_rng(0)
    middles = 0.15 * rng.standard_normal((CLASSES, D), dtype=np.float32)
    y = rng.integers(0, CLASSES, count)
    x = np.empty((count, D), dtype=np.float32)
    for start in range(0, count, BLOCK):
        part = x[start : start + BLOCK]
        rng.standard_normal(out=part, dtype=np.float32)
        part += middles[y[start : start + BLOCK]]
    return x, y


def product_speed() -> float:
    """10⁹ operations a second of a float64 product, the best of five."""
    square, best = np.ones((1024, 1024)), 0.0
    for _ in range(5):
        began = time.process_time()
        square @ square
        best = max(best, 2 * 1024**3 / (time.process_time() - began) / 1e9)
    return best


if __name__ == "__main__":
    main()
