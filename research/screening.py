"""What screening costs: one pair, one more candidate, and the Gram matrix against the full
decomposition.

`taskset -c 0,1 python research/screening.py [rows]`; seconds of the clock and, in brackets, of
all cores together: on a machine that others use, the second divided by the number of cores is what
the first would be.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator

import torch

import pillar_core as pc
from pillar_core.screening.gsd import Side
from pillar_core.screening.models import model_of
from pillar_core.subspace import projection_distance, top_directions

K = 16


@contextlib.contextmanager
def timed(words: str) -> Iterator[dict[str, float]]:
    """Prints what the block took and keeps it."""
    taken: dict[str, float] = {}
    clock, cores = time.perf_counter(), time.process_time()
    yield taken
    taken["clock"], taken["cores"] = time.perf_counter() - clock, time.process_time() - cores
    print(f"{words}: {taken['clock']:.1f} s [{taken['cores']:.1f} s]", flush=True)


def main(m: int) -> None:
    private, *others = (
        pc.load_dataset(name, n=2 * m)
        for name in ("drawn_digits", "drawn_textures", "drawn_letters", "drawn_shapes")
    )
    print(
        f"probe network at 224 × 224, m = {m}, k = {K}, {torch.get_num_threads()} threads",
        flush=True,
    )
    with timed("one pair"):
        value = pc.gsd(private, others[0], n_examples=m)
    print(
        f"  distance {value:.3f}; the set and itself"
        f" {pc.gsd(private, private, n_examples=min(m, 100))}"
    )
    with timed("one gradient pass of one set") as one_pass:
        rows = Side(private, model_of("probe"), m, 0).gradients().rows
    shared = {
        "n_examples": m,
        "repeats": 1,
        "k": K,
    }  # another seed: directions of the same gradients are kept
    with timed("a ranking of one candidate") as first:
        pc.screen(private, {"0": others[0]}, seed=1, **shared)
    with timed("a ranking of three candidates") as third:
        pc.screen(
            private, {str(number): one for number, one in enumerate(others)}, seed=2, **shared
        )
    with timed("the ranking of one again, with one more"):
        pc.screen(
            private, {str(number): one for number, one in enumerate(others[:2])}, seed=1, **shared
        )
    print(
        "  one more candidate takes"
        f" {(third['cores'] - first['cores']) / 2 / one_pass['cores']:.2f} gradient passes of it"
    )
    with timed(f"top {K} directions by the Gram matrix") as gram:
        found = top_directions(rows, K)
    with timed(f"full decomposition of {tuple(rows.shape)}") as full:
        exact = torch.linalg.svd(rows, full_matrices=False)[2][:K].T.double().numpy()
    print(
        f"  {full['cores'] / gram['cores']:.0f} times as long; distance of the two spaces"
        f" {projection_distance(found.basis, exact):.1e}"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
