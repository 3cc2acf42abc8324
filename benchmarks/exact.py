"""What exact releases cost: accuracy and CPU time of releases against experiments of the same
learner on the same splits.

    PYTHONPATH=. python benchmarks/exact.py FOLDER_OF_FEATURES/*.npz --seeds 20
    PYTHONPATH=. python benchmarks/exact.py FOLDER_OF_FEATURES/cifar10.npz --seeds 5 --widths 40 160
    640 1280

One line a set, learner and ε: mean accuracy of experiments (in floating point) and releases
(exact), in percent; the mean difference of pairs on one split ± its standard error; CPU time of a
release over that of an experiment, medians. With widths: ten full-batch steps on that many public
directions, the same noise added to float64 sums and to whole ones of 2¹⁰, 2¹² and 2¹⁴ units.
"""

import argparse
import functools
import math
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

import pillar_core as pc
from pillar_core.engine import exact, gradient
from pillar_core.runs.run import run_many, solve
from pillar_core.splits import Transform, view_of
from pillar_core.threads import using
from pillar_core.types import FeatureSet, PublicUse

EPSILONS, LEARNERS = (0.1, 1.0), ("pillar", "noisy_gd")
STEPS, RATE, CLIP = 10, 20.0, 0.4


def main() -> None:
    """Prints a line for each set, learner and ε."""
    parser = argparse.ArgumentParser()
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--widths", nargs="+", type=int)
    asked = parser.parse_args()
    if asked.widths:
        by_width(
            pc.load_features(asked.files[0] if asked.files else pc.load_dataset("digits")),
            asked.widths,
            asked.seeds,
        )
        return
    sets = {
        "digits": pc.load_dataset("digits"),
        **{path.stem: pc.load_features(path) for path in asked.files},
    }
    for name, data in sets.items():
        for learner in LEARNERS:
            for epsilon in EPSILONS:
                accuracies, seconds = [], []
                for seed in range(asked.seeds):
                    rows = pc.split(data, public_fraction=0.1, seed=seed)
                    for name_of_run in (
                        seed,
                        seed,
                        None,
                    ):  # the first pays for what the others find in memory
                        plan = solve(learner, rows, epsilon=epsilon, seed=name_of_run)
                        started = time.process_time()
                        accuracies.append(100 * float(run_many([plan], rows)[0].accuracy or 0.0))
                        seconds.append(time.process_time() - started)
                _, fast, exact = np.array(accuracies).reshape(-1, 3).T
                error = (exact - fast).std(ddof=1) / math.sqrt(asked.seeds)
                times = [statistics.median(seconds[place::3]) for place in (1, 2)]
                means = f"{fast.mean():.2f} | {exact.mean():.2f}"
                difference = f"{(exact - fast).mean():+.2f} ± {error:.2f}"
                print(
                    f"| {name} | {learner} | {epsilon:g} | {means} | {difference} |"
                    f" {times[1] / times[0]:.2f} |"
                )


def by_width(data: FeatureSet, widths: list[int], seeds: int) -> None:
    """Prints, for each width and ε, accuracy with float64 sums and the mean (largest) change of it
    with whole ones."""
    split, x_test = pc.split(data, public_fraction=0.1), np.asarray(data.x_test)
    view, y_train = view_of(split, PublicUse.UNLABELLED), np.asarray(data.y_train)
    y, tests = torch.from_numpy(y_train[split.private]), torch.from_numpy(np.asarray(data.y_test))
    for k in widths:
        basis = view.basis(standardise=False, centre=True)
        plain = Transform(*view.moments(standardise=False, centre=True), normalise=True)
        transform = basis.transform(k, normalise=True) if k <= basis.rank else plain
        z, z_test = (torch.from_numpy(transform(x)) for x in (data.x_train[split.private], x_test))
        ways: list[Callable[[torch.Tensor], torch.Tensor]] = [functools.partial(float_sum, z, y)]
        for units in (2**10, 2**12, 2**14):
            exact.ROW_UNITS = exact.WIDE_ROW_UNITS = units
            ways.append(functools.partial(whole_sum, exact.integer_rows(z.numpy()), y))
        for epsilon in EPSILONS:
            noise = CLIP * pc.noise_multiplier(epsilon, steps=STEPS)
            accuracies = np.empty((len(ways), seeds))
            for (way, seed), _ in np.ndenumerate(accuracies):
                generator, weights = (
                    np.random.default_rng(seed),
                    torch.zeros((1, data.n_classes, k)),
                )
                for _ in range(STEPS):
                    noisy = ways[way](weights) + noise * torch.from_numpy(
                        generator.standard_normal(weights.shape)
                    )
                    weights = weights - (RATE / len(y) * noisy).float()
                accuracies[way, seed] = 100 * float(
                    ((z_test @ weights[0].T).argmax(1) == tests).double().mean()
                )
            moved = accuracies[1:] - accuracies[0]
            cells = [f"{row.mean():+.2f} ({np.abs(row).max():.2f})" for row in moved]
            print(
                f"| {k} | {epsilon:g} | {accuracies[0].mean():.2f} | {' | '.join(cells)} |",
                flush=True,
            )


def float_sum(z: torch.Tensor, y: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """(1, C, k) clipped gradients of rows z (n, k) in float64."""
    return gradient.clipped_sum(z, gradient.squared_lengths(z), y, weights, torch.tensor([CLIP]))


def whole_sum(rows: exact.IntegerRows, y: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """The same by whole numbers."""
    return exact.clipped_sum(rows, y, weights, [CLIP]).double() * (CLIP / rows.sensitivity)


if __name__ == "__main__":
    with using(1):
        main()
