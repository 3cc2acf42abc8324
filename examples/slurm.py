"""A sweep on a SLURM cluster: dask-jobqueue starts the workers, and records come to this machine.
It needs `pip install dask-jobqueue`."""

from dask_jobqueue import SLURMCluster

import pillar_core as pc

if __name__ == "__main__":
    grid = {
        "dataset": "digits",
        "public_fraction": 0.1,
        "method": ["pillar", "dp_sgd"],
        "epsilon": [0.5, 2.0],
        "seed": [0, 1],
    }
    memory = "export MALLOC_TRIM_THRESHOLD_=4294967296 MALLOC_MMAP_THRESHOLD_=33554432"
    with SLURMCluster(
        cores=1,
        processes=1,
        memory="4GB",
        walltime="01:00:00",
        job_script_prologue=[memory],  # without it workers need 1.4 times the CPU
    ) as cluster:
        cluster.scale(jobs=2)
        runs = pc.sweep(grid, scheduler=cluster.scheduler_address)
        pc.jobs.stop()
    print(runs.groupby(["method", "epsilon"])["accuracy"].mean().round(3).to_string())
