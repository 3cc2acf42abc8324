"""A grid of runs with intervals over seeds, from the cache where it can: `python examples/sweep.py
[--scheduler jobs]`."""

import argparse

import pillar_core as pc

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument(
    "--scheduler", help="jobs, or the address of a Dask scheduler; default: train in this process"
)
options = parser.parse_args()

grid = {
    "dataset": "digits",
    "public_fraction": 0.1,
    "method": ["pillar", "pillar_one_shot", "dp_sgd"],
    "k": [5, 20],
    "epsilon": [0.3, 1.0],
    "seed": [0, 1, 2],
}
runs = pc.sweep(grid, scheduler=options.scheduler)
summary = runs.groupby(["method", "epsilon", "k"], dropna=False)["accuracy"].agg(
    ["mean", "min", "max", "count"]
)
print((100 * summary[["mean", "min", "max"]]).round(1).assign(runs=summary["count"]).to_string())
