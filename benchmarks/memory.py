"""Memory of every linear learner at n = 45,000, d = 2,048, C = 100, each in a process of its own:
`python benchmarks/memory.py`.

Peak resident memory of one run above the loaded state (features in memory, rows split, libraries
warm) may be the features' size and 200 MB. Two steps show it: what a step needs, the next one uses
again. Names as arguments measure these learners only.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from engine import Watch

import pillar_core as pc
from pillar_core.params import params_of

N, D, CLASSES, PUBLIC, STEPS, EPSILON = 50_000, 2_048, 100, 0.1, 2, 1.0
ROOM = 200.0
WARM = 2_000
"""Rows of a first small run, so that libraries and their workspaces are loaded before memory is
measured."""


def main() -> None:
    if sys.argv[1:2] == ["--one"]:
        measure(sys.argv[2], Path(sys.argv[3]))
        return
    names = sys.argv[1:] or [name for name in pc.METHODS if name != "disjunction"]
    made = pc.load_features(pc.load_dataset("spiked_features", n=N, n_test=1_000, d=D, C=CLASSES))
    with tempfile.TemporaryDirectory() as folder:
        for name in ("x_train", "y_train", "x_test", "y_test"):
            np.save(Path(folder) / f"{name}.npy", getattr(made, name))
        del made
        for name in names:
            subprocess.run([sys.executable, __file__, "--one", name, folder], check=True)


def measure(name: str, folder: Path) -> None:
    """Prints one learner's peak above the loaded state, the limit, and the seconds of the run."""
    arrays = {
        part: np.load(folder / f"{part}.npy") for part in ("x_train", "y_train", "x_test", "y_test")
    }
    settings = {"steps": STEPS} if "steps" in params_of(pc.METHODS[name].settings) else {}
    if pc.METHODS[name].is_private:
        settings["epsilon"] = EPSILON
    small = pc.features(
        **{
            part: rows[:WARM] % CLASSES if part[0] == "y" else rows[:WARM]
            for part, rows in arrays.items()
        }
    )
    pc.run(name, pc.split(small, public_fraction=PUBLIC, allow_overlap=True), **settings)
    split = pc.split(pc.features(**arrays), public_fraction=PUBLIC, allow_overlap=True)
    size = split.features.x_train.nbytes / 2**20
    with Watch() as watch:
        began = time.perf_counter()
        pc.run(name, split, **settings)
        seconds = time.perf_counter() - began
    verdict = "" if watch.peak <= size + ROOM else "  above the limit"
    print(
        f"{name:<24}{watch.peak:6.0f} MB of {size + ROOM:.0f} MB, {seconds:5.1f} s{verdict}",
        flush=True,
    )


if __name__ == "__main__":
    main()
