"""Runs of the cache for other people's trackers: a csv, or a folder that MLflow reads."""

import math
import os
from pathlib import Path

import pandas as pd

from pillar_core.data.parts import place_of
from pillar_core.errors import StoreError
from pillar_core.extras import needed
from pillar_core.metrics import METRICS
from pillar_core.spreadsheets import without_formulas

MEASURED = ("epsilon_upper", "accuracy", *METRICS, "seconds")
"""What MLflow files as metrics of a run; all else are its parameters."""


def write_csv(runs: pd.DataFrame, path: str | Path) -> int:
    """How many runs were written to a csv file that holds no formulas.

    Raises DataError, StoreError: a path that cannot be, or not be written.
    """
    path = place_of(path)
    try:
        without_formulas(runs).to_csv(path, index=False)
    except OSError as error:
        raise StoreError(f"the runs could not be written to {path} ({error.strerror}); name another file.") from error
    return len(runs)


def write_mlflow(runs: pd.DataFrame, path: str | Path) -> int:
    """How many runs were added to the file store of MLflow in the folder `path`: an experiment for each data set, refused runs left out.

    A run that the store has under its key is not added again.
    Raises MissingDependencyError: MLflow is not installed. DataError: a path that cannot be.
    """
    with needed("writing for MLflow"):
        os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")
        from mlflow import MlflowClient
        from mlflow.entities import Metric, Param, RunTag
    client, added = MlflowClient(place_of(path).absolute().as_uri()), 0
    for data, rows in runs[runs["error_message"].isna()].groupby("data") if len(runs) else ():
        experiment = client.get_experiment_by_name(str(data))
        number = client.create_experiment(str(data)) if experiment is None else experiment.experiment_id
        for row in rows.to_dict("records"):
            if client.search_runs([number], f"tags.`pillar.key` = '{row['key']}'", max_results=1):
                continue
            known = {name: value for name, value in row.items() if not (value is None or (isinstance(value, float) and math.isnan(value)))}
            measured = [Metric(name, float(known[name]), 0, 0) for name in dict.fromkeys(MEASURED) if name in known]
            chosen = [Param(name, str(value)) for name, value in known.items() if name not in MEASURED and name != "key"]
            run = client.create_run(number, run_name=str(row["method"]), tags={"pillar.key": str(row["key"])}).info.run_id
            client.log_batch(run, measured, chosen, [RunTag("pillar.epsilon", "an upper bound, under the record's assumptions")])
            client.set_terminated(run)
            added += 1
    return added
