"""What exact releases cost: accuracy and CPU time of releases against experiments of the same learner on the same splits.

    PYTHONPATH=. python benchmarks/exact.py FOLDER_OF_FEATURES/*.npz --seeds 20

One line a set, learner and ε: mean accuracy of experiments (in floating point) and releases (exact), in percent; the mean
difference of pairs on one split ± its standard error; CPU time of a release over that of an experiment, medians.
"""

import argparse
import math
import statistics
import time
from pathlib import Path

import numpy as np

import pillar_core as pc
from pillar_core.runs.run import run_many, solve
from pillar_core.threads import using

EPSILONS, LEARNERS = (0.1, 1.0), ("pillar", "noisy_gd")


def main() -> None:
    """Prints a line for each set, learner and ε."""
    parser = argparse.ArgumentParser()
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--seeds", type=int, default=20)
    asked = parser.parse_args()
    sets = {"digits": pc.load_dataset("digits"), **{path.stem: pc.load_features(path) for path in asked.files}}
    for name, data in sets.items():
        for learner in LEARNERS:
            for epsilon in EPSILONS:
                accuracies, seconds = [], []
                for seed in range(asked.seeds):
                    rows = pc.split(data, public_fraction=0.1, seed=seed)
                    for name_of_run in (seed, seed, None):  # the first pays for what the others find in memory
                        plan = solve(learner, rows, epsilon=epsilon, seed=name_of_run)
                        started = time.process_time()
                        accuracies.append(100 * float(run_many([plan], rows)[0].accuracy or 0.0))
                        seconds.append(time.process_time() - started)
                _, fast, exact = np.array(accuracies).reshape(-1, 3).T
                error = (exact - fast).std(ddof=1) / math.sqrt(asked.seeds)
                times = [statistics.median(seconds[place::3]) for place in (1, 2)]
                means = f"{fast.mean():.2f} | {exact.mean():.2f}"
                difference = f"{(exact - fast).mean():+.2f} ± {error:.2f}"
                print(f"| {name} | {learner} | {epsilon:g} | {means} | {difference} | {times[1] / times[0]:.2f} |")


if __name__ == "__main__":
    with using(1):
        main()
