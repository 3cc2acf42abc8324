"""How long one pair takes, and the Gram matrix against the full decomposition: `python benchmarks/screening.py [rows]`."""

from __future__ import annotations

import sys
import time

import torch

import pillar_core as pc
from pillar_core.screening.gsd import Side
from pillar_core.screening.models import model_of
from pillar_core.subspace import projection_distance, top_directions


def main(m: int) -> None:
    first, second = (pc.load_dataset(name, n=2 * m) for name in ("drawn_digits", "drawn_textures"))
    began = time.perf_counter()
    value = pc.gsd(first, second, n_examples=m)
    print(f"probe, one pair, m = {m}: {time.perf_counter() - began:.1f} s (distance {value:.3f})")
    rows = Side(first, model_of("probe"), m, 0).gradients().rows
    began = time.perf_counter()
    found = top_directions(rows, 16)
    print(f"top 16 by the Gram matrix: {time.perf_counter() - began:.1f} s")
    began = time.perf_counter()
    full = torch.linalg.svd(rows, full_matrices=False)[2][:16].T.double().numpy()
    seconds = time.perf_counter() - began
    print(
        f"full decomposition of {tuple(rows.shape)}: {seconds:.1f} s, distance of the spaces {projection_distance(found.basis, full):.1e}"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
