"""The closed-form engine against Opacus, on one thread: `python benchmarks/engine.py`.

Medians of 5 × 50 steps in one process, in CPU time of its one thread (wall time on a shared machine
says little). A step is gather, forward, per-example clipping, sum, noise and update, from the same
ready index sets on both sides; "with sampling" adds each side's own drawing of the batch. Then
twelve settings against ghost clipping alone, the faster of Opacus' ways where classes are many:
`python benchmarks/engine.py ghost` measures nothing else.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import resource
import statistics
import sys
import tempfile
import threading
import time
import warnings

import numpy as np
import torch

import pillar_core as pc
from pillar_core import rng
from pillar_core.engine import Head, HeadPlan, train_heads
from pillar_core.ledger import Ledger
from pillar_core.mechanisms import poisson_sample
from pillar_core.rng import Streams

N, CLASSES, BATCH, STEPS, REPEATS = 45_000, 10, 1024, 50, 5
NOISE, CLIP, RATE = 1.0, 1.0, 0.1


def main() -> None:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")  # Opacus' hooks warn about their own use of torch
    if sys.argv[1:] == ["ghost"]:
        against_ghost()
        return
    for d in (2048, 40):
        z, y, batches = rows_and_batches(d, CLASSES, BATCH)
        ours, ours_sampling = ours_per_step(z, y, batches), ours_per_step(z, y, None)
        print(
            f"d = {d}: ours {1e3 * ours:.2f} ms a step, with sampling {1e3 * ours_sampling:.2f} ms"
        )
        for mode in ("hooks", "ghost"):
            theirs = opacus_per_step(z, y, batches, mode)
            print(f"  Opacus, {mode}: {1e3 * theirs:.2f} ms a step = {theirs / ours:.1f} × ours")
        loader = opacus_sampling_per_step()
        theirs = opacus_per_step(z, y, batches, "hooks") + loader
        print(
            f"  Opacus, hooks, with sampling: {1e3 * theirs:.2f} ms = {theirs / ours_sampling:.1f}"
            " × ours"
        )
    against_ghost()
    slider()
    grid()


def rows_and_batches(
    d: int, classes: int, batch: int
) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """N rows of d numbers, their labels, and the numbers of the rows of each step."""
    generator = rng.stream(0, "benchmark")
    z = generator.standard_normal((N, d), dtype=np.float32)
    y = generator.integers(0, classes, N)
    return z, y, [poisson_sample(batch / N, N, generator) for _ in range(STEPS)]


def against_ghost() -> None:
    """One line for each of twelve settings; 1.2 times is wanted in all of them."""
    for d in (40, 512, 2048):
        for classes in (10, 100):
            for batch in (256, 1024):
                rows = rows_and_batches(d, classes, batch)
                ours = ours_per_step(*rows, classes=classes)
                ghost = opacus_per_step(*rows, "ghost", classes=classes)
                print(
                    f"d = {d}, C = {classes}, B = {batch}: ours {1e3 * ours:.2f} ms, Opacus' ghost"
                    f" clipping {1e3 * ghost:.2f} ms = {ghost / ours:.2f} × (wanted 1.2)",
                    flush=True,
                )


def ours_per_step(
    z: np.ndarray, y: np.ndarray, batches: list[np.ndarray] | None, *, classes: int = CLASSES
) -> float:
    """Seconds a step; the fixed cost of a call (row norms of all rows) is measured apart and taken
    off."""
    plan = {
        "learning_rate": RATE,
        "noise_multiplier": NOISE,
        "l2_clip_norm": CLIP,
        "n_private": N,
        "batch_size": BATCH if batches is None else len(batches[0]),
    }

    class Tape:
        def __init__(self) -> None:
            self.drawn = 0

        def release(self, call, value, draw):
            return draw()

        def sample(self, probability, n_rows, draw):
            self.drawn += 1
            return batches[(self.drawn - 1) % len(batches)]

    def seconds(steps: int) -> float:
        began = time.process_time()
        head = Head(HeadPlan(steps=steps, **plan), Streams(0), Ledger(Tape() if batches else None))
        train_heads(z, y, [head], n_classes=classes)
        return time.process_time() - began

    seconds(2)
    fixed = statistics.median(seconds(1) for _ in range(REPEATS))
    return statistics.median((seconds(1 + STEPS) - fixed) / STEPS for _ in range(REPEATS))


def opacus_per_step(
    z: np.ndarray,
    y: np.ndarray,
    batches: list[np.ndarray],
    mode: str,
    *,
    classes: int = CLASSES,
) -> float:
    """Seconds a step of Opacus' optimizer on the same batches."""
    from opacus.grad_sample import GradSampleModule, GradSampleModuleFastGradientClipping
    from opacus.optimizers import DPOptimizer, DPOptimizerFastGradientClipping
    from opacus.utils.fast_gradient_clipping_utils import DPLossFastGradientClipping

    rows, labels = torch.from_numpy(z), torch.from_numpy(y)
    ghost = mode == "ghost"
    layer = torch.nn.Linear(z.shape[1], classes)
    arguments = {
        "noise_multiplier": NOISE,
        "max_grad_norm": CLIP,
        "expected_batch_size": len(batches[0]),
    }
    base = torch.optim.SGD(layer.parameters(), lr=RATE)
    if ghost:
        module = GradSampleModuleFastGradientClipping(
            layer, max_grad_norm=CLIP, use_ghost_clipping=True
        )
        optimiser = DPOptimizerFastGradientClipping(base, **arguments)
        criterion = DPLossFastGradientClipping(
            module, optimiser, torch.nn.CrossEntropyLoss(), loss_reduction="mean"
        )
    else:
        module, optimiser, criterion = (
            GradSampleModule(layer),
            DPOptimizer(base, **arguments),
            torch.nn.CrossEntropyLoss(),
        )

    def steps() -> float:
        began = time.process_time()
        for batch in batches:
            index = torch.from_numpy(batch)
            optimiser.zero_grad()
            criterion(module(rows.index_select(0, index)), labels[index]).backward()
            optimiser.step()
        return (time.process_time() - began) / len(batches)

    steps()
    return statistics.median(steps() for _ in range(REPEATS))


def opacus_sampling_per_step() -> float:
    """Seconds to draw one batch of indices with Opacus' Poisson sampler."""
    from opacus.utils.uniform_sampler import UniformWithReplacementSampler

    sampler = UniformWithReplacementSampler(num_samples=N, sample_rate=BATCH / N)
    began = time.process_time()
    count = sum(1 for _ in sampler)
    return (time.process_time() - began) / count


def slider() -> None:
    """Release of a slider to a trained, scored head, warm, with defaults."""
    for classes in (10, 100):
        split = pc.split(
            pc.load_dataset("spiked_features", n=50_000, d=2048, C=classes), public_fraction=0.1
        )
        pc.run("pillar", split, epsilon=0.1, k=40)
        for k in (40, 100):
            pc.run("pillar", split, epsilon=0.1, k=k)
            times = []
            for seed in range(REPEATS):
                began = time.process_time()
                pc.run("pillar", split, epsilon=0.1, k=k, seed=seed)
                times.append(time.process_time() - began)
            print(
                f"slider: n = 45,000, C = {classes}, k = {k}:"
                f" {1e3 * statistics.median(times):.0f} ms"
            )


def grid() -> None:
    """9 k × 3 ε × 3 step sizes × 3 seeds on one split, projection and eigenbasis included; peak
    memory above the features."""
    dataset = pc.load_features(pc.load_dataset("spiked_features", n=50_000, d=2048, C=10))
    split = pc.split(dataset, public_fraction=0.1)
    with Watch() as watch:
        began = time.perf_counter()
        ks = [5, 10, 20, 40, 80, 120, 200, 280, 360]
        axes = {
            "k": ks,
            "epsilon": [0.1, 0.7, 2.0],
            "learning_rate": [5.0, 20.0, 80.0],
            "seed": [0, 1, 2],
        }
        table = pc.sweep({"dataset": split, "method": "pillar", **axes})
        seconds = time.perf_counter() - began
    size = (dataset.x_train.nbytes + dataset.x_test.nbytes) / 2**20
    print(
        f"grid of {len(table)} runs: {seconds:.1f} s wall; peak above the loaded state"
        f" {watch.peak:.0f} MB, features {size:.0f} MB"
    )


class Watch:
    """Resident memory above that at entry, in MB, sampled every ten milliseconds."""

    def __enter__(self) -> Watch:
        self.peak, self._start, self._done = 0.0, self._now(), threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._done.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._done.wait(0.01):
            self.peak = max(self.peak, self._now() - self._start)

    def _now(self) -> float:
        with open("/proc/self/statm", encoding="ascii") as statm:
            return int(statm.read().split()[1]) * resource.getpagesize() / 2**20


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PILLAR_CACHE"] = (
            folder  # a grid that is in the cache already would be read, not trained
        )
        main()
