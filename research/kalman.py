"""PILLAR Kalman's fit against its matrix products alone, on one thread: `python
research/kalman.py`.

CPU time, medians of 3. "First" is a fit on a fresh split whose public eigendecomposition is there
(every projecting learner shares it): it projects the private rows and checks their spread. "Again"
is what a moved ε costs, for the projection is kept. Products: the same shapes multiplied and
nothing else, two a sum over the private rows, two a step over the public ones.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import dataclasses
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import pillar_core as pc
from pillar_core import rng
from pillar_core.ledger import Ledger
from pillar_core.memo import Memo
from pillar_core.methods.closed_form import pillar_kalman
from pillar_core.rng import Streams
from pillar_core.runs.run import solve
from pillar_core.types import FeatureSet

EPSILON, PUBLIC_SHARE, REPEATS = 1.0, 0.1, 3


def main() -> None:
    torch.set_num_threads(1)
    for n, d, n_classes in ((10_000, 1_280, 100), (45_000, 2_048, 100)):
        measure(n, d, n_classes)


def measure(n: int, d: int, n_classes: int) -> None:
    """Prints seconds of a fit, first and again, of its products, and the ratio of the latter
    two."""
    generator = rng.stream(0, "kalman benchmark")
    y = np.arange(n) % n_classes
    spectrum = (np.arange(1, d + 1) ** -0.375).astype(np.float32)
    x = (
        generator.standard_normal((n, d), dtype=np.float32) * spectrum
        + generator.standard_normal((n_classes, d), dtype=np.float32)[y] * spectrum / 2
    )
    names = tuple(str(label) for label in range(n_classes))
    one = solve(
        "pillar_kalman",
        pc.split(FeatureSet(x, y, x[:10], y[:10], names), public_fraction=PUBLIC_SHARE),
        epsilon=EPSILON,
    )
    basis = one.view.basis(standardise=None, centre=True)

    def fit(view: Any) -> None:
        one.method.train(one.settings, view, Streams(0), Ledger())

    def fresh() -> Any:
        memo = Memo()
        memo.get(("basis", False, True), lambda: basis)
        return dataclasses.replace(one.view, memo=memo)

    first = median(lambda: fit(fresh()))
    again = median(lambda: fit(one.view))
    alone = median(products(one.view, one.settings))
    sizes = f"n = {n:,}, d = {d:,}, C = {n_classes}, K = {one.settings.k}"
    print(
        f"{sizes}: first {first:.2f} s, again {again:.2f} s = {again / alone:.1f} × its products'"
        f" {alone:.2f} s"
    )


def products(view: Any, settings: Any) -> Callable[[], None]:
    """What multiplies the matrices of a fit, in the types that it uses."""
    n, m, k, n_classes = view.n_rows, len(view.x_public), settings.k, view.facts.n_classes
    width = max(k, min(pillar_kalman.PUBLIC_DIRECTIONS, view.facts.extra["public_rank"]))
    rows, head = torch.ones((n, k)), torch.ones((n_classes, k))
    wide, narrow = (
        torch.ones((n, k), dtype=torch.float64),
        torch.ones((n, n_classes), dtype=torch.float64),
    )
    public, public_head = np.ones((m, width)), np.ones((width, n_classes))

    def run() -> None:
        for _ in range(settings.steps):
            head @ rows.T
            narrow.T @ wide
            public @ public_head
        public.T @ public

    return run


def median(call: Callable[[], None]) -> float:
    """CPU seconds of `call`, the first one left out."""
    call()
    taken = []
    for _ in range(REPEATS):
        start = time.process_time()
        call()
        taken.append(time.process_time() - start)
    return statistics.median(taken)


if __name__ == "__main__":
    main()
