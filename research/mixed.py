"""Steps with public rows in closed form against per-example gradients, on one thread: `python
research/mixed.py`.

The official way makes every row's (C, d) gradient (here by vmap), takes its norm, clips and sums.
Medians of REPEATS sums.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import statistics
import time
from collections.abc import Callable

import numpy as np
import torch

from pillar_core import rng
from pillar_core.engine.halfspaces import clipped_joint_sum, logistic, targets
from pillar_core.engine.mixed import clipped_difference_sum

ROWS, D, CLASSES, REPEATS = 300, 2_048, 100, 3


def main() -> None:
    torch.set_num_threads(1)
    generator = rng.stream(0, "benchmark")
    z = torch.from_numpy(generator.standard_normal((ROWS, D), dtype=np.float32))
    z /= z.norm(dim=1, keepdim=True)
    y = torch.from_numpy(generator.integers(0, CLASSES, ROWS))
    weights = torch.from_numpy(generator.standard_normal((1, CLASSES, D), dtype=np.float32))
    reference, clip, squared = weights / 100, torch.ones(1), torch.ones(ROWS)
    signs = targets(y.numpy(), CLASSES)
    cross_entropy = per_row(
        lambda w, row, label: torch.nn.functional.cross_entropy((w @ row)[None], label[None])
    )
    halfspace = per_row(
        lambda w, row, sign: logistic().value(sign * (w @ row)).sum() / logistic().lipschitz
    )
    pairs = {
        "AdaMix, PPGD, PDA-DPMD": (
            lambda: clipped_difference_sum(z, squared, y, weights, clip, None)[0],
            lambda: clipped(cross_entropy(weights[0], z, y)),
        ),
        "DOPE-SGD": (
            lambda: clipped_difference_sum(z, squared, y, weights, clip, reference)[0],
            lambda: clipped(cross_entropy(weights[0], z, y) - reference),
        ),
        "halfspaces": (
            lambda: clipped_joint_sum(z, squared, signs, weights, logistic(), clip)[0],
            lambda: clipped(halfspace(weights[0], z, signs.T)),
        ),
    }
    for name, (ours, theirs) in pairs.items():
        torch.testing.assert_close(ours(), theirs(), atol=1e-2, rtol=1e-3)
        mine, official = seconds(ours), seconds(theirs)
        print(
            f"{name}: {1e3 * mine:.1f} ms a sum of {ROWS} rows; by examples {1e3 * official:.0f} ms"
            f" = {official / mine:.1f} × ours"
        )


def per_row(loss: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """(n, C, d) gradients of every row's loss."""
    return torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))


def clipped(gradients: torch.Tensor) -> torch.Tensor:
    norms = gradients.flatten(1).norm(dim=1)
    return (gradients * (1 / norms).clamp(max=1.0)[:, None, None]).sum(0)


def seconds(sum_rows: Callable[[], torch.Tensor]) -> float:
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        sum_rows()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


if __name__ == "__main__":
    main()
