"""GEP's and AdaDPS' steps on linear heads against the official way, per-example gradients: `python
research/learners.py`.

One thread, medians of 5 full-batch steps on the same rows, without noise. The official way
materialises an n × (d·C) matrix, so n is small enough for it to fit; ours never builds it and is
also timed at n = 45,000.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

from pillar_core import rng
from pillar_core.engine.mixed import head_residuals, preconditioned_sum
from pillar_core.methods.public_subspace.gep import AnchorBasis, embedded_sums
from pillar_core.subspace import anchor_coefficients, rank_one_gram

CLASSES, ANCHORS, DIRECTIONS, REPEATS = 10, 500, 100, 5


def main() -> None:
    torch.set_num_threads(1)
    measure(2_000, 1_280, official=True)
    measure(45_000, 1_280, official=False)


def measure(n: int, d: int, *, official: bool) -> None:
    """Prints seconds a step, and the ratio to the official way where it fits."""
    z, labels, anchors, drawn, weights = rows(n, d)
    root = torch.rand((CLASSES, d)) + 0.5
    products, anchor_products = z @ anchors.T, (anchors.double() @ anchors.double().T).numpy()
    ours = {
        "GEP": timed(
            lambda: gep_step(z, products, labels, anchors, anchor_products, drawn, weights)
        ),
        "AdaDPS": timed(lambda: preconditioned_sum(z, labels, weights, root, l2_clip_norm=1.0)),
    }
    print(
        f"n = {n:,}, d = {d:,}, C = {CLASSES}: "
        + ", ".join(f"{name} {1e3 * seconds:.0f} ms a step" for name, seconds in ours.items())
    )
    if not official:
        return
    theirs = {
        "GEP": timed(lambda: official_gep_step(z, labels, anchors, drawn, weights)),
        "AdaDPS": timed(lambda: official_adadps_step(z, labels, weights, root)),
    }
    for name, seconds in theirs.items():
        print(
            f"  {name} by per-example gradients: {1e3 * seconds:.0f} ms a step ="
            f" {seconds / ours[name]:.1f} × ours"
        )


def rows(n: int, d: int) -> tuple[torch.Tensor, ...]:
    """Unit rows, labels, anchors, their labels and weights."""
    generator = rng.stream(0, "benchmark")
    z, anchors = (
        torch.from_numpy(generator.standard_normal((count, d), dtype="float32"))
        for count in (n, ANCHORS)
    )
    labels, drawn = (
        torch.from_numpy(generator.integers(0, CLASSES, count)) for count in (n, ANCHORS)
    )
    weights = torch.from_numpy(generator.standard_normal((CLASSES, d), dtype="float32"))
    return (
        torch.nn.functional.normalize(z),
        labels,
        torch.nn.functional.normalize(anchors),
        drawn,
        weights,
    )


def gep_step(
    z: torch.Tensor,
    products: torch.Tensor,
    labels: torch.Tensor,
    anchors: torch.Tensor,
    anchor_products: Any,
    drawn: torch.Tensor,
    weights: torch.Tensor,
) -> None:
    residuals = head_residuals(anchors, drawn, weights)
    coefficients = anchor_coefficients(rank_one_gram(residuals, anchor_products), DIRECTIONS)
    basis = AnchorBasis(residuals, anchors, torch.from_numpy(coefficients).float())
    embedded_sums(
        z,
        z.square().sum(1),
        products,
        labels,
        weights,
        basis,
        embedding_clip=1.0,
        residual_clip=0.2,
    )


def per_row_gradients(z: torch.Tensor, labels: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """(n, C·d) by vmap, as functorch does it for any network."""

    def loss(head: torch.Tensor, row: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.cross_entropy((head @ row)[None], label[None])

    return torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(weights, z, labels).flatten(
        1
    )


def official_gep_step(
    z: torch.Tensor,
    labels: torch.Tensor,
    anchors: torch.Tensor,
    drawn: torch.Tensor,
    weights: torch.Tensor,
) -> None:
    """One power iteration from a Gaussian start, orthonormalised, then embedding and residual of
    every row, clipped."""
    public = per_row_gradients(anchors, drawn, weights)
    start = torch.randn((public.shape[1], DIRECTIONS))
    basis, _ = torch.linalg.qr(public.T @ (public @ start))
    gradients = per_row_gradients(z, labels, weights)
    inside = gradients @ basis
    outside = gradients - inside @ basis.T
    for part, clip in ((inside, 1.0), (outside, 0.2)):
        (part * (clip / torch.linalg.vector_norm(part, dim=1)).clamp(max=1.0)[:, None]).sum(0)


def official_adadps_step(
    z: torch.Tensor, labels: torch.Tensor, weights: torch.Tensor, root: torch.Tensor
) -> None:
    """Every row's gradient scaled, then clipped."""
    scaled = per_row_gradients(z, labels, weights) * root.flatten()
    (scaled * (1.0 / torch.linalg.vector_norm(scaled, dim=1)).clamp(max=1.0)[:, None]).sum(0)


def timed(step: Callable[[], Any]) -> float:
    """Median seconds of a step, after one to warm up."""
    step()
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        step()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


if __name__ == "__main__":
    main()
