"""How many public rows PILLAR needs: its accuracy against their number, for rows of the private
source and of a foreign one.

`python research/public_rows.py FILE` writes FILE, a CSV with a row a cell: private, n_private,
public, n_public, epsilon, seed0 … Half of a source's train rows are private; seed s draws the
public rows of the other half, or of the foreign set, and the noise.
"""

import csv
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from pillar_core.rng import stream
from pillar_core.runs.run import run_many, solve
from pillar_core.runs.splitting import split
from pillar_core.types import FeatureSet
from yardstick import Yardstick

FOREIGN = {"fashion_mnist": "mnist", "mnist": "fashion_mnist", "pneumonia_mnist": "fashion_mnist"}
SIZES = (5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
EPSILONS, SEEDS = (0.3, 1.0, 3.0), range(5)


def cells(yardstick: Yardstick) -> Iterator[dict[str, Any]]:
    """The accuracies, a row a cell."""
    for name, foreign in FOREIGN.items():
        whole = yardstick.source(name)
        half = len(whole.x_train) // 2
        labels = np.asarray(whole.y_train)[half:]
        private = FeatureSet(
            whole.x_train[half:], labels, whole.x_test, whole.y_test, whole.classes, name=name
        )
        for public, rows in {
            name: whole.x_train[:half],
            foreign: yardstick.source(foreign).x_train,
        }.items():
            for size in [one for one in SIZES if one <= len(rows)]:
                reached: dict[float, list[float]] = {epsilon: [] for epsilon in EPSILONS}
                for seed in SEEDS:
                    taken = np.sort(
                        stream(seed, "public rows", public).permutation(len(rows))[:size]
                    )
                    some = FeatureSet(
                        np.ascontiguousarray(rows[taken]), None, None, None, (), name=public
                    )
                    parts = split(private, public=some, allow_overlap=True)
                    records = run_many(
                        [
                            solve("pillar", parts, epsilon=epsilon, seed=seed)
                            for epsilon in EPSILONS
                        ],
                        parts,
                    )
                    for epsilon, record in zip(EPSILONS, records, strict=True):
                        reached[epsilon].append(round(float(record.accuracy or 0.0), 4))
                for epsilon, accuracies in reached.items():
                    cell = {
                        "private": name,
                        "n_private": len(labels),
                        "public": public,
                        "n_public": size,
                        "epsilon": epsilon,
                    }
                    yield cell | {
                        f"seed{seed}": accuracy
                        for seed, accuracy in zip(SEEDS, accuracies, strict=True)
                    }


def main(path: Path) -> None:
    torch.set_num_threads(1)
    with path.open("w", newline="") as file:
        writer = None
        for cell in cells(Yardstick()):
            writer = writer or csv.DictWriter(file, list(cell), lineterminator="\n")
            if file.tell() == 0:
                writer.writeheader()
            writer.writerow(cell)
            file.flush()
            print(cell, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
