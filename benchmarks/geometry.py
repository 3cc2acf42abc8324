"""What the sliders of the geometry and theory pages cost at d = 2,048, on one thread: `python
benchmarks/geometry.py`.

Medians of seven calls, in milliseconds of core time; the target is 100. Bases, coordinates and
separators are ready, as on the page. The last lines time what is not on a slider: one
eigendecomposition, and 45 separators of 2,200 × 1,280 rows (a job).
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import pillar_core as pc
from pillar_core import geometry, theory

D, CLASSES, ROWS, PUBLIC, REPEATS = 2_048, 10, 11_000, 5_000, 7
KS = sorted({round(x) for x in np.geomspace(1, D, 48)})


def main() -> None:
    features = pc.load_features(
        pc.load_dataset("spiked_features", n=ROWS + PUBLIC, n_test=100, d=D, C=CLASSES)
    )
    rows = geometry.rows_of(pc.split(features, public_fraction=PUBLIC / (ROWS + PUBLIC)))
    start = time.process_time()
    basis = geometry.basis_of(rows)
    decomposition = time.process_time() - start
    inside = geometry.coordinates(rows, basis)
    pairs = geometry.pairs_of(rows.classes)
    weights = inside.z[: len(pairs)] @ basis.vectors.T
    norms = np.linalg.norm(weights, axis=1, keepdims=True)
    found = geometry.Separators(
        pairs, weights / norms, np.zeros(len(pairs)), np.ones(len(pairs), dtype=bool)
    )
    against = geometry.Separators(
        geometry.pairs_of(rows.classes, "one_versus_rest"),
        found.weights[:CLASSES],
        found.offsets[:CLASSES],
        found.converged,
    )
    moments = geometry.class_moments(inside)
    few = [2, 5, 10, 20, 40, 100, 200, 400, 800, 1600, basis.rank]
    show("spectrum table (k, public rows)", lambda: geometry.spectrum(basis))
    show(
        "ξ of 45 pairs at 48 k (k, basis)",
        lambda: geometry.averaged(geometry.xi_table(found, basis, KS, classes=rows.classes)),
    )
    show(
        "projected margins, 10 classes at 11 k (quantile)",
        lambda: geometry.projected_margins(inside, against, basis, few),
    )
    show(
        "predicted curve at one ε, 24 k",
        lambda: geometry.predicted(moments, KS[::2], [1.0], n_private=ROWS),
    )
    show("calculator, Theorem 4", lambda: theory.CALCULATORS["pillar_theorem_4"](k=40))
    show("rates along k, 40 points", lambda: theory.rate_curves("k", KS[:40]))
    show(
        "mixture, closed form, 120 points",
        lambda: [
            theory.predicted_error(n_private=n, epsilon=1.0, k=256, theta=0.1, sigma=0.5)
            for n in range(30, 150)
        ],
    )
    print(f"one eigendecomposition, {PUBLIC:,} public rows: {decomposition:.1f} s of core time")
    separators()


def separators() -> None:
    """45 pairs of 2,200 rows with 1,280 features, one after the other."""
    features = pc.load_features(
        pc.load_dataset("spiked_features", n=ROWS, n_test=100, d=1_280, C=CLASSES)
    )
    rows = geometry.thinned(geometry.rows_of(features), 1_100)
    start = time.process_time()
    found = geometry.separators(rows, geometry.pairs_of(rows.classes))
    seconds = time.process_time() - start
    print(
        f"45 separators of 2,200 × 1,280: {seconds:.1f} s of core time, converged:"
        f" {bool(found.converged.all())}"
    )


def show(what: str, call: Callable[[], Any]) -> None:
    """Prints the median of `REPEATS` calls."""
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    print(f"{what}: {1000 * statistics.median(times):.1f} ms")


if __name__ == "__main__":
    main()
